// The programs that evaluate Pelt's files: a row for each.
//
//   name      as the tables have it
//   package   what brings it
//   missing   a sentence where it is not installed
//   evaluate  (jobs, folder) → one result for each job, { file, moments }: { poses, vertices? or unordered? } as compare.mjs
//             takes them, or { error }: a sentence. Scratch files go to `folder`
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as three from "../node/three_positions.mjs";
import { layout } from "./compare.mjs";

const installed = (program) => spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;
const firstLine = (error) => error.message.trim().split("\n")[0];

/** Runs each job by itself; an exception is its result. */
const eachAlone = (evaluate) => async (jobs, folder) => {
    const results = [];
    for (const [n, job] of jobs.entries()) results.push(await Promise.resolve().then(() => evaluate(job, path.join(folder, `${n}`))).catch((error) => ({ error: firstLine(error) })));
    return results;
};

async function byThree({ file, moments }) {
    const gltf = await three.load(file);
    const objects = three.drawn(gltf);
    const rest = three.worldPositions(gltf, objects);
    return { poses: moments.map(([motion, time]) => (motion < 0 ? rest : three.positionsAt(gltf, objects, gltf.animations[motion], time))) };
}

/** Runs blender.py on jobs and reads what it wrote; see there. */
export function runBlender(jobs, folder) {
    const script = fileURLToPath(new URL("blender.py", import.meta.url));
    const list = path.join(folder, "jobs.json");
    const outs = jobs.map((_, n) => path.join(folder, `blender_${n}`));
    writeFileSync(list, JSON.stringify(jobs.map((job, n) => ({ ...job, out: outs[n] }))));
    const { status, stderr } = spawnSync("blender", ["-b", "--factory-startup", "--python-exit-code", "3", "--python", script, "--", list], { encoding: "utf8", maxBuffer: 1 << 28 });
    if (status !== 0) throw new Error(`blender: exit ${status}: ${stderr.trim().split("\n").at(-1)}`);
    return outs.map((out) => ({ out, ...JSON.parse(readFileSync(`${out}.json`, "utf8")) }));
}

/** Blender's objects put into Pelt's order: `vertices` are those of Pelt that it has. */
function ordered({ out, error, objects }, { file, moments }) {
    if (error) return { error };
    const parts = layout(file);
    const bytes = readFileSync(`${out}.bin`);
    const floats = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    const total = objects.reduce((sum, { count }) => sum + count, 0);
    const starts = new Map();
    let at = 0;
    for (const { node, count } of objects) {
        starts.set(node, at);
        at += count;
    }
    const [vertices, places] = [[], []];
    let first = 0;
    for (const { node, count, used } of parts) {
        if (!starts.has(node)) return { error: `no object has the mesh of node ${node}` };
        const start = starts.get(node);
        used.forEach((vertex, n) => {
            vertices.push(first + vertex);
            places.push(start + n);
        });
        starts.set(node, start + used.length);
        first += count;
    }
    if (places.length !== total) return { error: `Blender has ${total} vertices, ${places.length} are used` };
    const pose = (k) => Float32Array.from(places.flatMap((i) => [...floats.subarray(3 * (k * total + i), 3 * (k * total + i) + 3)]));
    return { vertices, poses: moments.map((_, k) => pose(k)) };
}

export const programs = [
    {
        name: "three",
        package: "npm three",
        missing: () => "",
        evaluate: eachAlone(byThree),
    },
    {
        name: "blender",
        package: "Debian blender, python3-numpy",
        missing: () => (installed("blender") ? "" : "blender is not installed"),
        evaluate: async (jobs, folder) => runBlender(jobs, folder).map((result, n) => ordered(result, jobs[n])),
    },
];
