// A mesh with a cache in Blender, through its Mesh Cache modifier; the cache itself is the truth.
import { mkdtempSync } from "node:fs";
import path from "node:path";
import { readPc2 } from "../node/shown.mjs";
import { compare } from "./compare.mjs";
import { BOUND } from "./judge.mjs";
import { readPoses, runBlender } from "./programs.mjs";

const FRAMES = 4;
const FPS = 30; // any: the cache is told to play at this rate

/** Frames of a cache to look at, and halfway to each next one. */
function framesOf(count) {
    const chosen = Array.from({ length: Math.min(FRAMES, count - 1) }, (_, i) => Math.floor((i * (count - 1)) / FRAMES));
    return chosen.flatMap((k) => [k, k + 0.5]);
}

/** `shown` are the files that Blender gets: other ones only to see that they are rejected. */
export function judgeCache(program, [mesh, cache], scratch, shown = [mesh, cache]) {
    if (program.name !== "blender") return { ok: true, none: true, text: "–" };
    if (program.missing()) return { ok: true, skipped: program.missing(), text: `skipped: ${program.missing()}` };
    const frames = readPc2(cache);
    const places = framesOf(frames.length);
    const moments = places.map((frame) => [0, frame / FPS]);
    const [result] = runBlender([{ file: shown[0], cache: shown[1], fps: FPS, moments }], mkdtempSync(path.join(scratch, "cache-")));
    const fail = (text) => ({ ok: false, error: NaN, text });
    if (result.error) return fail(result.error);
    if (result.objects.length !== 1) return fail(`${result.objects.length} objects; the cache fits one`);
    const { pose, total } = readPoses(result);
    if (3 * total !== frames[0].length) return fail(`${total} vertices, the cache has ${frames[0].length / 3}`);
    const between = (k) => frames[Math.floor(k)].map((x, i) => (Number.isInteger(k) ? x : (x + frames[Math.floor(k) + 1][i]) / 2));
    const { error, moment } = compare(places.map(between), { poses: places.map((_, k) => pose(k)) }, moments);
    return { ok: error <= BOUND, error, moment, text: `${error.toExponential(1)} at frame ${moment[1] * FPS}` };
}
