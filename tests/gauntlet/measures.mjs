// What the gauntlet measures on a written file.
import { readFileSync } from "node:fs";
import zlib from "node:zlib";
import { complaints, validate } from "../node/gltf_check.mjs";
import { readPc2 } from "../node/shown.mjs";

/** Complaints of the Khronos validator that the source did not have. A source that is no glTF file has none. */
export async function newComplaints(source, file) {
    const before = /\.(glb|gltf)$/.test(source) ? await validate(source) : { warnings: {} };
    return complaints(before, await validate(file)).length;
}

function boxOf(frame, box = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity]) {
    for (let i = 0; i < frame.length; i++) {
        if (!Number.isFinite(frame[i])) return box.fill(NaN);
        box[i % 3] = Math.min(box[i % 3], frame[i]);
        box[3 + (i % 3)] = Math.max(box[3 + (i % 3)], frame[i]);
    }
    return box;
}

/** The box around all frames of a cache: [min x, y, z, max x, y, z]; NaN when a vertex is not finite. */
export const boxOfCache = (file) => readPc2(file).reduce((box, frame) => boxOf(frame, box), undefined);

/** The longest diagonal of the box of any one frame. */
export const largestFrame = (file) =>
    Math.max(...readPc2(file).map((frame) => boxOf(frame)).map((box) => Math.hypot(...[0, 1, 2].map((c) => box[3 + c] - box[c]))));

/** How far `box` reaches from the middle of `source`, as a multiple of what `source` does: 1 for equal boxes; NaN if any is. */
export function reach(source, box) {
    const size = Math.hypot(...[0, 1, 2].map((c) => source[3 + c] - source[c]));
    let largest = 0;
    for (let c = 0; c < 3; c++) {
        const middle = (source[c] + source[3 + c]) / 2;
        // A flat side has no length of its own to be measured by.
        const half = Math.max((source[3 + c] - source[c]) / 2, size / 20);
        for (const end of [box[c], box[3 + c]]) {
            const share = Math.abs(end - middle) / half;
            if (Number.isNaN(share)) return NaN;
            largest = Math.max(largest, share);
        }
    }
    return largest;
}

/** How many values the rows of a PNG have, filtered as they are: a blank picture has very few. */
export function pictureValues(file) {
    const bytes = readFileSync(file);
    const parts = [];
    for (let at = 8; at + 8 < bytes.length; at += bytes.readUInt32BE(at) + 12)
        if (bytes.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at)));
    return new Set(zlib.inflateSync(Buffer.concat(parts))).size;
}

/** A measure that finds nothing wrong proves nothing. */
export function checkMeasures() {
    const source = [0, 0, 0, 2, 2, 2];
    const cases = [
        [reach(source, source), 1],
        [reach(source, [0, 0, 0, 2, 2, 4]), 3],
        [reach(source, boxOf([0, NaN, 0])), NaN],
    ];
    for (const [found, right] of cases) if (!Object.is(found, right)) throw new Error(`a measure of the gauntlet is ${found}, not ${right}`);
}
