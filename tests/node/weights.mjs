// weights.mjs PELT SCENES: what `pelt weights` writes, seen by others. The Khronos validator must find no error and no
// warning that the source did not have, and everything but skins must come back equal. On a scene and on some real
// characters, where they are.
import assert from "node:assert/strict";
import path from "node:path";
import { complaints, difference, validate, withoutSkins } from "./gltf_check.mjs";
import * as support from "./support.mjs";

const [pelt, scenes] = process.argv.slice(2);
const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);

let count = 0;
async function check(source, name, args) {
    const file = inFolder("out.glb");
    support.run(pelt, ["weights", "-q", ...args, "-o", file]);
    assert.deepEqual(complaints(await validate(source), await validate(file)), [], `${name}: weights ${args[0]}`);
    assert.equal(difference(withoutSkins(source), withoutSkins(file)), undefined, `${name}: weights ${args[0]}`);
    count++;
}

async function checkAll(source, name) {
    await check(source, name, ["smooth", source]);
    await check(source, name, ["mirror", source, "--side", "average"]);
    const { nodes, skins } = support.readGltf(source).document;
    if (skins.every(({ joints }) => joints.every((joint) => nodes[joint].name))) await check(source, name, ["transfer", source, source]);
}

// The checker sees what is no skin.
const scene = inFolder("production.glb");
const other = inFolder("creature.glb");
support.run(scenes, ["production", "-o", scene, "--vertices", "2000"]);
support.run(scenes, ["creature", "-o", other, "--vertices", "1000"]);
assert.notEqual(difference(withoutSkins(scene), withoutSkins(other)), undefined);
await checkAll(scene, "production");
await check(scene, "production", ["prune", scene, "--threshold", "0.1", "--influences", "3"]);
await check(scene, "production", ["normalise", scene, "--weights-format", "u8"]);

// Onto a mesh without a rig: a file of its own, and one with nodes, cameras and morphs of its own.
support.run(pelt, ["convert", "-q", other, inFolder("bare.obj")]);
support.run(pelt, ["weights", "-q", "transfer", other, inFolder("bare.obj"), "-o", inFolder("onto.glb")]);
assert.deepEqual(complaints({ warnings: {} }, await validate(inFolder("onto.glb"))), []);
support.run(scenes, ["morph", "-o", inFolder("morph.glb")]);
support.run(pelt, ["weights", "-q", "transfer", other, inFolder("morph.glb"), "-o", inFolder("morphs.glb"), "--skeleton", "from"]);
assert.deepEqual(complaints({ warnings: {} }, await validate(inFolder("morphs.glb"))), []);
const [before, after] = ["morph.glb", "morphs.glb"].map((name) => support.readGltf(inFolder(name)).document);
assert.equal(after.meshes[0].primitives[0].targets.length, before.meshes[0].primitives[0].targets.length);
assert.equal(after.animations.length, before.animations.length + support.readGltf(other).document.animations.length);

// One character of each kind: all of them would take minutes.
const kinds = new Map(support.characterFiles().map((file) => [path.relative(support.data, file).split(path.sep)[0], file]));
for (const [kind, file] of kinds)
    if (support.readGltf(file).document.skins) await checkAll(file, `${kind}/${path.basename(file)}`);
console.log(`${count} files written`);
