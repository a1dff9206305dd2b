/** Jiggle: soft tissue, simulated while it is shown. Grab it, shake it, play a motion; paint, push and let it hang; bake it when it looks
 * right. */
import type { Collider, Jiggle as Simulation, Model, Option, OptionValue } from "pelt";
import { ArrowHelper, BufferAttribute, BufferGeometry, Group, LineBasicMaterial, LineSegments, Mesh, MeshBasicMaterial, PlaneGeometry, SphereGeometry, Vector3 } from "three";
import type { PaintMap } from "../../brush";
import type { JsonObject } from "../../data";
import { figure, h } from "../../dom";
import type { PointerTool } from "../../pointer";
import { stem } from "../command";
import { download } from "../files";
import { Drag, type Handle, Handles } from "../handles";
import { type Layer, mapText, packMap, Painter, unpackMap } from "../paint";
import type { Panel, Settings } from "../panel";
import type { Studio } from "../studio";
import { errorsOf } from "./report";

type Key = "delta" | "stiffness" | "damping" | "pin";
type Maps = Partial<Record<Key, PaintMap>>;
type Vector = [number, number, number];

/** What is painted and placed. */
interface Marks {
    maps: Maps;
    /** Units / s². */
    gravity: Vector;
    colliders: readonly Collider[];
}
const NOTHING: Marks = { maps: {}, gravity: [0, 0, 0], colliders: [] };

interface MapLayer extends Layer {
    key: Key;
    /** The option of the program that reads it. */
    option: string;
}
const LAYERS: readonly MapLayer[] = [
    { key: "delta", label: "softness", title: "Softness δ of the tissue", low: 0, high: 1, step: 0.01, value: 1, option: "soft-map" },
    { key: "stiffness", label: "stiffness", title: "Stiffness, half-width of regions in cells", low: 0, high: 8, step: 0.1, value: 0.5, option: "stiffness-map" },
    { key: "damping", label: "damping", title: "Damping, 1 / s", low: 0, high: 40, step: 0.5, value: 2, option: "damping-map" },
    { key: "pin", label: "pins", title: "Pins: 1 is rigid", low: 0, high: 1, step: 0.01, value: 1, option: "pin-map" },
];

const row = (key: string, kind: Option["kind"], initial: string, choices: string[], help: string, max: number | null = null): Option => ({
    key,
    name: key,
    letter: "",
    kind,
    initial,
    min: max === null ? null : 1,
    max,
    choices,
    value: null,
    help,
});
const OWN: Option[] = [
    row("as", "choice", "bones", ["bones", "morphs", "cache"], "kind of result: helper bones, morph targets, or the vertices of every frame"),
    row("add", "uint", "16", [], "helper bones", 1000),
    row("corrections", "uint", "20", [], "morph targets", 1000),
];
/** Settings of the result, not of the simulation. */
const RESULT = ["as", "add", "corrections"];
/** Milliseconds after the last change of a setting before the simulation is made again. */
const MAKE_DELAY = 200;
/** Frames without motion after which nothing is computed until something changes. */
const REST_FRAMES = 40;
/** Seconds in which a shaken character comes back to its place: to 1/e. */
const RETURN = 0.08;

interface Live {
    base: Model;
    model: Model;
    simulation: Simulation;
    names: string[];
    roots: number[];
    vertexCount: number;
    /** Values where nothing is painted. */
    values: Record<Key, Float32Array>;
    particles: number;
    /** [vertex][3] of the page. */
    positions: Float32Array;
    normals: Float32Array;
    /** Memory of the frame before. */
    spare?: Float32Array;
}

class Jiggle implements Panel {
    readonly name = "jiggle";
    readonly label = "Jiggle";
    readonly summary = "Soft tissue that swings, live: grab it, shake it, play a motion, paint it. Bake it when it looks right.";
    readonly tables = ["jiggle", "jiggleBake", "jiggleSimulate"] as const;
    readonly own = OWN;
    readonly main = ["delta", "frequency", "damping", "stiffness", "particles", "as"];
    readonly sliders = { delta: [0, 1, 0.01], frequency: [1, 30, 0.5], damping: [0, 40, 0.5], stiffness: [0, 8, 0.1], particles: [200, 6000, 100] } as const;
    readonly action = "Bake";
    private studio!: Studio;
    private painter!: Painter;
    private handles!: Handles;
    private live: Live | undefined;
    private making: Promise<void> | undefined;
    /** Settings of the simulation. */
    private madeWith = "";
    private lastPose: Float32Array | undefined;
    private timer = 0;
    private stepping = false;
    private waiting = 0;
    private lastFrame = -1;
    private still = 0;
    private mode: "camera" | "grab" | "shake" = "grab";
    private held: { drag: Drag; vertex: number; start: Vector3 } | undefined;
    private shaken = new Vector3();
    private applied: Marks = NOTHING;
    private ends: (() => void)[] = [];
    private lines: LineSegments | undefined;
    private readonly solids = new Group();
    private modes: HTMLButtonElement[] = [];
    private fields!: HTMLFieldSetElement;
    private figures!: HTMLElement;
    private lattice!: HTMLButtonElement;
    private weight!: HTMLInputElement;
    private weightText!: HTMLOutputElement;
    private list!: HTMLElement;

    unfit({ vertexCount, jointCount, motions }: { vertexCount: number; jointCount: number; motions: readonly unknown[] }): string | undefined {
        if (vertexCount === 0 || jointCount === 0) return "This needs a mesh with a skeleton; decompose an animation, or bind a mesh first.";
        return motions.length === 0 ? "There is no motion to bake yet: shake the character, or drop a motion (BVH, a rig) on the page." : undefined;
    }

    applies(key: string, settings: Settings): boolean {
        const as = settings.as ?? "bones";
        return key === "add" ? as === "bones" : key === "corrections" ? as === "morphs" : true;
    }

    private marks(studio: Studio): Marks {
        return (studio.state.marks[this.name] as Marks | undefined) ?? NOTHING;
    }

    /** Settings of the simulation alone. */
    private simulating(studio: Studio, settings: Settings): Record<string, OptionValue> {
        const keys = new Set(studio.pelt.options.jiggle.options.map(({ key }) => key));
        const { preset } = settings;
        const rest = Object.fromEntries(Object.entries(settings).filter(([key]) => keys.has(key)));
        return preset === undefined || preset === "none" ? rest : { preset, ...rest };
    }

    // ---- Bake ----

    async run({ studio, model, settings, hooks }: Parameters<Panel["run"]>[0]) {
        const { maps, gravity, colliders } = this.marks(studio);
        const given = Object.fromEntries(Object.entries(settings).filter(([key]) => !RESULT.includes(key)));
        const simulated = await model.simulate({ ...given, maps, forces: { gravity }, colliders: [...colliders], ...hooks });
        const as = (settings.as as string | undefined) ?? "bones";
        if (as === "bones") await model.addBones({ add: (settings.add as number | undefined) ?? 16, ...hooks });
        else if (as === "morphs") await model.addMorphs({ rank: (settings.corrections as number | undefined) ?? 20, ...hooks });
        const errors = as === "cache" ? {} : await errorsOf(model, await model.info(), hooks);
        const figures: JsonObject = { particles: simulated.particleCount, cells: simulated.cellCount, pinned_particles: simulated.pinnedCount, cell: simulated.cell };
        return { title: as, report: { ...figures, ...errors } };
    }

    file(name: string, settings: Settings): string {
        return settings.as === "cache" ? name.replace(/\.glb$/, ".pc2") : name;
    }

    // ---- Live ----

    /** What is simulated; undefined: the result is shown, or nothing that could swing. */
    private base(studio: Studio): Model | undefined {
        if (!studio.hasModel || studio.comparing || studio.panel !== this || studio.step.verb === this.name) return undefined;
        const { vertexCount, jointCount } = studio.step.info;
        return vertexCount > 0 && jointCount > 0 ? studio.step.model : undefined;
    }

    enter(studio: Studio): void {
        const base = this.base(studio);
        this.fields.disabled = !base;
        this.painter.show();
        this.showMarks(studio);
        if (!base) {
            const baked = studio.hasModel && studio.step.verb === this.name;
            this.figures.textContent = baked ? "This is the baked result. Go to the step before it to simulate live." : "";
            return;
        }
        if (this.ends.length === 0) this.ends.push(studio.onFrame((seconds) => this.frame(studio, seconds)));
        studio.viewer.pointerTool = this.tool;
        void this.make(studio);
    }

    leave(studio: Studio): void {
        for (const end of this.ends.splice(0)) end();
        clearTimeout(this.timer);
        this.painter.use(false);
        studio.viewer.pointerTool = undefined;
        this.showLattice(false);
        this.solids.removeFromParent();
        this.handles.show([], 1);
        this.free();
        studio.viewer.setValues(undefined);
        studio.viewer.setVertices(undefined);
    }

    private free(): void {
        this.live?.simulation.free();
        this.live?.model.free();
        this.live = undefined;
    }

    /** Makes the simulation for the settings. */
    private make(studio: Studio): Promise<void> {
        const before = this.making ?? Promise.resolve();
        const made = before.then(() => this.makeNow(studio)).catch((error: Error) => studio.tell(error.message, "error"));
        this.making = made;
        return made;
    }

    private async makeNow(studio: Studio): Promise<void> {
        const base = this.base(studio);
        if (!base) return;
        const { gravity, colliders, maps } = this.marks(studio);
        const settings = this.simulating(studio, studio.settings(this));
        this.madeWith = JSON.stringify(settings);
        const model = await base.borrow();
        let simulation: Simulation;
        try {
            simulation = await model.jiggle({ ...settings, forces: { gravity }, colliders: [...colliders] });
        } catch (error) {
            model.free();
            throw error;
        }
        const { names, parents } = await model.skeleton();
        const values = Object.fromEntries(await Promise.all(LAYERS.map(async ({ key }) => [key, await simulation.values(key)]))) as Live["values"];
        const { particleCount } = await simulation.report();
        const { vertexCount } = studio.step.info;
        const size = 3 * studio.viewer.subject.model.vertexCount;
        if (this.base(studio) !== base) {
            simulation.free();
            return model.free();
        }
        this.free();
        this.applied = { ...NOTHING, gravity, colliders };
        const roots = Array.from(parents ?? [], (parent, joint) => (parent === 0xffffffff ? joint : -1)).filter((joint) => joint >= 0);
        this.live = { base, model, simulation, names: names ?? [], roots, vertexCount, values, particles: particleCount, positions: new Float32Array(size), normals: new Float32Array(size) };
        this.wake();
        this.apply(studio, { gravity, colliders, maps });
        this.showLattice(this.lattice.getAttribute("aria-pressed") === "true");
    }

    changed(studio: Studio): void {
        this.painter.show();
        this.showMarks(studio);
        if (!this.base(studio)) return;
        const settings = JSON.stringify(this.simulating(studio, studio.settings(this)));
        const marks = this.marks(studio);
        if (!this.live || settings !== this.madeWith || marks.colliders.length !== this.applied.colliders.length) {
            clearTimeout(this.timer);
            this.timer = window.setTimeout(() => void this.make(studio), MAKE_DELAY);
        } else this.apply(studio, marks);
    }

    /** Takes over what changed of the marks; calls of the engine keep their order, so the next frame has it. */
    private apply(studio: Studio, marks: Marks): void {
        const { live, applied } = this;
        if (!live) return;
        if (marks.maps !== applied.maps) void live.simulation.setValues({ maps: marks.maps });
        if (marks.gravity !== applied.gravity) void live.simulation.setForces({ gravity: marks.gravity });
        marks.colliders.forEach((collider, n) => {
            if (collider !== applied.colliders[n]) void live.simulation.setCollider(n, collider);
        });
        this.applied = marks;
        this.wake();
        void this.showValues(studio);
    }

    private wake(): void {
        this.still = 0;
    }

    /** Simulates up to now; poses of a motion at its own frames, so that its speed is even. */
    private frame(studio: Studio, seconds: number): void {
        const { live } = this;
        const { playing, frame } = studio.viewer.store.state;
        this.waiting = Math.min(this.waiting + seconds, 0.1);
        if (!live || this.stepping || (playing && frame === this.lastFrame) || (!playing && this.asleep(studio))) return;
        this.lastFrame = frame;
        const passed = this.waiting;
        this.waiting = 0;
        this.stepping = true;
        void this.step(studio, live, passed)
            .catch((error: Error & { code?: string }) => error.code !== "engine" && this.live === live && studio.tell(error.message, "error"))
            .finally(() => (this.stepping = false));
    }

    private asleep(studio: Studio): boolean {
        if (this.still < REST_FRAMES || this.held || this.shaken.lengthSq() > 0) return false;
        const pose = studio.viewer.locals(this.live!.names);
        if (!this.lastPose?.every((value, n) => value === pose[n])) this.wake();
        return this.still >= REST_FRAMES;
    }

    private async step(studio: Studio, live: Live, seconds: number): Promise<void> {
        const { viewer } = studio;
        const pose = viewer.locals(live.names);
        this.lastPose = pose.slice();
        for (const root of live.roots) for (let c = 0; c < 3; c++) pose[10 * root + c] += this.shaken.getComponent(c);
        if (this.mode !== "shake" || !this.held) {
            this.shaken.multiplyScalar(Math.exp(-seconds / RETURN));
            if (this.shaken.length() < 1e-4 * this.size(studio)) this.shaken.set(0, 0, 0);
        }
        const start = performance.now();
        const { positions, normals } = await live.simulation.advance({ pose, seconds, normals: true, into: live.spare });
        studio.times.jiggle = 0.9 * (studio.times.jiggle ?? performance.now() - start) + 0.1 * (performance.now() - start);
        if (this.live !== live || this.base(studio) !== live.base) return;
        let moved = 0;
        for (let i = 0; i < positions.length; i++) moved = Math.max(moved, Math.abs(positions[i] - live.positions[i]));
        this.still = moved > 1e-5 * this.size(studio) ? 0 : this.still + 1;
        for (let at = 0; at < live.positions.length; at += positions.length) {
            live.positions.set(positions, at);
            live.normals.set(normals!, at);
        }
        live.spare = positions;
        viewer.setVertices(live.positions, live.normals);
        if (this.lines) await this.moveLattice(live);
        this.figures.textContent = `${figure(live.particles)} particles · ${figure(studio.times.jiggle, 2)} ms per frame`;
    }

    private size(studio: Studio): number {
        const { low, high } = studio.viewer.stage.bounds;
        return high.distanceTo(low) || 1;
    }

    // ---- Values ----

    /** The values of the tissue, while they are painted. */
    private async showValues(studio: Studio): Promise<void> {
        const { live } = this;
        if (!live || !this.painter.on) return;
        const layer = this.painter.layer as MapLayer;
        const values = await live.simulation.values(layer.key);
        if (this.live !== live || !this.painter.on) return;
        const count = studio.viewer.subject.model.vertexCount;
        const data = count === values.length ? values : Float32Array.from({ length: count }, (_, i) => values[i % values.length]);
        studio.viewer.setValues({ title: layer.title, data, low: layer.low, high: layer.high });
        studio.viewer.setMode("values");
    }

    // ---- Lattice ----

    private showLattice(on: boolean): void {
        this.lines?.removeFromParent();
        this.lines?.geometry.dispose();
        this.lines = undefined;
        const { live } = this;
        this.studio.viewer.stage.invalidate();
        if (on && live) void this.drawLattice(live);
    }

    private async drawLattice(live: Live): Promise<void> {
        const { cells, particleCount } = await live.simulation.lattice();
        if (this.live !== live || !cells) return;
        const edges = new Set<number>();
        for (let at = 0; at < cells.length; at += 8)
            for (let k = 0; k < 8; k++)
                for (const bit of [1, 2, 4]) {
                    if (k & bit) continue;
                    const [a, b] = [cells[at + k], cells[at + (k | bit)]];
                    edges.add(Math.min(a, b) * particleCount + Math.max(a, b));
                }
        const geometry = new BufferGeometry();
        geometry.setAttribute("position", new BufferAttribute(new Float32Array(3 * particleCount), 3));
        geometry.setIndex([...edges].flatMap((key) => [Math.floor(key / particleCount), key % particleCount]));
        this.lines = new LineSegments(geometry, new LineBasicMaterial({ color: 0xd98f3f, transparent: true, opacity: 0.55 }));
        this.lines.frustumCulled = false;
        this.studio.viewer.stage.overlays.add(this.lines);
        await this.moveLattice(live);
    }

    private async moveLattice(live: Live): Promise<void> {
        const { positions } = await live.simulation.lattice();
        const place = this.lines?.geometry.attributes.position as BufferAttribute | undefined;
        if (!place || !positions) return;
        for (let p = 0; p < place.count; p++) place.setXYZ(p, positions[4 * p], positions[4 * p + 1], positions[4 * p + 2]);
        place.needsUpdate = true;
        this.studio.viewer.stage.invalidate();
    }

    // ---- Pointer ----

    private readonly tool: PointerTool = {
        down: (event) => {
            this.wake();
            if (this.handles.down(event)) return true;
            if (this.painter.on) return this.painter.tool.down(event);
            return this.grab(event);
        },
        move: (event) => {
            this.wake();
            if (this.handles.active) this.handles.move(event);
            else if (this.painter.on) this.painter.tool.move(event);
            else this.pull(event);
        },
        up: () => {
            this.wake();
            if (this.handles.active) return this.handles.up();
            if (this.painter.on) return this.painter.tool.up();
            if (this.held && this.mode === "grab") void this.live?.simulation.grab(null);
            this.held = undefined;
        },
        hover: (event) => this.painter.on && this.painter.tool.hover?.(event),
    };

    private grab(event: PointerEvent): boolean {
        const { viewer } = this.studio;
        const hit = this.live && this.mode !== "camera" ? viewer.hitAt(event.clientX, event.clientY) : undefined;
        if (!hit) return false;
        const vertex = viewer.vertexAt(event.clientX, event.clientY) % this.live!.vertexCount;
        this.held = { drag: new Drag(viewer, hit.point), vertex, start: hit.point.clone().sub(this.shaken) };
        return true;
    }

    private pull(event: PointerEvent): void {
        const to = this.held?.drag.at(event);
        if (!this.held || !to || !this.live) return;
        if (this.mode === "shake") this.shaken.copy(to).sub(this.held.start);
        else void this.live.simulation.grab({ vertex: this.held.vertex, target: to.toArray(), radius: 0.06 * this.size(this.studio) });
    }

    private setMode(mode: Jiggle["mode"]): void {
        this.mode = mode;
        this.painter.use(false);
        for (const button of this.modes) button.setAttribute("aria-checked", String(button.dataset.mode === mode));
    }

    // ---- Gravity and colliders ----

    private change(studio: Studio, patch: Partial<Marks>, label: string, merge?: string): void {
        studio.mark(this, { ...this.marks(studio), ...patch }, label, merge);
    }

    /** Gravity of the earth for a character of 1.7 m. */
    private earth(studio: Studio): number {
        const { low, high } = studio.viewer.stage.bounds;
        return (9.81 * (high.y - low.y || 1)) / 1.7;
    }

    private setCollider(studio: Studio, index: number, patch: Partial<Collider>, merge?: string): void {
        const colliders = this.marks(studio).colliders.map((collider, n) => (n === index ? { ...collider, ...patch } : collider));
        this.change(studio, { colliders }, "Move a collider", merge);
    }

    private addCollider(studio: Studio, kind: "sphere" | "plane"): void {
        const { low, high } = studio.viewer.stage.bounds;
        const middle = low.clone().add(high).multiplyScalar(0.5);
        const collider: Collider =
            kind === "plane"
                ? { kind, a: [middle.x, low.y, middle.z], b: [0, 1, 0] }
                : { kind, a: [high.x, middle.y, high.z], radius: 0.12 * this.size(studio) };
        this.change(studio, { colliders: [...this.marks(studio).colliders, collider] }, "Add a collider");
    }

    /** Draws arrow and colliders, and fills the list. */
    private showMarks(studio: Studio): void {
        const { gravity, colliders } = this.marks(studio);
        const strength = Math.hypot(...gravity);
        const shown = this.base(studio) !== undefined;
        this.solids.clear();
        this.solids.removeFromParent();
        const handles: Handle[] = [];
        if (studio.hasModel && studio.viewer.subject) {
            this.weight.value = String(Math.round((100 * strength) / this.earth(studio)) / 100);
            this.weightText.value = figure(strength, 3);
        }
        if (shown) {
            const { low, high } = studio.viewer.stage.bounds;
            const size = this.size(studio);
            const from = new Vector3((low.x + high.x) / 2 - 0.35 * size, high.y, (low.z + high.z) / 2);
            const reach = (0.2 * size) / this.earth(studio);
            if (strength > 0) {
                const tip = from.clone().addScaledVector(new Vector3(...gravity), reach);
                this.solids.add(new ArrowHelper(new Vector3(...gravity).normalize(), from, reach * strength, 0xd9480f));
                const drag = (to: Vector3, done: boolean) =>
                    this.change(studio, { gravity: to.clone().sub(from).divideScalar(reach).toArray() }, "Turn gravity", done ? undefined : "gravity");
                handles.push({ place: tip, drag });
            }
            colliders.forEach((collider, n) => {
                const place = new Vector3(...(collider.a as Vector));
                const look = new MeshBasicMaterial({ color: 0x4f8fd0, wireframe: true, transparent: true, opacity: 0.5 });
                const solid =
                    collider.kind === "plane" ? new Mesh(new PlaneGeometry(size, size, 8, 8).rotateX(-Math.PI / 2), look) : new Mesh(new SphereGeometry(collider.radius, 20, 12), look);
                solid.position.copy(place);
                solid.frustumCulled = false;
                this.solids.add(solid);
                handles.push({ place, drag: (to, done) => this.setCollider(studio, n, { a: to.toArray() }, done ? undefined : `collider ${n}`) });
            });
            studio.viewer.stage.overlays.add(this.solids);
            if (!this.handles.active) this.handles.show(handles, 0.012 * size);
            else this.handles.follow(handles, 0.012 * size);
        }
        studio.viewer.stage?.invalidate();
        this.list.replaceChildren(
            ...colliders.map((collider, n) => {
                const id = `jiggle-collider-${n}`;
                const input = h("input", { type: "range", id, min: 0.01, max: 0.5, step: 0.005, value: (collider.radius ?? 0) / this.size(studio) });
                input.addEventListener("input", () => this.setCollider(studio, n, { radius: input.valueAsNumber * this.size(studio) }, `radius ${n}`));
                const remove = h("button", { type: "button", "aria-label": `Remove collider ${n + 1}` }, "×");
                remove.addEventListener("click", () => this.change(studio, { colliders: colliders.filter((_, other) => other !== n) }, "Remove a collider"));
                const label = collider.kind === "plane" ? "Floor" : "Sphere";
                return h("div", { class: "slider" }, h("label", { for: id }, label), collider.kind === "plane" ? h("span", {}, "drag its point") : input, remove);
            }),
        );
    }

    // ---- Controls ----

    before(studio: Studio): HTMLElement {
        this.studio = studio;
        this.handles = new Handles(studio.viewer);
        this.painter = new Painter(
            studio,
            {
                layers: LAYERS,
                vertexCount: () => studio.step.info.vertexCount,
                map: ({ key }) => this.marks(studio).maps[key as Key],
                base: ({ key }) => this.live?.values[key as Key] ?? new Float32Array(studio.step.info.vertexCount),
                paint: ({ key }, map, label, merge) => {
                    const { [key as Key]: _, ...others } = this.marks(studio).maps;
                    this.change(studio, { maps: map ? { ...others, [key]: map } : others }, label, merge);
                },
            },
            "jiggle",
        );
        this.painter.onSwitch = () => {
            if (this.base(studio)) studio.viewer.pointerTool = this.tool;
            if (this.painter.on) void this.showValues(studio);
            else studio.viewer.setValues(undefined);
        };
        const mode = (name: Jiggle["mode"], text: string, title: string) => {
            const button = h("button", { type: "button", role: "radio", "data-mode": name, id: `jiggle-${name}`, title, "aria-checked": String(name === this.mode) }, text);
            button.addEventListener("click", () => this.setMode(name));
            return button;
        };
        this.modes = [
            mode("grab", "Grab", "Drag the tissue under the pointer"),
            mode("shake", "Shake", "Drag the whole character"),
            mode("camera", "Camera", "Drag to orbit"),
        ];
        this.figures = h("p", { class: "note", id: "jiggle-figures" });
        const button = (id: string, text: string, title: string, run: () => void) => {
            const made = h("button", { type: "button", id, title }, text);
            made.addEventListener("click", run);
            return made;
        };
        this.lattice = button("jiggle-lattice", "Lattice", "The cells that are simulated", () => {
            const on = this.lattice.getAttribute("aria-pressed") !== "true";
            this.lattice.setAttribute("aria-pressed", String(on));
            this.showLattice(on);
        });
        this.lattice.setAttribute("aria-pressed", "false");
        const reset = button("jiggle-reset", "Rest", "Sets the tissue to rest", () => {
            this.wake();
            void this.live?.simulation.reset();
        });
        const jolt = button("jiggle-jolt", "Jolt", "Pushes the character aside and lets it come back; no pointer needed", () => this.jolt(studio));
        this.weight = h("input", { type: "range", id: "jiggle-gravity", min: 0, max: 4, step: 0.05, value: 0 });
        this.weightText = h("output", { for: "jiggle-gravity" });
        this.weight.addEventListener("input", () => {
            const { gravity } = this.marks(studio);
            const length = Math.hypot(...gravity);
            const down: Vector = length > 0 ? [gravity[0] / length, gravity[1] / length, gravity[2] / length] : [0, -1, 0];
            const strength = this.weight.valueAsNumber * this.earth(studio);
            this.change(studio, { gravity: down.map((d) => d * strength || 0) as Vector }, "Gravity", "gravity");
        });
        this.list = h("div", { class: "colliders" });
        this.fields = h(
            "fieldset",
            { class: "live", disabled: true },
            h("legend", {}, "Live"),
            this.figures,
            h("div", { class: "segments", role: "radiogroup", "aria-label": "What dragging does" }, ...this.modes),
            h("div", { class: "row" }, jolt, reset, this.lattice),
            this.painter.element,
            h("div", { class: "slider" }, h("label", { for: "jiggle-gravity", title: "Units per second²; drag the arrow to turn it" }, "Gravity"), this.weight, this.weightText),
            h("div", { class: "row" }, button("jiggle-sphere", "Add sphere", "A solid to push into the tissue: drag its point", () => this.addCollider(studio, "sphere")), button("jiggle-floor", "Add floor", "A solid below", () => this.addCollider(studio, "plane"))),
            this.list,
        );
        return this.fields;
    }

    after(studio: Studio): HTMLElement {
        const save = h("button", { type: "button", id: "jiggle-save-maps", title: "Numbers for each vertex, for --soft-map and the like" }, "Save painted values as text");
        save.addEventListener("click", () => {
            const { maps } = this.marks(studio);
            const painted = LAYERS.filter(({ key }) => maps[key]);
            for (const layer of painted) download({ name: this.mapName(studio, layer), data: mapText(maps[layer.key]!) });
            if (painted.length === 0) studio.tell("Nothing is painted yet.");
        });
        return h("div", { class: "row" }, save);
    }

    /** A push without a pointer. */
    jolt(studio: Studio): void {
        this.wake();
        this.shaken.set(0.08 * this.size(studio), 0, 0);
    }

    // ---- Command line and settings ----

    private mapName(studio: Studio, { option }: MapLayer): string {
        return `${stem(studio.state.steps[0].files[0])}-${option.replace("-map", "")}.txt`;
    }

    command(studio: Studio): string[] {
        const { maps, gravity, colliders } = this.marks(studio);
        const number = (value: number) => String(Number(value.toPrecision(7)));
        const list = (values: readonly number[]) => values.map(number).join(",");
        const args = LAYERS.filter(({ key }) => maps[key]).flatMap((layer) => [`--${layer.option}`, this.mapName(studio, layer)]);
        if (Math.hypot(...gravity) > 0) args.push(`--gravity=${list(gravity)}`);
        for (const { kind, a, b = [0, 1, 0], radius = 0 } of colliders)
            args.push("--collider", kind === "plane" ? `plane:${list([...a, ...b])}` : `${kind}:${list([...a, radius])}`);
        return args;
    }

    saved(studio: Studio): JsonObject {
        const { maps, gravity, colliders } = this.marks(studio);
        const painted = Object.fromEntries(LAYERS.filter(({ key }) => maps[key]).map(({ key }) => [key, packMap(maps[key]!)]));
        const object: JsonObject = {};
        if (Object.keys(painted).length > 0) object.painted = painted;
        if (Math.hypot(...gravity) > 0) object.gravity = gravity;
        if (colliders.length > 0) object.colliders = colliders as unknown as JsonObject[];
        return object;
    }

    opened(studio: Studio, object: JsonObject): void {
        if (!studio.hasModel || (!object.painted && !object.gravity && !object.colliders)) return;
        const { vertexCount } = studio.step.info;
        const maps: Maps = {};
        for (const { key, label } of LAYERS) {
            const packed = (object.painted as JsonObject | undefined)?.[key];
            const map = packed === undefined ? undefined : unpackMap(packed, vertexCount);
            if (map) maps[key] = map;
            else if (packed !== undefined) studio.tell(`The painted ${label} belongs to a mesh with another number of vertices; it is left out.`);
        }
        const vector = (value: unknown): Vector | undefined =>
            Array.isArray(value) && value.length === 3 && value.every(Number.isFinite) ? (value as Vector) : undefined;
        const colliders = (Array.isArray(object.colliders) ? object.colliders : []) as unknown as Collider[];
        const valid = colliders.filter(({ kind, a, radius = 0 }) => ["sphere", "plane"].includes(kind) && vector(a) && Number.isFinite(radius));
        this.change(studio, { maps, gravity: vector(object.gravity) ?? [0, 0, 0], colliders: valid }, "Open settings", "open settings");
    }
}

export const jiggle: Panel = new Jiggle();
