// Vertex positions, [vertex][3] in world space: those of Pelt, and how far two sets of them are apart.
import * as support from "./support.mjs";

/** Pelt's positions: the rest pose, then one array per [motion, seconds]. `tool` is the program tool_pose; motions are the
 * animations of the file, or what `join` (see pelt_load_desc) makes of them. */
export function ours(tool, file, moments, join = "none") {
    const bytes = support.run(tool, [file, "--join", join, ...moments.flatMap(([motion, time]) => [`${motion}`, `${time}`])]);
    const count = bytes.readUInt32LE(0);
    const floats = new Float32Array(bytes.buffer.slice(bytes.byteOffset + 4, bytes.byteOffset + bytes.length));
    return [...Array(moments.length + 1).keys()].map((k) => floats.subarray(k * count * 3, (k + 1) * count * 3));
}

/** The diagonal of the box around positions. */
export function diagonal(positions) {
    const min = [Infinity, Infinity, Infinity];
    const max = [-Infinity, -Infinity, -Infinity];
    positions.forEach((x, index) => {
        min[index % 3] = Math.min(min[index % 3], x);
        max[index % 3] = Math.max(max[index % 3], x);
    });
    return Math.hypot(max[0] - min[0], max[1] - min[1], max[2] - min[2]);
}

/** The largest distance of two vertices with the same number; NaN when anything is not a number. */
export function largestDistance(a, b) {
    let largest = 0;
    for (let i = 0; i < a.length; i += 3) {
        const distance = Math.hypot(a[i] - b[i], a[i + 1] - b[i + 1], a[i + 2] - b[i + 2]);
        if (Number.isNaN(distance)) return NaN;
        largest = Math.max(largest, distance);
    }
    return largest;
}
