// jiggle.mjs PELT SCENES: what `pelt jiggle` writes, seen by others. The Khronos validator must find no error and no warning
// in bones and in morphs; three must play them as near to the cache of the same flesh as the report says, and much nearer than
// the rig without flesh.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { complaints, errorOf, readPc2 } from "./shown.mjs";
import * as support from "./support.mjs";

const [pelt, scenes] = process.argv.slice(2);
const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);
const flesh = ["--particles", "400", "--preroll", "0.2"];

const [rig, cache] = [inFolder("troll.glb"), inFolder("troll.pc2")];
support.run(scenes, ["troll", "-o", rig, "--vertices", "800", "--frames", "16"]);
support.run(pelt, ["jiggle", "-q", rig, "-o", cache, ...flesh]);
const { radius } = JSON.parse(support.run(pelt, ["compare", rig, cache, "--json", "-"])).ball;
const frames = readPc2(cache);
const plain = await errorOf(rig, frames, 30, radius);

for (const [options, most] of [
    [["--add", "8", "--iterations", "6"], 0.4],
    [["--add", "4", "--iterations", "4", "--corrections", "4", "--rounds", "0"], 0.3],
    [["--bones", "20", "--iterations", "6", "--target", "web"], 0.4],
    [["--as", "morphs", "--corrections", "6"], 0.2],
]) {
    const [file, reportFile] = [inFolder("out.glb"), inFolder("report.json")];
    support.run(pelt, ["jiggle", "-q", rig, "-o", file, "--json", reportFile, ...flesh, ...options]);
    assert.deepEqual(await complaints(file), [], `${options.join(" ")}: the validator`);
    const { skin } = JSON.parse(readFileSync(reportFile));
    const told = skin.result?.error_rms ?? skin.error_rms;
    const seen = await errorOf(file, frames, 30, radius);
    console.log(`${options.join(" ")}: ${plain.toFixed(3)} without, reported ${told.toFixed(4)}, three ${seen.toFixed(4)}`);
    assert.ok(Math.abs(seen - told) <= 0.01 * told + 1e-3, `three sees ${seen}, not ${told}`);
    assert.ok(seen < most * plain, `${seen} of ${plain} is left`);
}

// Morphs on nodes that move: their meshes get a skin, and their nodes become joints. three makes a Bone of a joint and drops
// its morph weights, so no joint may have a mesh.
/** Two triangles on two nodes, the second below the first; the first one's morph comes and goes, the second one turns. */
function morphedNodes() {
    const lists = [
        [0, 0, 0, 1, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 1, 0, 0, 0.5],
        [0, 1, 2],
        [0, 1, 0],
        [0, 0, 0, 1, 0, 0, 0.6, 0.8, 0, 0, 0, 1],
    ];
    const floats = Float32Array.from(lists.flat());
    const accessor = (list, type, more) => ({ bufferView: list, componentType: 5126, type, count: lists[list].length / { SCALAR: 1, VEC3: 3, VEC4: 4 }[type], ...more });
    let at = 0;
    const bufferViews = lists.map(({ length }) => ({ buffer: 0, byteOffset: (at += 4 * length) - 4 * length, byteLength: 4 * length }));
    const channel = (sampler, node, path) => ({ sampler, target: { node, path } });
    return support.makeGlb(
        {
            asset: { version: "2.0" },
            scene: 0,
            scenes: [{ nodes: [0] }],
            nodes: [
                { name: "face", mesh: 0, weights: [0.5], children: [1] },
                { name: "eye", mesh: 1, translation: [2, 0, 0] },
            ],
            meshes: [{ primitives: [{ attributes: { POSITION: 0 }, targets: [{ POSITION: 1 }] }] }, { primitives: [{ attributes: { POSITION: 0 } }] }],
            accessors: [
                accessor(0, "VEC3", { min: [0, 0, 0], max: [1, 1, 0] }),
                accessor(1, "VEC3", { min: [0, 0, 0], max: [0, 0, 1] }),
                accessor(2, "SCALAR", { min: [0], max: [2] }),
                accessor(3, "SCALAR"),
                accessor(4, "VEC4"),
            ],
            animations: [
                {
                    samplers: [{ input: 2, output: 3 }, { input: 2, output: 4 }],
                    channels: [channel(0, 0, "weights"), channel(1, 1, "rotation")],
                },
            ],
            bufferViews,
            buffers: [{ byteLength: floats.byteLength }],
        },
        Buffer.from(floats.buffer),
    );
}
const [faces, helped] = [inFolder("faces.glb"), inFolder("helped.glb")];
writeFileSync(faces, morphedNodes());
support.run(pelt, ["bake", "-q", faces, "-o", cache, "--fps", "30"]);
support.run(pelt, ["jiggle", "-q", faces, "-o", helped, "--delta", "0"]);
const { document } = support.readGltf(helped);
assert.ok(document.skins.length > 0);
for (const { joints } of document.skins) for (const joint of joints) assert.equal(document.nodes[joint].mesh, undefined, `joint ${joint} has a mesh`);
assert.deepEqual(document.nodes.flatMap(({ mesh }) => mesh ?? []), [0, 1], "meshes keep their order");
assert.deepEqual(await complaints(helped), [], "the validator on morphs with helper bones");
const off = await errorOf(helped, readPc2(cache), 30, 1);
console.log(`morphs on joints: three ${off.toFixed(4)}`);
assert.ok(off < 0.01, `three is off by ${off}`);
