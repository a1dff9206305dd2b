/** Sliders: evaluates `extras.pelt_sliders` of a glTF file (docs/sliders.md), for any viewer; with three, `gltf.userData` has
 * the extras. The same as src/core/slider.c, step by step. 3×4 matrices are row by row. */

type Numbers = ArrayLike<number>;

export interface Slider {
    name: string;
    /** In the rest pose of the file; absent: 0. */
    value?: number;
    /** `joint` is an index into the joints of the table. */
    moves: { joint: number; matrix: number[] }[];
    /** Morph targets whose weight is the slider. */
    targets: { node: number; target: number }[];
}

export interface SliderTable {
    /** A joint of the skin, its name when the file was written, and a node above it that no slider moves. */
    joints: { node: number; name?: string; base: number }[];
    sliders: Slider[];
}

/** The parts of three's Object3D that `bind` uses. */
interface SceneNode {
    parent: SceneNode | null;
    matrix: { elements: number[] };
    matrixAutoUpdate: boolean;
    updateMatrix(): void;
    traverse(visit: (object: object) => void): void;
}

// ---- Reading ----

const isIndex = (value: unknown) => Number.isInteger(value) && (value as number) >= 0;

function isSlider(value: unknown, joints: number): value is Slider {
    const { name, value: rest = 0, moves, targets } = (value ?? {}) as Partial<Slider>;
    return (
        typeof name === "string" &&
        Number.isFinite(rest) &&
        Array.isArray(moves) &&
        moves.every(
            (move) =>
                isIndex(move?.joint) &&
                move.joint < joints &&
                Array.isArray(move.matrix) &&
                move.matrix.length === 12 &&
                move.matrix.every(Number.isFinite),
        ) &&
        Array.isArray(targets) &&
        targets.every((target) => isIndex(target?.node) && isIndex(target.target))
    );
}

/** The sliders in the extras of a document; undefined if there are none or they are invalid. */
export function readSliders(extras: unknown): SliderTable | undefined {
    const { version, joints, sliders } = ((extras as { pelt_sliders?: unknown })?.pelt_sliders ?? {}) as Partial<
        SliderTable & { version: unknown }
    >;
    const valid =
        version === 1 &&
        Array.isArray(joints) &&
        joints.every((joint) => isIndex(joint?.node) && isIndex(joint.base)) &&
        Array.isArray(sliders) &&
        sliders.length > 0 &&
        sliders.every((slider) => isSlider(slider, joints.length));
    return valid ? { joints: joints!, sliders: sliders! } : undefined;
}

// ---- Evaluating ----

/** a · b of 3×4 matrices. */
function multiply(a: Numbers, b: Numbers): number[] {
    return Array.from({ length: 12 }, (_, e) => {
        const [r, c] = [4 * Math.floor(e / 4), e % 4];
        return a[r] * b[c] + a[r + 1] * b[4 + c] + a[r + 2] * b[8 + c] + (c === 3 ? a[r + 3] : 0);
    });
}

/** Values by name, or in the order of the table. Names that are left out have their rest value. */
export type Values = Record<string, number> | Numbers;

export class Sliders {
    readonly names: string[];

    constructor(readonly table: SliderTable) {
        this.names = table.sliders.map(({ name }) => name);
    }

    /** The value of each slider. */
    values(given: Values): number[] {
        const list = typeof (given as Numbers).length === "number" ? (given as Numbers) : undefined;
        const named = given as Record<string, number>;
        return this.table.sliders.map(({ name, value = 0 }, s) => (list ? list[s] : named[name]) ?? value);
    }

    /** Matrices of the joints relative to their bases; `rests` are those in the rest pose. */
    matrices(rests: Numbers[], given: Values): Float32Array[] {
        const out = rests.map((rest) => Float32Array.from(rest));
        const values = this.values(given);
        this.table.sliders.forEach(({ value = 0, moves }, s) => {
            const by = Math.fround(Math.fround(values[s]) - Math.fround(value));
            if (by === 0) return;
            for (const { joint, matrix } of moves)
                for (let e = 0; e < 12; e++) out[joint][e] += Math.fround(by * Math.fround(matrix[e]));
        });
        return out;
    }

    /** Binds the sliders to the nodes of a scene of three, in its rest pose. The function returned sets the pose; without
     * values, it gives the nodes back to animations, and morph targets their rest weights. */
    bind(nodeOf: (node: number) => SceneNode): (given?: Values) => void {
        const chains = this.table.joints.map(({ node, base }) => {
            const chain: SceneNode[] = [];
            for (let at: SceneNode | null = nodeOf(node); at && at !== nodeOf(base); at = at.parent) chain.push(at);
            return chain; // from the joint up
        });
        const rests = chains.map((chain) =>
            chain.reduce<number[]>(
                (product, node) => {
                    node.updateMatrix();
                    const m = node.matrix.elements; // by columns
                    return multiply(Array.from({ length: 12 }, (_, e) => m[4 * (e % 4) + Math.floor(e / 4)]), product);
                },
                [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],
            ),
        );
        const put = ({ matrix: { elements } }: SceneNode, m: Numbers) => {
            for (let e = 0; e < 12; e++) elements[4 * (e % 4) + Math.floor(e / 4)] = m[e];
        };
        return (given) => {
            for (const node of chains.flat()) {
                node.matrixAutoUpdate = !given;
                if (given) put(node, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]);
            }
            if (given) this.matrices(rests, given).forEach((matrix, joint) => put(chains[joint][0], matrix));
            const values = this.values(given ?? {});
            this.table.sliders.forEach(({ targets }, s) => {
                for (const { node, target } of targets)
                    nodeOf(node).traverse((object) => {
                        const { morphTargetInfluences: weights } = object as { morphTargetInfluences?: number[] };
                        if (weights && target < weights.length) weights[target] = values[s];
                    });
            });
        };
    }
}
