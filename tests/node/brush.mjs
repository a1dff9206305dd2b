// The brush of the page (web/src/brush.ts): which vertices it reaches, and what strokes leave behind.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { need } from "./support.mjs";

const esbuild = await need("esbuild");
const source = readFileSync(fileURLToPath(new URL("../../web/src/brush.ts", import.meta.url)), "utf8");
const { code } = await esbuild.transform(source, { loader: "ts", format: "esm" });
const { Surface, Stroke, emptyMap, filled, isPainted } = await import(`data:text/javascript,${encodeURIComponent(code)}`);

/** A grid of n × m vertices at place(u, v), u and v from 0 to 1; `closed`: the last column meets the first, in vertices of their own. */
function grid(n, m, place) {
    const [positions, triangles] = [[], []];
    for (let y = 0; y < m; y++) for (let x = 0; x < n; x++) positions.push(...place(x / (n - 1), y / (m - 1)));
    for (let y = 0; y + 1 < m; y++)
        for (let x = 0; x + 1 < n; x++) {
            const a = y * n + x;
            triangles.push(a, a + 1, a + n, a + 1, a + n + 1, a + n);
        }
    return { positions: Float32Array.from(positions), triangles: Uint32Array.from(triangles) };
}

const at = ({ positions }, i) => positions.subarray(3 * i, 3 * i + 3);
/** The triangle and point at a vertex. */
function hit({ positions, triangles }, vertex) {
    const corner = triangles.indexOf(vertex);
    return { triangle: corner - (corner % 3), point: [...positions.subarray(3 * vertex, 3 * vertex + 3)] };
}
const reachOf = (mesh, vertex, radius) => {
    const { triangle, point } = hit(mesh, vertex);
    return new Surface(mesh.positions, mesh.triangles).reach(mesh.positions, triangle, point, radius);
};

test("distances on a plane are straight, to the radius and not beyond", () => {
    const plane = grid(41, 41, (u, v) => [u, v, 0]);
    const { triangle, point } = hit(plane, 20 * 41 + 20);
    const near = new Surface(plane.positions, plane.triangles).distances(plane.positions, triangle, point, 0.3);
    let inside = 0;
    for (let i = 0; i < 41 * 41; i++) {
        const [x, y] = at(plane, i);
        const straight = Math.hypot(x - point[0], y - point[1]);
        if (straight < 0.295) {
            inside++;
            assert.ok(Math.abs(near.get(i) - straight) < 0.02 * 0.3, `${near.get(i)} instead of ${straight}`);
        } else if (straight > 0.3001) assert.equal(near.get(i), undefined);
    }
    assert.ok(inside > 400);
});

test("strength falls from the centre to the radius", () => {
    const plane = grid(41, 41, (u, v) => [u, v, 0]);
    const { vertices, strengths } = reachOf(plane, 20 * 41 + 20, 0.3);
    const strength = (i) => strengths[vertices.indexOf(i)] ?? 0;
    assert.equal(strength(20 * 41 + 20), 1);
    for (let k = 0; k < 12; k++) assert.ok(strength(20 * 41 + 20 + k) > strength(20 * 41 + 21 + k));
    assert.ok(strength(20 * 41 + 31) < 0.05);
});

test("the two sides of a thin sheet are apart", () => {
    // A flat tube, 0.02 thick and 1 wide: front and back are nearer than the radius.
    const around = (u) => {
        const t = (4 * u) % 4;
        return t < 1 ? [t, 0] : t < 2 ? [1, 0.02 * (t - 1)] : t < 3 ? [3 - t, 0.02] : [0, 0.02 * (4 - t)];
    };
    const tube = grid(81, 21, (u, v) => [around(u)[0], v, around(u)[1]]);
    const middle = 10 * 81 + 10; // front, in the middle
    const { vertices } = reachOf(tube, middle, 0.4);
    assert.ok(vertices.length > 50);
    for (const i of vertices) assert.ok(at(tube, i)[2] < 0.015, "a vertex of the other side");
    // At the edge the way around is short, but the back faces away.
    const edge = reachOf(tube, 10 * 81 + 19, 0.4);
    for (const i of edge.vertices) assert.ok(at(tube, i)[2] < 0.0199);
});

test("strokes cross seams: vertices at one place are reached together", () => {
    const around = 24;
    const tube = grid(around + 1, 9, (u, v) => [Math.cos(2 * Math.PI * (u % 1)), 3 * v, Math.sin(2 * Math.PI * (u % 1))]);
    const { vertices, strengths } = reachOf(tube, 4 * (around + 1), 0.9);
    const strength = new Map(vertices.map((vertex, n) => [vertex, strengths[n]]));
    const row = 4 * (around + 1);
    assert.equal(strength.get(row), strength.get(row + around));
    assert.ok(strength.get(row + around - 1) > 0.2 && Math.abs(strength.get(row + around - 1) - strength.get(row + 1)) < 0.1);
});

test("other shells are not painted, however near", () => {
    const [a, b] = [grid(11, 11, (u, v) => [u, v, 0]), grid(11, 11, (u, v) => [u, v, 0.001])];
    const both = {
        positions: Float32Array.from([...a.positions, ...b.positions]),
        triangles: Uint32Array.from([...a.triangles, ...b.triangles.map((i) => i + 121)]),
    };
    for (const i of reachOf(both, 60, 0.5).vertices) assert.ok(i < 121);
});

test("a stroke does not add up, and undoing is the map before it", () => {
    const plane = grid(21, 21, (u, v) => [u, v, 0]);
    const reach = reachOf(plane, 220, 0.3);
    const base = new Float32Array(441).fill(0.7);
    const before = emptyMap(441);
    const stroke = new Stroke(before, base);
    const once = stroke.dab(before, reach, 0.2, 0.5);
    const twice = stroke.dab(once, reach, 0.2, 0.5);
    assert.deepEqual(twice, once);
    assert.ok(Math.abs(once[220] - 0.45) < 1e-6);
    assert.ok(Number.isNaN(once[0]) && !isPainted(before) && isPainted(once));
    const painted = once.filter((value) => !Number.isNaN(value)).length;
    assert.equal(painted, reach.vertices.length);
    // Another stroke begins from what the first left.
    assert.ok(Math.abs(new Stroke(once, base).dab(once, reach, 0.2, 0.5)[220] - 0.325) < 1e-6);
    const erased = new Stroke(once, base).dab(once, reach, NaN);
    assert.ok(Number.isNaN(erased[220]));
    assert.ok(erased.every((value) => Number.isNaN(value) || (value >= 0.44 && value <= 0.7001)));
});

test("fill sets some vertices and no other", () => {
    const map = filled(emptyMap(10), [2, 5], 0.3);
    assert.deepEqual([...map.keys()].filter((i) => !Number.isNaN(map[i])), [2, 5]);
    assert.equal(isPainted(filled(map, [2, 5], NaN)), false);
});
