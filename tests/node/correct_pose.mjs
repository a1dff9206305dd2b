// correct_pose.mjs PELT SCENES TOOL_POSE: what `pelt correct --driver pose` writes, seen by others. The Khronos validator must
// find no error and no warning; three must pose every vertex of the baked motion as Pelt does, to 1e-5 of the size.
import assert from "node:assert/strict";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { complaints, validate } from "./gltf_check.mjs";
import * as support from "./support.mjs";

const [pelt, scenes, tool] = process.argv.slice(2);
const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);
const three = fileURLToPath(new URL("three.mjs", import.meta.url));
const [rig, poses] = [inFolder("arm.glb"), inFolder("poses")];

support.run(scenes, ["arm", "-o", rig, "--vertices", "600", "--poses", poses]);
const files = [];
for (const options of [[], ["--split", "--normals"], ["--kernel", "gaussian", "--modes", "2"]]) {
    const file = inFolder(`${files.length}.glb`);
    support.run(pelt, ["correct", "-q", rig, "--driver", "pose", "--poses", poses, "-o", file, ...options]);
    assert.deepEqual(complaints(await validate(rig), await validate(file)), [], options.join(" "));
    const { document } = support.readGltf(file);
    const { drivers } = document.extras.pelt_drivers;
    assert.deepEqual([...new Set(drivers.map(({ name }) => name))].sort(), ["elbow", "shoulder", "wrist"]);
    const names = document.meshes[0].extras.targetNames;
    assert.ok(names.every((name) => /^((elbow|shoulder|wrist) mode \d+|mode offset)$/.test(name)), names.join());
    // Weights that change in time are there for players that know nothing of drivers.
    assert.ok(document.animations[0].channels.some(({ target }) => target.path === "weights"));
    files.push(file);
}
process.stdout.write(support.run(process.execPath, [three, tool, ...files]));
