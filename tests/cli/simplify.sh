# pelt simplify: fewer triangles, levels of detail, of rigs, frames and meshes.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" creature -o creature.glb --vertices 800 --frames 12 >/dev/null || fail "no scene"
"$PELT_SCENES" production -o man.glb --vertices 800 --frames 6 >/dev/null || fail "no scene"
"$PELT_SCENES" softbody -o hare.obj --vertices 400 --frames 10 >/dev/null || fail "no scene"

# A rig: the report, the file, and nothing but triangles gone.
run 0 simplify creature.glb -o far.glb --ratio 0.25 --frames 6 --json far.json --report far.html
no_err
out "before"
out "after"
json far.json 'r.verb === "simplify" && r.levels.length === 1 && r.poses > 3 && r.triangles_before > 1000'
json far.json 'r.levels[0].triangles <= r.levels[0].wanted && r.levels[0].wanted === Math.round(r.triangles_before / 4)'
json far.json 'r.levels[0].error_rms > 0 && r.levels[0].error_rms < 0.01 && r.levels[0].error_rms < r.levels[0].error_max'
json far.json 'r.levels[0].frames === 6 && r.levels[0].bytes === require("fs").statSync("far.glb").size'
[ -s far.html ] || fail "no page"
run 0 info creature.glb --json before.json
run 0 info far.glb --json after.json
node -e 'const read = (f) => JSON.parse(require("fs").readFileSync(f)).inputs[0], a = read("before.json"), b = read("after.json");
const same = (k) => JSON.stringify(a[k]) === JSON.stringify(b[k]);
process.exit(["motions", "joints", "bones", "materials"].every(same) && b.triangles < a.triangles / 3 ? 0 : 1)' ||
    fail "something else changed"
run 0 simplify -q creature.glb -o same.glb --ratio 1 --poses 1 --keep-positions
no_out
cp far.glb twice.glb
run 0 simplify -q twice.glb -o twice.glb --ratio 0.5
run 0 info twice.glb

# Poses and an error.
run 0 simplify creature.glb -o error.glb --error 0.002 --frames 4 --json error.json
json error.json 'r.levels[0].harm <= 0.002 && r.levels[0].triangles < r.triangles_before && r.levels[0].error_rms < 0.002'

# Levels: each is a file, without MSFT_lod and with nothing in it that a program could draw by mistake.
run 3 simplify man.glb -o far/hero.glb --lods 3 --frames 4
mkdir far
run 0 simplify man.glb -o far/hero.glb --lods 3 --frames 4 --json hero.json
out "far/hero_lod2.glb"
json hero.json 'r.levels.map((l) => l.output).join() === "far/hero.glb,far/hero_lod1.glb,far/hero_lod2.glb"'
json hero.json 'r.levels.every((l) => l.bytes === require("fs").statSync(l.output).size)'
for n in 1 2; do
    run 0 info far/hero_lod$n.glb --json info.json
    node -e 'const read = (f) => JSON.parse(require("fs").readFileSync(f)), [info, r] = ["info.json", "hero.json"].map(read);
process.exit(info.inputs[0].triangles === r.levels[+process.argv[1]].triangles ? 0 : 1)' $n || fail "level $n: other triangles"
    ! grep -q MSFT_lod far/hero_lod$n.glb || fail "levels in a level"
done
run 0 compare man.glb far/hero.glb --json compare.json
json compare.json 'r.error_max === 0'
missing far/hero_lod3.glb
# All or none: the last cannot be written.
mkdir -p none/hero_lod2.glb
run 3 simplify -q man.glb -o none/hero.glb --lods 3 --frames 2
err "none/hero_lod2.glb: is a folder"
missing none/hero.glb
missing none/hero_lod1.glb
# In one file the first is what it was.
run 0 simplify man.glb -o levels.glb --lods 3 --one-file --frames 4 --json levels.json
out "level 2"
missing levels_lod1.glb
json levels.json 'r.levels.length === 3 && r.levels[0].triangles === r.triangles_before && r.levels[0].error_max === 0'
json levels.json 'r.levels[2].triangles < 0.27 * r.triangles_before && r.levels[2].error_rms > r.levels[1].error_rms'
run 0 compare man.glb levels.glb --json compare.json
json compare.json 'r.error_max === 0'
run 0 simplify -q man.glb -o 'man_%d.glb' --lods 3 --frames 4
run 0 compare man.glb man_0.glb --json compare.json
json compare.json 'r.error_max === 0'
for n in 1 2; do
    run 0 info man_$n.glb
    out "shirt, skin, metal"
done
run 0 simplify -q man.glb -o half.glb --lods 2 --ratio 0.5 --frames 4
missing man_3.glb

# A vertex animation, as a cache with its mesh, and as meshes.
run 0 simplify hare.obj hare.pc2 -o small.pc2 --mesh small.obj --ratio 0.3 --frames 5 --json small.json
json small.json 'r.levels[0].triangles <= r.levels[0].wanted && r.levels[0].frames === 5'
run 0 info small.obj small.pc2 --json info.json
json info.json 'r.inputs[0].clips[0].frames === 10 && r.inputs[0].points < 200'
run 0 simplify -q hare.obj hare.pc2 -o 'h_%d.obj' --ratio 0.3
run 0 compare small.obj small.pc2 'h_%d.obj' --json compare.json
json compare.json 'r.error_max < 1e-6'
run 0 simplify -q hare.obj -o still.ply --ratio 0.3
run 0 info still.ply

# The same bytes for any number of threads.
for threads in 1 3; do
    run 0 simplify -q man.glb -o threads_$threads.glb --ratio 0.2 --frames 2 --threads $threads
    run 0 simplify -q hare.obj hare.pc2 -o threads_$threads.pc2 --ratio 0.2 --frames 2 --threads $threads
done
same threads_1.glb threads_3.glb
same threads_1.pc2 threads_3.pc2

# Less than can be: a warning.
run 0 simplify man.glb -o least.glb --ratio 0 --frames 2
err "0 triangles were wanted"

# Refused, with a sentence and without a file.
refused() {
    code=$1
    shift
    run "$code" simplify "$@"
    missing no.glb
}
refused 1
err "needs an input"
refused 1 creature.glb
err "needs an output"
refused 1 creature.glb -o no.glb --ratio 2
err "out of range"
refused 1 creature.glb -o no.glb --lods 0
refused 1 creature.glb -o no.glb --lods 3 --error 0.1
refused 1 creature.glb -o 'no_%d.glb'
err "give --lods"
refused 1 creature.glb -o no.obj --lods 2
refused 1 creature.glb -o no.glb --one-file
err "means nothing without --lods"
refused 1 creature.glb -o 'no_%d.glb' --lods 2 --one-file
err "where the output is a pattern"
refused 1 creature.glb -o no.bvh
refused 1 creature.glb -o no.glb --mesh no.obj
refused 1 hare.obj hare.pc2 -o no.pc2 --mesh no.glb
missing no.pc2
refused 2 missing.glb -o no.glb
err "missing.glb"
printf 'v 0 0 0\nv 1 0 0\n' >points.obj
refused 2 points.obj -o no.glb
err "no triangles"
refused 1 creature.glb -o no.pc2
err "no vertex animation"
missing no.pc2

# Boxes cannot be halved: without options they stay, and a warning says so; --ratio halves them all the same.
awk 'BEGIN {
    for (b = 0; b < 3; b++) {
        for (i = 0; i < 8; i++) print "v", b * 3 + i % 2, int(i / 2) % 2, int(i / 4)
        split("1 3 4 2 5 6 8 7 1 2 6 5 3 7 8 4 1 5 7 3 2 4 8 6", f, " ")
        for (q = 0; q < 6; q++) print "f", f[4 * q + 1] + 8 * b, f[4 * q + 2] + 8 * b, f[4 * q + 3] + 8 * b, f[4 * q + 4] + 8 * b
    }
}' >boxes.obj
run 0 simplify boxes.obj -o boxes.glb --json boxes.json
err "over 2 % of the size (--ratio goes on)"
json boxes.json 'r.levels[0].triangles === 36 && r.levels[0].error_rms < 1e-6'
run 0 simplify boxes.obj -o boxes.glb --ratio 0.5 --json boxes.json
json boxes.json 'r.levels[0].triangles < 36'

posix || exit 0
# Ctrl-C: nothing is left. A shell starts background jobs with SIGINT ignored, and pelt respects that.
"$PELT_SCENES" creature -o large.glb --vertices 60000 >/dev/null || fail "no scene"
env --default-signal=INT "$PELT" simplify large.glb -o no.glb --ratio 0.05 >log/out 2>log/err &
pid=$!
sleep 0.3
kill -INT $pid || fail "it was over before it could be interrupted"
wait $pid
code=$?
[ $code = 130 ] || fail "exit code $code"
missing no.glb
exit 0
