// simplify.mjs PELT SCENES TOOL_POSE: what `pelt simplify` writes, seen by others. The Khronos validator must find no error
// and no warning that the source did not have, three must pose every vertex as Pelt does, attributes that Pelt does not know
// must be those of the vertices that stayed, and levels in one file must each be a mesh that plays: three poses them too. On
// scenes, with corrections too, and on one real character of each kind, where they are.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { complaints, validate } from "./gltf_check.mjs";
import * as support from "./support.mjs";

const [pelt, scenes, tool] = process.argv.slice(2);
const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);
const three = fileURLToPath(new URL("three.mjs", import.meta.url));
let written = [];
let number = 0;

function poseAsThree() {
    process.stdout.write(support.run(process.execPath, [three, tool, ...written]));
    written = [];
}

function simplify(source, file, args) {
    const common = ["simplify", source, "-o", file, "--json", "-", "--frames", "2"];
    return JSON.parse(support.run(pelt, [...common, ...args]));
}

/** A glTF file with its bytes as a data URI. */
function writeGltf(file, document, bytes) {
    const buffers = [{ byteLength: bytes.length, uri: `data:application/octet-stream;base64,${bytes.toString("base64")}` }];
    writeFileSync(file, JSON.stringify({ ...document, buffers }));
}

const trianglesOf = (document, mesh) =>
    document.meshes[mesh].primitives.reduce((sum, { indices }) => sum + document.accessors[indices].count / 3, 0);

/** One level of a file with several, as a file that shows it. */
function onlyLevel({ document, buffer }, level, file) {
    const shown = structuredClone(document);
    shown.nodes.forEach((node) => {
        const id = node.extensions?.MSFT_lod?.ids[level - 1];
        if (id === undefined) return;
        const { mesh, skin } = shown.nodes[id];
        Object.assign(node, { mesh }, skin === undefined ? {} : { skin });
    });
    writeGltf(file, shown, buffer(0));
}

/** What must hold of a file with levels. */
function checkLevels(file, count, name) {
    const gltf = support.readGltf(file);
    const { document } = gltf;
    const fine = document.nodes.filter((node) => node.extensions?.MSFT_lod);
    const shown = new Set((document.scenes ?? []).flatMap(({ nodes }) => nodes ?? []));
    const children = new Set(document.nodes.flatMap((node) => node.children ?? []));
    assert.ok(fine.length > 0 && document.extensionsUsed.includes("MSFT_lod"), name);
    let before = Infinity;
    for (let level = 0; level < count; level++) {
        const nodes = fine.map((node) => (level ? document.nodes[node.extensions.MSFT_lod.ids[level - 1]] : node));
        const triangles = nodes.reduce((sum, { mesh }) => sum + trianglesOf(document, mesh), 0);
        assert.ok(triangles < 0.65 * before, `${name}: level ${level} has ${triangles} triangles after ${before}`);
        before = triangles;
    }
    for (const [index, node] of document.nodes.entries()) {
        const ids = node.extensions?.MSFT_lod?.ids ?? [];
        assert.ok(ids.length === 0 || ids.length === count - 1, name);
        assert.equal(node.extras?.MSFT_screencoverage?.length ?? count, count);
        for (const id of ids) {
            assert.ok(!shown.has(id) && !children.has(id), `${name}: a level stands in the scene`);
            assert.equal(document.nodes[id].skin === undefined, node.skin === undefined);
            const weights = (target) =>
                (document.animations ?? []).flatMap(({ channels }) => channels.filter((c) => c.target.node === target && c.target.path === "weights"));
            assert.equal(weights(id).length, weights(index).length, `${name}: morphs of a level do not play`);
        }
    }
    for (let level = 1; level < count; level++) {
        onlyLevel(gltf, level, inFolder(`${number}_${level}.gltf`));
        written.push(inFolder(`${number}_${level}.gltf`));
    }
}

async function check(source, name) {
    const before = await validate(source);
    const one = inFolder(`${++number}.glb`);
    const lods = inFolder(`${number}_lods.glb`);
    const { levels, triangles_before: all } = simplify(source, one, ["--ratio", "0.4"]);
    assert.ok(levels[0].triangles < 0.8 * all, `${name}: ${levels[0].triangles} of ${all} triangles are left`);
    assert.deepEqual(complaints(before, await validate(one)), [], name);
    written.push(one);
    simplify(source, lods, ["--lods", "3", "--one-file"]);
    assert.deepEqual(complaints(before, await validate(lods)), [], `${name}, levels`);
    checkLevels(lods, 3, name);
}

for (const name of ["creature", "production", "morph"]) {
    const scene = inFolder(`${name}.glb`);
    support.run(scenes, [name, "-o", scene, "--vertices", "800", "--frames", "12"]);
    await check(scene, name);
}
// With morph targets of corrections.
const [hare, cache] = [inFolder("hare.obj"), inFolder("hare.pc2")];
support.run(scenes, ["softbody", "-o", hare, "--vertices", "400", "--frames", "10"]);
support.run(pelt, ["decompose", "-q", hare, cache, "-o", inFolder("hare.glb"), "--bones", "4", "--iterations", "2", "--corrections", "3"]);
await check(inFolder("hare.glb"), "corrected");
poseAsThree();

// Attributes and materials that the model does not hold: a number for every vertex that is its own, and stays that.
const { document, buffer } = support.readGltf(inFolder("production.glb"));
const bytes = [buffer(0)];
document.meshes.forEach(({ primitives }) =>
    primitives.forEach(({ attributes }) => {
        const { count } = document.accessors[attributes.TEXCOORD_0];
        const ids = Buffer.from(Uint16Array.from({ length: 4 * count }, (_, n) => (n % 4 ? 7 * n : n / 4)).buffer);
        document.bufferViews.push({ buffer: 0, byteOffset: bytes.reduce((sum, { length }) => sum + length, 0), byteLength: ids.length });
        document.accessors.push({ bufferView: document.bufferViews.length - 1, componentType: 5123, type: "VEC4", count, normalized: true });
        attributes.COLOR_0 = document.accessors.length - 1;
        attributes._UV = attributes.TEXCOORD_0;
        bytes.push(ids);
    }),
);
writeGltf(inFolder("coloured.gltf"), document, Buffer.concat(bytes));
simplify(inFolder("coloured.gltf"), inFolder("coloured.glb"), ["--ratio", "0.3"]);
const after = support.readGltf(inFolder("coloured.glb"));
const read = (gltf, index, Type, width, vertex) => {
    const { bufferView, byteOffset = 0 } = gltf.document.accessors[index];
    const view = gltf.document.bufferViews[bufferView];
    const stride = view.byteStride ?? width * Type.BYTES_PER_ELEMENT;
    const start = (view.byteOffset ?? 0) + byteOffset + stride * vertex;
    return [...new Type(Uint8Array.from(gltf.buffer(0).subarray(start, start + width * Type.BYTES_PER_ELEMENT)).buffer)];
};
const source = support.readGltf(inFolder("coloured.gltf"));
let looked = 0;
after.document.meshes.forEach(({ primitives }, mesh) =>
    primitives.forEach(({ attributes, material }, p) => {
        const old = source.document.meshes[mesh].primitives[p];
        assert.equal(material, old.material);
        assert.equal(after.document.accessors[attributes.COLOR_0].normalized, true);
        for (let vertex = 0; vertex < after.document.accessors[attributes.COLOR_0].count; vertex++, looked++) {
            const colour = read(after, attributes.COLOR_0, Uint16Array, 4, vertex);
            const from = colour[0];
            assert.deepEqual(colour, read(source, old.attributes.COLOR_0, Uint16Array, 4, from));
            assert.deepEqual(read(after, attributes._UV, Float32Array, 2, vertex), read(source, old.attributes.TEXCOORD_0, Float32Array, 2, from));
            assert.deepEqual(read(after, attributes.WEIGHTS_0, Float32Array, 4, vertex), read(source, old.attributes.WEIGHTS_0, Float32Array, 4, from));
        }
    }),
);
assert.ok(looked > 100);

const kinds = new Map(support.characterFiles().map((file) => [path.relative(support.data, file).split(path.sep)[0], file]));
for (const [kind, file] of kinds)
    if (support.readGltf(file).document.skins) await check(file, `${kind}/${path.basename(file)}`);
poseAsThree();
