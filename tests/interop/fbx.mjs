// FBX files that Pelt writes, as four programs read them: a row for each kind of file, a column for each program. The truth is Pelt's
// evaluation of the same model as GLB.
//
//   kind     name; from: the row of kinds.mjs that makes the model; options of `pelt convert`; quick: `make test` has it too;
//            unit (of a metre) and up of the file; limits as in kinds.mjs
//   program  as in programs.mjs; `raw` where it shows units and axes of the file as they are, `turns` where only units
import { copyFileSync, chmodSync, readFileSync, existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as support from "../node/support.mjs";
import { judge, withinLimit } from "./judge.mjs";
import { kinds, makeKind } from "./kinds.mjs";
import { byThree, inAnyOrder, missingAssimp, missingPackage, missingProgram, runAssimp, runBlender } from "./programs.mjs";

const frames = { fbx2gltf: { bound: 1e-3, why: "bakes at frames of 60 Hz, and times of 24 Hz lie between them" } };
const morphs = {
    fbx2gltf: { bound: 1e-3, why: "bakes at 60 Hz: cubic splines are straight between frames" },
};
export const fbxKinds = [
    { name: "decompose --transforms rigid", from: "decompose --transforms rigid", quick: true },
    { name: "decompose --transforms trs", from: "decompose --transforms trs" },
    { name: "decompose --hierarchy", from: "decompose --hierarchy" },
    { name: "bind", from: "bind", quick: true },
    { name: "convert, morph targets", from: "convert, morph targets", quick: true, limits: morphs },
    { name: "convert --target unreal", from: "bind", options: ["--target", "unreal"], quick: true, up: "z", limits: frames },
    { name: "convert --target unity", from: "bind", options: ["--target", "unity"], unit: 1, limits: frames },
    { name: "convert --target maya", from: "bind", options: ["--target", "maya"], limits: frames },
];

/** Positions of a file in its own unit and axes as metres, y up. */
function converted(pose, { unit = 100, up = "y" }) {
    const out = Float32Array.from(pose, (x) => x / unit);
    for (let i = 0; up === "z" && i < out.length; i += 3) [out[i + 1], out[i + 2]] = [out[i + 2], -out[i + 1]];
    return out;
}

/** Images of textures are not drawn: elements that never load. Other programs take a document for a browser: only while `work` runs. */
function withDocument(work) {
    globalThis.document = { createElementNS: () => ({ addEventListener() {}, removeEventListener() {} }) };
    try {
        return work();
    } finally {
        delete globalThis.document;
    }
}

async function byFbxLoader({ file, moments }) {
    const THREE = await support.need("three");
    const { FBXLoader } = await support.need("three/examples/jsm/loaders/FBXLoader.js");
    const bytes = readFileSync(file);
    const content = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    const read = () => withDocument(() => new FBXLoader().parse(content, ""));
    const pose = ([motion, time]) => {
        const scene = read();
        if (motion >= 0) {
            const mixer = new THREE.AnimationMixer(scene);
            const action = mixer.clipAction(scene.animations[motion]);
            action.setLoop(THREE.LoopOnce);
            action.clampWhenFinished = true;
            action.play();
            mixer.setTime(time);
        }
        scene.updateMatrixWorld(true);
        const out = [];
        const v = new THREE.Vector3();
        scene.traverse((object) => {
            for (let i = 0; i < (object.geometry?.attributes.position.count ?? 0); i++) {
                object.getVertexPosition(i, v).applyMatrix4(object.matrixWorld);
                out.push(v.x, v.y, v.z);
            }
        });
        return Float32Array.from(out);
    };
    return { unordered: true, poses: moments.map(pose) };
}

const FBX2GLTF = fileURLToPath(new URL("node_modules/fbx2gltf/bin/Linux/FBX2glTF", import.meta.url));

/** The npm package has the program without the permission to run it. */
async function byFbx2gltf(job, folder, number) {
    const program = path.join(folder, "FBX2glTF");
    if (!existsSync(program)) {
        copyFileSync(FBX2GLTF, program);
        chmodSync(program, 0o755);
    }
    const out = path.join(folder, `fbx2gltf_${number}.glb`);
    support.run(program, ["--binary", "--anim-framerate", "bake60", "--input", job.file, "--output", out.replace(/\.glb$/, "")]);
    return { ...(await byThree({ ...job, file: out })), unordered: true };
}

const each = (evaluate) => async (jobs, folder) => {
    const results = [];
    for (const [n, job] of jobs.entries()) results.push(await Promise.resolve().then(() => evaluate(job, folder, n)).catch((error) => ({ error: error.message.trim().split("\n")[0] })));
    return results;
};

export const fbxPrograms = [
    { name: "blender", about: "Blender, `File > Import > FBX` as it is set", missing: () => missingProgram("blender"), evaluate: async (jobs, folder) => runBlender(jobs, folder).map((result, n) => inAnyOrder(result, jobs[n])) },
    { name: "assimp", about: "assimp, what `aiImportFile` gives", raw: true, missing: missingAssimp, evaluate: async (jobs, folder) => runAssimp(jobs, folder).map((result, n) => inAnyOrder(result, jobs[n])) },
    { name: "three", about: "three, `FBXLoader`", raw: true, turns: true, missing: () => "", evaluate: each(byFbxLoader) },
    { name: "fbx2gltf", about: "`FBX2glTF` (Autodesk's SDK), baked at 60 Hz, played by three", missing: () => missingPackage("fbx2gltf") || (process.platform === "linux" && process.arch === "x64" ? "" : "fbx2gltf has no program for this machine"), evaluate: each(byFbx2gltf) },
];

/** Rows of the table, { name, cells: [program] }. */
export async function runFbx(t, rows, progress) {
    const chosen = fbxKinds.filter(({ name, quick }) => (quick || !t.quick) && t.wanted(`FBX: ${name}`));
    const made = chosen.map((kind, n) => {
        const number = kinds.findIndex(({ name }) => name === kind.from);
        const [glb] = makeKind(kinds[number], `fbx_${n}`, t);
        const fbx = glb.replace(/\.glb$/, ".fbx");
        support.run(t.pelt, ["convert", glb, fbx, ...(kind.options ?? []), "-q"]);
        return { kind, glb, fbx, names: support.readGltf(glb).document.animations?.map(({ name }) => name) ?? [] };
    });
    rows.push(...chosen.map(({ name }) => ({ name, cells: [] })));
    for (const [p, program] of fbxPrograms.entries()) {
        console.log(`FBX: ${program.name}: ${program.missing() ? `skipped: ${program.missing()}` : `${made.length} kinds of file`}`);
        const evaluate = async (jobs, folder) => {
            const results = await program.evaluate(jobs.map((job, n) => ({ ...job, names: made[n].names })), folder);
            return results.map((result, n) => (program.raw && result.poses ? { ...result, poses: result.poses.map((pose) => converted(pose, program.turns ? { ...made[n].kind, up: "y" } : made[n].kind)) } : result));
        };
        const cells = await judge({ ...program, evaluate }, made.map(({ glb }) => glb), t.toolPose, t.folder, made.map(({ fbx }) => fbx));
        cells.forEach((cell, n) => (rows[n].cells[p] = withinLimit(cell, made[n].kind.limits?.[program.name])));
        progress();
    }
}
