/** Vertex positions of a model at a time: three samples the animation, the skin is evaluated here. The user may rotate
 * joints and set morph weights on top of it; correctors run after both, before skinning. */
import { type AnimationAction, AnimationMixer, Euler, MathUtils, Matrix3, Matrix4, type Object3D, Quaternion } from "three";
import type { Model, Part } from "./model";
import { MorphTable } from "./morphs";

/** A time of an animation of the GLB; undefined: the rest pose. */
export interface Moment {
    motion: number;
    time: number;
}

/** May change morph weights (part.object.morphTargetInfluences) or nodes, after animation and user input. */
export type Corrector = (model: Model) => void;

export interface Morph {
    name: string;
    /** Parts of one node share it. */
    parts: Part[];
    index: number;
}

export class Poser {
    readonly morphs: Morph[];
    readonly correctors: Corrector[] = [];
    private readonly mixer: AnimationMixer;
    private action: AnimationAction | undefined;
    private motion = -1;
    /** The user has rotated joints of the current pose. */
    private turned = false;
    /** User input counts in the current pose. */
    private touched = false;
    readonly table: MorphTable;
    /** [bone][3][4] and, for normals, [bone][3][3]: how bones move the vertices in the current pose. */
    readonly palette: Float64Array;
    readonly directions: Float64Array;
    private readonly shape: Float32Array;
    /** Morphed normals of all vertices, if the file has them. */
    private readonly normals: Float32Array | undefined;
    private readonly matrix = new Matrix4();
    private readonly matrix3 = new Matrix3();
    /** Rotated joints: the rotation, and the transform of the animation. */
    private readonly turns = new Map<Object3D, { turn: Quaternion; base: Quaternion }>();
    private readonly settings = new Map<Morph, { value: number; base: number[] }>();

    constructor(private readonly model: Model) {
        this.mixer = new AnimationMixer(model.root);
        this.table = new MorphTable(model);
        this.palette = new Float64Array(12 * model.bones.length);
        this.shape = model.rest.slice();
        const every = model.parts.every(({ object }) => object.geometry.hasAttribute("normal"));
        this.normals = every ? model.normals?.slice() : undefined;
        this.directions = new Float64Array(9 * model.bones.length);
        this.morphs = listMorphs(model);
        // Animations of the file bring the weights along that drivers gave them; poses of a person's own, and motions of other
        // files, do not.
        this.correctors.push(() => this.touched && model.controls?.apply());
        const own = model.animations.length;
        this.correctors.push(
            () =>
                (this.turned || this.motion >= own) && model.driven?.apply((part, index) => this.isSet(part, index)),
        );
    }

    /** Sets all nodes and morph weights; `untouched`: without user input. */
    place(moment: Moment | undefined, untouched = false): void {
        this.undo();
        this.choose(moment?.motion ?? -1);
        if (this.action && moment) {
            this.action.time = moment.time;
            this.mixer.update(0);
        }
        this.touched = !untouched;
        this.turned = !untouched && this.turns.size > 0;
        if (!untouched) this.redo();
        for (const correct of this.correctors) correct(this.model);
        this.model.root.updateMatrixWorld(true);
    }

    /** Sets all nodes, morph weights and bone matrices: all that the vertices of a pose depend on. */
    prepare(moment: Moment | undefined, untouched = false): void {
        this.place(moment, untouched);
        this.table.gather();
        this.fillPalette();
    }

    /** The file has normals. */
    get hasNormals(): boolean {
        return this.normals !== undefined;
    }

    /** Poses the model and writes vertex positions [vertex][3] to `out`; also normals, if requested and available. */
    pose(moment: Moment | undefined, out: Float32Array, untouched = false, normals?: Float32Array): void {
        const { table, model } = this;
        this.prepare(moment, untouched);
        if (table.weights.length > 0) {
            table.add(table.positions, model.rest, this.shape);
            if (normals && this.normals && table.normals) table.add(table.normals, model.normals!, this.normals);
        }
        for (const { firstVertex: first, vertexCount, twin } of this.model.parts)
            if (twin) {
                for (const array of [out, normals])
                    array?.copyWithin(3 * first, 3 * twin.firstVertex, 3 * (twin.firstVertex + vertexCount));
            } else {
                this.skin(out, first, first + vertexCount);
                if (normals && this.normals) this.turnNormals(this.normals, normals, first, first + vertexCount);
            }
    }

    private choose(motion: number): void {
        if (motion === this.motion) return;
        this.mixer.stopAllAction(); // which brings the rest pose back
        this.motion = motion;
        this.action = motion < 0 ? undefined : this.mixer.clipAction(this.model.animations[motion]).play();
    }

    private fillPalette(): void {
        this.model.bones.forEach(({ node, inverseBind, joint }, bone) => {
            const { elements } = this.matrix.multiplyMatrices(node.matrixWorld, inverseBind);
            // What merely hangs from a node is no skin: engines turn its normals by the inverse transposed.
            const { elements: linear } =
                joint < 0 ? this.matrix3.getNormalMatrix(this.matrix) : this.matrix3.setFromMatrix4(this.matrix);
            for (let e = 0; e < 9; e++) this.directions[9 * bone + e] = linear[3 * (e % 3) + Math.floor(e / 3)];
            for (let row = 0; row < 3; row++)
                for (let column = 0; column < 4; column++)
                    this.palette[12 * bone + 4 * row + column] = elements[4 * column + row];
        });
    }

    /** Vertices [first, end). */
    private skin(out: Float32Array, first: number, end: number): void {
        const { influences, boneIndices, weights } = this.model;
        const { palette, shape } = this;
        for (let i = first; i < end; i++) {
            const x = shape[3 * i];
            const y = shape[3 * i + 1];
            const z = shape[3 * i + 2];
            let px = 0;
            let py = 0;
            let pz = 0;
            for (let k = i * influences; k < (i + 1) * influences; k++) {
                const weight = weights[k];
                if (weight === 0) continue;
                const m = 12 * boneIndices[k];
                px += weight * (palette[m] * x + palette[m + 1] * y + palette[m + 2] * z + palette[m + 3]);
                py += weight * (palette[m + 4] * x + palette[m + 5] * y + palette[m + 6] * z + palette[m + 7]);
                pz += weight * (palette[m + 8] * x + palette[m + 9] * y + palette[m + 10] * z + palette[m + 11]);
            }
            out[3 * i] = px;
            out[3 * i + 1] = py;
            out[3 * i + 2] = pz;
        }
    }

    /** Normals as engines skin them: by the blended matrix, normalised. */
    private turnNormals(rest: Float32Array, out: Float32Array, first: number, end: number): void {
        const { influences, boneIndices, weights } = this.model;
        const { directions } = this;
        for (let i = first; i < end; i++) {
            const x = rest[3 * i];
            const y = rest[3 * i + 1];
            const z = rest[3 * i + 2];
            let nx = 0;
            let ny = 0;
            let nz = 0;
            for (let k = i * influences; k < (i + 1) * influences; k++) {
                const weight = weights[k];
                if (weight === 0) continue;
                const m = 9 * boneIndices[k];
                nx += weight * (directions[m] * x + directions[m + 1] * y + directions[m + 2] * z);
                ny += weight * (directions[m + 3] * x + directions[m + 4] * y + directions[m + 5] * z);
                nz += weight * (directions[m + 6] * x + directions[m + 7] * y + directions[m + 8] * z);
            }
            const length = Math.sqrt(nx * nx + ny * ny + nz * nz) || 1;
            out[3 * i] = nx / length;
            out[3 * i + 1] = ny / length;
            out[3 * i + 2] = nz / length;
        }
    }

    // ---- What a person does ----

    /** Rotates a joint further, in its own space. */
    turn(node: Object3D, by: Quaternion): void {
        const known = this.turns.get(node) ?? { turn: new Quaternion(), base: node.quaternion.clone() };
        known.turn.multiply(by).normalize();
        this.turns.set(node, known);
    }

    /** Rotation of a joint in degrees about its own x, then y, then z, as in `pelt pose --joint`. */
    angles(node: Object3D): number[] {
        const { x, y, z } = new Euler().setFromQuaternion(this.turns.get(node)?.turn ?? new Quaternion(), "ZYX");
        return [x, y, z].map(MathUtils.radToDeg);
    }

    setAngles(node: Object3D, degrees: number[]): void {
        const [x, y, z] = degrees.map(MathUtils.degToRad);
        this.setTurn(node, new Quaternion().setFromEuler(new Euler(x, y, z, "ZYX")));
    }

    /** Rotation of a joint in its own space, relative to the animation. */
    setTurn(node: Object3D, turn: Quaternion): void {
        this.turns.set(node, { turn, base: this.turns.get(node)?.base ?? node.quaternion.clone() });
    }

    setMorph(morph: Morph, value: number): void {
        this.model.driven?.undo(); // what it was set to before is what the animation says
        const base = morph.parts.map(({ object }) => object.morphTargetInfluences![morph.index]);
        this.settings.set(morph, { value, base: this.settings.get(morph)?.base ?? base });
    }

    morphValue(morph: Morph): number {
        return morph.parts[0].object.morphTargetInfluences![morph.index];
    }

    /** The user has set the weight, which is kept. */
    private isSet(part: Part, index: number): boolean {
        return [...this.settings.keys()].some((morph) => morph.index === index && morph.parts.includes(part));
    }

    reset(): void {
        this.undo();
        this.turns.clear();
        this.settings.clear();
        this.model.controls?.clear();
    }

    /** The mixer writes only changes, so its previous values must be restored. */
    private undo(): void {
        this.model.driven?.undo();
        this.model.controls?.undo();
        for (const [node, { base }] of this.turns) node.quaternion.copy(base);
        for (const [morph, { base }] of this.settings)
            morph.parts.forEach(({ object }, p) => (object.morphTargetInfluences![morph.index] = base[p]));
    }

    private redo(): void {
        for (const [node, { turn, base }] of this.turns) {
            base.copy(node.quaternion);
            node.quaternion.multiply(turn);
        }
        for (const [morph, setting] of this.settings)
            morph.parts.forEach(({ object }, p) => {
                setting.base[p] = object.morphTargetInfluences![morph.index];
                object.morphTargetInfluences![morph.index] = setting.value;
            });
    }
}

function listMorphs(model: Model): Morph[] {
    const byNode = new Map<Object3D, Part[]>();
    for (const part of model.parts) {
        if (!part.object.morphTargetInfluences?.length) continue;
        const group = part.object.parent as Object3D & { isGroup?: boolean };
        const node = group?.isGroup ? group : part.object;
        byNode.set(node, [...(byNode.get(node) ?? []), part]);
    }
    return [...byNode.values()].flatMap((parts) => {
        const names = Object.entries(parts[0].object.morphTargetDictionary ?? {});
        return parts[0].object.morphTargetInfluences!.map((_, index) => ({
            name: names.find(([, place]) => place === index)?.[0] ?? `morph ${index}`,
            parts,
            index,
        }));
    });
}
