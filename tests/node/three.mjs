// three.mjs TOOL_POSE [FILE…]: vertices in world space, morphed and skinned, as three computes them and as Pelt does: a fixture
// and every real character (or these files), in rest and at five seeded random times of every clip, to 1e-5 of the model's size.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { makeFixture } from "./fixture.mjs";
import { diagonal, largestDistance, ours } from "./positions.mjs";
import * as support from "./support.mjs";
import { drawn, load, positionsAt, worldPositions } from "./three_positions.mjs";

const [tool, ...given] = process.argv.slice(2);

const TIMES_PER_CLIP = 5;
const TOLERANCE = 1e-5; // of the size: float skinning in Pelt, double in three, models of up to a few hundred joints

/** Compares one file; the worst distance as a fraction of its size, and how many poses were compared. */
async function compare(file) {
    const gltf = await load(file);
    const objects = drawn(gltf);
    const random = support.seededRandom(gltf.animations.length + objects.length);
    const moments = gltf.animations.flatMap((clip, motion) =>
        [...Array(TIMES_PER_CLIP)].map(() => [motion, Math.fround(random() * clip.duration)]),
    );
    const poses = ours(tool, file, moments);
    const rest = worldPositions(gltf, objects);
    const size = diagonal(rest);
    let worst = { error: 0 };
    const see = (theirs, pose, what) => {
        if (theirs.length !== pose.length)
            throw new Error(`three has ${theirs.length / 3} vertices, Pelt ${pose.length / 3}`);
        const error = largestDistance(theirs, pose) / size;
        if (Number.isNaN(error) || error > worst.error) worst = { error, what };
    };
    see(rest, poses[0], "rest pose");
    moments.forEach(([motion, time], index) => {
        const clip = gltf.animations[motion];
        see(positionsAt(gltf, objects, clip, time), poses[index + 1], `${clip.name} at ${time} s`);
    });
    return { ...worst, poses: poses.length };
}

/** A checker that accepts everything proves nothing. */
function checkTheChecker() {
    const a = [0, 0, 0, 1, 1, 1];
    if (largestDistance(a, [0, 0, 0, 1, 1, 1.5]) !== 0.5 || !Number.isNaN(largestDistance(a, [0, NaN, 0, 1, 1, 1])))
        throw new Error("the checker does not see a difference");
}

let poses = 0;
let worst = 0;
/** Compares a file and tells of it when the difference is too large. */
async function passes(file, name) {
    try {
        const result = await compare(file);
        poses += result.poses;
        worst = Math.max(worst, result.error);
        if (result.error <= TOLERANCE) return true;
        console.log(`${name}: ${result.what}: differs by ${result.error.toExponential(2)} of the size`);
    } catch (error) {
        console.log(`${name}: ${error.message.trim()}`);
    }
    return false;
}

checkTheChecker();
const fixture = path.join(support.scratchFolder(), "fixture.glb");
writeFileSync(fixture, makeFixture());
let failures = (await passes(fixture, "fixture")) ? 0 : 1;
if (failures > 0) process.exit(1); // before a skip for want of characters could hide it
const files = given.length > 0 ? given : support.characterFiles();
for (const file of files) failures += (await passes(file, path.relative(support.data, file))) ? 0 : 1;
console.log(`${files.length + 1} files, ${poses} poses, largest difference ${worst.toExponential(2)} of the size: ${failures} failed`);
process.exit(failures > 0 ? 1 : 0);
