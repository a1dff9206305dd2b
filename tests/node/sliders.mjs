// sliders.mjs PELT SCENES: a face whose morph targets became bones. The Khronos validator must find nothing in the file, and its
// sliders must come through Pelt as they were. For random values web/src/sliders.ts must move three's scene as `pelt pose --slider`
// does, and three must play the animation of each slider to the same shape.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { validate } from "./gltf_check.mjs";
import * as support from "./support.mjs";
import { drawn, positionsAt, worldPositions } from "./three_positions.mjs";

const [pelt, scenes] = process.argv.slice(2);
const esbuild = await support.need("esbuild");
const { GLTFLoader } = await support.need("three/examples/jsm/loaders/GLTFLoader.js");
const source = readFileSync(path.join(support.root, "web/src/sliders.ts"), "utf8");
const { code } = await esbuild.transform(source, { loader: "ts", format: "esm" });
const { Sliders, readSliders } = await import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`);

const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);
const random = support.seededRandom(3);

support.run(scenes, ["face", "-o", inFolder("face.glb"), "--vertices", "900", "--sliders", "12", "--frames", "8"]);
const file = inFolder("bones.glb");
support.run(pelt, ["decompose", "-q", inFolder("face.glb"), "--sliders", "--bones", "20", "--morphs", "1", "-o", file]);
assert.deepEqual(await validate(file), { errors: {}, warnings: {} });
support.run(pelt, ["convert", "-q", file, inFolder("again.glb")]);
assert.deepEqual(support.readGltf(inFolder("again.glb")).document.extras, support.readGltf(file).document.extras);

const bytes = readFileSync(file);
const gltf = await new GLTFLoader().parseAsync(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), "");
const nodes = await Promise.all(gltf.parser.json.nodes.map((_, node) => gltf.parser.getDependency("node", node)));
const sliders = new Sliders(readSliders(gltf.userData));
const drive = sliders.bind((node) => nodes[node]);
assert.equal(sliders.names.length, 12);
assert.equal(readSliders({ pelt_sliders: { ...gltf.userData.pelt_sliders, version: 2 } }), undefined);
const broken = structuredClone(gltf.userData.pelt_sliders);
broken.sliders.find(({ moves }) => moves.length > 0).moves[0].joint = broken.joints.length;
assert.equal(readSliders({ pelt_sliders: broken }), undefined);

const objects = drawn(gltf);
const shown = () => worldPositions(gltf, objects);

/** Largest difference of coordinates from those of `pelt pose` with these values, relative to the size. */
function off(values, positions) {
    const given = Object.entries(values).flatMap(([name, value]) => ["--slider", `${name}=${value}`]);
    support.run(pelt, ["pose", "-q", file, ...given, "-o", inFolder("posed.glb")]);
    const wanted = support.positionsOf(inFolder("posed.glb"));
    assert.equal(positions.length, wanted.length);
    const size = Math.max(...wanted) - Math.min(...wanted);
    return wanted.reduce((most, x, e) => Math.max(most, Math.abs(x - positions[e]) / size), 0);
}

let [worst, played] = [0, 0];
for (let n = 0; n < 8; n++) {
    const values = Object.fromEntries(sliders.names.filter(() => random() < 0.7).map((name) => [name, Math.fround(1.5 * random() - 0.2)]));
    drive(values);
    worst = Math.max(worst, off(values, shown()));
}
assert(worst <= 1e-6, `three with sliders.ts differs from pelt pose by ${worst} of the size`);
drive();
const rest = off({ [sliders.names[0]]: 0 }, shown());
assert(rest <= 1e-6, `after drive() the rest pose differs by ${rest} of the size`);

for (const name of sliders.names) {
    const clip = gltf.animations.find((animation) => animation.name === name);
    assert(clip, `there is no animation for slider ${name}`);
    for (const time of [0.5, 1]) played = Math.max(played, off({ [name]: time }, positionsAt(gltf, objects, clip, time)));
}
assert(played <= 3e-4, `three plays a slider's animation ${played} of the size away`);
console.log(`sliders.ts and pelt pose differ by ${worst.toExponential(1)} of the size, animations by ${played.toExponential(1)}`);
