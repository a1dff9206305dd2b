// rigs.mjs FILE NAME OPTIONS: every rig of the real data through the verbs, then Blender and three. A step is a column pair: what Pelt
// writes of the rig.
//
//   name   the verb
//   takes  whether it can do anything with this rig
//   args   the command line; `t` has file (the rig, moved), name (temp file) and capture
//
// Each rig is a process of this file of its own, so that several run at once and one that dies is a red row. It prints its cells
// as JSON; OPTIONS is JSON, what runRig takes.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as support from "../node/support.mjs";
import { judge, withinLimit } from "./judge.mjs";
import { programs } from "./programs.mjs";

const CAPTURE = "mocap-cmu-bvh/009/09_06.bvh"; // a short run
/** Skeletons of people: the capture is put on these. */
const PEOPLE = /human|rocketbox|modular_|production/i;
const SHOWN = ["three", "blender"];

/** Where a program itself cannot show a rig, or what is written of it: { rig, steps, program }, the first two as expressions, and
 * a limit of judge.mjs. What is not listed here is wrong. */
const limits = [
    {
        rig: /SimpleSkin/,
        steps: /^(source|bind|correct|jiggle|simplify)$/,
        program: "blender",
        bound: 2e-4,
        why: "the source's rotation keys are not of unit length (0.99985 to 1.00023), which scales; Blender normalises them (1.8e-4 measured)",
    },
    {
        rig: /facecap/,
        steps: /./,
        program: "blender",
        refuses: /Extension EXT_meshopt_compression is not available/,
        why: "Blender does not read EXT_meshopt_compression, which the source has, and what is written from it keeps",
    },
];
const limitOf = (rig, step, program) => limits.find((one) => one.rig.test(rig) && one.steps.test(step) && one.program === program);

const moves = ({ info }) => info.motions.some(({ duration }) => duration > 0.1);
const hasSkin = ({ info }) => info.bones > 1;
/** Joints without names cannot be matched with those of a capture. */
const hasNames = ({ file }) => {
    const { nodes, skins } = support.readGltf(file).document;
    return !skins || skins.some(({ joints }) => joints.some((joint) => nodes[joint].name));
};
const isBlended = ({ info }) => info.influences?.max > 1;

const steps = [
    { name: "source", takes: () => true, args: undefined },
    { name: "decompose", takes: moves, args: (t) => ["decompose", t.file, "--motion", "0", "--bones", "24", "-o", t.out] },
    { name: "bind", takes: isBlended, args: (t) => ["bind", t.file, "-o", t.out] },
    {
        name: "correct",
        takes: moves,
        prepare: (t) => t.pelt(["jiggle", t.file, "-o", t.temp("flesh.pc2")]),
        args: (t) => ["correct", t.file, t.temp("flesh.pc2"), "-o", t.out],
    },
    { name: "jiggle", takes: moves, args: (t) => ["jiggle", t.file, "-o", t.out] },
    { name: "simplify", takes: hasSkin, args: (t) => ["simplify", t.file, "-o", t.out] },
    {
        name: "retarget",
        takes: (rig) => hasSkin(rig) && hasNames(rig) && (rig.person ? existsSync(rig.capture) : moves(rig)),
        prepare: (t) => t.person || t.pelt(["convert", t.file, t.temp("own.bvh")]),
        args: (t) => ["retarget", t.file, t.person ? t.capture : t.temp("own.bvh"), "-o", t.out],
    },
];

const firstLine = (error) => error.message.trim().split("\n")[0];

/** Writes all files of one rig: [step] of { file }, { wrong } or nothing. */
function writeSteps(rig, folder, { pelt, steps: only }) {
    const run = (args) => support.run(pelt, [...args, "-q"]);
    const files = [];
    for (const step of steps) {
        if (!new RegExp(only).test(step.name) || !step.takes(rig)) {
            files.push(undefined);
            continue;
        }
        const temp = (name) => path.join(folder, name);
        const t = { ...rig, pelt: run, temp, out: temp(`${step.name}.glb`) };
        try {
            step.prepare?.(t);
            if (step.args) run(step.args(t));
            files.push({ file: step.args ? t.out : rig.file });
        } catch (error) {
            files.push({ wrong: firstLine(error) });
        }
    }
    return files;
}

/** The rig with what Pelt knows of it; people who do not move get the capture first. */
function describe(file, name, folder, pelt) {
    const read = (one) => JSON.parse(support.run(pelt, ["info", one, "-q", "--json", "-"])).inputs[0];
    const rig = { name, file, info: read(file), person: PEOPLE.test(name), capture: path.join(support.data, CAPTURE) };
    if (moves(rig) || !rig.person || !hasSkin(rig) || !existsSync(rig.capture)) return rig;
    const moved = path.join(folder, "moved.glb");
    support.run(pelt, ["retarget", file, rig.capture, "--replace", "-o", moved, "-q"]);
    return { ...rig, file: moved, info: read(moved) };
}

const columns = steps.flatMap(({ name }) => SHOWN.map((shown) => `${name}: ${shown}`));
const none = { ok: true, none: true, text: "–" };
/** A row whose first cell is wrong. */
const wrongRow = (text) => columns.map((_, k) => (k ? none : { ok: false, error: NaN, text }));

/** Cells of one rig, in the order of the columns. */
async function runRig(file, name, options) {
    const { pelt, toolPose, folder } = options;
    const rig = describe(file, name, folder, pelt);
    const files = writeSteps(rig, folder, options);
    const written = files.filter((one) => one?.file).map((one) => one.file);
    const cells = files.map((one) => SHOWN.map(() => (one?.wrong ? { ok: false, error: NaN, text: one.wrong } : none)));
    for (const [n, shown] of SHOWN.entries()) {
        const results = await judge(programs.find((one) => one.name === shown), written, toolPose, folder);
        files.forEach((one, k) => one?.file && (cells[k][n] = withinLimit(results[written.indexOf(one.file)], limitOf(name, steps[k].name, shown))));
    }
    return cells.flat();
}

/** Processes of rigs that run; each has a group of its own, so that an interrupted run ends theirs too. */
const running = new Set();
process.on("exit", () => running.forEach(({ pid }) => process.kill(-pid, "SIGKILL")));

/** The same in a process of its own. */
const runApart = (file, name, options) =>
    new Promise((resolve) => {
        const child = spawn(process.execPath, [fileURLToPath(import.meta.url), file, name, JSON.stringify(options)], { stdio: ["ignore", "pipe", "inherit"], detached: true });
        if (child.pid) running.add(child);
        const parts = [];
        child.stdout.on("data", (part) => parts.push(part));
        child.on("error", (error) => resolve(wrongRow(error.message)));
        child.on("exit", () => running.delete(child));
        child.on("close", (status, signal) => {
            try {
                if (status !== 0) throw new Error(`the process of this rig ends with ${signal ?? `exit ${status}`}`);
                // JSON has no NaN: null.
                resolve(JSON.parse(Buffer.concat(parts).toString()).map((cell) => (cell.error === null ? { ...cell, error: NaN } : cell)));
            } catch (error) {
                resolve(wrongRow(firstLine(error)));
            }
        });
    });

/** Rows of rigs; a column for every step and program. They are added to `rows` in the order of the files as they are there, and `progress`
 * is called after each. */
export async function runRigs({ pelt, toolPose, folder: scratch, wanted, steps: only, jobs }, rows, progress) {
    if (!existsSync(support.data)) {
        console.log(`no real data at ${support.data} (PELT_DATA says where): no rigs`);
        return;
    }
    const all = [...support.characterFiles(), ...support.filesBelow(path.join(support.data, "face-arkit"), [".glb"])];
    const files = all.map((file) => ({ file, name: path.relative(support.data, file) })).filter(({ name }) => wanted(name));
    const places = new Map();
    let next = 0;
    const work = async () => {
        while (next < files.length) {
            const place = next++;
            const { file, name } = files[place];
            const start = Date.now();
            const folder = mkdtempSync(path.join(scratch, "rig-"));
            const cells = await runApart(file, name, { pelt, toolPose, folder, steps: only });
            rmSync(folder, { recursive: true });
            const red = cells.filter(({ ok }) => !ok).length;
            console.log(`${place + 1} of ${files.length}: ${name}: ${red ? `${red} wrong` : "right"}, ${Math.round((Date.now() - start) / 1000)} s`);
            const row = { name: name.replace(/^char-/, "").replace(/\.(glb|gltf)$/, ""), cells };
            places.set(row, place);
            rows.push(row);
            rows.sort((a, b) => places.get(a) - places.get(b));
            progress();
        }
    };
    await Promise.all(Array.from({ length: jobs }, work));
}

export const rigColumns = columns;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const [file, name, options] = process.argv.slice(2);
    const cells = await runRig(file, name, JSON.parse(options)).catch((error) => wrongRow(firstLine(error)));
    process.stdout.write(JSON.stringify(cells));
}
