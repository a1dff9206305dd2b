// three.mjs TOOL_POSE [FILE…]: vertices in world space, morphed and skinned, as three computes them and as Pelt does: a fixture
// and every real character (or these files), in rest and at five seeded random times of every clip, to 1e-5 of the model's size.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { dracoLoader } from "./draco_codec.mjs";
import { makeFixture } from "./fixture.mjs";
import * as support from "./support.mjs";

const [tool, ...given] = process.argv.slice(2);
const THREE = await support.need("three");
const { GLTFLoader } = await support.need("three/examples/jsm/loaders/GLTFLoader.js");
const { MeshoptDecoder } = await support.need("three/examples/jsm/libs/meshopt_decoder.module.js");

const TIMES_PER_CLIP = 5;
const TOLERANCE = 1e-5; // of the size: float skinning in Pelt, double in three, models of up to a few hundred joints

/** The file as one GLB without materials and images: three needs a browser to decode those. */
function bareGlb(file) {
    const { document, buffer } = support.readGltf(file);
    for (const name of ["materials", "textures", "images", "samplers"]) delete document[name];
    for (const mesh of document.meshes ?? [])
        for (const primitive of mesh.primitives) {
            delete primitive.material;
            delete primitive.extensions?.KHR_materials_variants;
        }
    const blobs = (document.buffers ?? []).map((_, index) => buffer(index));
    const starts = [];
    let size = 0;
    for (const blob of blobs) {
        starts.push(size);
        size += (blob.length + 15) & ~15;
    }
    const joined = Buffer.alloc(size);
    blobs.forEach((blob, index) => blob.copy(joined, starts[index]));
    for (const view of document.bufferViews ?? [])
        for (const place of [view, view.extensions?.EXT_meshopt_compression])
            if (place) {
                place.byteOffset = (place.byteOffset ?? 0) + starts[place.buffer];
                place.buffer = 0;
            }
    document.buffers = [{ byteLength: size }];
    return support.makeGlb(document, joined);
}

async function load(file) {
    const glb = bareGlb(file);
    const loader = new GLTFLoader().setMeshoptDecoder(MeshoptDecoder).setDRACOLoader(dracoLoader(THREE));
    return loader.parseAsync(glb.buffer.slice(glb.byteOffset, glb.byteOffset + glb.byteLength), "");
}

/** The place of every node in Pelt's order: as in the file, but parents before their children. */
function nodeOrder(nodes) {
    const parents = [];
    nodes.forEach(({ children }, node) => children?.forEach((child) => (parents[child] = node)));
    const places = new Map();
    const visit = (node) => {
        if (node === undefined || places.has(node)) return;
        visit(parents[node]);
        places.set(node, places.size);
    };
    nodes.forEach((_, node) => visit(node));
    return places;
}

/** What three draws, in Pelt's order: by node, then by primitive. */
function drawn(gltf) {
    const places = nodeOrder(gltf.parser.json.nodes);
    const list = [];
    gltf.scene.traverse((object) => {
        if (!object.geometry) return;
        if (object.isSkinnedMesh) object.bindMode = "detached";
        // A mesh of several primitives is a group: that is the node then.
        const source = gltf.parser.associations.get(object);
        const node = source.nodes ?? gltf.parser.associations.get(object.parent).nodes;
        list.push({ object, node: places.get(node), primitive: source.primitives });
    });
    return list.sort((a, b) => a.node - b.node || a.primitive - b.primitive).map(({ object }) => object);
}

/** World positions of all vertices now, [vertex][3]. */
function worldPositions(gltf, objects) {
    gltf.scene.updateMatrixWorld(true);
    const out = [];
    const v = new THREE.Vector3();
    for (const object of objects)
        for (let i = 0; i < object.geometry.attributes.position.count; i++) {
            if (object.getVertexPosition) object.getVertexPosition(i, v);
            else v.fromBufferAttribute(object.geometry.attributes.position, i);
            // glTF says that the node of a skinned mesh does not move it; "detached" leaves v in world space.
            if (!object.isSkinnedMesh) v.applyMatrix4(object.matrixWorld);
            out.push(v.x, v.y, v.z);
        }
    return out;
}

function diagonal(positions) {
    const min = [Infinity, Infinity, Infinity];
    const max = [-Infinity, -Infinity, -Infinity];
    positions.forEach((x, index) => {
        min[index % 3] = Math.min(min[index % 3], x);
        max[index % 3] = Math.max(max[index % 3], x);
    });
    return Math.hypot(max[0] - min[0], max[1] - min[1], max[2] - min[2]);
}

/** The largest distance of two vertices with the same number; NaN when anything is not a number. */
function largestDistance(a, b) {
    let largest = 0;
    for (let i = 0; i < a.length; i += 3) {
        const distance = Math.hypot(a[i] - b[i], a[i + 1] - b[i + 1], a[i + 2] - b[i + 2]);
        if (Number.isNaN(distance)) return NaN;
        largest = Math.max(largest, distance);
    }
    return largest;
}

/** Pelt's positions: the rest pose, then one array per [motion, time]. */
function ours(file, moments) {
    const bytes = support.run(tool, [file, ...moments.flatMap(([motion, time]) => [`${motion}`, `${time}`])]);
    const count = bytes.readUInt32LE(0);
    const floats = new Float32Array(bytes.buffer.slice(bytes.byteOffset + 4, bytes.byteOffset + bytes.length));
    return [...Array(moments.length + 1).keys()].map((k) => floats.subarray(k * count * 3, (k + 1) * count * 3));
}

/** Compares one file; the worst distance as a fraction of its size, and how many poses were compared. */
async function compare(file) {
    const gltf = await load(file);
    const objects = drawn(gltf);
    const random = support.seededRandom(gltf.animations.length + objects.length);
    const moments = gltf.animations.flatMap((clip, motion) =>
        [...Array(TIMES_PER_CLIP)].map(() => [motion, Math.fround(random() * clip.duration)]),
    );
    const poses = ours(file, moments);
    const rest = worldPositions(gltf, objects);
    const size = diagonal(rest);
    let worst = { error: 0 };
    const see = (theirs, pose, what) => {
        if (theirs.length !== pose.length)
            throw new Error(`three has ${theirs.length / 3} vertices, Pelt ${pose.length / 3}`);
        const error = largestDistance(theirs, pose) / size;
        if (Number.isNaN(error) || error > worst.error) worst = { error, what };
    };
    see(rest, poses[0], "rest pose");
    moments.forEach(([motion, time], index) => {
        // A fresh mixer per moment: properties without a track fall back to their rest values when an action stops.
        const mixer = new THREE.AnimationMixer(gltf.scene);
        mixer.clipAction(gltf.animations[motion]).play();
        mixer.setTime(time);
        see(worldPositions(gltf, objects), poses[index + 1], `${gltf.animations[motion].name} at ${time} s`);
        mixer.stopAllAction();
    });
    return { ...worst, poses: poses.length };
}

/** A checker that accepts everything proves nothing. */
function checkTheChecker() {
    const a = [0, 0, 0, 1, 1, 1];
    if (largestDistance(a, [0, 0, 0, 1, 1, 1.5]) !== 0.5 || !Number.isNaN(largestDistance(a, [0, NaN, 0, 1, 1, 1])))
        throw new Error("the checker does not see a difference");
}

let poses = 0;
let worst = 0;
/** Compares a file and tells of it when the difference is too large. */
async function passes(file, name) {
    try {
        const result = await compare(file);
        poses += result.poses;
        worst = Math.max(worst, result.error);
        if (result.error <= TOLERANCE) return true;
        console.log(`${name}: ${result.what}: differs by ${result.error.toExponential(2)} of the size`);
    } catch (error) {
        console.log(`${name}: ${error.message.trim()}`);
    }
    return false;
}

checkTheChecker();
const fixture = path.join(support.scratchFolder(), "fixture.glb");
writeFileSync(fixture, makeFixture());
let failures = (await passes(fixture, "fixture")) ? 0 : 1;
if (failures > 0) process.exit(1); // before a skip for want of characters could hide it
const files = given.length > 0 ? given : support.characterFiles();
for (const file of files) failures += (await passes(file, path.relative(support.data, file))) ? 0 : 1;
console.log(`${files.length + 1} files, ${poses} poses, largest difference ${worst.toExponential(2)} of the size: ${failures} failed`);
process.exit(failures > 0 ? 1 : 0);
