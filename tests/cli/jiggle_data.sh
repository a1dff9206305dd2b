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

# The file plays the flesh.
json run.json 'r.skin.result.error_rms < 10 && r.skin.result.influences <= 4'

# The same motion as AMC: nearly the same flesh.
run 0 jiggle -q "$human" "$amc" -o amc.pc2 $part --from 0.29167 --to 0.59167 --json amc.json
json amc.json 'r.retarget.matched >= 15 && r.clips[0].farthest > 0.005 && r.clips[0].farthest < 0.5'

# Feet, hands and head stay on the skin, T-pose at the start and all.
run 0 retarget -q "$human" "$bvh" -o plain.glb
run 0 bake -q plain.glb -o plain.pc2 --fps 15
run 0 jiggle -q "$human" "$bvh" -o flesh.pc2 --fps 15
node - "$human" plain.pc2 flesh.pc2 <<'END' || fail "feet, hands or head are off the skin, or nothing swings"
const fs = require("fs"), [file, a, b] = process.argv.slice(2), glb = fs.readFileSync(file);
const json = JSON.parse(glb.subarray(20, 20 + glb.readUInt32LE(12))), bin = glb.subarray(28 + glb.readUInt32LE(12));
const read = (index) => {
    const accessor = json.accessors[index], view = json.bufferViews[accessor.bufferView], size = { 5121: 1, 5123: 2, 5126: 4 }[accessor.componentType];
    const at = (i) => (view.byteOffset || 0) + (accessor.byteOffset || 0) + Math.floor(i / 4) * (view.byteStride || 4 * size) + (i % 4) * size;
    return (i) => (size === 4 ? bin.readFloatLE(at(i)) : size === 2 ? bin.readUInt16LE(at(i)) : bin.readUInt8(at(i)));
};
const node = json.nodes.find((n) => n.skin !== undefined), attributes = json.meshes[node.mesh].primitives[0].attributes;
const joints = read(attributes.JOINTS_0), weights = read(attributes.WEIGHTS_0);
const cache = (path) => { const c = fs.readFileSync(path); return { points: c.readInt32LE(16), frames: c.readInt32LE(28), at: (i) => c.readFloatLE(32 + 4 * i) }; };
const plain = cache(a), flesh = cache(b);
let ends = 0, others = 0;
for (let i = 0; i < plain.points; i++) {
    const best = [0, 1, 2, 3].reduce((m, k) => (weights(4 * i + k) > weights(4 * i + m) ? k : m), 0);
    const end = /Foot|Toe|Hand|Finger|Thumb|Head/.test(json.nodes[json.skins[node.skin].joints[joints(4 * i + best)]].name);
    for (let k = 0; k < plain.frames; k++) {
        const e = 3 * (k * plain.points + i), far = Math.hypot(...[0, 1, 2].map((c) => plain.at(e + c) - flesh.at(e + c)));
        if (end) ends = Math.max(ends, far); else others = Math.max(others, far);
    }
}
process.exit(plain.frames === flesh.frames && ends < 0.01 * 1.66 && others > 0.01 ? 0 : 1);
END

# Every motion of every animated character, to bones: as long as it was.
root=${human%/char-makehuman/*}
for file in $(cd "$root" && ls char-gltf-khronos/*/glTF-Binary/*.glb char-mesh2motion/animations/*.glb char-quaternius/*/*.glb \
    char-threejs/gltf/*/*.glb char-rocketbox/Male_Adult_0*.glb 2>/dev/null); do
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
