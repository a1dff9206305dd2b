/** View state. Modules listen to the members that concern them. */
import type { ModeName } from "./modes";

export type View = "result" | "source" | "side";
export type Overlay = "skeleton" | "wireframe" | "triangles" | "voxels" | "lattice" | "pose";

export interface State {
    animation: number;
    frame: number;
    playing: boolean;
    speed: number;
    view: View;
    mode: ModeName;
    /** Index into the model's joints, or −1. */
    joint: number;
    /** The picked vertex, or −1. */
    vertex: number;
    skeleton: boolean;
    wireframe: boolean;
    /** Use normals of the triangles, not those of the file. */
    triangles: boolean;
    voxels: boolean;
    lattice: boolean;
    /** Joints can be dragged. */
    pose: boolean;
    /** Copies of the result, each at its own time and place. */
    crowd: number;
}

export const INITIAL: State = {
    animation: 0,
    frame: 0,
    playing: false,
    speed: 1,
    view: "result",
    mode: "shaded",
    joint: -1,
    vertex: -1,
    skeleton: false,
    wireframe: false,
    triangles: false,
    voxels: false,
    lattice: false,
    pose: false,
    crowd: 1,
};

type Key = keyof State;

export class Store {
    state: State = { ...INITIAL };
    private listeners: { keys: Key[]; call: () => void }[] = [];

    /** Calls back after any of the members changed. */
    on(keys: Key[], call: () => void): void {
        this.listeners.push({ keys, call });
    }

    off(call: () => void): void {
        this.listeners = this.listeners.filter((listener) => listener.call !== call);
    }

    set(patch: Partial<State>): void {
        const changed = (Object.keys(patch) as Key[]).filter((key) => this.state[key] !== patch[key]);
        if (changed.length === 0) return;
        this.state = { ...this.state, ...patch };
        for (const { keys, call } of this.listeners) if (keys.some((key) => changed.includes(key))) call();
    }
}
