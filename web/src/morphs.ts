/** Morph targets of all parts by vertex, without zeros: EigenSkin targets are zero outside the supports of their joints. */
import type { BufferAttribute } from "three";
import type { Model, Part } from "./model";

type Attribute = "position" | "normal";

function targetsOf({ object }: Part, attribute: Attribute): BufferAttribute[] {
    return object.morphTargetInfluences ? ((object.geometry.morphAttributes[attribute] ?? []) as BufferAttribute[]) : [];
}

export class MorphTable {
    /** [vertex + 1] its first entry. */
    readonly first: Uint32Array;
    /** [entry] its target: targets of all parts, in their order. */
    readonly targets: Uint32Array;
    /** [entry][3] displacements, and those of normals; undefined: none has any. */
    readonly positions: Float32Array;
    readonly normals: Float32Array | undefined;
    /** [target] weights of the current pose. */
    readonly weights: Float32Array;
    private readonly parts: Part[];

    constructor(model: Model) {
        this.parts = model.parts;
        this.weights = new Float32Array(
            model.parts.reduce((sum, { object }) => sum + (object.morphTargetInfluences?.length ?? 0), 0),
        );
        this.first = new Uint32Array(model.vertexCount + 1);
        const count = this.visit(() => {});
        this.targets = new Uint32Array(count);
        this.positions = new Float32Array(3 * count);
        const hasNormals = model.parts.some((part) => targetsOf(part, "normal").length > 0);
        this.normals = hasNormals ? new Float32Array(3 * count) : undefined;
        this.visit((entry, target, position, normal) => {
            this.targets[entry] = target;
            this.positions.set(position, 3 * entry);
            this.normals?.set(normal, 3 * entry);
        });
    }

    /** Calls `use` with every entry in turn and fills `first`; returns the number of entries. */
    private visit(use: (entry: number, target: number, position: number[], normal: number[]) => void): number {
        const [position, normal] = [[0, 0, 0], [0, 0, 0]];
        let [entry, firstTarget] = [0, 0];
        for (const part of this.parts) {
            const lists = [targetsOf(part, "position"), targetsOf(part, "normal")];
            const count = Math.max(lists[0].length, lists[1].length);
            for (let i = 0; i < part.vertexCount; i++) {
                this.first[part.firstVertex + i] = entry;
                for (let t = 0; t < count; t++) {
                    for (let c = 0; c < 3; c++) {
                        position[c] = lists[0][t]?.getComponent(i, c) ?? 0;
                        normal[c] = lists[1][t]?.getComponent(i, c) ?? 0;
                    }
                    if (position.some(Boolean) || normal.some(Boolean)) use(entry++, firstTarget + t, position, normal);
                }
            }
            firstTarget += part.object.morphTargetInfluences?.length ?? 0;
        }
        this.first[this.first.length - 1] = entry;
        return entry;
    }

    /** Reads the weights of the parts. */
    gather(): void {
        let target = 0;
        for (const { object } of this.parts) {
            this.weights.set(object.morphTargetInfluences ?? [], target);
            target += object.morphTargetInfluences?.length ?? 0;
        }
    }

    /** rest + Σ weight · displacement, [vertex][3]. */
    add(displacements: Float32Array, rest: Float32Array, out: Float32Array): void {
        const { first, targets, weights } = this;
        for (let i = 0; i + 1 < first.length; i++) {
            let x = rest[3 * i];
            let y = rest[3 * i + 1];
            let z = rest[3 * i + 2];
            for (let e = first[i]; e < first[i + 1]; e++) {
                const weight = weights[targets[e]];
                x += weight * displacements[3 * e];
                y += weight * displacements[3 * e + 1];
                z += weight * displacements[3 * e + 2];
            }
            out[3 * i] = x;
            out[3 * i + 1] = y;
            out[3 * i + 2] = z;
        }
    }
}
