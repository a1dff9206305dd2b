# --max-memory from 512 bytes up to what a verb needs: a message, exit code 2 and no file each time, then the same bytes as without
# a limit. peak_memory_bytes of the report is the smallest sufficient limit.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" tube -o rig.glb --vertices 60 --frames 4 >log/out || fail "pelt-scenes"
run 0 bake -q rig.glb -o clip.pc2 --mesh mesh.obj --fps 4
run 0 convert -q rig.glb walk.bvh
mkdir poses
run 0 pose -q rig.glb -j upper=0,0,50 -o poses/bent.obj
echo '{"joints": {"upper": {"euler": [0, 0, 70]}}}' >poses/bent.json
quads q
cp "$here/../../fuzz/corpus/abc/transforms.abc" move.abc
mkdir free tight
yes 0.1 | head -n "$("$PELT" info rig.glb --json - | node -p 'JSON.parse(require("fs").readFileSync(0)).inputs[0].vertices')" >numbers

# sweep FILE VERB ARGS…: the verb writes FILE in the folder $to; "out": only on standard output.
sweep() {
    file=$1
    shift
    to=free
    eval run 0 "$*"
    [ "$file" != out ] || cp log/out free/out
    to=tight
    size=512
    tries=0
    while :; do
        eval '"$PELT"' "$*" --max-memory $size >log/out 2>log/err
        code=$?
        [ $code != 0 ] || break
        [ $code = 2 ] || fail "$* --max-memory $size: exit code $code"
        err "needs more memory than the limit of $size bytes"
        [ "$(wc -l <log/err)" = 1 ] || fail "$*: more than a sentence"
        [ -z "$(ls -A tight)" ] || fail "$* --max-memory $size: left behind: $(ls -A tight)"
        size=$((size * 3 / 2))
        tries=$((tries + 1))
        [ $tries -lt 60 ] || fail "$*: does not end"
    done
    [ "$file" != out ] || cp log/out tight/out
    [ $tries -gt 4 ] || fail "$*: the limit does not bind"
    same "free/$file" "tight/$file"
    [ "$(ls -A free)" = "$(ls -A tight)" ] || fail "$*: other files"
    eval run 0 "$*" --threads 1 --json log/report.json
    peak=$(node -p 'JSON.parse(require("fs").readFileSync("log/report.json")).peak_memory_bytes')
    eval run 0 "$*" --threads 1 --max-memory "$peak"
    eval run 2 "$*" --threads 1 --max-memory "$((peak - 1))"
    echo "$tries limits: pelt $1"
    rm free/* tight/*
}

sweep out info rig.glb
sweep out info mesh.obj clip.pc2
sweep out info walk.bvh
sweep out info move.abc
sweep a.glb convert -q rig.glb '$to/a.glb'
sweep a.mdd convert -q "'q_*.obj'" '$to/a.mdd'
sweep a_0.ply convert -q move.abc '$to/a_%d.ply'
sweep a.pc2 bake -q rig.glb -o '$to/a.pc2'
sweep a.glb decompose -q mesh.obj clip.pc2 -o '$to/a.glb' -b 2 --iterations 2
sweep a.glb bind -q rig.glb -o '$to/a.glb' --resolution 16
sweep a.glb edit -q rig.glb --displace numbers -o '$to/a.glb'
sweep a.glb weights -q smooth rig.glb -o '$to/a.glb'
sweep a.glb weights -q transfer rig.glb mesh.obj -o '$to/a.glb'
sweep a.glb correct -q rig.glb --driver pose --poses poses -o '$to/a.glb'
sweep a.obj pose -q rig.glb -j upper=0,0,60 -o '$to/a.obj'
sweep a.glb retarget -q rig.glb walk.bvh -o '$to/a.glb'
sweep a.svg study -q mesh.obj clip.pc2 --svg '$to/a.svg' --bones 2 --corrections 1
sweep out compare rig.glb rig.glb
sweep out collide rig.glb rig.glb
if pictures; then sweep a.png view -q rig.glb --png '$to/a.png' --size 32x32; fi
sweep a.html view -q rig.glb -o '$to/a.html'
exit 0
