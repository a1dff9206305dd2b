/** Pose drivers of a file, bound to three's nodes and meshes. */
import type { Object3D } from "three";
import type { GLTF } from "three/examples/jsm/loaders/GLTFLoader.js";
import { type Driver, Drivers, nodesOf, readDrivers } from "./drivers";
import type { Part } from "./model";

/** Whether the drivers match the file: other programs may renumber nodes and targets. */
function fits(drivers: Driver[], nodes: { name?: string }[], parts: Part[]): boolean {
    const has = (node: number, target: number) =>
        parts.some((part) => part.node === node && target in (part.object.morphTargetInfluences ?? []));
    return drivers.every(
        (driver) =>
            nodesOf(driver).every((node) => node in nodes) &&
            (driver.name ?? nodes[driver.joint].name ?? "") === (nodes[driver.joint].name ?? "") &&
            driver.targets.every(({ node, target }) => has(node, target)),
    );
}

export class Driven {
    /** Morph weight arrays of the targets, in the order of `drivers.targets`. */
    private readonly parts: Part[][];
    private before: { part: Part; index: number; value: number }[] = [];

    private constructor(
        private readonly drivers: Drivers,
        private readonly joints: Map<number, Object3D>,
        parts: Part[],
    ) {
        this.parts = drivers.targets.map(({ node }) => parts.filter((part) => part.node === node));
    }

    /** Drivers of a loaded file in its rest pose; undefined: none. */
    static async find({ parser, userData }: GLTF, parts: Part[]): Promise<Driven | undefined> {
        const list = readDrivers(userData);
        const { nodes = [] } = parser.json as { nodes?: { name?: string }[] };
        if (list.length === 0 || !fits(list, nodes, parts)) return undefined;
        const joints = new Map<number, Object3D>();
        for (const node of list.flatMap(nodesOf)) joints.set(node, (await parser.getDependency("node", node)) as Object3D);
        const rotation = (node: number) => joints.get(node)!.quaternion.toArray();
        return new Driven(new Drivers(list, rotation), joints, parts);
    }

    /** Sets the weights of driven morphs from the current pose of the nodes, except those that `keeps` names. */
    apply(keeps: (part: Part, index: number) => boolean): void {
        const weights = this.drivers.weights((node) => this.joints.get(node)!.quaternion.toArray());
        this.drivers.targets.forEach(({ target }, t) => {
            for (const part of this.parts[t]) {
                if (keeps(part, target)) continue;
                const influences = part.object.morphTargetInfluences!;
                this.before.push({ part, index: target, value: influences[target] });
                influences[target] = weights[t];
            }
        });
    }

    /** Restores the weights before `apply`. */
    undo(): void {
        for (const { part, index, value } of this.before) part.object.morphTargetInfluences![index] = value;
        this.before = [];
    }
}
