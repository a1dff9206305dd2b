# pelt decompose, compare, bake and study as several processes (mpirun): the same bytes for any number of them, bytes sent as computed,
# checkpoints that any number of them continues, failures of one process, and of the program, end all with a sentence and without a file.
. "$(dirname "$0")/lib.sh"

if [ -z "${PELT_WITH_MPI:-}" ] || ! command -v mpirun >/dev/null; then
    echo "skipped: not built with PELT_MPI, or no mpirun here"
    exit 77
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# many COUNT CODE ARGS…: runs pelt as several processes.
many() {
    count=$1 expected=$2
    shift 2
    mpirun --oversubscribe -n "$count" "$PELT" "$@" --threads 1 >"$work/log/out" 2>"$work/log/err"
    code=$?
    [ "$code" = "$expected" ] || fail "mpirun -n $count pelt $*: exit code $code, expected $expected"
}

"$PELT_SCENES" cloth -o flag.obj --vertices 9000 --frames 8
run 0 decompose flag.obj flag.pc2 -o one.glb -b 8 --iterations 6 --json one.json
for count in 1 2 3; do
    many $count 0 decompose flag.obj flag.pc2 -o many.glb -b 8 --iterations 6 --json many.json
    same one.glb many.glb
    node -e 'const [a, b] = process.argv.slice(1).map((f) => {
            const { input, result, iterations, frame_rms } = JSON.parse(require("fs").readFileSync(f));
            delete result.processes;
            delete result.bytes_per_iteration;
            return JSON.stringify([input, result, iterations, frame_rms]);
        });
        process.exit(a === b ? 0 : 1)' one.json many.json || fail "the reports differ"
done
out "send"

# Two processes send the sums S and Q once each: 16 P² + 4 P d doubles there and back, and little else.
many 2 0 decompose flag.obj flag.pc2 -o many.glb -b 8 --iterations 6 --json many.json
json many.json 'r.result.processes === 2'
sums='2 * 8 * (16 * r.result.bones ** 2 + 4 * r.result.bones * r.result.dimension)'
json many.json "r.result.bytes_per_iteration >= $sums && r.result.bytes_per_iteration < 1.05 * $sums + 1000"

# Kinds of bone, several clips, a target error; what is not divided has the same bytes too.
for options in '-b 8 -t rigid --hierarchy' '--error 40 -t trs' '-b 6 --corrections 2' '-b 6 --seed-method regions'; do
    run 0 decompose -q flag.obj flag.pc2 flag.pc2 -o one.glb --iterations 4 $options
    many 2 0 decompose -q flag.obj flag.pc2 flag.pc2 -o many.glb --iterations 4 $options
    same one.glb many.glb
done
run 0 compare flag.obj flag.pc2 one.glb --json one.json
many 3 0 compare flag.obj flag.pc2 one.glb --json many.json
node -e 'const [a, b] = process.argv.slice(1).map((f) => JSON.parse(require("fs").readFileSync(f)));
    process.exit(a.error_rms === b.error_rms && a.error_max === b.error_max && a.normal_rms === b.normal_rms ? 0 : 1)' one.json many.json || fail "compare differs"

# bake: frames in turn; a cache whose frames others evaluate, and a sequence that process 0 writes. A failure of another process.
"$PELT_SCENES" tube -o tube.glb
run 0 bake -q tube.glb -o one.pc2 --mesh one.obj --fps 24
run 0 bake -q tube.glb -o one.mdd --fps 24
run 0 bake -q tube.glb -o 'one_%03d.obj' --fps 5
many 3 0 bake -q tube.glb -o many.pc2 --mesh many.obj --fps 24
same one.pc2 many.pc2
same one.obj many.obj
many 2 0 bake -q tube.glb -o many.mdd --fps 24
same one.mdd many.mdd
many 2 0 bake -q tube.glb -o 'many_%03d.obj' --fps 5
for file in one_*.obj; do same "$file" "many_${file#one_}"; done
many 3 3 bake -q tube.glb -o no/folder/many.pc2
err "no/folder/many.pc2"

# study: components of points that are divided, rows of all methods.
study='--methods fesam,sad,cpca,svd --bones 4 --iterations 3'
run 0 study -q flag.obj flag.pc2 $study --csv one.csv --write .
cp svd-16.pc2 one-svd.pc2
many 3 0 study -q flag.obj flag.pc2 $study --csv many.csv --write .
same one-svd.pc2 svd-16.pc2
node -e 'const [a, b] = process.argv.slice(1).map((f) => require("fs").readFileSync(f, "utf8").trim().split("\n").map((l) => l.split(",")));
    const timed = a[0].map((name) => /second|time/i.test(name)), kept = (rows) => JSON.stringify(rows.map((r) => r.filter((_, c) => !timed[c])));
    process.exit(a.length > 4 && kept(a) === kept(b) ? 0 : 1)' one.csv many.csv || fail "study differs"

# A checkpoint that three processes left is one for two, or for one.
steps='-b 10 --iterations 26 --tolerance 0'
run 0 decompose -q flag.obj flag.pc2 -o one.glb $steps
rm -f many.glb
mpirun --oversubscribe -n 3 "$PELT" decompose -q flag.obj flag.pc2 -o many.glb $steps --threads 1 --checkpoint state --checkpoint-every 2 >log/out 2>log/err &
started=$!
while kill -0 "$started" 2>/dev/null && [ ! -e state ]; do sleep 0.02; done # longer, and it may have ended
pkill -9 -P "$started"
wait "$started" 2>/dev/null
[ -e state ] || fail "no state"
missing many.glb
cp state kept && cp state.reduced kept.reduced
many 2 0 decompose -q flag.obj flag.pc2 -o many.glb $steps --checkpoint state
same one.glb many.glb
missing state
cp kept state && cp kept.reduced state.reduced
run 0 decompose -q flag.obj flag.pc2 -o many.glb $steps --checkpoint state
same one.glb many.glb
cp kept state && cp kept.reduced state.reduced
many 2 2 decompose flag.obj flag.pc2 -o none.glb $steps --checkpoint state -k 3
err "state: this checkpoint is of other inputs"
missing none.glb
rm state state.reduced

# A position that only the last process reads is not finite: its sentence, the exit code, no file.
rm -f many.glb
node -e 'const fs = require("fs"), data = fs.readFileSync("flag.pc2"); data.writeFloatLE(NaN, data.length - 12); fs.writeFileSync("bad.pc2", data)'
many 2 2 decompose flag.obj bad.pc2 -o many.glb -b 8
err "the position is not finite"
missing many.glb
[ "$(grep -c 'not finite' log/err)" = 1 ] || fail "the sentence is there more than once"
many 2 3 decompose flag.obj flag.pc2 -o no/folder/many.glb -b 4 --iterations 2
err "no/folder/many.glb"

# A process that is killed ends the others.
mpirun --oversubscribe -n 2 "$PELT" decompose flag.obj flag.pc2 -o many.glb -b 30 --effort best --tolerance 0 >log/out 2>log/err &
started=$!
child=
for _ in $(seq 100); do
    child=$(pgrep -f "$PELT decompose flag.obj flag.pc2 -o many.glb" -P "$started" | tail -1)
    [ -n "$child" ] && break
    sleep 0.1
done
[ -n "$child" ] || fail "no process to kill"
sleep 1
kill -9 "$child"
wait "$started" && fail "a killed process is a success"
grep -qi "killed" log/err || fail "no word of the killed process"
missing many.glb
ls many.glb* .many* 2>/dev/null && fail "something is left beside the result"

# Verbs that do not share their work say so.
many 2 1 info flag.obj
err "does not run as several processes"
