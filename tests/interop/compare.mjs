// What another program makes of a file against Pelt's own evaluation: the moments to look at, and the largest distance.
import { diagonal, largestDistance, ours } from "../node/positions.mjs";
import * as support from "../node/support.mjs";
import { load, nodeOrder } from "../node/three_positions.mjs";

const KEYS_PER_MOTION = 4;
const MOTIONS = 3; // of a file with many, these are enough: the first ones
/** Vertices whose places in rest differ by less than this share of the size may be the same vertex of another order. */
const SAME_PLACE = 1e-4;

/** Times to evaluate: the rest pose, [-1, 0], then of every motion some of its keys, first and last among them, and halfway
 * to each next one. Keys are those of the file, since three leaves out tracks that it has no use for. */
export async function momentsOf(file) {
    const { parser } = await load(file);
    const moments = [[-1, 0]];
    for (const [motion, { samplers, channels }] of (parser.json.animations ?? []).slice(0, MOTIONS).entries()) {
        const inputs = new Set(channels.map(({ sampler }) => samplers[sampler].input));
        const times = await Promise.all([...inputs].map((input) => parser.getDependency("accessor", input)));
        const keys = [...new Set(times.flatMap(({ array }) => [...array]))].sort((a, b) => a - b);
        const count = Math.min(KEYS_PER_MOTION, keys.length);
        const chosen = Array.from({ length: count }, (_, i) => Math.round((i * (keys.length - 1)) / Math.max(count - 1, 1)));
        const shown = chosen.flatMap((k) => [keys[k], ...(k + 1 < keys.length ? [(keys[k] + keys[k + 1]) / 2] : [])]);
        moments.push(...shown.map((time) => [motion, Math.fround(time)]));
    }
    return moments;
}

/** Pelt's positions at moments, the first of which is the rest pose. */
export const oursAt = (tool, file, moments) => ours(tool, file, moments.slice(1));

/** What is drawn of a file, its default scene, in Pelt's order: [{ node, position, count, used }], a primitive each: the accessor of its
 * positions, its vertices, and those of them that indices name, ascending. */
export function layout(file) {
    const { document, buffer } = support.readGltf(file);
    const places = nodeOrder(document.nodes);
    const nodes = [];
    const visit = (node) => {
        const { mesh, children } = document.nodes[node];
        if (mesh !== undefined) nodes.push({ mesh, node });
        children?.forEach(visit);
    };
    (document.scenes?.[document.scene ?? 0]?.nodes ?? []).forEach(visit);
    const used = ({ indices, attributes }) => {
        const { count } = document.accessors[attributes.POSITION];
        if (indices === undefined) return Array.from({ length: count }, (_, i) => i);
        const { bufferView, byteOffset = 0, componentType, count: corners } = document.accessors[indices];
        const view = document.bufferViews[bufferView];
        const bytes = buffer(view.buffer);
        const at = bytes.byteOffset + (view.byteOffset ?? 0) + byteOffset;
        const Type = { 5121: Uint8Array, 5123: Uint16Array, 5125: Uint32Array }[componentType];
        return [...new Set(new Type(bytes.buffer.slice(at, at + corners * Type.BYTES_PER_ELEMENT)))].sort((a, b) => a - b);
    };
    return nodes
        .sort((a, b) => places.get(a.node) - places.get(b.node))
        .flatMap(({ mesh, node }) =>
            document.meshes[mesh].primitives.map((primitive) => ({ node, position: primitive.attributes.POSITION, count: document.accessors[primitive.attributes.POSITION].count, used: used(primitive) })),
        );
}

/** Vertices with nothing at their place are compared with all; so many of them are enough to tell that a file is wrong. */
const MOST_LOST = 50;

/** For each vertex of `a` the vertices of `b` at its place in the first pose, found in a grid. */
function candidatesIn(b, size) {
    const cell = Math.max(size * 0.01, 1e-12);
    const grid = new Map();
    const key = (x, y, z) => `${x},${y},${z}`;
    const at = (x) => Math.floor(x / cell);
    for (let i = 0; i < b.length; i += 3) {
        const name = key(at(b[i]), at(b[i + 1]), at(b[i + 2]));
        grid.get(name)?.push(i) ?? grid.set(name, [i]);
    }
    let lost = 0;
    const all = Array.from({ length: b.length / 3 }, (_, i) => 3 * i);
    return (x, y, z) => {
        const near = [];
        for (let dx = -1; dx <= 1; dx++)
            for (let dy = -1; dy <= 1; dy++)
                for (let dz = -1; dz <= 1; dz++) near.push(...(grid.get(key(at(x) + dx, at(y) + dy, at(z) + dz)) ?? []));
        const distances = (list) => list.map((i) => Math.hypot(b[i] - x, b[i + 1] - y, b[i + 2] - z));
        let list = near;
        let far = distances(near);
        if (!far.some((distance) => distance < cell)) {
            if (++lost > MOST_LOST) return [];
            [list, far] = [all, distances(all)];
        }
        const least = far.reduce((a, c) => Math.min(a, c), Infinity);
        return list.filter((_, n) => far[n] <= least + SAME_PLACE * size);
    };
}

/** The largest distance over all poses from each vertex of `a` to its own in `b`, per pose: of those at its place in the first pose
 * the one that goes with it. */
function distancesByPlace(a, b, size) {
    const find = candidatesIn(b[0], size);
    const worst = a.map(() => 0);
    for (let i = 0; i < a[0].length; i += 3) {
        let best;
        for (const j of find(a[0][i], a[0][i + 1], a[0][i + 2])) {
            const distances = a.map((pose, k) => Math.hypot(pose[i] - b[k][j], pose[i + 1] - b[k][j + 1], pose[i + 2] - b[k][j + 2]));
            const largest = distances.some(Number.isNaN) ? Infinity : Math.max(...distances);
            if (!best || largest < best.largest) best = { distances, largest };
        }
        best?.distances.forEach((distance, k) => (worst[k] = Math.max(worst[k], Number.isNaN(distance) ? Infinity : distance)));
    }
    return worst;
}

/** The largest distance over all moments, as a share of the size, and when it is: { error, moment }. `theirs` is
 * { poses: [moment][vertex][3], vertices?: [vertex] of Pelt's }, or { poses, unordered: true }: vertices in any order, and
 * as many as the other program likes; then all of theirs must have their place among Pelt's as well. */
export function compare(pelts, theirs, moments) {
    const size = diagonal(pelts[0]);
    let distances;
    if (theirs.unordered) {
        const there = distancesByPlace(pelts, theirs.poses, size);
        const back = distancesByPlace(theirs.poses, pelts, size);
        distances = there.map((distance, k) => Math.max(distance, back[k]));
    } else {
        distances = pelts.map((pose, k) => {
            const mine = theirs.vertices ? Float32Array.from(theirs.vertices.flatMap((i) => [pose[3 * i], pose[3 * i + 1], pose[3 * i + 2]])) : pose;
            if (mine.length !== theirs.poses[k].length) throw new Error(`${theirs.poses[k].length / 3} vertices, Pelt has ${mine.length / 3}`);
            return largestDistance(mine, theirs.poses[k]);
        });
    }
    const k = distances.reduce((best, distance, n) => (Number.isNaN(distance) || distance > distances[best] ? n : best), 0);
    return { error: distances[k] / size, moment: moments[k] };
}

/** A comparison that finds nothing wrong proves nothing. */
export function checkCompare() {
    const rest = Float32Array.from([0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0]);
    const moved = Float32Array.from([0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0]);
    const shuffled = (pose) => Float32Array.from([3, 2, 0, 1].flatMap((i) => [...pose.subarray(3 * i, 3 * i + 3)]));
    const moments = [[-1, 0], [0, 1]];
    const error = (poses, more) => compare([rest, moved], { poses, ...more }, moments).error * Math.SQRT2;
    const near = (a, b) => Math.abs(a - b) < 1e-6;
    const extra = (pose) => Float32Array.from([...pose, 5, 0, 0]);
    const cases = [
        [error([rest, moved]), 0],
        [error([rest, rest]), 1],
        [error([shuffled(rest), shuffled(moved)], { unordered: true }), 0],
        [error([shuffled(rest), shuffled(rest)], { unordered: true }), 1],
        [error([extra(rest), extra(moved)], { unordered: true }), 4],
        [error([rest, Float32Array.from([0, 0, NaN, ...moved.subarray(3)])], { unordered: true }), Infinity],
    ];
    for (const [n, [value, wanted]] of cases.entries())
        if (!(value === wanted || near(value, wanted))) throw new Error(`the comparison gives ${value} in case ${n} of its own check, not ${wanted}`);
    if (!Number.isNaN(error([rest, moved.map(() => NaN)]))) throw new Error("the comparison does not see what is not a number");
}
