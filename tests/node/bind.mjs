// bind.mjs PELT SCENES TOOL_POSE: what `pelt bind` writes, seen by others. The Khronos validator must find no error and no
// warning that the source did not have, everything but skins must come back equal, and three must pose every vertex as Pelt
// does. On scenes and on one real character of each kind, where they are.
import assert from "node:assert/strict";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { complaints, difference, validate, withoutSkins } from "./gltf_check.mjs";
import * as support from "./support.mjs";

const [pelt, scenes, tool] = process.argv.slice(2);
const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);
const three = fileURLToPath(new URL("three.mjs", import.meta.url));
let bound = [];

/** Binds a file with few voxels, and looks at what became of it. */
async function check(source, name, args = []) {
    const file = inFolder(`${bound.length}.glb`);
    support.run(pelt, ["bind", "-q", source, "-o", file, "--resolution", "40", ...args]);
    assert.deepEqual(complaints(await validate(source), await validate(file)), [], name);
    assert.equal(difference(withoutSkins(source), withoutSkins(file)), undefined, name);
    bound.push(file);
}

/** Lets three pose the files that were bound since the last time. */
function poseAsThree() {
    process.stdout.write(support.run(process.execPath, [three, tool, ...bound]));
    bound = [];
}

for (const name of ["creature", "production", "tube"]) {
    const scene = inFolder(`${name}.glb`);
    support.run(scenes, [name, "-o", scene, ...(name === "tube" ? [] : ["--vertices", "1500"])]);
    await check(scene, name);
}
await check(inFolder("creature.glb"), "creature", ["--influences", "3", "--weights-format", "u16"]);
await check(inFolder("production.glb"), "production", ["--influences", "2", "--weights-format", "u8"]);

poseAsThree();

const kinds = new Map(support.characterFiles().map((file) => [path.relative(support.data, file).split(path.sep)[0], file]));
for (const [kind, file] of kinds)
    if (support.readGltf(file).document.skins) await check(file, `${kind}/${path.basename(file)}`);
poseAsThree();
