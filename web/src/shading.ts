/** Smooth normals of moving vertices. Vertices at the same place with the same normal in the file are one: seams of
 * textures do not show, hard edges stay. */
import type { Model } from "./model";

/** [vertex] the first vertex with an equal row of `keys` [vertex][width], by a hash table. */
function firstAlike(keys: Int32Array, width: number): Uint32Array {
    const count = keys.length / width;
    const size = 2 ** Math.ceil(Math.log2(2 * count + 1));
    const table = new Int32Array(size).fill(-1);
    const first = new Uint32Array(count);
    const alike = (a: number, b: number): boolean => {
        for (let c = 0; c < width; c++) if (keys[a * width + c] !== keys[b * width + c]) return false;
        return true;
    };
    for (let i = 0; i < count; i++) {
        let hash = 0;
        for (let c = 0; c < width; c++) hash = Math.imul(hash ^ keys[i * width + c], 0x9e3779b1) ^ (hash >>> 15);
        let slot = (hash ^ (hash >>> 16)) & (size - 1);
        while (table[slot] >= 0 && !alike(table[slot], i)) slot = (slot + 1) & (size - 1);
        if (table[slot] < 0) table[slot] = i;
        first[i] = table[slot];
    }
    return first;
}

export class Shading {
    /** [vertex] the first vertex of its class. */
    private readonly group: Uint32Array;

    constructor(private readonly model: Model) {
        const { rest, normals, vertexCount } = model;
        const bits = new Int32Array(rest.buffer, rest.byteOffset, rest.length);
        const keys = new Int32Array(6 * vertexCount);
        for (let i = 0; i < vertexCount; i++)
            for (let c = 0; c < 3; c++) {
                keys[6 * i + c] = rest[3 * i + c] === 0 ? 0 : bits[3 * i + c]; // −0 is 0
                if (normals) keys[6 * i + 3 + c] = Math.round(50 * normals[3 * i + c]); // files round in their own ways
            }
        this.group = firstAlike(keys, 6);
    }

    /** Area-weighted unit normals of positions, both [vertex][3]. */
    normals(positions: Float32Array, out: Float32Array): void {
        const { group } = this;
        const { triangles } = this.model;
        out.fill(0);
        for (let t = 0; t < triangles.length; t += 3) {
            const a = 3 * triangles[t];
            const b = 3 * triangles[t + 1];
            const c = 3 * triangles[t + 2];
            const ux = positions[b] - positions[a];
            const uy = positions[b + 1] - positions[a + 1];
            const uz = positions[b + 2] - positions[a + 2];
            const vx = positions[c] - positions[a];
            const vy = positions[c + 1] - positions[a + 1];
            const vz = positions[c + 2] - positions[a + 2];
            const x = uy * vz - uz * vy;
            const y = uz * vx - ux * vz;
            const z = ux * vy - uy * vx;
            for (let corner = t; corner < t + 3; corner++) {
                const g = 3 * group[triangles[corner]];
                out[g] += x;
                out[g + 1] += y;
                out[g + 2] += z;
            }
        }
        for (let i = 0; i < group.length; i++) {
            const g = 3 * group[i];
            if (g === 3 * i) {
                const length = Math.sqrt(out[g] * out[g] + out[g + 1] * out[g + 1] + out[g + 2] * out[g + 2]) || 1;
                for (let c = g; c < g + 3; c++) out[c] /= length;
            } else for (let c = 0; c < 3; c++) out[3 * i + c] = out[g + c];
        }
    }
}
