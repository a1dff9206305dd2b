// draco.mjs PELT PELT-SCENES TOOL_POSE [FILE…]: scenes and real characters (or these files), compressed with
// KHR_draco_mesh_compression in both ways that Draco has. What `pelt convert` writes of them must be what Google's decoder
// reads, near to what was compressed, without the extension, and valid; and what three poses Pelt must pose.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { BITS, compress, decodeFile, kindOf, readAccessor } from "./draco_codec.mjs";
import { complaints, validate } from "./gltf_check.mjs";
import * as support from "./support.mjs";

const [pelt, sceneMaker, tool, ...given] = process.argv.slice(2);
const SCENES = ["creature", "production", "morph"];
const CHARACTERS = 6; // of the real ones: evenly spread

/** The arrays of every primitive of a plain file. */
function arraysOf(file) {
    const source = support.readGltf(file);
    return source.document.meshes
        .flatMap(({ primitives }) => primitives)
        .map(({ attributes, indices }) => ({
            indices: indices === undefined ? undefined : readAccessor(source, indices),
            attributes: Object.fromEntries(Object.entries(attributes).map(([name, index]) => [name, readAccessor(source, index)])),
        }));
}

/** The largest difference of two arrays; NaN when they are not as long or hold no numbers. */
function distance(a, b) {
    if (a?.length !== b?.length) return NaN;
    let largest = 0;
    for (let i = 0; i < a.length; i++) {
        const off = Math.abs(a[i] - b[i]);
        if (!(off <= largest)) largest = off;
    }
    return largest;
}

/** Weights that sum to one over all sets, as Pelt makes them; in place. */
function normalise(attributes) {
    const sets = Object.entries(attributes).filter(([name]) => name.startsWith("WEIGHTS")).map(([, array]) => array);
    if (!sets.every((array) => array instanceof Float32Array)) return;
    for (let v = 0; v < (sets[0]?.length ?? 0); v += 4) {
        let sum = 0;
        for (const array of sets) for (let k = v; k < v + 4; k++) sum += array[k];
        for (const array of sets) for (let k = v; k < v + 4; k++) array[k] /= sum || 1;
    }
}

/** How far values may be from those that were compressed. */
function tolerance(name, values) {
    if (!(values instanceof Float32Array)) return 0;
    if (name === "NORMAL" || name === "TANGENT") return 8 / 2 ** BITS[kindOf(name)];
    let low = Infinity;
    let high = -Infinity;
    for (const value of values) {
        low = Math.min(low, value);
        high = Math.max(high, value);
    }
    // Weights are made to sum to 1 again.
    return ((name.startsWith("WEIGHTS") ? 4 : 1) * (high - low) + 1e-6) / 2 ** BITS[kindOf(name)];
}

/** What Pelt made of a compressed file against the decoder and, where the order was kept, the file before. Joints without
 * weight are joint 0. */
function compareArrays(packed, written, source) {
    const list = [];
    const [theirs, ours, before] = [decodeFile(packed), arraysOf(written), source && arraysOf(source)];
    for (const [p, primitive] of theirs.entries()) {
        if (!primitive) continue;
        normalise(Object.fromEntries(Object.entries(primitive.attributes).map(([name, { array }]) => [name, array])));
        if (before) normalise(before[p].attributes);
        if (distance(primitive.indices, ours[p].indices) !== 0) list.push(`primitive ${p}: other indices than the decoder's`);
        for (const [name, { array }] of Object.entries(primitive.attributes)) {
            const weights = name.startsWith("WEIGHTS");
            const unit = name === "NORMAL" || name === "TANGENT";
            const most = weights ? 1e-6 : unit ? 0.01 : 0;
            const weight = ours[p].attributes[name.replace("JOINTS", "WEIGHTS")];
            const used = (values) => (name.startsWith("JOINTS") ? values.map((j, i) => (weight[i] ? j : 0)) : values);
            const off = distance(used(array), ours[p].attributes[name]);
            if (!(off <= most)) list.push(`primitive ${p}: ${name} is ${off} from the decoder's`);
            if (!before || primitive.attributes.POSITION.array.length !== before[p].attributes.POSITION.length) continue;
            const far = distance(used(before[p].attributes[name]), ours[p].attributes[name]);
            if (!(far <= tolerance(name, before[p].attributes[name]))) list.push(`primitive ${p}: ${name} is ${far} from the source's`);
        }
    }
    return list;
}

const folder = support.scratchFolder();
let failures = 0;
let primitives = 0;
const packedFiles = [];

async function compareFile(source, name) {
    for (const sequential of [false, true]) {
        const what = `${name}, ${sequential ? "sequential" : "edgebreaker"}`;
        try {
            const packed = path.join(folder, `${packedFiles.length}.glb`);
            const written = path.join(folder, "written.glb");
            const { glb, count } = compress(source, sequential);
            if (count === 0) continue;
            writeFileSync(packed, glb);
            packedFiles.push(packed);
            primitives += count;
            support.run(pelt, ["convert", "-q", packed, written]);
            const { document } = support.readGltf(written);
            const list = compareArrays(packed, written, sequential ? source : undefined);
            if (JSON.stringify(document).includes("KHR_draco")) list.push("the extension is still there");
            list.push(...complaints(await validate(source), await validate(written)));
            for (const line of list) console.log(`${what}: ${line}`);
            failures += list.length > 0;
        } catch (error) {
            console.log(`${what}: ${error.message.trim()}`);
            failures++;
        }
    }
}

/** A checker that accepts everything proves nothing. */
function checkTheChecker() {
    assert.equal(distance([1, 2], [1, 2.5]), 0.5);
    assert.ok(Number.isNaN(distance([1, 2], [1])) && Number.isNaN(distance([1], [NaN])));
}

checkTheChecker();
for (const scene of given.length > 0 ? [] : SCENES) {
    const file = path.join(folder, `${scene}.glb`);
    support.run(sceneMaker, [scene, "-o", file]);
    await compareFile(file, scene);
}
if (failures > 0) process.exit(1); // before a skip for want of characters could hide it
const characters = given.length > 0 ? given : support.characterFiles();
const step = given.length > 0 ? 1 : Math.max(1, Math.floor(characters.length / CHARACTERS));
for (let c = 0; c < characters.length; c += step) await compareFile(characters[c], path.relative(support.data, characters[c]));
const three = support.run(process.execPath, [path.join(support.root, "tests/node/three.mjs"), tool, ...packedFiles]).toString();
console.log(`three: ${three.trim()}`);
console.log(`${packedFiles.length} files, ${primitives} primitives: ${failures} failed`);
process.exit(failures > 0 ? 1 : 0);
