# pelt jiggle end to end on real data: a captured run on a human, from files to a GLB that plays it.
. "$(dirname "$0")/lib.sh"

need_data char-makehuman/human_cmu.glb
human=$data
need_data mocap-cmu-bvh/009/09_06.bvh
bvh=$data
need_data mocap-cmu-asfamc/09_06-run.amc
amc=$data

# A third of a second of the run, past the T-pose that these BVH files begin with; few steps of the solver.
part="--particles 800 --preroll 0.3 --rate 30"
run 0 jiggle "$human" "$bvh" -o run.glb $part --from 0.3 --to 0.6 --add 6 --iterations 2 --json run.json
out "Joints of the rig and of the motion"
out "LeftUpLeg"
json run.json 'r.retarget.matched >= 29 && r.clips.length === 1 && r.clips[0].motion === "09_06" && r.clips[0].frames === 10'
json run.json 'r.particles > 500 && r.clips[0].farthest > 0.005 && r.clips[0].farthest < 0.5'
# Every joint that loses over 5 % by blending is within 3 % of its volume.
json run.json 'r.clips[0].volumes.filter((v) => v.before < 0.95 * v.rest).length > 5'
json run.json 'r.clips[0].volumes.filter((v) => v.before < 0.95 * v.rest).every((v) => Math.abs(v.after / v.rest - 1) < 0.03)'
json run.json 'r.skin.result.bones === 31 + 6'
run 0 info run.glb --json info.json
json info.json 'r.inputs[0].motions[0].name === "09_06" && r.inputs[0].vertices === 13380'

# The file plays the simulation.
json run.json 'r.skin.result.error_rms < 10 && r.skin.result.influences <= 4'

# The same motion as AMC: nearly the same deformation.
run 0 jiggle -q "$human" "$amc" -o amc.pc2 $part --from 0.29167 --to 0.59167 --json amc.json
json amc.json 'r.retarget.matched >= 15 && r.clips[0].farthest > 0.005 && r.clips[0].farthest < 0.5'

# Feet, hands and head stay on the skin in the clip that moves fingers most, T-pose at the start and all.
node "$here/../../bench/bench_jiggle_distance.mjs" "$(dirname "$PELT")" 85_02 >log/out || fail "feet, hands or head are off the skin"

# Every motion of every third animated character (of all with PELT_ALL=1, as `make test-all` has it), to bones: as long as it
# was.
root=${human%/char-makehuman/*}
[ -n "${PELT_ALL:-}" ] && every=1 || every=3
for file in $(cd "$root" && ls char-gltf-khronos/*/glTF-Binary/*.glb char-mesh2motion/animations/*.glb char-quaternius/*/*.glb \
    char-threejs/gltf/*/*.glb char-rocketbox/Male_Adult_0*.glb 2>/dev/null | awk "NR % $every == 0"); do
    case $file in *RecursiveSkeletons*) continue ;; esac # 840 bones: for longer tests
    node -e 'const b = require("fs").readFileSync(process.argv[1]), g = JSON.parse(b.subarray(20, 20 + b.readUInt32LE(12)));
        process.exit(g.animations && g.skins ? 0 : 1)' "$root/$file" || continue
    run 0 jiggle -q "$root/$file" -o out.glb --particles 200 --preroll 0 --substep 0.02 --fps 4 --add 1 --iterations 1
    node -e 'const ends = (path) => {
            const b = require("fs").readFileSync(path), g = JSON.parse(b.subarray(20, 20 + b.readUInt32LE(12)));
            return g.animations.map((a) => [Math.min, Math.max].map((f, n) =>
                Math.fround(f(...a.samplers.map((s) => g.accessors[s.input][n ? "max" : "min"][0])))).join());
        }, a = ends(process.argv[1]), b = ends(process.argv[2]);
        process.exit(a.length === b.length && a.every((e, n) => e === b[n]) ? 0 : 1)' "$root/$file" out.glb || fail "$file: other times"
done
exit 0
