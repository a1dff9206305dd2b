// Every rig of the real data through the verbs, then Blender and three. A step is a column pair: what Pelt writes of the rig.
//
//   name   the verb
//   takes  whether it can do anything with this rig
//   args   the command line; `t` has file (the rig, moved), name (temp file) and capture
import { existsSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import * as support from "../node/support.mjs";
import { forget, judge } from "./judge.mjs";
import { programs } from "./programs.mjs";

const CAPTURE = "mocap-cmu-bvh/009/09_06.bvh"; // a short run
/** Skeletons of people: the capture is put on these. */
const PEOPLE = /human|rocketbox|modular_|production/i;
const SHOWN = ["three", "blender"];

const moves = ({ info }) => info.motions.some(({ duration }) => duration > 0.1);
const hasSkin = ({ info }) => info.bones > 1;
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
        takes: (rig) => hasSkin(rig) && (rig.person ? existsSync(rig.capture) : moves(rig)),
        prepare: (t) => t.person || t.pelt(["convert", t.file, t.temp("own.bvh")]),
        args: (t) => ["retarget", t.file, t.person ? t.capture : t.temp("own.bvh"), "-o", t.out],
    },
];

const firstLine = (error) => error.message.trim().split("\n")[0];

/** Writes all files of one rig: [step] of { file }, { wrong } or nothing. */
function writeSteps(rig, folder, pelt) {
    const run = (args) => support.run(pelt, [...args, "-q"]);
    const files = [];
    for (const step of steps) {
        if (!step.takes(rig)) {
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

/** Cells of one rig, in the order of the columns. */
async function runRig(file, name, { pelt, toolPose, folder: scratch }) {
    const folder = path.join(scratch, "rig");
    mkdirSync(folder);
    const rig = describe(file, name, folder, pelt);
    const files = writeSteps(rig, folder, pelt);
    const written = files.filter((one) => one?.file).map((one) => one.file);
    const cells = files.map((one) => SHOWN.map(() => (one?.wrong ? { ok: false, text: one.wrong } : { ok: true, none: true, text: "–" })));
    for (const [n, shown] of SHOWN.entries()) {
        const results = await judge(programs.find((one) => one.name === shown), written, toolPose, scratch);
        files.forEach((one, k) => one?.file && (cells[k][n] = results[written.indexOf(one.file)]));
    }
    // What a program makes of the source itself it may make of what is written from it.
    const source = cells[0];
    for (const row of cells.slice(1))
        row.forEach((cell, n) => {
            if (!cell.ok && !cell.none && !source[n].ok && cell.error <= 2 * source[n].error) row[n] = { ...cell, ok: true, note: "as the source" };
        });
    source.forEach((cell, n) => !cell.ok && (source[n] = { ...cell, ok: true, note: "the source itself" }));
    forget();
    rmSync(folder, { recursive: true });
    return cells.flat();
}

/** Rows of rigs; a column for every step and program. */
export async function runRigs(t) {
    const columns = steps.flatMap(({ name }) => SHOWN.map((shown) => `${name}: ${shown}`));
    const rows = [];
    if (!existsSync(support.data)) {
        console.log(`no real data at ${support.data} (PELT_DATA says where): no rigs`);
        return { rows, columns };
    }
    const files = [...support.characterFiles(), ...support.filesBelow(path.join(support.data, "face-arkit"), [".glb"])];
    for (const [n, file] of files.entries()) {
        const name = path.relative(support.data, file);
        if (!t.wanted(name)) continue;
        const start = Date.now();
        const cells = await runRig(file, name, t).catch((error) => {
            rmSync(path.join(t.folder, "rig"), { recursive: true, force: true });
            forget();
            return columns.map((_, k) => (k ? { ok: true, none: true, text: "–" } : { ok: false, text: firstLine(error) }));
        });
        const red = cells.filter(({ ok }) => !ok).length;
        console.log(`${n + 1} of ${files.length}: ${name}: ${red ? `${red} wrong` : "right"}, ${Math.round((Date.now() - start) / 1000)} s`);
        rows.push({ name: name.replace(/^char-/, "").replace(/\.(glb|gltf)$/, ""), cells });
    }
    return { rows, columns };
}
