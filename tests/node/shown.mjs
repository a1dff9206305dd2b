// What others make of a written GLB: complaints of the Khronos validator, and vertices and normals as three shows them.
import { readFileSync, writeFileSync } from "node:fs";
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

/** A function of time that moves everything to where the first animation has it then, and gives the meshes in the order of
 * the file. */
function mover(gltf) {
    const mixer = new THREE.AnimationMixer(gltf.scene);
    const action = mixer.clipAction(gltf.animations[0]).play();
    action.loop = THREE.LoopOnce;
    action.clampWhenFinished = true;
    return (time) => {
        const meshes = [];
        mixer.setTime(time);
        gltf.scene.updateMatrixWorld(true);
        gltf.scene.traverse((object) => object.isMesh && meshes.push(object));
        return meshes;
    };
}

/** A function of time: vertices of the first animation in world space, morphed and skinned, in the order of the file. */
function player(gltf) {
    const moved = mover(gltf);
    const v = new THREE.Vector3();
    return (time) => {
        const out = [];
        for (const object of moved(time)) {
            if (object.isSkinnedMesh) {
                object.bindMode = "detached";
                object.skeleton.update();
            }
            for (let i = 0; i < object.geometry.attributes.position.count; i++) {
                object.getVertexPosition(i, v);
                out.push(...(object.isSkinnedMesh ? v : v.applyMatrix4(object.matrixWorld)).toArray());
            }
        }
        return out;
    };
}

/** A direction through the linear part of a matrix, whose elements begin at `at`, times `weight`, added to `out`. */
function addDirection(elements, at, weight, [x, y, z], out) {
    for (let r = 0; r < 3; r++) out[r] += weight * (elements[at + r] * x + elements[at + 4 + r] * y + elements[at + 8 + r] * z);
    return out;
}

/** Normals of a mesh in world space as three's shader makes them, appended to `out`: beginnormal_vertex,
 * morphnormal_vertex, skinnormal_vertex (bindMatrixInverse · Σ weight · bone · bindMatrix), defaultnormal_vertex, normalize. */
function addShaderNormals(object, out) {
    const { geometry, skeleton, bindMatrix, bindMatrixInverse } = object;
    const { normal, skinIndex, skinWeight } = geometry.attributes;
    const world = new THREE.Matrix3().getNormalMatrix(object.matrixWorld);
    const v = new THREE.Vector3();
    for (let i = 0; i < normal.count; i++) {
        let n = [normal.getX(i), normal.getY(i), normal.getZ(i)];
        geometry.morphAttributes.normal?.forEach((morph, t) => {
            for (let c = 0; c < 3; c++) n[c] += object.morphTargetInfluences[t] * morph.getComponent(i, c);
        });
        if (object.isSkinnedMesh) {
            const bound = addDirection(bindMatrix.elements, 0, 1, n, [0, 0, 0]);
            const moved = [0, 0, 0];
            for (let c = 0; c < 4; c++)
                addDirection(skeleton.boneMatrices, 16 * skinIndex.getComponent(i, c), skinWeight.getComponent(i, c), bound, moved);
            n = addDirection(bindMatrixInverse.elements, 0, 1, moved, [0, 0, 0]);
        }
        v.fromArray(n).applyNormalMatrix(world); // which normalizes
        out.push(v.x, v.y, v.z);
    }
}

/** A function of time: normals of the first animation as three shades with them, in the order of the file. */
export function shader(gltf) {
    const moved = mover(gltf);
    return (time) => {
        const out = [];
        for (const object of moved(time)) {
            if (object.isSkinnedMesh) object.skeleton.update();
            addShaderNormals(object, out);
        }
        return out;
    };
}

/** Takes the normals out of an OBJ: those that are wanted are then the triangles'. */
export function withoutNormals(mesh) {
    const lines = readFileSync(mesh, "latin1").split("\n").filter((line) => !line.startsWith("vn "));
    writeFileSync(mesh, lines.map((line) => (line.startsWith("f ") ? line.replace(/(\d+)\/(\d*)\/\d+/g, (_, v, t) => (t ? `${v}/${t}` : v)) : line)).join("\n"));
}

/** Triangles of an OBJ as points: polygons are fans around their first corner. */
export function trianglesOfPoints(mesh) {
    const faces = readFileSync(mesh, "latin1").split("\n").filter((line) => line.startsWith("f "));
    return faces.flatMap((line) => {
        const corners = line.slice(2).trim().split(/\s+/).map((corner) => parseInt(corner, 10) - 1);
        return corners.slice(2).flatMap((_, c) => [corners[0], corners[c + 1], corners[c + 2]]);
    });
}

/** [point] the first point that is at its place in all frames: seams of a mesh are closed. */
function weld(frames) {
    const heads = new Map();
    return Array.from({ length: frames[0].length / 3 }, (_, p) => {
        const key = frames[0].subarray(3 * p, 3 * p + 3).join();
        const alike = (heads.get(key) ?? []).find((head) => frames.every((frame) => [0, 1, 2].every((c) => frame[3 * head + c] === frame[3 * p + c])));
        if (alike === undefined) heads.set(key, [...(heads.get(key) ?? []), p]);
        return alike ?? p;
    });
}

/** Area-weighted unit normals of points, [point][3]; only those of the first of each weld. */
function triangleNormals(points, triangles, welded) {
    const out = new Float64Array(points.length);
    for (let t = 0; t < triangles.length; t += 3) {
        const at = 3 * triangles[t];
        for (let e = 0; e < 3; e++) {
            const side = (corner, axis) => points[3 * triangles[t + corner] + axis] - points[at + axis];
            const [f, g] = [(e + 1) % 3, (e + 2) % 3];
            const area = side(1, f) * side(2, g) - side(1, g) * side(2, f);
            for (let corner = t; corner < t + 3; corner++) out[3 * welded[triangles[corner]] + e] += area;
        }
    }
    for (let p = 0; p < out.length; p += 3) {
        const length = Math.hypot(out[p], out[p + 1], out[p + 2]);
        for (let e = 0; e < 3; e++) out[p + e] = length > 0 ? out[p + e] / length : e === 2 ? 1 : 0;
    }
    return out;
}

/** Root mean square angle in degrees between the normals that three shades a GLB with and those of the triangles of
 * `frames` [frame] of [point][3]; `triangles` of points, `vertices` [point] as for errorOf. */
export async function shadingErrorOf(file, frames, fps, triangles, vertices) {
    const shadedAt = shader(await load(file));
    const welded = weld(frames);
    let sum = 0;
    frames.forEach((frame, k) => {
        const shown = shadedAt(k / fps);
        const wanted = triangleNormals(frame, triangles, welded);
        for (let point = 0; point < frame.length / 3; point++) {
            const i = 3 * (vertices?.[point] ?? point);
            const distance = Math.hypot(...[0, 1, 2].map((c) => shown[i + c] - wanted[3 * welded[point] + c]));
            sum += (2 * Math.asin(Math.min(distance / 2, 1))) ** 2;
        }
    });
    return (180 / Math.PI) * Math.sqrt((3 * sum) / (frames.length * frames[0].length));
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
