/** Deep links: the view state in the fragment of the address, as in #frame=12&mode=error. */
import { Vector3 } from "three";
import { MODES } from "./modes";
import type { Stage } from "./scene";
import type { State, Store } from "./state";

const FLAGS = ["skeleton", "wireframe", "triangles", "voxels", "lattice"] as const;
const VIEWS = ["result", "source", "side"] as const;

/** The state of a link; members that it does not contain are kept. */
export function readLink(hash: string, stage: Stage): Partial<State> {
    const link = new URLSearchParams(hash.replace(/^#/, ""));
    const patch: Partial<State> = {};
    const number = (key: "animation" | "frame" | "joint" | "vertex" | "speed" | "crowd"): void => {
        const value = Number(link.get(key));
        if (link.has(key) && value >= 0) patch[key] = value;
    };
    for (const key of ["animation", "frame", "joint", "vertex", "speed", "crowd"] as const) number(key);
    const mode = MODES.find(({ name }) => name === link.get("mode"));
    if (mode) patch.mode = mode.name;
    const view = VIEWS.find((name) => name === link.get("view"));
    if (view) patch.view = view;
    for (const flag of FLAGS) if (link.has(flag)) patch[flag] = link.get(flag) !== "0";
    if (link.has("frame")) patch.playing = link.get("play") === "1";
    const camera = (link.get("camera") ?? "").split(",").map(Number);
    if (camera.length === 6 && camera.every(Number.isFinite))
        stage.moveTo(new Vector3(camera[0], camera[1], camera[2]), new Vector3(camera[3], camera[4], camera[5]));
    return patch;
}

export function writeLink(state: State, stage: Stage): string {
    const link = new URLSearchParams();
    link.set("animation", String(state.animation));
    link.set("frame", String(state.frame));
    if (state.view !== "result") link.set("view", state.view);
    link.set("mode", state.mode);
    if (state.joint >= 0) link.set("joint", String(state.joint));
    if (state.vertex >= 0) link.set("vertex", String(state.vertex));
    for (const flag of FLAGS) if (state[flag]) link.set(flag, "1");
    if (state.crowd > 1) link.set("crowd", String(state.crowd));
    const numbers = [...stage.camera.position.toArray(), ...stage.controls.target.toArray()];
    if (stage.moved) link.set("camera", numbers.map((x) => Number(x.toPrecision(5))).join(","));
    return `#${link.toString().replaceAll("%2C", ",")}`;
}

/** Updates the address while nothing plays, in batches, because browsers limit the rate of changes. A link that was just followed and whose
 * event is still to come is not overwritten. */
export function keepAddress(store: Store, stage: Stage): void {
    let waiting = false;
    let known = location.hash;
    addEventListener("hashchange", () => (known = location.hash));
    store.on(["animation", "frame", "view", "mode", "joint", "vertex", "playing", "crowd", ...FLAGS], () => {
        if (waiting || store.state.playing) return;
        waiting = true;
        setTimeout(() => {
            waiting = false;
            if (store.state.playing || location.hash !== known) return;
            history.replaceState(null, "", writeLink(store.state, stage));
            known = location.hash;
        }, 300);
    });
}
