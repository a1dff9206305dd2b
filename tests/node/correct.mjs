// correct.mjs PELT SCENES: what `pelt correct` writes, seen by others. The Khronos validator must find no error and no
// warning; E_rms recomputed from the GLB by three, morphs and skin, must equal the report to 1 %; targets that are mostly
// zero are sparse with --sparse. Weights of all keys lie in [0, 1]. Targets for normals alone move nothing in three and
// shade as reported; if one target has normals, all have.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { complaints, errorOf, readPc2, shadingErrorOf, trianglesOfPoints, verticesOfPoints, withoutNormals } from "./shown.mjs";
import * as support from "./support.mjs";

const [pelt, scenes] = process.argv.slice(2);
const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);

/** Corrects a rig by a cache of its own vertices, validates, and compares three's error with the report's. */
async function check(name, rig, cache, options) {
    const file = inFolder("out.glb");
    const report = inFolder("report.json");
    support.run(pelt, ["correct", "-q", rig, cache, "-o", file, "--json", report, ...options]);
    assert.deepEqual(await complaints(file), [], `${name}: the validator`);
    const { error_rms: told, errors, rank } = JSON.parse(readFileSync(report));
    const { radius } = JSON.parse(support.run(pelt, ["compare", rig, cache, "--json", "-"])).ball;
    const seen = await errorOf(file, readPc2(cache), 30, radius);
    console.log(`${name} ${options.join(" ")}: ${errors[0].toFixed(3)} without, reported ${told.toFixed(4)}, three ${seen.toFixed(4)}`);
    assert.ok(Math.abs(seen - told) <= 0.01 * told + 1e-3, `${name}: three sees ${seen}`);
    const { meshes } = support.readGltf(file).document;
    for (const { targets } of meshes.flatMap(({ primitives }) => primitives)) {
        const shaded = targets.filter(({ NORMAL }) => NORMAL !== undefined).length;
        assert.ok(shaded === 0 || shaded === targets.length, `${name}: ${shaded} of ${targets.length} targets have normals`);
    }
    const corrections = ({ extras }) => extras.targetNames.filter((text) => /^correction \d+$/.test(text)).length;
    assert.ok(meshes.every((mesh) => corrections(mesh) === rank));
    const weights = weightsOf(file);
    assert.ok(weights.length > 0 && weights.every((value) => value >= 0 && value <= 1), `${name}: weights leave [0, 1]`);
    return file;
}

/** All morph weights of all animations of a GLB that Pelt wrote. */
function weightsOf(file) {
    const { document, buffer } = support.readGltf(file);
    const outputs = document.animations.flatMap(({ channels, samplers }) =>
        channels.filter(({ target }) => target.path === "weights").map(({ sampler }) => document.accessors[samplers[sampler].output]),
    );
    const bytes = buffer(0);
    return outputs.flatMap(({ bufferView, count }) => {
        const at = bytes.byteOffset + (document.bufferViews[bufferView].byteOffset ?? 0);
        return [...new Float32Array(bytes.buffer.slice(at, at + 4 * count))];
    });
}

/** A copy of a cache with a bump that comes and goes at a few points. */
function bumped(cache, out) {
    const bytes = readFileSync(cache);
    const [points, frames] = [bytes.readInt32LE(16), bytes.readInt32LE(28)];
    for (let k = 0; k < frames; k++)
        for (let p = 0; p < 12; p++) {
            const at = 32 + 12 * (points * k + p) + 4;
            bytes.writeFloatLE(bytes.readFloatLE(at) + 0.1 * Math.sin(k), at);
        }
    writeFileSync(out, bytes);
}

for (const scene of ["creature", "production"]) {
    const [rig, cache, few] = [inFolder(`${scene}.glb`), inFolder(`${scene}.pc2`), inFolder("few.glb")];
    support.run(scenes, [scene, "-o", rig, "--vertices", "800", "--frames", "12"]);
    support.run(pelt, ["bake", "-q", rig, "-o", cache]);
    support.run(pelt, ["decompose", "-q", rig, "-o", few, "--bones", "4", "--iterations", "2"]);
    for (const options of [["--rank", "3"], ["--rank", "3", "--normals"], ["--rank", "3", "--normal-rank", "2"], ["--rank", "3", "--basis", "rest"]])
        await check(scene, few, cache, options);
    if (scene !== "creature") continue; // parts of few vertices are not worth it
    // Where the rig itself is right but for a few vertices, sparse targets name only these.
    bumped(cache, inFolder("bumped.pc2"));
    for (const options of [[], ["--sparse"]]) {
        const { document } = support.readGltf(await check(`${scene}, bumped`, rig, inFolder("bumped.pc2"), ["--rank", "1", ...options]));
        for (const { POSITION } of document.meshes.flatMap(({ primitives }) => primitives.flatMap(({ targets }) => targets))) {
            const { bufferView, sparse } = document.accessors[POSITION];
            assert.equal(sparse !== undefined && bufferView === undefined, options.length > 0, "sparse only where asked for");
            if (sparse) assert.ok(sparse.count >= 12 && sparse.count <= 60, `${sparse.count} displacements are named`); // rounding of the cache may show elsewhere
        }
    }
}

// Shading: the normals of three's shader against those of the animation's triangles, as told.
{
    const [mesh, cache, rig, file, report] = ["hare.obj", "hare.pc2", "hare.glb", "shaded.glb", "report.json"].map(inFolder);
    support.run(scenes, ["softbody", "-o", mesh, "--vertices", "600", "--frames", "16"]);
    withoutNormals(mesh);
    support.run(pelt, ["convert", "-q", mesh, inFolder("mesh.glb")]);
    support.run(pelt, ["decompose", "-q", mesh, cache, "-o", rig, "--bones", "4", "--iterations", "3"]);
    const [frames, vertices] = [readPc2(cache), verticesOfPoints(mesh, inFolder("mesh.glb"))];
    const seen = [];
    for (const options of [[], ["--normals"], ["--normal-rank", "3"], ["--normals", "--normal-rank", "3"]]) {
        support.run(pelt, ["correct", "-q", rig, mesh, cache, "-o", file, "--rank", "3", "--json", report, ...options]);
        assert.deepEqual(await complaints(file), [], "the validator");
        const { skinned_normal_degrees: told } = JSON.parse(readFileSync(report));
        seen.push(await shadingErrorOf(file, frames, 30, trianglesOfPoints(mesh), vertices));
        console.log(`shading ${options.join(" ")}: reported ${told.toFixed(3)}°, three ${seen.at(-1).toFixed(3)}°`);
        assert.ok(Math.abs(seen.at(-1) - told) < 0.01 * told + 0.01, `three shades with ${seen.at(-1)}°`);
    }
    assert.ok(seen[1] < 0.9 * seen[0] && seen[2] < 0.9 * seen[0] && seen[3] < 0.9 * Math.min(seen[1], seen[2]));
}
