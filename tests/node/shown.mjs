// What others make of a written GLB: complaints of the Khronos validator, and vertices as three shows them.
import { readFileSync } from "node:fs";
import path from "node:path";
import * as support from "./support.mjs";

const validator = (await support.need("gltf-validator")).default;
const THREE = await support.need("three");
const { GLTFLoader } = await support.need("three/examples/jsm/loaders/GLTFLoader.js");

/** Errors and warnings, as sentences. */
export async function complaints(file) {
    const report = await validator.validateBytes(new Uint8Array(readFileSync(file)), { maxIssues: 0, uri: path.basename(file) });
    return report.issues.messages.filter(({ severity }) => severity < 2).map(({ code, pointer }) => `${code} at ${pointer}`);
}

/** The points of a PC2 cache: [frame] of Float32Array [point][3]. */
export function readPc2(file) {
    const bytes = readFileSync(file);
    const points = bytes.readInt32LE(16);
    const frames = bytes.readInt32LE(28);
    const floats = new Float32Array(bytes.buffer.slice(bytes.byteOffset + 32, bytes.byteOffset + 32 + frames * points * 12));
    return Array.from({ length: frames }, (_, k) => floats.subarray(k * points * 3, (k + 1) * points * 3));
}

/** A GLB without materials, which three could only decode in a browser. */
export async function load(file) {
    const { document, buffer } = support.readGltf(file);
    for (const name of ["materials", "textures", "images", "samplers"]) delete document[name];
    for (const { primitives } of document.meshes) for (const primitive of primitives) delete primitive.material;
    const glb = support.makeGlb(document, buffer(0));
    return new GLTFLoader().parseAsync(glb.buffer.slice(glb.byteOffset, glb.byteOffset + glb.byteLength), "");
}

/** A function of time: vertices of the first animation in world space, morphed and skinned, in the order of the file. */
function player(gltf) {
    const mixer = new THREE.AnimationMixer(gltf.scene);
    const action = mixer.clipAction(gltf.animations[0]).play();
    action.loop = THREE.LoopOnce;
    action.clampWhenFinished = true;
    const v = new THREE.Vector3();
    return (time) => {
        mixer.setTime(time);
        gltf.scene.updateMatrixWorld(true);
        const out = [];
        gltf.scene.traverse((object) => {
            if (!object.isMesh) return;
            if (object.isSkinnedMesh) {
                object.bindMode = "detached";
                object.skeleton.update();
            }
            for (let i = 0; i < object.geometry.attributes.position.count; i++) {
                object.getVertexPosition(i, v);
                out.push(...(object.isSkinnedMesh ? v : v.applyMatrix4(object.matrixWorld)).toArray());
            }
        });
        return out;
    };
}

/** A vertex for every point of an OBJ. Files split vertices at seams of UVs; the mesh converted by itself shows which is which. */
export function verticesOfPoints(mesh, converted) {
    const lines = readFileSync(mesh, "latin1").split("\n").filter((line) => line.startsWith("v "));
    const points = lines.flatMap((line) => line.slice(2).trim().split(/\s+/).slice(0, 3).map(Number));
    const floats = support.positionsOf(converted);
    return Array.from({ length: points.length / 3 }, (_, p) => {
        let nearest = 0;
        let least = Infinity;
        for (let i = 0; 3 * i < floats.length && least > 0; i++) {
            const distance = (floats[3 * i] - points[3 * p]) ** 2 + (floats[3 * i + 1] - points[3 * p + 1]) ** 2 + (floats[3 * i + 2] - points[3 * p + 2]) ** 2;
            if (distance < least) [nearest, least] = [i, distance];
        }
        return nearest;
    });
}

/** E_rms of what three shows; `radius` of the first frame's ball; `vertices` [point], or else every vertex is a point. */
export async function errorOf(file, frames, fps, radius, vertices) {
    const shownAt = player(await load(file));
    let sum = 0;
    frames.forEach((frame, k) => {
        const shown = shownAt(k / fps);
        if (!vertices && shown.length !== frame.length) throw new Error(`${file}: ${shown.length / 3} vertices, ${frame.length / 3} points`);
        for (let point = 0; point < frame.length / 3; point++)
            for (let c = 0; c < 3; c++) sum += (shown[3 * (vertices?.[point] ?? point) + c] - frame[3 * point + c]) ** 2;
    });
    return (1000 * Math.sqrt(sum / (frames.length * frames[0].length))) / radius;
}
