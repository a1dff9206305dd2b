/** The brush of live panels: its controls, its circle on the surface, and the strokes that become marks of the panel. */
import { BufferAttribute, BufferGeometry, LineBasicMaterial, LineLoop, Quaternion, Vector3 } from "three";
import { emptyMap, filled, isPainted, type PaintMap, Stroke, Surface } from "../brush";
import { figure, h } from "../dom";
import type { Model } from "../model";
import { weightOf } from "../modes";
import type { PointerTool } from "../pointer";
import type { Studio } from "./studio";

/** A kind of value that can be painted. */
export interface Layer {
    key: string;
    label: string;
    /** Above the colour scale. */
    title: string;
    low: number;
    high: number;
    step: number;
    /** What the brush sets at first. */
    value: number;
}

export interface PaintHost {
    layers: readonly Layer[];
    /** Vertices of the library's model: the page may have copies of them. */
    vertexCount(): number;
    map(layer: Layer): PaintMap | undefined;
    /** [vertex] values where nothing is painted. */
    base(layer: Layer): ArrayLike<number>;
    /** Takes a new map; undefined: nothing is painted. Strokes have a `merge` text of their own. */
    paint(layer: Layer, map: PaintMap | undefined, label: string, merge?: string): void;
}

const CIRCLE = 48;

export class Painter {
    readonly element: HTMLElement;
    layer: Layer;
    /** Whether the pointer paints. */
    on = false;
    /** Called when the brush is switched on or off, or another layer is chosen. */
    onSwitch: () => void = () => {};
    private surface: { of: Model; surface: Surface } | undefined;
    private stroke: { stroke: Stroke; merge: string } | undefined;
    private strokes = 0;
    private readonly circle = new LineLoop(
        new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(3 * CIRCLE), 3)),
        new LineBasicMaterial({ color: 0xd9480f, depthTest: false, transparent: true }),
    );
    private readonly toggle: HTMLButtonElement;
    private readonly value: HTMLInputElement;
    private readonly radius: HTMLInputElement;
    private readonly strength: HTMLInputElement;
    private readonly erase: HTMLInputElement;
    private readonly outputs = new Map<HTMLInputElement, HTMLOutputElement>();
    private readonly clear: HTMLButtonElement;

    constructor(
        private readonly studio: Studio,
        private readonly host: PaintHost,
        id: string,
    ) {
        this.layer = host.layers[0];
        this.circle.renderOrder = 30;
        this.circle.frustumCulled = false;
        this.toggle = h("button", { type: "button", id: `${id}-brush`, "aria-pressed": "false", title: "Paint with the pointer; beside the model it turns the camera" }, "Brush");
        this.toggle.addEventListener("click", () => this.use(!this.on));
        this.erase = h("input", { type: "checkbox", id: `${id}-erase` });
        const choice = h("select", { id: `${id}-layer`, "aria-label": "What is painted" }, ...host.layers.map(({ key, label }) => h("option", { value: key }, label)));
        choice.addEventListener("change", () => {
            this.layer = host.layers.find(({ key }) => key === choice.value)!;
            this.setRange();
            this.onSwitch();
        });
        this.value = this.slider(`${id}-value`, 0, 1, 0.01, 0);
        this.radius = this.slider(`${id}-radius`, 0.005, 0.4, 0.005, 0.08);
        this.strength = this.slider(`${id}-strength`, 0.05, 1, 0.05, 1);
        const button = (name: string, text: string, title: string, run: () => void) => {
            const made = h("button", { type: "button", id: `${id}-${name}`, title }, text);
            made.addEventListener("click", run);
            return made;
        };
        const fillJoint = button("fill-joint", "Fill bone", "Gives the value to all vertices that mostly follow the selected bone", () => this.fillJoint());
        const fillAll = button("fill-all", "Fill all", "Gives the value to all vertices", () => this.fill(this.everything(), "fill all"));
        this.clear = button("clear", "Clear", "Removes what is painted", () => host.paint(this.layer, undefined, `clear ${this.layer.label}`));
        const row = (label: string, input: HTMLInputElement) =>
            h("div", { class: "slider" }, h("label", { for: input.id }, label), input, this.outputs.get(input));
        this.element = h(
            "fieldset",
            { class: "paint" },
            h("legend", {}, "Paint"),
            h("div", { class: "row" }, host.layers.length > 1 ? choice : h("span", { class: "what" }, this.layer.label), this.toggle, h("label", { class: "check" }, this.erase, "Erase")),
            row("Value", this.value),
            row("Radius", this.radius),
            row("Strength", this.strength),
            h("div", { class: "row" }, fillJoint, fillAll, this.clear),
        );
        this.setRange();
    }

    private slider(id: string, min: number, max: number, step: number, value: number): HTMLInputElement {
        const input = h("input", { type: "range", id, min, max, step, value });
        this.outputs.set(input, h("output", { for: id }));
        input.addEventListener("input", () => this.showNumbers());
        return input;
    }

    private setRange(): void {
        const { low, high, step, value } = this.layer;
        Object.assign(this.value, { min: String(low), max: String(high), step: String(step) });
        this.value.value = String(value);
        this.showNumbers();
    }

    private showNumbers(): void {
        for (const [input, output] of this.outputs)
            output.value = input === this.radius ? (this.studio.hasModel ? figure(this.units, 3) : "") : figure(input.valueAsNumber, 3);
    }

    /** Radius in object units. */
    get units(): number {
        const { low, high } = this.studio.viewer.stage.bounds;
        return this.radius.valueAsNumber * (high.distanceTo(low) || 1);
    }

    /** Shows what there is to show for the state. */
    show(): void {
        this.clear.disabled = !isPainted(this.host.map(this.layer));
        this.showNumbers();
    }

    /** Begins or ends painting with the pointer. */
    use(on: boolean): void {
        if (on === this.on) return;
        this.on = on;
        this.toggle.setAttribute("aria-pressed", String(on));
        const { viewer } = this.studio;
        viewer.pointerTool = on ? this.tool : viewer.pointerTool === this.tool ? undefined : viewer.pointerTool;
        this.circle.removeFromParent();
        this.stroke = undefined;
        viewer.stage.invalidate();
        this.onSwitch();
    }

    private everything(): Iterable<number> {
        return Array.from({ length: this.host.vertexCount() }, (_, i) => i);
    }

    private get target(): number {
        return this.erase.checked ? NaN : this.value.valueAsNumber;
    }

    private now(): PaintMap {
        return this.host.map(this.layer) ?? emptyMap(this.host.vertexCount());
    }

    private set(map: PaintMap, label: string, merge?: string): void {
        this.host.paint(this.layer, isPainted(map) ? map : undefined, label, merge);
    }

    fill(vertices: Iterable<number>, label: string): void {
        this.set(filled(this.now(), vertices, this.target), `${label}: ${this.layer.label}`);
    }

    /** Vertices of which the selected bone has at least half of the weight. */
    private fillJoint(): void {
        const { viewer } = this.studio;
        const { model } = viewer.subject;
        const { joint } = viewer.store.state;
        if (joint < 0) return this.studio.tell("Select a bone first: click it, or choose it in the list of bones.");
        const count = this.host.vertexCount();
        const own = [...this.everything()].filter((i) => weightOf(model, joint, i) >= 0.5 && i < count);
        if (own.length === 0) return this.studio.tell(`No vertex mostly follows ${model.joints[joint].name}.`);
        this.fill(own, `fill ${model.joints[joint].name}`);
    }

    // ---- Pointer ----

    private get mesh(): Surface {
        const { model } = this.studio.viewer.subject;
        if (this.surface?.of !== model) this.surface = { of: model, surface: new Surface(model.rest, model.triangles) };
        return this.surface.surface;
    }

    /** Paints around a position of the window; false: the surface is not there. */
    dabAt(x: number, y: number): boolean {
        const { viewer } = this.studio;
        const hit = viewer.hitAt(x, y);
        this.showCircle(hit);
        if (!hit) return false;
        const count = this.host.vertexCount();
        const reach = this.mesh.reach(viewer.positions, hit.triangle, hit.point.toArray(), this.units);
        const before = this.now();
        this.stroke ??= { stroke: new Stroke(before, this.host.base(this.layer)), merge: `stroke ${++this.strokes} ${this.layer.key}` };
        const map = this.stroke.stroke.dab(before, { ...reach, vertices: reach.vertices.map((i) => i % count) }, this.target, this.strength.valueAsNumber);
        this.set(map, `paint ${this.layer.label}`, this.stroke.merge);
        return true;
    }

    endStroke(): void {
        this.stroke = undefined;
    }

    readonly tool: PointerTool = {
        down: (event) => this.dabAt(event.clientX, event.clientY),
        move: (event) => void this.dabAt(event.clientX, event.clientY),
        up: () => this.endStroke(),
        hover: (event) => this.showCircle(this.studio.viewer.hitAt(event.clientX, event.clientY)),
    };

    private showCircle(hit: { triangle: number; point: Vector3 } | undefined): void {
        const { stage, positions } = this.studio.viewer;
        if (!hit) this.circle.removeFromParent();
        else {
            const up = new Vector3(...this.mesh.triangleNormal(positions, hit.triangle)).normalize();
            const turn = new Quaternion().setFromUnitVectors(new Vector3(0, 0, 1), up);
            const place = this.circle.geometry.attributes.position as BufferAttribute;
            const p = new Vector3();
            for (let n = 0; n < CIRCLE; n++) {
                const angle = (2 * Math.PI * n) / CIRCLE;
                p.set(Math.cos(angle), Math.sin(angle), 0).multiplyScalar(this.units).applyQuaternion(turn).add(hit.point);
                place.setXYZ(n, p.x, p.y, p.z);
            }
            place.needsUpdate = true;
            stage.overlays.add(this.circle);
        }
        stage.invalidate();
    }
}

/** A float with as many digits as it takes to read it back. */
const digits = (value: number) => String(Number(value.toPrecision(9)));

/** Values as a text file with a number for each vertex, which the program reads; −1: not painted. */
export function mapText(map: ArrayLike<number>): string {
    return `${Array.from(map, (value) => (Number.isNaN(value) ? "-1" : digits(value))).join("\n")}\n`;
}

/** Painted values in a settings file: runs of equal values, "value×count". */
export function packMap(map: PaintMap): string {
    const runs: string[] = [];
    for (let i = 0; i < map.length;) {
        let end = i + 1;
        while (end < map.length && Object.is(map[end], map[i])) end++;
        const text = Number.isNaN(map[i]) ? "" : digits(map[i]);
        runs.push(end - i > 1 ? `${text}*${end - i}` : text);
        i = end;
    }
    return runs.join(" ");
}

/** Reads packMap(); undefined: it does not have this number of values. */
export function unpackMap(text: unknown, count: number): PaintMap | undefined {
    if (typeof text !== "string") return undefined;
    const out = emptyMap(count);
    let at = 0;
    for (const run of text.split(" ")) {
        const [value, times = "1"] = run.split("*");
        const end = at + Number(times);
        if (!(end <= count)) return undefined;
        if (value !== "") out.fill(Number(value), at, end);
        at = end;
    }
    return at === count ? out : undefined;
}
