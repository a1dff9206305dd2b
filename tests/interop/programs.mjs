// The programs that evaluate Pelt's files: a row for each.
//
//   name      as the tables have it
//   about     what runs
//   bound     the largest distance that is right, as a share of the size; 1e-4 unless the program itself cannot
//   limit     why not, in words
//   blends    how it interpolates rotations between keys, where not spherically
//   influences which of a vertex it plays, where not all: a cut of influences.mjs
//   missing   a sentence where it is not installed
//   evaluate  (jobs, folder) → one result for each job, { file, moments }: { poses, vertices? or unordered? } as compare.mjs
//             takes them, or { error }: a sentence. Scratch files go to `folder`
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../node/support.mjs";
import * as three from "../node/three_positions.mjs";
import { layout } from "./compare.mjs";
import { FIRST_SET, FIRST_SET_UNSCALED, LARGEST } from "./influences.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const inPath = (program) => (process.env.PATH ?? "").split(path.delimiter).some((folder) => existsSync(path.join(folder, program)));
export const missingProgram = (program) => (inPath(program) ? "" : `${program} is not installed`);
export const missingPackage = (name) => (existsSync(here(`node_modules/${name}`)) ? "" : `npm package ${name} is not installed`);
export const missingAssimp = () => (spawnSync(PYTHON, ["-c", "import ctypes, numpy; ctypes.CDLL('libassimp.so.5')"], { stdio: "ignore" }).status === 0 ? "" : "libassimp5 or python3-numpy is not installed");
/** Debian's own, which has its numpy; another one may come first in PATH. */
const PYTHON = "/usr/bin/python3";
const firstLine = (error) => error.message.trim().split("\n")[0];

/** Runs each job by itself; an exception is its result. */
const eachAlone = (evaluate) => async (jobs, folder) => {
    const results = [];
    for (const [n, job] of jobs.entries()) results.push(await Promise.resolve().then(() => evaluate(job, path.join(folder, `${n}`))).catch((error) => ({ error: firstLine(error) })));
    return results;
};

/** An engine whose module is loaded only when it is asked for. */
const byModule = (name) => eachAlone(async (job) => (await import(name)).evaluate(job));

/** Poses by three; `way` of interpolating rotations, and then with all influences, or three's own. Animations go by name where names differ: converters
 * leave out those that move nothing. */
export async function byThree({ file, moments, names }, way) {
    const gltf = await (way ? three.loadWithAllInfluences(file) : three.load(file));
    const objects = three.drawn(gltf);
    const rest = three.worldPositions(gltf, objects);
    const clip = (motion) => (names && new Set(names).size === names.length ? gltf.animations.find(({ name }) => name === names[motion]) : gltf.animations[motion]);
    const pose = ([motion, time]) => (motion < 0 || !clip(motion) ? rest : three.positionsAt(gltf, objects, clip(motion), time));
    return { poses: way ? three.interpolated(way, () => moments.map(pose)) : moments.map(pose) };
}

/** A file that another program writes anew, as three plays it. */
const converted = (convert) =>
    eachAlone(async (job, stem) => {
        const out = `${stem}.glb`;
        convert(job.file, out);
        const names = (await three.load(job.file)).animations.map(({ name }) => name);
        return { ...(await byThree({ ...job, file: out, names })), unordered: true };
    });

export const gltfpack = (options) => (file, out) => run(process.execPath, [here("node_modules/gltfpack/cli.js"), "-i", file, "-o", out, ...options]);
export const transform = (options) => (file, out) => run(process.execPath, [here("transform.mjs"), file, out, ...options]);

/** A script that has not ended by then hangs; the slowest one seen took a minute. */
const SCRIPT_LIMIT = 600_000; // milliseconds

/** Runs blender.py or assimp.py on jobs: { out, error, crashed? } or { out, objects } of each; see there. A job that ends the program
 * is wrong; those after it run in a new one. */
function runScript(command, jobs, folder) {
    const list = path.join(folder, "jobs.json");
    const results = jobs.map((_, n) => ({ out: path.join(folder, `job_${n}`) }));
    for (let first = 0; first < jobs.length; ) {
        writeFileSync(list, JSON.stringify(jobs.slice(first).map((job, n) => ({ ...job, out: results[first + n].out }))));
        const { status, signal, stderr, error } = spawnSync(command[0], [...command.slice(1), list], { encoding: "utf8", maxBuffer: 1 << 28, timeout: SCRIPT_LIMIT, killSignal: "SIGKILL" });
        while (first < jobs.length && existsSync(`${results[first].out}.json`)) Object.assign(results[first], JSON.parse(readFileSync(`${results[first++].out}.json`, "utf8")));
        if (first < jobs.length)
            Object.assign(results[first++], { crashed: true, error: `${command[0]} ends with ${error?.code ?? signal ?? `exit ${status}`}: ${(stderr ?? "").trim().split("\n").at(-1)}` });
    }
    return results;
}

export const runAssimp = (jobs, folder) => runScript([PYTHON, here("assimp.py")], jobs, folder);
export const runBlender = (jobs, folder) => runScript(["blender", "-b", "--factory-startup", "--python", here("blender.py"), "--"], jobs, folder);

/** A function of the moment's number: positions as a script wrote them. */
export function readPoses({ out, objects }) {
    const bytes = readFileSync(`${out}.bin`);
    const floats = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    const total = objects.reduce((sum, { count }) => sum + count, 0);
    return { total, pose: (k) => floats.subarray(3 * k * total, 3 * (k + 1) * total) };
}

/** Blender's objects put into Pelt's order: `vertices` are those of Pelt that it has. */
function ordered(result, { file, moments }) {
    if (result.error) return result;
    const { total, pose } = readPoses(result);
    const starts = new Map();
    let at = 0;
    for (const { node, count } of result.objects) {
        starts.set(node, at);
        at += count;
    }
    const [vertices, places] = [[], []];
    let first = 0;
    for (const { node, count, used } of layout(file)) {
        if (!starts.has(node)) return { error: `no object has the mesh of node ${node}` };
        const start = starts.get(node);
        used.forEach((vertex, n) => {
            vertices.push(first + vertex);
            places.push(start + n);
        });
        starts.set(node, start + used.length);
        first += count;
    }
    if (places.length !== total) return { error: `draws ${total} vertices, of which ${places.length} are in the scene and used` };
    return { vertices, poses: moments.map((_, k) => Float32Array.from(places.flatMap((i) => [...pose(k).subarray(3 * i, 3 * i + 3)]))) };
}

export function inAnyOrder(result, { moments }) {
    if (result.error) return result;
    const { pose } = readPoses(result);
    return { unordered: true, poses: moments.map((_, k) => pose(k)) };
}

export const programs = [
    {
        name: "three",
        about: "three, `GLTFLoader`",
        influences: FIRST_SET,
        missing: () => "",
        evaluate: eachAlone((job) => byThree(job)),
    },
    {
        name: "babylon",
        about: "Babylon, `NullEngine`",
        missing: () => missingPackage("@babylonjs/core"),
        evaluate: byModule("./babylon.mjs"),
    },
    {
        name: "playcanvas",
        about: "PlayCanvas, `NullGraphicsDevice`",
        blends: "nlerp",
        influences: FIRST_SET_UNSCALED,
        missing: () => missingPackage("playcanvas"),
        evaluate: byModule("./playcanvas.mjs"),
    },
    {
        name: "blender",
        about: "Blender, `File > Import > glTF 2.0` as it is set, evaluated between frames too",
        blends: "nlerp",
        missing: () => missingProgram("blender"),
        evaluate: async (jobs, folder) => runBlender(jobs, folder).map((result, n) => ordered(result, jobs[n])),
    },
    {
        name: "assimp",
        about: "assimp, what `aiImportFile` gives",
        missing: missingAssimp,
        evaluate: async (jobs, folder) => runAssimp(jobs, folder).map((result, n) => inAnyOrder(result, jobs[n])),
    },
    {
        name: "gltfpack",
        about: "`gltfpack -noq -af 0 -ar 16 -kn`, played by three",
        bound: 3e-3,
        limit: "weights become 8 bit, which alone moves vertices of the cloth scene by 1.7e-3, of the horse by 2.5e-3",
        influences: LARGEST,
        missing: () => missingPackage("gltfpack"),
        evaluate: converted(gltfpack(["-noq", "-af", "0", "-ar", "16", "-kn"])),
    },
    {
        name: "gltfpack, default",
        about: "`gltfpack`, played by three",
        bound: 3e-3,
        limit: "clips are resampled at 30 Hz, positions become 14 bit, weights 8 bit, rotations 12 bit: 1.7e-3 measured at most, of the cloth scene",
        influences: LARGEST,
        missing: () => missingPackage("gltfpack"),
        evaluate: converted(gltfpack(["-kn"])),
    },
    {
        name: "glTF-Transform",
        about: "glTF-Transform: dedup, flatten, join, weld, resample (tolerance 1e-6), prune, sparse; played by three",
        influences: FIRST_SET,
        missing: () => missingPackage("@gltf-transform/core"),
        evaluate: converted(transform([])),
    },
];
