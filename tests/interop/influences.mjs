// Files with more influences than a program plays: the same file with fewer, which is what that program is compared with.
//
// A cut says which influences stay, and how they are played:
//
//   keep     how many influences of a vertex stay
//   choose   "first": those of the first sets, in the order of the file; "largest": the largest ones of all sets
//   scaled   weights that stay are made to sum to 1. Without it a vertex is drawn towards the origin of its mesh by what is lost
//   words    as the tables have it
import { writeFileSync } from "node:fs";
import { makeGlb, readGltf } from "../node/support.mjs";
import { layout } from "./compare.mjs";

export const FIRST_SET = { keep: 4, choose: "first", scaled: true, words: "the first 4 influences, made to sum to 1" };
export const FIRST_SET_UNSCALED = { keep: 4, choose: "first", scaled: false, words: "the first 4 influences, which do not sum to 1" };
export const LARGEST = { keep: 4, choose: "largest", scaled: true, words: "the 4 largest influences, made to sum to 1" };

const FLOAT = 5126;
const TYPES = { 5121: Uint8Array, 5123: Uint16Array, [FLOAT]: Float32Array };
const LARGEST_INTEGER = { 5121: 255, 5123: 65535 };

const setsOf = ({ attributes }) => Object.keys(attributes).reduce((most, name) => Math.max(most, name.startsWith("JOINTS_") ? Number(name.slice(7)) + 1 : 0), 0);

/** Influences that vertices of a file have room for. */
export const influencesOf = (file) => 4 * Math.max(0, ...readGltf(file).document.meshes.flatMap(({ primitives }) => primitives.map(setsOf)));

/** Numbers of a VEC4 accessor, [vertex][4]; weights as shares. */
function readVec4({ document, buffer }, accessor, isWeight) {
    const { bufferView, byteOffset = 0, componentType, count, sparse } = document.accessors[accessor];
    const view = document.bufferViews?.[bufferView];
    const Type = TYPES[componentType];
    if (!view || sparse || view.extensions || !Type) throw new Error(`accessor ${accessor} is not plain: its influences cannot be cut`);
    const size = 4 * Type.BYTES_PER_ELEMENT;
    const stride = view.byteStride ?? size;
    const bytes = buffer(view.buffer);
    const start = bytes.byteOffset + (view.byteOffset ?? 0) + byteOffset;
    const share = isWeight ? (LARGEST_INTEGER[componentType] ?? 1) : 1;
    return Array.from({ length: count }, (_, i) => [...new Type(bytes.buffer.slice(start + i * stride, start + i * stride + size))].map((x) => x / share));
}

/** The influences of a vertex that stay, [[joint, weight]], and the sum of their weights. */
function cutVertex(pairs, { keep, choose }) {
    const all = choose === "largest" ? [...pairs].sort(([, a], [, b]) => b - a) : pairs;
    const kept = all.slice(0, keep);
    return { kept, sum: kept.reduce((sum, [, weight]) => sum + weight, 0) };
}

/** Writes a GLB that has one set of influences, weights as floats that sum to 1. Returns for every primitive, by its POSITION
 * accessor, the sums that its vertices had. */
function writeCut(file, out, cut) {
    const gltf = readGltf(file);
    const { document, buffer } = gltf;
    if (document.buffers.length !== 1) throw new Error(`${document.buffers.length} buffers: influences of a file with one are cut`);
    const blobs = [buffer(0)];
    let end = blobs[0].length;
    const add = (array, componentType, count) => {
        const pad = Buffer.alloc(-end & 3);
        const bytes = Buffer.from(array.buffer);
        blobs.push(pad, bytes);
        document.bufferViews.push({ buffer: 0, byteOffset: end + pad.length, byteLength: bytes.length });
        end += pad.length + bytes.length;
        return document.accessors.push({ bufferView: document.bufferViews.length - 1, componentType, type: "VEC4", count }) - 1;
    };
    const sums = new Map();
    for (const primitive of new Set(document.meshes.flatMap(({ primitives }) => primitives))) {
        const { attributes } = primitive;
        const sets = Array.from({ length: setsOf(primitive) }, (_, n) => [readVec4(gltf, attributes[`JOINTS_${n}`], false), readVec4(gltf, attributes[`WEIGHTS_${n}`], true)]);
        if (sets.length === 0) continue;
        const vertices = sets[0][0].map((_, i) => cutVertex(sets.flatMap(([joints, weights]) => joints[i].map((joint, k) => [joint, weights[i][k]])), cut));
        sets.forEach((_, n) => ["JOINTS", "WEIGHTS"].forEach((name) => delete attributes[`${name}_${n}`]));
        attributes.JOINTS_0 = add(Uint16Array.from(vertices.flatMap(({ kept }) => kept.map(([joint]) => joint))), 5123, vertices.length);
        attributes.WEIGHTS_0 = add(Float32Array.from(vertices.flatMap(({ kept, sum }) => kept.map(([, weight]) => weight / sum))), FLOAT, vertices.length);
        sums.set(attributes.POSITION, vertices.map(({ sum }) => sum));
    }
    document.buffers[0] = { byteLength: end };
    writeFileSync(out, makeGlb(document, Buffer.concat(blobs)));
    return sums;
}

/** Cuts a file. Returns what turns poses of the new file, in Pelt's order, into those of a program that plays this cut. */
export function cutInfluences(file, out, cut) {
    const sums = writeCut(file, out, cut);
    if (cut.scaled) return (poses) => poses;
    const { document } = readGltf(out);
    const moved = ({ matrix, translation, rotation, scale }) => matrix || translation || rotation || scale;
    const parts = layout(out);
    // Weights that sum to less than 1 shrink a vertex towards the origin of its mesh, which must be that of the world.
    if (parts.some(({ node }) => moved(document.nodes[node]) || document.nodes.some(({ children }) => children?.includes(node))))
        throw new Error("a mesh stands elsewhere than at the origin: what unscaled weights do there is not computed");
    const shares = parts.flatMap(({ position, count }) => sums.get(position) ?? Array(count).fill(1));
    return (poses) => poses.map((pose) => pose.map((x, n) => x * shares[Math.floor(n / 3)]));
}
