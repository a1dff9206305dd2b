// bench_jiggle_distance.mjs BIN [CLIP]: the table of docs/jiggle.md: how far `pelt jiggle` without options moves a body's vertices
// from its plain skin, for every CMU clip of the data, or for one. The plain skin is what `pelt retarget` and `pelt bake` give.
// Fails where a foot, a hand or the head is farther than 1 % of the height, or nothing else is.
import { existsSync } from "node:fs";
import path from "node:path";
import { readAccessor } from "../tests/node/draco_codec.mjs";
import { readPc2 } from "../tests/node/shown.mjs";
import * as support from "../tests/node/support.mjs";

const [bin, only] = process.argv.slice(2);
const pelt = (...args) => support.run(path.resolve(bin, "pelt"), [...args, "-q"]);
const folder = support.scratchFolder();
const rig = path.join(support.data, "char-makehuman/human_cmu.glb");
if (!existsSync(rig)) support.skip(`no characters at ${support.data} (PELT_DATA says where)`);
const clips = support.filesBelow(path.join(support.data, "mocap-cmu-bvh"), [".bvh"]).filter((file) => !only || path.basename(file, ".bvh") === only);
if (clips.length === 0) throw new Error(`no clip ${only} in the data`);

/** For every vertex whether the joint with its largest weight is one of the feet, hands or the head. */
function extremities() {
    const gltf = support.readGltf(rig);
    const { document } = gltf;
    const names = document.skins[0].joints.map((node) => document.nodes[node].name);
    return document.meshes.flatMap(({ primitives }) =>
        primitives.flatMap(({ attributes }) => {
            const joints = readAccessor(gltf, attributes.JOINTS_0);
            const weights = readAccessor(gltf, attributes.WEIGHTS_0);
            return Array.from({ length: joints.length / 4 }, (_, vertex) => {
                const own = weights.subarray(4 * vertex, 4 * vertex + 4);
                return /head|hand|finger|thumb|foot|toe/i.test(names[joints[4 * vertex + own.indexOf(Math.max(...own))]]);
            });
        }),
    );
}

const held = extremities();
const ys = support.positionsOf(rig).filter((_, i) => i % 3 === 1);
const height = ys.reduce((a, b) => Math.max(a, b)) - ys.reduce((a, b) => Math.min(a, b));
console.log(`distances in % of the body's height, ${height.toFixed(2)} units\n`);
console.log("| clip | foot, hand, head at most | all at most | all, mean |\n|---|---|---|---|");

for (const clip of clips) {
    const [moved, motion, plain] = ["jiggle.pc2", "motion.glb", "plain.pc2"].map((name) => path.join(folder, name));
    pelt("jiggle", rig, clip, "-o", moved);
    pelt("retarget", rig, clip, "-o", motion);
    pelt("bake", motion, "-o", plain);
    const [a, b] = [moved, plain].map(readPc2);
    if (a.length !== b.length || a[0].length !== 3 * held.length) throw new Error(`${clip}: the caches do not fit each other`);
    let [most, mostHeld, sum] = [0, 0, 0];
    for (const [k, frame] of a.entries())
        for (let i = 0; i < held.length; i++) {
            const d = Math.hypot(...[0, 1, 2].map((axis) => frame[3 * i + axis] - b[k][3 * i + axis]));
            sum += d;
            most = Math.max(most, d);
            if (held[i]) mostHeld = Math.max(mostHeld, d);
        }
    if (mostHeld > 0.01 * height || most < 0.01 * height) process.exitCode = 1;
    const percent = (d, digits) => ((100 * d) / height).toFixed(digits);
    console.log(`| ${path.basename(clip, ".bvh")} | ${percent(mostHeld, 2)} | ${percent(most, 2)} | ${percent(sum / a.length / held.length, 3)} |`);
}
