// validator.mjs PELT PELT-SCENES: every real character goes through `pelt convert` to .glb, to .gltf and from there to .glb
// again. The Khronos validator must find no error and no warning that the source did not have, and what Pelt does not
// touch must come back equal. Scenes of Pelt's own must be without errors and warnings.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { makeFixture } from "./fixture.mjs";
import { check, complaints, validate } from "./gltf_check.mjs";
import * as support from "./support.mjs";

const [pelt, sceneMaker] = process.argv.slice(2);

/** A checker that accepts everything proves nothing: these must be rejected. */
async function checkTheChecker(folder) {
    const blob = Buffer.alloc(36);
    blob.writeFloatLE(1, 12);
    blob.writeFloatLE(1, 28);
    const document = {
        asset: { version: "2.0" },
        buffers: [{ byteLength: 36 }],
        bufferViews: [{ buffer: 0, byteLength: 36 }],
        accessors: [{ bufferView: 0, componentType: 5126, count: 3, type: "VEC3", min: [0, 0, 0], max: [1, 1, 0] }],
        materials: [{ name: "red", extras: { keep: [1, 2] } }],
        meshes: [{ primitives: [{ attributes: { POSITION: 0 }, material: 0 }] }],
        nodes: [{ mesh: 0 }],
        scenes: [{ nodes: [0] }],
        scene: 0,
    };
    const write = (name, change) => {
        const copy = structuredClone(document);
        change(copy);
        const file = path.join(folder, name);
        writeFileSync(file, support.makeGlb(copy, blob));
        return file;
    };
    const good = write("good.glb", () => {});
    assert.deepEqual(await check(good, good), [], "the checker rejects a good file");
    const bad = {
        "an accessor that leaves its view": (copy) => (copy.accessors[0].count = 4),
        "a wrong bound": (copy) => (copy.accessors[0].max[0] = 2),
        "a warning the source did not have": (copy) => (copy.nodes[0].skin = 0, copy.skins = [{ joints: [1] }], copy.nodes.push({}), copy.scenes[0].nodes.push(1)),
        "lost extras": (copy) => delete copy.materials[0].extras,
        "a changed material": (copy) => (copy.materials[0].alphaMode = "BLEND"),
        "a lost camera": (copy) => (copy.cameras = [{ type: "perspective", perspective: { yfov: 1, znear: 1 } }]),
    };
    for (const [what, change] of Object.entries(bad))
        assert.notDeepEqual(await check(good, write("bad.glb", change)), [], `the checker accepts ${what}`);
}

const folder = support.scratchFolder();
await checkTheChecker(folder);

let failures = 0;
function report(name, list) {
    for (const line of list) console.log(`${name}: ${line}`);
    failures += list.length > 0;
}

const scenes = support
    .run(sceneMaker, ["list"])
    .toString()
    .trim()
    .split("\n")
    .map((line) => line.split(" ")[0]);
for (const scene of scenes) {
    const file = path.join(folder, `${scene}.glb`);
    support.run(sceneMaker, [scene, "-o", file]);
    report(scene, complaints({ warnings: {} }, await validate(file)));
}

/** Through `pelt convert` four ways. */
async function convert(source, name) {
    try {
        const outputs = ["a.glb", "b.gltf", "c.glb"].map((file) => path.join(folder, file));
        support.run(pelt, ["convert", "-q", source, outputs[0]]);
        support.run(pelt, ["convert", "-q", source, outputs[1]]);
        support.run(pelt, ["convert", "-q", outputs[1], outputs[2]]);
        for (const [index, way] of ["to .glb", "to .gltf", "to .gltf to .glb"].entries())
            report(`${name} ${way}`, await check(source, outputs[index]));
        support.run(pelt, ["convert", "-q", "--order", "skin", source, outputs[0]]); // other accessors: not compared
        report(`${name} in skinning order`, complaints(await validate(source), await validate(outputs[0])));
    } catch (error) {
        report(name, [error.message.trim()]);
    }
}

const fixture = path.join(folder, "fixture.glb");
writeFileSync(fixture, makeFixture());
await convert(fixture, "fixture");
if (failures > 0) process.exit(1); // before a skip for want of characters could hide it
const files = support.characterFiles();
for (const file of files) await convert(file, path.relative(support.data, file));
console.log(`${files.length + 1} files converted four ways, ${scenes.length} scenes: ${failures} with complaints`);
process.exit(failures > 0 ? 1 : 0);
