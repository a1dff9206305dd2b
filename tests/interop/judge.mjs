// One program on a list of files: a cell for each, { ok, error, judged, moment, text, note, refused, skipped }. `error` is the distance
// from Pelt's evaluation, `judged` the distance that must be below the program's bound; see cellOf.
import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { compare, momentsOf, oursAt } from "./compare.mjs";
import { cutInfluences, influencesOf } from "./influences.mjs";
import { byThree } from "./programs.mjs";

export const BOUND = 1e-4;

const known = new Map();
/** Moments and Pelt's poses of a file, computed once. */
async function truth(tool, file) {
    if (!known.has(file)) {
        const moments = await momentsOf(file);
        known.set(file, { file, moments, poses: oursAt(tool, file, moments), play: (poses) => poses });
    }
    return known.get(file);
}

/** Files that are written over must be looked at again. */
export const forget = () => known.clear();

/** The truth for a program that plays fewer influences than the file has: Pelt's poses of the file without the others. */
async function truthOfCut(tool, file, cut, folder) {
    const out = path.join(folder, `${path.basename(file, path.extname(file))}-cut.glb`);
    const play = cutInfluences(file, out, cut);
    const { moments, poses } = await truth(tool, file);
    const pelts = play(oursAt(tool, out, moments));
    return { file: out, moments, poses: pelts, play, full: poses };
}

const when = ([motion, time]) => (motion < 0 ? "rest" : `motion ${motion}, ${time.toFixed(4)} s`);
const short = (value) => (Number.isFinite(value) ? value.toExponential(1) : `${value}`);

/** Judges one result. `error` is the distance from Pelt's evaluation of the whole file. Where a program plays fewer influences
 * than the file has, or interpolates rotations in its own way and is not right otherwise, what counts is the distance from the
 * file played like that, and the note has it. */
export async function cellOf(program, result, { file, moments, poses, play, full = poses }) {
    if (result.error) return { ok: false, error: NaN, refused: !result.crashed, text: result.error };
    const bound = program.bound ?? BOUND;
    const { error, moment } = compare(full, result, moments);
    const text = `${short(error)} at ${when(moment)}`;
    const notes = full === poses ? [] : [program.influences.words];
    const judged = full === poses ? error : compare(poses, result, moments).error;
    const cell = (ok, distance) => {
        const plain = { ok, error, judged: distance, moment, text };
        return notes.length === 0 ? plain : { ...plain, text: `${text}; ${short(distance)} from ${notes.join(", ")}`, note: `${notes.join("; ")}: ${short(distance)}` };
    };
    if (judged <= bound || !program.blends) return cell(judged <= bound, judged);
    const blended = compare(play((await byThree({ file, moments }, program.blends)).poses), result, moments).error;
    if (!(blended < judged)) return cell(false, judged);
    notes.push(program.blends);
    return cell(blended <= bound, blended);
}

/** A cell that is wrong, and a limit of the program: right where the limit covers it, and the note says why. A limit has `why` and
 * `bound`, which covers what is judged to be no farther off; or `why` and `refuses`, which covers the program's own message that it
 * cannot read the file. What is not a number, a crash, and any other message stay wrong. */
export function withinLimit(cell, limit) {
    if (!limit || cell.ok) return cell;
    const covered = limit.refuses ? cell.refused && limit.refuses.test(cell.text) : cell.judged <= limit.bound;
    return covered ? { ...cell, ok: true, note: [cell.note, limit.why].filter(Boolean).join("; ") } : cell;
}

/** Cells of all files. `shown` are the files that the program gets in their place: other ones only to see that they are rejected. */
export async function judge(program, files, tool, scratch, shown = files) {
    const missing = program.missing();
    if (missing) return files.map(() => ({ ok: true, skipped: missing, text: `skipped: ${missing}` }));
    if (files.length === 0) return [];
    const folder = mkdtempSync(path.join(scratch, "program-"));
    const truths = [];
    for (const file of files) truths.push(await truth(tool, file));
    const results = await program.evaluate(shown.map((file, n) => ({ file, moments: truths[n].moments })), folder);
    const cells = [];
    const judgeOne = async (file, n) => {
        const cut = program.influences && influencesOf(file) > program.influences.keep;
        return cellOf(program, results[n], cut ? await truthOfCut(tool, file, program.influences, folder) : truths[n]);
    };
    for (const [n, file] of files.entries()) cells.push(await judgeOne(file, n).catch((error) => ({ ok: false, error: NaN, text: error.message.split("\n")[0] })));
    rmSync(folder, { recursive: true });
    return cells;
}
