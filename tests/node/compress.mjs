// compress.mjs PELT PELT-SCENES TOOL_POSE: `pelt convert --compress` of scenes and of every real character. The validator finds
// no error and no warning that the source did not have; three, with its own decoder, shows the vertices that Pelt reads, and
// as three shows the source they lie within the bound of what Pelt says. From the compressed file `--plain` makes one without
// extensions that has the same vertices.
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { complaints, validate } from "./gltf_check.mjs";
import { diagonal, largestDistance, ours } from "./positions.mjs";
import * as support from "./support.mjs";
import { drawn, load, positionsAt, worldPositions } from "./three_positions.mjs";

const [pelt, sceneMaker, tool] = process.argv.slice(2);
const BOUND = 1e-4;
const TOLERANCE = 3e-5; // of the size: keys of few bits are not quite of unit length, and three interpolates them as they are

/** The positions of all vertices in an order that does not depend on that of the file: sorted along each axis. */
function sortedAxes(positions) {
    return [0, 1, 2].map((axis) => positions.filter((_, index) => index % 3 === axis).sort((a, b) => a - b));
}

const folder = support.scratchFolder();
async function check(source, name) {
    const file = path.join(folder, `${name.replaceAll("/", "_")}.glb`);
    execFileSync(pelt, ["convert", "-q", source, file, "--compress", "--compress-error", String(BOUND)], { stdio: "pipe" });
    const problems = complaints(await validate(source), await validate(file));
    const [before, after] = [await load(source), await load(file)];
    const size = diagonal(worldPositions(before, drawn(before)));
    const clip = after.animations[0];
    const time = clip ? Math.fround(clip.duration / 2) : 0;
    const poses = ours(tool, file, clip ? [[0, time]] : []);
    const theirs = [worldPositions(after, drawn(after)), ...(clip ? [positionsAt(after, drawn(after), clip, time)] : [])];
    theirs.forEach((positions, pose) => {
        const off = largestDistance(positions, poses[pose]) / size;
        if (!(off <= TOLERANCE)) problems.push(`three is ${off.toExponential(2)} of the size from Pelt in pose ${pose}`);
    });
    // Sorting each axis alone gives a lower bound of the distance whatever the order of vertices.
    const rest = sortedAxes([...worldPositions(before, drawn(before))]);
    const packed = sortedAxes([...theirs[0]]);
    const moved = Math.max(...rest.map((axis, a) => axis.reduce((most, value, i) => Math.max(most, Math.abs(value - packed[a][i])), 0)));
    if (!(moved / size <= 2 * BOUND)) problems.push(`three shows the rest pose ${(moved / size).toExponential(2)} of the size away`);
    if (statSync(source).size > 20000 && statSync(file).size >= statSync(source).size) problems.push("it is not smaller");
    const plain = path.join(folder, "plain.glb");
    execFileSync(pelt, ["convert", "-q", file, plain, "--plain"], { stdio: "pipe" });
    problems.push(...complaints(await validate(source), await validate(plain)).map((problem) => `plain: ${problem}`));
    const left = /EXT_meshopt_compression|KHR_mesh_quantization/.exec(readFileSync(plain).toString("latin1"));
    if (left) problems.push(`plain: has ${left[0]}`);
    const shown = await load(plain);
    if (largestDistance(worldPositions(shown, drawn(shown)), theirs[0]) > 0) problems.push("plain: vertices moved");
    for (const problem of problems) console.log(`${name}: ${problem}`);
    return problems.length === 0;
}

if (complaints({ warnings: {} }, { errors: { A: 1 }, warnings: { B: 1 } }).length !== 2) throw new Error("the checker accepts errors");
const scenes = ["creature", "production", "tube"].map((scene) => {
    const file = path.join(folder, `${scene}-plain.glb`);
    execFileSync(sceneMaker, [scene, "-o", file, "--vertices", "1500", "--frames", "8"], { stdio: "pipe" });
    return [file, scene];
});
let failures = 0;
for (const [file, name] of scenes) failures += (await check(file, name)) ? 0 : 1;
if (failures > 0) process.exit(1); // before a skip for want of characters could hide it
const files = support.characterFiles().filter((file) => statSync(file).size < 2_000_000);
for (const file of files) failures += (await check(file, path.relative(support.data, file))) ? 0 : 1;
console.log(`${scenes.length + files.length} files: ${failures} failed`);
process.exit(failures > 0 ? 1 : 0);
