// decompose.mjs PELT SCENES: what `pelt decompose` writes, seen by others. The Khronos validator must find no error and no
// warning; E_rms, and the angles of normals as three's shader skins them, recomputed from the GLB by three must equal the
// report to 1 %; materials, UVs, images, cameras, and names
// of a glTF source must still be there. On generated scenes always, on the bench data where it is.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { complaints, errorOf, load, readPc2, shadingErrorOf, trianglesOfPoints, verticesOfPoints, withoutNormals } from "./shown.mjs";
import * as support from "./support.mjs";

const [pelt, scenes] = process.argv.slice(2);
const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);

/** Decomposes, validates, and compares three's error with the report's. */
async function check(name, mesh, cache, options, fps = 30) {
    const file = inFolder("out.glb");
    const reportFile = inFolder("report.json");
    support.run(pelt, ["decompose", "-q", mesh, cache, "-o", file, "--json", reportFile, ...options]);
    assert.deepEqual(await complaints(file), [], `${name}: the validator`);
    const { result } = JSON.parse(readFileSync(reportFile));
    const ball = JSON.parse(support.run(pelt, ["compare", mesh, cache, cache, "--json", "-"])).ball;
    support.run(pelt, ["convert", "-q", mesh, inFolder("mesh.glb")]);
    const frames = readPc2(cache);
    const vertices = verticesOfPoints(mesh, inFolder("mesh.glb"));
    const error = await errorOf(file, frames, fps, ball.radius, vertices);
    const degrees = await shadingErrorOf(file, frames, fps, trianglesOfPoints(mesh), vertices);
    console.log(
        `${name} ${options.join(" ")}: reported ${result.error_rms.toFixed(4)}, ${result.skinned_normal_degrees.toFixed(3)}°; three ${error.toFixed(4)}, ${degrees.toFixed(3)}°`,
    );
    assert.ok(Math.abs(error - result.error_rms) <= 0.01 * result.error_rms, `${name}: three sees ${error}`);
    assert.ok(Math.abs(degrees - result.skinned_normal_degrees) <= 0.01 * degrees, `${name}: three shades with an error of ${degrees}°`);
    return { degrees, result };
}

/** A quad with a texture, morphs, a camera, a second mesh and moved nodes. */
function makeSource() {
    const floats = Float32Array.of(
        0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, // positions
        0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, // normals
        0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, // morph
        0, 0, 1, 0, 1, 1, 0, 1, // uvs
        0, 1, 2, // times
        0, 1, 0.25, // weights
        1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, // tangents
    );
    const indices = Uint16Array.of(0, 1, 2, 0, 2, 3);
    const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==", "base64");
    const blob = Buffer.concat([Buffer.from(floats.buffer), Buffer.from(indices.buffer), png]);
    const start = floats.byteLength;
    const vec = (type, offset, count, more = {}) => ({ bufferView: 0, byteOffset: 4 * offset, componentType: 5126, count, type, ...more });
    const bounds = (count, offset) => {
        const rows = Array.from({ length: count }, (_, i) => [...floats.subarray(offset + 3 * i, offset + 3 * i + 3)]);
        return { min: [0, 1, 2].map((c) => Math.min(...rows.map((r) => r[c]))), max: [0, 1, 2].map((c) => Math.max(...rows.map((r) => r[c]))) };
    };
    const primitive = { attributes: { POSITION: 0, NORMAL: 1, TEXCOORD_0: 3, TANGENT: 7 }, indices: 6, material: 0, targets: [{ POSITION: 2 }] };
    const document = {
        asset: { version: "2.0" },
        scene: 0,
        scenes: [{ nodes: [0, 3] }],
        nodes: [
            { name: "place", translation: [3, 0, 0], children: [1, 2] },
            { name: "flap node", mesh: 0, rotation: [0, Math.SQRT1_2, 0, Math.SQRT1_2] },
            { name: "other node", mesh: 1, scale: [2, 2, 2] },
            { name: "eye", camera: 0, translation: [0, 0, 9] },
        ],
        cameras: [{ type: "perspective", perspective: { yfov: 1, znear: 0.1 } }],
        meshes: [
            { name: "flap", primitives: [primitive], extras: { targetNames: ["lift"] } },
            { name: "other", primitives: [structuredClone(primitive)] },
        ],
        materials: [{ name: "painted", normalTexture: { index: 0 }, pbrMetallicRoughness: { baseColorTexture: { index: 0 } } }],
        textures: [{ source: 0 }],
        images: [{ name: "paint", mimeType: "image/png", bufferView: 2 }],
        animations: [
            {
                name: "lift",
                samplers: [{ input: 4, output: 5 }],
                channels: [1, 2].map((node) => ({ sampler: 0, target: { node, path: "weights" } })),
            },
        ],
        accessors: [
            vec("VEC3", 0, 4, bounds(4, 0)),
            vec("VEC3", 12, 4),
            vec("VEC3", 24, 4, bounds(4, 24)),
            vec("VEC2", 36, 4),
            vec("SCALAR", 44, 3, { min: [0], max: [2] }),
            vec("SCALAR", 47, 3),
            { bufferView: 1, componentType: 5123, count: 6, type: "SCALAR" },
            vec("VEC4", 50, 4),
        ],
        bufferViews: [
            { buffer: 0, byteLength: start },
            { buffer: 0, byteOffset: start, byteLength: 12 },
            { buffer: 0, byteOffset: start + 12, byteLength: png.length },
        ],
        buffers: [{ byteLength: blob.length }],
    };
    return support.makeGlb(document, blob);
}

/** What a source has beside its animation stays; the animation is another. */
async function checkSource() {
    const source = inFolder("source.glb");
    const file = inFolder("kept.glb");
    writeFileSync(source, makeSource());
    support.run(pelt, ["decompose", "-q", source, "-o", file, "--bones", "2"]);
    assert.deepEqual(await complaints(file), [], "the validator");
    const [before, after] = [source, file].map((name) => support.readGltf(name));
    for (const key of ["materials", "textures", "cameras"]) assert.deepEqual(after.document[key], before.document[key], key);
    assert.equal(after.document.images[0].name, "paint");
    assert.deepEqual(after.document.meshes.map(({ name }) => name), ["flap", "other"]);
    for (const { primitives, extras, weights } of after.document.meshes) {
        assert.ok(!primitives[0].targets && !weights && !extras?.targetNames, "morphs are gone");
        assert.deepEqual(Object.keys(primitives[0].attributes).sort(), ["JOINTS_0", "NORMAL", "POSITION", "TANGENT", "TEXCOORD_0", "WEIGHTS_0"]);
        assert.equal(primitives[0].material, 0);
    }
    const nodes = after.document.nodes;
    for (const name of ["flap node", "other node", "eye"]) assert.ok(nodes.some((node) => node.name === name), name);
    for (const node of nodes)
        if (node.mesh !== undefined) assert.ok(!node.translation && !node.rotation && !node.scale && !node.matrix, "a moved skin");
    assert.deepEqual(after.document.animations.map(({ name }) => name), ["lift"]);
    const { animations } = await load(file);
    assert.equal(animations[0].duration, 2);
    const difference = JSON.parse(support.run(pelt, ["compare", source, file, "--json", "-"]));
    assert.ok(difference.error_rms < 0.1, `E_rms ${difference.error_rms}`);
}

await checkSource();
for (const [scene, frames] of [["cloth", 20], ["softbody", 20]]) {
    support.run(scenes, [scene, "-o", inFolder(`${scene}.obj`), "--vertices", "600", "--frames", `${frames}`]);
    withoutNormals(inFolder(`${scene}.obj`));
    for (const kind of ["affine", "trs", "rigid"])
        for (const format of ["u16", "u8"])
            await check(scene, inFolder(`${scene}.obj`), inFolder(`${scene}.pc2`), ["--bones", "8", "--iterations", "5", "--transforms", kind, "--weights-format", format]);
    await check(scene, inFolder(`${scene}.obj`), inFolder(`${scene}.pc2`), ["--bones", "8", "--iterations", "5", "--corrections", "4", "--rounds", "2"]);
}
// A rig: its frames are baked to have something to compare with.
support.run(scenes, ["creature", "-o", inFolder("creature.glb"), "--vertices", "800", "--frames", "15"]);
support.run(pelt, ["bake", "-q", inFolder("creature.glb"), "-o", inFolder("creature.pc2"), "--mesh", inFolder("creature.obj")]);
withoutNormals(inFolder("creature.obj"));
await check("creature", inFolder("creature.obj"), inFolder("creature.pc2"), ["--bones", "12", "--iterations", "5"]);
const bench = path.join(support.data, "bench");
if (!existsSync(bench)) console.log(`no bench data at ${bench} (PELT_DATA says where)`);
else
    for (const [name, bones] of [["horse-gallop", "30"], ["elastic-cow", "18"]])
        for (const more of [[], ["--corrections", "4", "--rounds", "2"]])
            await check(name, path.join(bench, `${name}.obj`), path.join(bench, `${name}.pc2`), ["--bones", bones, "--iterations", "4", ...more]);
