// mocap.mjs PELT: skeletons and motions, seen by others. The Khronos validator must find nothing wrong with what `pelt
// convert` makes of BVH, ASF/AMC and what `pelt retarget` writes; three's BVH reader must find joints where they were in
// the source after Pelt has written it anew. Real captures where they are, else a small one.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import * as support from "./support.mjs";

const [pelt] = process.argv.slice(2);
const validator = (await support.need("gltf-validator")).default;
const { AnimationMixer, Vector3 } = await support.need("three");
const { BVHLoader } = await support.need("three/examples/jsm/loaders/BVHLoader.js");
const folder = support.scratchFolder();

const small = `HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Yrotation Zrotation Xrotation
  JOINT LeftUpLeg
  {
    OFFSET 1 0.5 0
    CHANNELS 3 Xrotation Yrotation Zrotation
    JOINT LeftLeg
    {
      OFFSET 0.2 -4 0
      CHANNELS 3 Zrotation Yrotation Xrotation
      End Site
      {
        OFFSET 0 -4 1
      }
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.1
1 8 0 10 20 30 40 50 60 70 80 90
2 8 1 -50 120 70 -80 10 30 0 90 -10
0 8 2 170 90 -170 5 88 -33 99 12 -140
`;

/** Errors and warnings of the validator. */
async function complaints(file) {
    const report = await validator.validateBytes(new Uint8Array(readFileSync(file)), { maxIssues: 0, uri: path.basename(file) });
    return report.issues.messages.filter(({ severity }) => severity < 2).map(({ code, pointer }) => `${code} at ${pointer}`);
}

/** Places of all named joints at some moments, as three reads the file. */
function places(file, moments) {
    const { skeleton, clip } = new BVHLoader().parse(readFileSync(file, "utf8"));
    const mixer = new AnimationMixer(skeleton.bones[0]);
    mixer.clipAction(clip).play();
    return moments.map((moment) => {
        mixer.setTime(moment);
        skeleton.bones[0].updateMatrixWorld(true);
        const named = skeleton.bones.filter(({ name }) => name !== "ENDSITE");
        return Object.fromEntries(named.map((bone) => [bone.name, bone.getWorldPosition(new Vector3())]));
    });
}

/** The largest distance of joints between two files, relative to the height of the first moment. */
function distance(first, second, moments) {
    const [a, b] = [places(first, moments), places(second, moments)];
    const heights = Object.values(a[0]).map(({ y }) => y);
    const height = Math.max(...heights) - Math.min(...heights);
    let worst = 0;
    a.forEach((pose, k) => {
        assert.deepEqual(Object.keys(b[k]), Object.keys(pose));
        for (const [name, place] of Object.entries(pose)) worst = Math.max(worst, place.distanceTo(b[k][name]) / height);
    });
    return worst;
}

async function check(bvh, name, moments) {
    const [glb, again] = [path.join(folder, `${name}.glb`), path.join(folder, `${name}.bvh`)];
    support.run(pelt, ["convert", "-q", bvh, glb]);
    assert.deepEqual(await complaints(glb), [], `${name}: the validator`);
    support.run(pelt, ["convert", "-q", glb, again]);
    const worst = distance(bvh, again, moments);
    console.log(`${name}: joints differ by ${worst.toExponential(1)} of the height after BVH, GLB, BVH`);
    assert(worst < 1e-4, `${name}: ${worst}`);
    return glb;
}

const source = path.join(folder, "source.bvh");
writeFileSync(source, small);
const glb = await check(source, "small", [0, 0.1, 0.2]);
writeFileSync(path.join(folder, "other.bvh"), small.replace("70 80 90", "75 80 90"));
assert(distance(source, path.join(folder, "other.bvh"), [0]) === 0, "the knee moves nothing that has a name");
writeFileSync(path.join(folder, "other.bvh"), small.replace("40 50 60", "45 50 60"));
assert(distance(source, path.join(folder, "other.bvh"), [0]) > 1e-2, "the checker does not see another angle");
support.run(pelt, ["retarget", "-q", glb, source, "-o", path.join(folder, "both.glb")]);
assert.deepEqual(await complaints(path.join(folder, "both.glb")), [], "retarget: the validator");

const human = path.join(support.data, "char-makehuman/human_cmu.glb");
const walk = path.join(support.data, "mocap-cmu-bvh/007/07_05.bvh");
const run = path.join(support.data, "mocap-cmu-asfamc/09_06-run.amc");
for (const file of [human, walk, run]) if (!existsSync(file)) support.skip(`no real data at ${file}`);
await check(walk, "walk", [0, 0.5, 1, 2, 3, 4]);
support.run(pelt, ["convert", "-q", run, path.join(folder, "run.glb")]);
assert.deepEqual(await complaints(path.join(folder, "run.glb")), [], "AMC: the validator");
for (const motion of [walk, run]) {
    support.run(pelt, ["retarget", "-q", human, motion, "-o", path.join(folder, "human.glb")]);
    assert.deepEqual(await complaints(path.join(folder, "human.glb")), [], `${motion} on a human: the validator`);
}
