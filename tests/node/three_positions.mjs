// Vertices of a glTF file in world space, morphed and skinned, as three computes them.
import { dracoLoader } from "./draco_codec.mjs";
import * as support from "./support.mjs";

const THREE = await support.need("three");
const { GLTFLoader } = await support.need("three/examples/jsm/loaders/GLTFLoader.js");
const { MeshoptDecoder } = await support.need("three/examples/jsm/libs/meshopt_decoder.module.js");

/** The file as one GLB without materials and images: three needs a browser to decode those. */
export function bareGlb(file) {
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

export async function load(file) {
    const glb = bareGlb(file);
    const loader = new GLTFLoader().setMeshoptDecoder(MeshoptDecoder).setDRACOLoader(dracoLoader(THREE));
    return loader.parseAsync(glb.buffer.slice(glb.byteOffset, glb.byteOffset + glb.byteLength), "");
}

/** The place of every node in Pelt's order: as in the file, but parents before their children. */
export function nodeOrder(nodes) {
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
export function drawn(gltf) {
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
export function worldPositions(gltf, objects) {
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

/** A file whose skinned meshes play all sets of influences, where three takes the first four. Sums of weights become 1. */
export async function loadWithAllInfluences(file) {
    const { prototype } = THREE.SkinnedMesh;
    const { normalizeSkinWeights } = prototype;
    prototype.normalizeSkinWeights = function () {
        if (!this.geometry.attributes.joints_1) normalizeSkinWeights.call(this);
    };
    try {
        const gltf = await load(file);
        playAllInfluences(drawn(gltf));
        return gltf;
    } finally {
        prototype.normalizeSkinWeights = normalizeSkinWeights;
    }
}

function playAllInfluences(objects) {
    for (const object of objects) {
        const { attributes } = object.geometry;
        if (!object.isSkinnedMesh || !attributes.joints_1) continue;
        const sets = [[attributes.skinIndex, attributes.skinWeight]];
        for (let n = 1; attributes[`joints_${n}`]; n++) sets.push([attributes[`joints_${n}`], attributes[`weights_${n}`]]);
        const [matrix, moved] = [new THREE.Matrix4(), new THREE.Vector3()];
        object.applyBoneTransform = (i, target) => {
            const bound = target.clone().applyMatrix4(object.bindMatrix);
            target.set(0, 0, 0);
            let sum = 0;
            for (const [joints, weights] of sets)
                for (let k = 0; k < 4; k++) {
                    const [joint, weight] = [joints.getComponent(i, k), weights.getComponent(i, k)];
                    sum += weight;
                    if (weight === 0) continue;
                    matrix.multiplyMatrices(object.skeleton.bones[joint].matrixWorld, object.skeleton.boneInverses[joint]);
                    target.addScaledVector(moved.copy(bound).applyMatrix4(matrix), weight);
                }
            return target.divideScalar(sum).applyMatrix4(object.bindMatrixInverse);
        };
    }
}

/** World positions when one animation alone plays at `time`, seconds. */
export function positionsAt(gltf, objects, clip, time) {
    // A fresh mixer per moment: properties without a track fall back to their rest values when an action stops.
    const mixer = new THREE.AnimationMixer(gltf.scene);
    const action = mixer.clipAction(clip);
    action.setLoop(THREE.LoopOnce).clampWhenFinished = true;
    action.play();
    mixer.setTime(time);
    const positions = worldPositions(gltf, objects);
    mixer.stopAllAction();
    return positions;
}

/** Ways to interpolate rotations that are not three's own: of quaternions a and b at u, the weights of both. */
const QUATERNION_WEIGHTS = {
    /** Spherical, as the glTF specification has it (appendix C). Three takes a straight line, and normalises, where keys are near. */
    slerp: (dot, u) => {
        const angle = Math.acos(Math.min(dot, 1));
        return angle < 1e-3 ? [1 - u, u] : [Math.sin((1 - u) * angle) / Math.sin(angle), Math.sin(u * angle) / Math.sin(angle)];
    },
    /** A straight line, normalised: Blender and PlayCanvas. */
    nlerp: (dot, u) => {
        const length = Math.sqrt((1 - u) ** 2 + u ** 2 + 2 * u * (1 - u) * dot);
        return [(1 - u) / length, u / length];
    },
};

/** What `evaluate` gives while rotations are interpolated in one of the ways above. */
export function interpolated(way, evaluate) {
    const { prototype } = THREE.QuaternionLinearInterpolant;
    const own = prototype.interpolate_;
    prototype.interpolate_ = function (i1, t0, t, t1) {
        const [a, b] = [this.sampleValues.subarray(4 * i1 - 4, 4 * i1), this.sampleValues.subarray(4 * i1, 4 * i1 + 4)];
        const dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
        const [wa, wb] = QUATERNION_WEIGHTS[way](Math.abs(dot), (t - t0) / (t1 - t0));
        for (let c = 0; c < 4; c++) this.resultBuffer[c] = wa * a[c] + Math.sign(dot || 1) * wb * b[c];
        return this.resultBuffer;
    };
    try {
        return evaluate();
    } finally {
        prototype.interpolate_ = own;
    }
}
