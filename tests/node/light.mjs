// light.mjs PELT SCENES: what `pelt light` writes, seen by others. The Khronos validator must find no error and no warning that
// the source did not have, and three must load the patterns as morphs of colour and play their weights: colours as its
// shader adds them up are light at all times, and change.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { complaints, validate } from "./gltf_check.mjs";
import * as support from "./support.mjs";

const [pelt, scenes] = process.argv.slice(2);
const THREE = await support.need("three");
const { GLTFLoader } = await support.need("three/examples/jsm/loaders/GLTFLoader.js");
const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);

/** Colours of all vertices of a mesh as three's shader (morphcolor_vertex) has them; targets are relative. */
function colours(mesh) {
    const { attributes, morphAttributes, morphTargetsRelative } = mesh.geometry;
    assert.ok(morphTargetsRelative && mesh.material.vertexColors);
    assert.equal(morphAttributes.color.length, mesh.morphTargetInfluences.length);
    const out = Float64Array.from(attributes.color.array);
    morphAttributes.color.forEach(({ array }, m) => array.forEach((value, e) => (out[e] += mesh.morphTargetInfluences[m] * value)));
    return out;
}

async function check(name, args) {
    const [source, file] = [inFolder(`${name}.glb`), inFolder(`${name}_lit.glb`)];
    support.run(scenes, [name, "-o", source, "--vertices", "500", "--frames", "12"]);
    const report = JSON.parse(support.run(pelt, ["light", source, "-o", file, "--directions", "64", "--json", "-", ...args]));
    assert.deepEqual(complaints(await validate(source), await validate(file)), [], name);
    const bytes = readFileSync(file);
    const gltf = await new GLTFLoader().parseAsync(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), "");
    const [clip] = gltf.animations;
    const mixer = new THREE.AnimationMixer(gltf.scene);
    mixer.clipAction(clip).play();
    let [sum, count, moved] = [0, 0, 0];
    const first = new Map();
    for (let k = 0; k <= 8; k++) {
        mixer.setTime((clip.duration * k) / 8.001);
        gltf.scene.traverse((mesh) => {
            if (!mesh.isMesh) return;
            const now = colours(mesh);
            if (!first.has(mesh)) first.set(mesh, now);
            now.forEach((value, e) => {
                assert.ok(value > -report.error_max - 1e-4 && value < 1 + report.error_max + 1e-4, `${name}: colour ${value}`);
                sum += value;
                count++;
                moved = Math.max(moved, Math.abs(value - first.get(mesh)[e]));
            });
        });
    }
    assert.ok(Math.abs(sum / count - report.mean) < 0.05, `${name}: mean ${sum / count}, Pelt says ${report.mean}`);
    assert.ok(moved > 0.05, `${name}: nothing changes`);
}

await check("troll", []);
await check("morph", ["--kind", "sky"]); // beside morphs that move vertices
await check("production", ["--factors", "svd"]); // several nodes
