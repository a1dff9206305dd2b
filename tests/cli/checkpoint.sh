# pelt decompose --checkpoint: a run that was killed goes on to the bytes of one that was not; files of other inputs, other settings and
# damaged ones are refused; a full disk leaves the last state; nothing is left at the end.
. "$(dirname "$0")/lib.sh"

if ! posix; then
    echo "skipped: signals do not reach the program"
    exit 77
fi

"$PELT_SCENES" cloth -o flag.obj --vertices 5000 --frames 8
settings='-b 10 --transforms rigid --iterations 26 --tolerance 0 --threads 1'
run 0 decompose -q flag.obj flag.pc2 -o one.glb $settings
save='--checkpoint state --checkpoint-every 1'

# kill_when_new FILE: starts a run and kills it when a file has another content than before; again if the run ended first, as on a busy
# machine.
kill_when_new() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        rm -f two.glb
        content=$(cksum "$1" 2>/dev/null)
        "$PELT" decompose -q flag.obj flag.pc2 -o two.glb $settings $save >log/out 2>log/err &
        started=$!
        while kill -0 "$started" 2>/dev/null && [ "$(cksum "$1" 2>/dev/null)" = "$content" ]; do sleep 0.01; done
        kill -9 "$started" 2>/dev/null
        wait "$started" 2>/dev/null
        [ -e two.glb ] || return 0
    done
    fail "every run ended before it was killed"
}

kill_when_new state.reduced # before or in the seeds
[ -e state.reduced ] || fail "no state of the reduction"
for turn in 1 2 3 4 5; do # iterations, and the exchange of bones after the tenth
    kill_when_new state
    [ -e state ] || fail "no state"
    [ $turn -gt 1 ] || cp state kept # an early state: others must follow it below
done
cp state.reduced kept.reduced
echo rest of a killed process >state.new
run 0 decompose -q flag.obj flag.pc2 -o two.glb $settings $save
same one.glb two.glb
missing state
missing state.new
missing state.reduced

# Other settings, other inputs, damage: a sentence, exit code 2, no file.
rm two.glb
cp kept state
cp kept.reduced state.reduced
run 2 decompose -q flag.obj flag.pc2 -o two.glb $settings $save --influences 3
err "state: this checkpoint is of other inputs, other settings or another version of the program"
node -e 'const fs = require("fs"), data = fs.readFileSync("flag.pc2"); data.writeFloatLE(data.readFloatLE(data.length - 4) + 1e-3, data.length - 4); fs.writeFileSync("other.pc2", data)'
run 2 decompose -q flag.obj other.pc2 -o two.glb $settings $save
err "state: this checkpoint is of other inputs"
head -c 1000 kept >state
run 2 decompose -q flag.obj flag.pc2 -o two.glb $settings $save
err "state: this checkpoint is damaged"
missing two.glb
cp kept state
head -c 100000 kept.reduced >state.reduced
run 2 decompose -q flag.obj flag.pc2 -o two.glb $settings $save
err "state.reduced: this checkpoint is damaged"
same kept state

# No room for the next state: exit code 3, and the last one is still there.
cp kept.reduced state.reduced
(ulimit -f $(($(wc -c <kept) / 2048)) && "$PELT" decompose -q flag.obj flag.pc2 -o two.glb $settings $save >log/out 2>log/err)
[ $? = 3 ] || fail "a full disk: not exit code 3"
err "state: the checkpoint cannot be written"
same kept state
missing state.new
missing two.glb
run 3 decompose -q flag.obj flag.pc2 -o two.glb $settings --checkpoint no/folder/state

# A search goes on with its trials.
rm -f state state.reduced
search='--error 60 --iterations 4 --threads 1'
run 0 decompose -q flag.obj flag.pc2 -o one.glb $search
settings=$search
for turn in 1 2 3; do kill_when_new state; done
rm -f two.glb
run 0 decompose -q flag.obj flag.pc2 -o two.glb $settings $save
same one.glb two.glb
missing state

run 1 decompose flag.obj flag.pc2 -o two.glb --checkpoint-every 3
err "without --checkpoint"
run 1 decompose flag.obj flag.pc2 -o two.glb --checkpoint state --max-error 1%
err "with --budget and --max-error"
