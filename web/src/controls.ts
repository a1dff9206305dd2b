/** Sliders of a file, bound to three's nodes. They take over the pose of their joints as soon as one is set. */
import type { Object3D } from "three";
import type { GLTF } from "three/examples/jsm/loaders/GLTFLoader.js";
import { readSliders, Sliders } from "./sliders";

export class Controls {
    /** Values that the user has set, by slider; empty: the animation plays. */
    private readonly set = new Map<number, number>();
    private readonly drive: ReturnType<Sliders["bind"]>;
    private before: { weights: number[]; target: number; value: number }[] = [];

    private constructor(
        private readonly sliders: Sliders,
        private readonly nodes: Map<number, Object3D>,
    ) {
        this.drive = sliders.bind((node) => nodes.get(node)!);
    }

    /** Sliders of a loaded file in its rest pose; undefined: none, or they do not match its nodes. */
    static async find({ parser, userData }: GLTF): Promise<Controls | undefined> {
        const table = readSliders(userData);
        const { nodes = [] } = parser.json as { nodes?: { name?: string }[] };
        const fits = table?.joints.every(
            ({ node, base, name }) => node in nodes && base in nodes && (name ?? nodes[node].name) === nodes[node].name,
        );
        if (!table || !fits || !table.sliders.every(({ targets }) => targets.every(({ node }) => node in nodes)))
            return undefined;
        const used = [
            ...table.joints.flatMap(({ node, base }) => [node, base]),
            ...table.sliders.flatMap(({ targets }) => targets.map(({ node }) => node)),
        ];
        const found = new Map<number, Object3D>();
        for (const node of new Set(used)) found.set(node, (await parser.getDependency("node", node)) as Object3D);
        const bases = new Set(table.joints.map(({ base }) => found.get(base)));
        const below = table.joints.every(({ node }) => {
            let at: Object3D | null = found.get(node)!.parent;
            while (at && !bases.has(at)) at = at.parent;
            return at !== null;
        });
        return below ? new Controls(new Sliders(table), found) : undefined;
    }

    get names(): string[] {
        return this.sliders.names;
    }

    /** The value that was set; the rest value where none was. */
    value(slider: number): number {
        return this.set.get(slider) ?? this.sliders.table.sliders[slider].value ?? 0;
    }

    setValue(slider: number, value: number): void {
        this.set.set(slider, value);
    }

    clear(): void {
        this.set.clear();
    }

    /** Moves the joints, if a slider was set. */
    apply(): void {
        if (this.set.size === 0) return;
        for (const { targets } of this.sliders.table.sliders)
            for (const { node, target } of targets)
                this.nodes.get(node)!.traverse((object) => {
                    const { morphTargetInfluences: weights } = object as { morphTargetInfluences?: number[] };
                    if (weights) this.before.push({ weights, target, value: weights[target] });
                });
        this.drive(this.names.map((_, slider) => this.value(slider)));
    }

    /** Gives joints and morph targets back to the animation. */
    undo(): void {
        this.drive();
        for (const { weights, target, value } of this.before) weights[target] = value;
        this.before = [];
    }
}
