/** Painting values on the vertices of a surface. A brush reaches vertices by their distance over the surface from the point under the
 * pointer, so not through to the other side of a limb; around an edge it fades with the angle to the surface there. */

/** Vertices under a brush. */
export interface Reach {
    vertices: number[];
    /** Of each vertex: 1 at the centre, falling to 0 at the radius. */
    strengths: number[];
}

/** Cosine of the angle to the normal under the pointer from which on a brush has its whole strength; at 90° it has none. */
const FACING = 0.3;

// ---- Distances over a surface ----

/** A binary heap of items with keys, smallest first. */
class Heap {
    private items: number[] = [];
    private keys: number[] = [];

    get size(): number {
        return this.items.length;
    }

    push(item: number, key: number): void {
        const { items, keys } = this;
        let at = items.length;
        items.push(item);
        keys.push(key);
        while (at > 0) {
            const up = (at - 1) >> 1;
            if (keys[up] <= key) break;
            [items[at], keys[at]] = [items[up], keys[up]];
            at = up;
        }
        [items[at], keys[at]] = [item, key];
    }

    pop(): { item: number; key: number } {
        const { items, keys } = this;
        const first = { item: items[0], key: keys[0] };
        const [item, key] = [items.pop()!, keys.pop()!];
        let at = 0;
        while (2 * at + 1 < items.length) {
            let down = 2 * at + 1;
            if (down + 1 < items.length && keys[down + 1] < keys[down]) down++;
            if (keys[down] >= key) break;
            [items[at], keys[at]] = [items[down], keys[down]];
            at = down;
        }
        if (items.length > 0) [items[at], keys[at]] = [item, key];
        return first;
    }
}

type Vector = [number, number, number];

const minus = (a: ArrayLike<number>, b: ArrayLike<number>): Vector => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a: Vector, b: Vector): Vector => [
    a[1] * b[2] - a[2] * b[1],
    a[2] * b[0] - a[0] * b[2],
    a[0] * b[1] - a[1] * b[0],
];

/** Distance of corner c of a triangle from a source that is da from a and db from b, on the plane that the triangle is unfolded
 * to; around a corner if the straight way leaves the edge. */
function distanceAcross(a: Vector, b: Vector, c: Vector, da: number, db: number): number {
    const [ab, ac] = [minus(b, a), minus(c, a)];
    const edge = Math.sqrt(dot(ab, ab));
    const around = Math.min(da + Math.sqrt(dot(ac, ac)), db + Math.sqrt(dot(minus(c, b), minus(c, b))));
    if (edge === 0) return around;
    const x = (da * da - db * db + edge * edge) / (2 * edge);
    const depth2 = da * da - x * x;
    if (!(depth2 >= 0)) return around;
    const depth = Math.sqrt(depth2);
    const cx = dot(ac, ab) / edge;
    const cy = Math.sqrt(Math.max(dot(ac, ac) - cx * cx, 0));
    const through = depth + cy > 0 ? x + ((cx - x) * depth) / (depth + cy) : x;
    return through >= 0 && through <= edge ? Math.hypot(cx - x, cy + depth) : around;
}

/** A surface whose vertices at the same place at rest are one: files split them at seams. */
export class Surface {
    /** [vertex] its point. */
    private readonly points: Uint32Array;
    /** [point] its first vertex. */
    private readonly first: number[] = [];
    /** Vertices by point, and corners of triangles by point: prefix sums and items. */
    private readonly vertices: { firsts: Uint32Array; items: Uint32Array };
    private readonly corners: { firsts: Uint32Array; items: Uint32Array };

    constructor(
        rest: Float32Array,
        private readonly triangles: Uint32Array,
    ) {
        const count = rest.length / 3;
        const places = new Map<string, number>();
        this.points = new Uint32Array(count);
        for (let i = 0; i < count; i++) {
            const key = `${rest[3 * i]},${rest[3 * i + 1]},${rest[3 * i + 2]}`;
            let point = places.get(key);
            if (point === undefined) {
                places.set(key, (point = this.first.length));
                this.first.push(i);
            }
            this.points[i] = point;
        }
        this.vertices = group(this.points, this.first.length);
        this.corners = group(triangles.map((vertex) => this.points[vertex]), this.first.length);
    }

    private place(positions: Float32Array, point: number): Vector {
        const at = 3 * this.first[point];
        return [positions[at], positions[at + 1], positions[at + 2]];
    }

    /** Points nearer than a radius to a point of a triangle (index of its first corner), with their distances over the surface. */
    distances(positions: Float32Array, triangle: number, from: ArrayLike<number>, radius: number): Map<number, number> {
        const { triangles, points, corners } = this;
        const near = new Map<number, number>();
        const heap = new Heap();
        const offer = (point: number, distance: number): void => {
            if (!(distance < radius && distance < (near.get(point) ?? Infinity))) return;
            near.set(point, distance);
            heap.push(point, distance);
        };
        for (let c = 0; c < 3; c++) {
            const point = points[triangles[triangle + c]];
            const way = minus(this.place(positions, point), from);
            offer(point, Math.sqrt(dot(way, way)));
        }
        while (heap.size > 0) {
            const { item: a, key } = heap.pop();
            if (key > near.get(a)!) continue;
            const pa = this.place(positions, a);
            for (let n = corners.firsts[a]; n < corners.firsts[a + 1]; n++) {
                const start = corners.items[n] - (corners.items[n] % 3);
                const others = [0, 1, 2].map((c) => points[triangles[start + c]]).filter((point) => point !== a);
                if (others.length !== 2) continue;
                const [pb, pc] = others.map((point) => this.place(positions, point));
                for (const [b, at, c, to] of [
                    [others[0], pb, others[1], pc],
                    [others[1], pc, others[0], pb],
                ] as [number, Vector, number, Vector][]) {
                    const known = near.get(b);
                    const way = minus(to, pa);
                    offer(c, known === undefined ? key + Math.sqrt(dot(way, way)) : distanceAcross(pa, at, to, key, known));
                }
            }
        }
        return near;
    }

    /** The normal at a point, not normalised. */
    private normal(positions: Float32Array, point: number): Vector {
        const sum: Vector = [0, 0, 0];
        for (let n = this.corners.firsts[point]; n < this.corners.firsts[point + 1]; n++) {
            const up = this.triangleNormal(positions, this.corners.items[n] - (this.corners.items[n] % 3));
            for (let c = 0; c < 3; c++) sum[c] += up[c];
        }
        return sum;
    }

    /** The normal of a triangle, not normalised. */
    triangleNormal(positions: Float32Array, triangle: number): Vector {
        const [a, b, c] = [0, 1, 2].map((n) => {
            const at = 3 * this.triangles[triangle + n];
            return [positions[at], positions[at + 1], positions[at + 2]] as Vector;
        });
        return cross(minus(b, a), minus(c, a));
    }

    /** Vertices under a brush at a point of a triangle. */
    reach(positions: Float32Array, triangle: number, from: ArrayLike<number>, radius: number): Reach {
        const up = this.triangleNormal(positions, triangle);
        const length = Math.sqrt(dot(up, up));
        const out: Reach = { vertices: [], strengths: [] };
        for (const [point, distance] of this.distances(positions, triangle, from, radius)) {
            const normal = this.normal(positions, point);
            const size = length * Math.sqrt(dot(normal, normal));
            const facing = size > 0 ? Math.min(Math.max(dot(up, normal) / size / FACING, 0), 1) : 1;
            const strength = facing * (1 - (distance / radius) ** 2) ** 2;
            if (!(strength > 0)) continue;
            for (let n = this.vertices.firsts[point]; n < this.vertices.firsts[point + 1]; n++) {
                out.vertices.push(this.vertices.items[n]);
                out.strengths.push(strength);
            }
        }
        return out;
    }
}

/** Items by the group that each belongs to. */
function group(groups: Uint32Array, count: number): { firsts: Uint32Array; items: Uint32Array } {
    const firsts = new Uint32Array(count + 1);
    for (const g of groups) firsts[g + 1]++;
    for (let g = 0; g < count; g++) firsts[g + 1] += firsts[g];
    const next = firsts.slice();
    const items = new Uint32Array(groups.length);
    groups.forEach((g, item) => (items[next[g]++] = item));
    return { firsts, items };
}

// ---- Strokes ----

/** Values [vertex]; NaN: not painted. */
export type PaintMap = Float32Array;

export function emptyMap(vertexCount: number): PaintMap {
    return new Float32Array(vertexCount).fill(NaN);
}

/** Whether a map has a value at any vertex. */
export function isPainted(map: PaintMap | undefined): map is PaintMap {
    return map !== undefined && map.some((value) => !Number.isNaN(value));
}

/** One stroke: dabs that overlap do not add up, so a stroke has the same strength however slowly the pointer moves. */
export class Stroke {
    private readonly strengths: Float32Array;

    /** `base` [vertex]: values of what is not painted. */
    constructor(
        private readonly before: PaintMap,
        private readonly base: ArrayLike<number>,
    ) {
        this.strengths = new Float32Array(before.length);
    }

    /** Vertices come closer to a value by the strength of the brush; NaN removes paint. Returns the map after the dab. */
    dab(map: PaintMap, { vertices, strengths }: Reach, value: number, strength = 1): PaintMap {
        const after = map.slice();
        vertices.forEach((vertex, n) => {
            const now = Math.min(strength * strengths[n], 1);
            if (!(now > this.strengths[vertex])) return;
            this.strengths[vertex] = now;
            const from = Number.isNaN(this.before[vertex]) ? this.base[vertex] : this.before[vertex];
            if (Number.isNaN(value)) after[vertex] = now > 0.5 ? NaN : from + 2 * now * (this.base[vertex] - from);
            else after[vertex] = from + now * (value - from);
        });
        return after;
    }
}

/** A map with a value at some vertices, all others as before; NaN removes paint. */
export function filled(map: PaintMap, vertices: Iterable<number>, value: number): PaintMap {
    const after = map.slice();
    for (const vertex of vertices) after[vertex] = value;
    return after;
}
