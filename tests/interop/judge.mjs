// One program on a list of files: a cell for each, { error, moment, ok, text, note, skipped }.
import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { readGltf } from "../node/support.mjs";
import { compare, momentsOf, oursAt } from "./compare.mjs";
import { byThree } from "./programs.mjs";

export const BOUND = 1e-4;

const known = new Map();
/** Moments and Pelt's poses of a file, computed once. */
async function truth(tool, file) {
    if (!known.has(file)) {
        const moments = await momentsOf(file);
        known.set(file, { moments, poses: oursAt(tool, file, moments) });
    }
    return known.get(file);
}

/** Files that are written over must be looked at again. */
export const forget = () => known.clear();

const when = ([motion, time]) => (motion < 0 ? "rest" : `motion ${motion}, ${time.toFixed(4)} s`);
const short = (value) => (Number.isFinite(value) ? value.toExponential(1) : `${value}`);

/** Judges one result. Where the distance is too large because the program interpolates rotations in its own way, three in that
 * way is what it is compared with, and the note says so. */
async function cell(program, result, file, { moments, poses }) {
    if (result.error) return { ok: false, error: NaN, text: result.error };
    const bound = program.bound ?? BOUND;
    const { error, moment } = compare(poses, result, moments);
    const text = `${short(error)} at ${when(moment)}`;
    if (error <= bound) return { ok: true, error, moment, text };
    if (program.blends) {
        const other = compare((await byThree({ file, moments }, program.blends)).poses, result, moments);
        if (other.error <= bound) return { ok: true, error, moment, text, note: `${program.blends}: ${short(other.error)}` };
    }
    if (program.influences && influencesOf(file) > program.influences)
        return { ok: true, error, moment, text, note: `${program.influences} of ${influencesOf(file)} influences` };
    return { ok: false, error, moment, text };
}

/** Influences that vertices of a file have room for. */
export function influencesOf(file) {
    const names = readGltf(file).document.meshes.flatMap(({ primitives }) => primitives.flatMap(({ attributes }) => Object.keys(attributes)));
    return 4 * names.reduce((most, name) => Math.max(most, name.startsWith("JOINTS_") ? Number(name.slice(7)) + 1 : 0), 0);
}

/** Cells of all files. */
export async function judge(program, files, tool, scratch) {
    const missing = program.missing();
    if (missing) return files.map(() => ({ ok: true, skipped: missing, text: `skipped: ${missing}` }));
    if (files.length === 0) return [];
    const truths = [];
    for (const file of files) truths.push(await truth(tool, file));
    const folder = mkdtempSync(path.join(scratch, "program-"));
    const results = await program.evaluate(files.map((file, n) => ({ file, moments: truths[n].moments })), folder);
    const cells = [];
    for (const [n, file] of files.entries())
        cells.push(await cell(program, results[n], file, truths[n]).catch((error) => ({ ok: false, error: NaN, text: error.message.split("\n")[0] })));
    rmSync(folder, { recursive: true });
    return cells;
}
