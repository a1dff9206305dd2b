// edit.mjs PELT SCENES TOOL_POSE: what `pelt edit` writes, seen by others. The Khronos validator must find no error and no
// warning that the source did not have, the document must come back equal but for numbers of vertices, and three must pose
// every vertex as Pelt does. On scenes, with corrections too, and on one real character of each kind, where they are.
import assert from "node:assert/strict";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { check as wrong } from "./gltf_check.mjs";
import * as support from "./support.mjs";

const [pelt, scenes, tool] = process.argv.slice(2);
const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);
const three = fileURLToPath(new URL("three.mjs", import.meta.url));
let edited = [];

/** Edits a file, and looks at what became of it. */
async function check(source, name, args) {
    const file = inFolder(`${edited.length}.glb`);
    const { moved, change } = JSON.parse(support.run(pelt, ["edit", source, "-o", file, "--json", "-", ...args]));
    assert.ok(moved > 0 && change.error_rms > 0, `${name}: nothing moved`);
    assert.deepEqual(await wrong(source, file), [], name);
    edited.push(file);
}

/** Lets three pose the files that were edited since the last time. */
function poseAsThree() {
    process.stdout.write(support.run(process.execPath, [three, tool, ...edited]));
    edited = [];
}

const blown = ["--displace-attribute", "NORMAL.x", "--amount", "0.05"];
for (const name of ["creature", "production", "tube", "morph"]) {
    const scene = inFolder(`${name}.glb`);
    support.run(scenes, [name, "-o", scene, "--vertices", "800", "--frames", "12"]);
    await check(scene, name, blown);
    if (name !== "morph") await check(scene, `${name}, in a frame`, [...blown, "--frame", "5"]);
}
// With morph targets of corrections.
const [hare, cache] = [inFolder("hare.obj"), inFolder("hare.pc2")];
support.run(scenes, ["softbody", "-o", hare, "--vertices", "400", "--frames", "10"]);
support.run(pelt, ["decompose", "-q", hare, cache, "-o", inFolder("hare.glb"), "--bones", "4", "--iterations", "2", "--corrections", "3"]);
await check(inFolder("hare.glb"), "corrected", blown);
poseAsThree();

const kinds = new Map(support.characterFiles().map((file) => [path.relative(support.data, file).split(path.sep)[0], file]));
for (const [kind, file] of kinds)
    if (support.readGltf(file).document.skins) await check(file, `${kind}/${path.basename(file)}`, ["--displace-attribute", "POSITION.y", "--amount", "0.02"]);
poseAsThree();
