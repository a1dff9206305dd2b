/** The toolbar: shape, colour mode, overlays; and the legend of the colours. */
import { byId, h } from "./dom";
import { type Legend, type Mode, MODES, type ModeName } from "./modes";
import type { Overlay, State, View } from "./state";
import { type Animation, isCompared, type Subject } from "./subject";

const VIEWS: [View, string][] = [
    ["result", "Result"],
    ["source", "Source"],
    ["side", "Side by side"],
];
const OVERLAYS: [Overlay, string, string][] = [
    ["skeleton", "Skeleton", "K"],
    ["wireframe", "Wireframe", "X"],
    ["triangles", "Triangle normals", "N"],
    ["voxels", "Voxels", "V"],
    ["lattice", "Lattice", "L"],
    ["pose", "Pose", "P"],
];

// ---- Available choices ----

export function viewsOf(subject: Subject, animation: Animation): View[] {
    return isCompared(animation)
        ? ["result", "source", "side"]
        : subject.hasResult(animation)
          ? ["result"]
          : ["source"];
}

export function modesOf({ model, poser, values }: Subject, animation: Animation): Mode[] {
    const skinned = model.joints.length > 0 && model.vertexCount > 0;
    const needs: Partial<Record<ModeName, boolean>> = {
        material: model.parts.some(({ map, color }) => map || color.some((c) => c !== 1)),
        colors: model.colors !== undefined,
        parts: model.parts.length > 1,
        bones: skinned,
        weights: skinned,
        influences: skinned,
        displacement: animation.times.length > 1,
        error: isCompared(animation),
        light: model.light !== undefined,
        values: values !== undefined,
        shading: isCompared(animation) && model.triangles.length > 0 && poser.hasNormals,
    };
    return MODES.filter(({ name }) => needs[name] ?? true);
}

export function overlaysOf({ model, data, poser }: Subject): Overlay[] {
    const has: Record<Overlay, boolean> = {
        skeleton: model.joints.length > 0,
        wireframe: model.triangles.length > 0,
        triangles: model.triangles.length > 0 && poser.hasNormals,
        voxels: !!data.voxels,
        lattice: !!data.lattice,
        pose: model.joints.length > 0,
    };
    return OVERLAYS.map(([name]) => name).filter((name) => has[name]);
}

// ---- Display ----

export interface ToolActions {
    setView(view: View): void;
    toggle(overlay: Overlay): void;
}

/** Buttons and choices for an animation of a subject. */
export function fillTools(subject: Subject, animation: Animation, state: State, actions: ToolActions): void {
    const views = VIEWS.filter(([name]) => viewsOf(subject, animation).includes(name));
    const viewButton = ([name, label]: [View, string]): HTMLElement => {
        const attributes = { type: "button", role: "radio", "data-view": name, onclick: () => actions.setView(name) };
        return h("button", attributes, label);
    };
    byId("views").replaceChildren(...views.map(viewButton));
    byId("views").hidden = views.length < 2;
    const modes = modesOf(subject, animation).map(({ name, label }) => h("option", { value: name }, label));
    byId("mode").replaceChildren(...modes);
    const overlays = OVERLAYS.filter(([name]) => overlaysOf(subject).includes(name));
    const overlayButton = ([name, label, key]: [Overlay, string, string]): HTMLElement => {
        const attributes = { type: "button", "data-overlay": name, onclick: () => actions.toggle(name) };
        return h("button", { ...attributes, title: `${label} (${key})` }, label);
    };
    byId("overlays").replaceChildren(...overlays.map(overlayButton));
    showTools(state);
}

/** Updates the pressed state of the buttons. */
export function showTools(state: State): void {
    for (const button of byId("views").children as Iterable<HTMLElement> & HTMLCollection)
        button.setAttribute("aria-checked", String(button.dataset.view === state.view));
    for (const button of byId("overlays").children as Iterable<HTMLElement> & HTMLCollection)
        button.setAttribute("aria-pressed", String(state[button.dataset.overlay as Overlay]));
    byId<HTMLSelectElement>("mode").value = state.mode;
    byId("stage").dataset.view = state.view;
    byId("hint").hidden = !state.pose;
    byId("sun").hidden = state.mode !== "light";
}

export function showLegend(legend: Legend | undefined): void {
    const element = byId("legend");
    element.hidden = !legend;
    if (!legend) return;
    const { title, map, ticks } = legend;
    element.setAttribute("aria-label", `${title}: from ${ticks[0]} to ${ticks.at(-1)}`);
    element.replaceChildren(
        h("p", {}, title),
        h("div", { class: "bar", style: `background:${map.gradient()}` }),
        h("div", { class: "ticks" }, ...ticks.map((tick) => h("span", {}, tick))),
    );
}
