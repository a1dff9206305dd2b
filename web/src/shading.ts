/** Smooth normals of moving vertices. Vertices at the same place with the same normal in the file are one: seams of textures
 * do not show, hard edges stay. */
import type { Model } from "./model";

export class Shading {
    /** [vertex] the first vertex that it is one with. */
    private readonly group: Uint32Array;

    constructor(private readonly model: Model) {
        const { rest, normals, vertexCount } = model;
        this.group = new Uint32Array(vertexCount);
        const first = new Map<string, number>();
        for (let i = 0; i < vertexCount; i++) {
            let key = `${rest[3 * i]} ${rest[3 * i + 1]} ${rest[3 * i + 2]}`;
            // Two digits: files round normals in their own ways.
            if (normals) for (let c = 0; c < 3; c++) key += ` ${Math.round(50 * normals[3 * i + c])}`;
            const known = first.get(key);
            if (known === undefined) first.set(key, i);
            this.group[i] = known ?? i;
        }
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
                const length = Math.hypot(out[g], out[g + 1], out[g + 2]) || 1;
                for (let c = g; c < g + 3; c++) out[c] /= length;
            } else for (let c = 0; c < 3; c++) out[3 * i + c] = out[g + c];
        }
    }
}
