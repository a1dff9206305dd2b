// A small rig that uses what the real characters do not: CUBICSPLINE and STEP, tracks that begin late, matrix nodes,
// interleaved, sparse and normalised-integer accessors, quantised positions, eight-bit joints and weights, a mesh drawn
// by two nodes, mesh and node morph weights, a skinned mesh whose own node is moved. Seeded.
import { makeGlb, seededRandom } from "./support.mjs";

const COMPONENT = new Map([
    [Int8Array, 5120],
    [Uint8Array, 5121],
    [Int16Array, 5122],
    [Uint16Array, 5123],
    [Uint32Array, 5125],
    [Float32Array, 5126],
]);
const WIDTH = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT4: 16 };

/** Gathers bytes, views and accessors. */
class Storage {
    bytes = [];
    size = 0;
    bufferViews = [];
    accessors = [];

    view(array, more = {}) {
        const bytes = Buffer.from(array.buffer, array.byteOffset, array.byteLength);
        this.bufferViews.push({ buffer: 0, byteOffset: this.size, byteLength: bytes.length, ...more });
        this.bytes.push(bytes, Buffer.alloc(-bytes.length & 3));
        this.size += bytes.length + (-bytes.length & 3);
        return this.bufferViews.length - 1;
    }

    accessor(type, array, more = {}) {
        const componentType = COMPONENT.get(array.constructor);
        this.accessors.push({ bufferView: this.view(array), componentType, count: array.length / WIDTH[type], type, ...more });
        return this.accessors.length - 1;
    }
}

const numbers = (count, random, scale = 1) => Float32Array.from({ length: count }, () => (random() * 2 - 1) * scale);
const unit = (vector) => [...vector].map((x) => x / Math.hypot(...vector));
const unitQuaternion = (random) => unit(numbers(4, random));

function bounds(array) {
    const column = (c) => array.filter((_, i) => i % 3 === c);
    return { min: [0, 1, 2].map((c) => Math.min(...column(c))), max: [0, 1, 2].map((c) => Math.max(...column(c))) };
}

/** Positions and normals in one view, and two morph targets, one of them sparse. */
function morphedPrimitive(storage, random, count) {
    const mixed = numbers(count * 6, random);
    for (let at = 3; at < mixed.length; at += 6) mixed.set(unit(mixed.subarray(at, at + 3)), at);
    const view = storage.view(mixed, { byteStride: 24, target: 34962 });
    const vec3 = (byteOffset, more) =>
        storage.accessors.push({ bufferView: view, byteOffset, componentType: 5126, count, type: "VEC3", ...more }) - 1;
    const position = vec3(0, bounds(mixed.filter((_, i) => i % 6 < 3)));
    const dense = numbers(count * 3, random, 0.5);
    const few = numbers(6, random, 0.5);
    storage.accessors.push({
        componentType: 5126,
        count,
        type: "VEC3",
        ...bounds(Float32Array.of(0, 0, 0, ...few)),
        sparse: {
            count: 2,
            indices: { bufferView: storage.view(Uint16Array.of(1, count - 1)), componentType: 5123 },
            values: { bufferView: storage.view(few) },
        },
    });
    const sparse = storage.accessors.length - 1;
    return {
        attributes: { POSITION: position, NORMAL: vec3(12) },
        targets: [{ POSITION: storage.accessor("VEC3", dense, bounds(dense)) }, { POSITION: sparse }],
    };
}

/** Quantised positions, eight-bit joints and weights. */
function skinnedPrimitive(storage, random, count, jointCount) {
    const positions = Int16Array.from({ length: count * 4 }, (_, i) => (i % 4 < 3 ? Math.floor((random() * 2 - 1) * 32767) : 0));
    const view = storage.view(positions, { byteStride: 8, target: 34962 });
    const packed = positions.filter((_, i) => i % 4 < 3);
    storage.accessors.push({ bufferView: view, componentType: 5122, normalized: true, count, type: "VEC3", ...bounds(packed) });
    const position = storage.accessors.length - 1;
    const joints = new Uint8Array(count * 4);
    const weights = new Uint8Array(count * 4);
    for (let i = 0; i < count; i++) {
        const first = Math.floor(random() * jointCount);
        joints.set([first, (first + 1) % jointCount, (first + 2) % jointCount, 0], i * 4);
        weights.set([128, 100, 27, 0], i * 4); // 255 in all
    }
    return {
        attributes: {
            POSITION: position,
            JOINTS_0: storage.accessor("VEC4", joints),
            WEIGHTS_0: storage.accessor("VEC4", weights, { normalized: true }),
        },
        indices: storage.accessor("SCALAR", Uint16Array.from({ length: count - (count % 3) }, (_, i) => i)),
    };
}

/** Every path with every interpolation that suits it; keys begin at 0.25 s in some and at 0 s in others. */
function animation(storage, random, nodes) {
    const samplers = [];
    const channels = [];
    const add = (node, path, interpolation, type, keys, output, more) => {
        const input = storage.accessor("SCALAR", keys, { min: [keys[0]], max: [keys.at(-1)] });
        samplers.push({ input, interpolation, output: storage.accessor(type, output, more) });
        channels.push({ sampler: samplers.length - 1, target: { node, path } });
    };
    const late = Float32Array.of(0.25, 0.5, 1.25, 1.5);
    const early = Float32Array.of(0, 0.7, 2);
    const quaternions = (count, tangents) =>
        Array.from({ length: count }, (_, key) => (tangents && key % 3 !== 1 ? [...numbers(4, random)] : unitQuaternion(random))).flat();
    add(nodes.bones[0], "translation", "CUBICSPLINE", "VEC3", late, numbers(36, random));
    add(nodes.bones[0], "rotation", "CUBICSPLINE", "VEC4", early, Float32Array.from(quaternions(9, true)));
    add(nodes.bones[1], "rotation", "LINEAR", "VEC4", late, Int16Array.from(quaternions(4), (x) => Math.round(x * 32767)), { normalized: true });
    add(nodes.bones[1], "scale", "STEP", "VEC3", early, numbers(9, random));
    add(nodes.bones[2], "translation", "LINEAR", "VEC3", early, numbers(9, random));
    add(nodes.bones[2], "rotation", "STEP", "VEC4", late, Float32Array.from(quaternions(4)));
    add(nodes.morphed[0], "weights", "LINEAR", "SCALAR", early, numbers(6, random));
    add(nodes.morphed[1], "weights", "CUBICSPLINE", "SCALAR", late, numbers(24, random));
    add(nodes.morphed[1], "scale", "CUBICSPLINE", "VEC3", early, numbers(27, random));
    add(nodes.skinned, "translation", "LINEAR", "VEC3", early, numbers(9, random)); // must not move its vertices
    return { name: "everything", samplers, channels };
}

/** The rig as a GLB file. */
export function makeFixture() {
    const random = seededRandom(7);
    const storage = new Storage();
    const meshes = [
        { weights: [0.25, -0.5], primitives: [morphedPrimitive(storage, random, 9), morphedPrimitive(storage, random, 6)] },
        { primitives: [skinnedPrimitive(storage, random, 30, 3)] },
        { primitives: [morphedPrimitive(storage, random, 12)] },
    ];
    // Column by column: scaled by 2, 1 and 0.5, mirrored, moved.
    const matrix = [0, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0.5, 0, 1, 2, 3, 1];
    // The weights of "second" have no track: three takes the parts of two nodes with one mesh for each other.
    const nodes = [
        { name: "leaf", translation: [0, 1, 0] }, // a child before its parent in the file
        { name: "still", matrix, children: [3, 2, 4] },
        { name: "middle", rotation: unitQuaternion(random), scale: [1, 2, 0.5], children: [0, 5, 7] },
        { name: "first", mesh: 0, translation: [3, 0, 0] },
        { name: "skinned", mesh: 1, skin: 0, translation: [9, 9, 9] },
        { name: "second", mesh: 0, weights: [1, 0.125], scale: [1, -1, 1] },
        { name: "root", children: [1] },
        { name: "third", mesh: 2 },
    ];
    const bones = [6, 2, 0];
    const binds = new Float32Array(16 * bones.length);
    for (let j = 0; j < bones.length; j++) binds.set([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, ...numbers(3, random), 1], j * 16);
    const document = {
        asset: { version: "2.0" },
        extensionsUsed: ["KHR_mesh_quantization"],
        extensionsRequired: ["KHR_mesh_quantization"],
        meshes,
        nodes,
        skins: [{ joints: bones, inverseBindMatrices: storage.accessor("MAT4", binds) }],
        animations: [animation(storage, random, { bones, morphed: [3, 7], skinned: 4 })],
        scenes: [{ nodes: [6] }],
        scene: 0,
    };
    document.buffers = [{ byteLength: storage.size }];
    document.bufferViews = storage.bufferViews;
    document.accessors = storage.accessors;
    return makeGlb(document, Buffer.concat(storage.bytes));
}
