# pelt decompose --error on the papers' animations gives the fewest bones: with one less, as --bones solves it, it is missed.
# Fewer iterations than by default: what is tried and how it is told apart is the same.
. "$(dirname "$0")/lib.sh"
need_data bench

least() {
    set -- "$1" "$2" "$data/$1.obj" "$data/$1.pc2"
    run 0 decompose -q "$3" "$4" -o least.glb --error "$2" --iterations 8 --json least.json
    json least.json "r.result.error_rms <= 1.001 * $2"
    bones=$(node -p 'JSON.parse(require("fs").readFileSync("least.json")).result.bones')
    run 0 decompose -q "$3" "$4" -o less.glb --bones $((bones - 1)) --iterations 8 --json less.json
    json less.json "r.result.error_rms > $2"
    echo "$1: $bones bones for an E_rms of $2"
}
least horse-gallop 2
least elastic-cow 8
least samba 5
