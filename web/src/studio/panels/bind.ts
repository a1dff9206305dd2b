/** Bind: skin weights through voxels. Once bound, every setting acts on the shown character: weights are computed again from the fields of
 * the voxels in milliseconds, and the fields themselves only for settings that they depend on. */
import type { Binding, Model, OptionValue } from "pelt";
import type { PaintMap } from "../../brush";
import type { JsonObject } from "../../data";
import { figure, h } from "../../dom";
import { stem } from "../command";
import { download } from "../files";
import { type Layer, mapText, packMap, Painter, unpackMap } from "../paint";
import type { Panel, Settings, Step } from "../panel";
import { SectionPlane } from "../section";
import type { Studio } from "../studio";

/** Settings that weights depend on, and fields do not. */
const LIVE = ["falloff", "falloffs", "curve", "influences", "prune", "smooth", "mirror", "rigidParts", "rigid", "lock"];
/** Settings of both: weights are computed at once, then the fields again. */
const BOTH = ["exclude", "only"];
const DEFAULT_FALLOFF = 0.7;
/** Milliseconds after the last change before fields are computed again. */
const SOLVE_DELAY = 350;
/** Milliseconds after the last change before the step has its weights. */
const SETTLE_DELAY = 700;

const ALPHA: Layer = { key: "falloff", label: "falloff α", title: "Falloff α", low: 0, high: 1, step: 0.01, value: 0.95 };

type BindOptions = NonNullable<Parameters<Model["binding"]>[0]>;

interface Marks {
    falloff?: PaintMap;
}

/** A binding of a copy of the model that the panel works on. */
interface Live {
    base: Model;
    /** The settings that its fields were computed with. */
    solved: string;
    model: Model;
    binding: Binding;
    names: string[];
}

class Bind implements Panel {
    readonly name = "bind";
    readonly label = "Bind";
    readonly summary = "Give the mesh skin weights, through voxels. Then change settings while the character moves: it follows at once.";
    readonly tables = ["bind"] as const;
    readonly main = ["resolution", "falloff", "influences", "smooth"];
    readonly hidden = ["views"];
    readonly sliders = { falloff: [0, 1, 0.01], influences: [1, 8, 1], smooth: [0, 20, 1], resolution: [32, 512, 8] } as const;
    readonly action = "Bind";
    private studio!: Studio;
    private painter!: Painter;
    private section!: SectionPlane;
    private joints!: HTMLSelectElement;
    private exclude!: HTMLButtonElement;
    private parts!: HTMLSelectElement;
    private fields!: HTMLFieldSetElement;
    private distance!: HTMLButtonElement;
    private voxels!: HTMLButtonElement;
    private figures!: HTMLElement;
    private live: Live | undefined;
    private showsDistance = false;
    /** Weights of the step are older than those that are shown. */
    private stale: Step | undefined;
    private weighing: Promise<void> | undefined;
    private settling: Promise<void> | undefined;
    private settleTimer = 0;
    private again = false;
    private timer = 0;
    private ends: (() => void)[] = [];

    unfit({ vertexCount, jointCount }: { vertexCount: number; jointCount: number }): string | undefined {
        if (vertexCount === 0) return "This model has no mesh.";
        return jointCount === 0 ? "This model has no skeleton; open the mesh together with one (a rig, a BVH file)." : undefined;
    }

    // ---- Settings ----

    private marks(studio: Studio): Marks {
        return (studio.state.marks[this.name] as Marks | undefined) ?? {};
    }

    private pick(settings: Settings, live: boolean): Record<string, OptionValue> {
        const own = (key: string) => BOTH.includes(key) || LIVE.includes(key) === live;
        return Object.fromEntries(Object.entries(settings).filter(([key]) => own(key)));
    }

    /** Settings of the fields; a preset comes first, others take precedence. */
    private solving(settings: Settings): BindOptions {
        const { preset, ...rest } = this.pick(settings, false);
        return (preset === undefined || preset === "none" ? rest : { preset, ...rest }) as BindOptions;
    }

    /** Settings of weights; what is not given is the default, also if it was given before. */
    private weighting(studio: Studio): BindOptions {
        const settings = studio.settings(this);
        const { falloff } = this.marks(studio);
        const initial = (settings.falloff as number | undefined) ?? DEFAULT_FALLOFF;
        const given = this.pick(settings, true);
        for (const key of BOTH) given[key] ??= undefined;
        return {
            ...given,
            vertexFalloff: falloff && falloff.map((value) => (Number.isNaN(value) ? initial : value)),
        } as BindOptions;
    }

    // ---- Work ----

    async run({ studio, model, base, settings, hooks }: Parameters<Panel["run"]>[0]) {
        const live = await this.solve(studio, base.model, settings, hooks);
        await this.copyWeights(studio, live, model, settings, hooks);
        return this.made(studio, await live.binding.report());
    }

    private made(studio: Studio, report: Awaited<ReturnType<Binding["report"]>>): { title: string; report: JsonObject } {
        const { grid, interiorVoxelCount, boundaryVoxelCount, vertexCount, bridgedCount, rigidCount, idle, touchingCount } = report;
        const settings = studio.settings(this);
        return {
            title: `α ${figure((settings.falloff as number | undefined) ?? DEFAULT_FALLOFF, 3)}${this.marks(studio).falloff ? ", painted" : ""}`,
            report: {
                grid: grid.join(" × "),
                voxels_inside: interiorVoxelCount,
                voxels_surface: boundaryVoxelCount,
                vertices: vertexCount,
                bridged_vertices: bridgedCount,
                rigid_vertices: rigidCount,
                joints: idle ? idle.filter((why) => why === 0).length : 0,
                touching_voxels: touchingCount,
                seconds_voxelize: report.secondsVoxelize,
                seconds_solve: report.secondsSolve,
                seconds_weights: report.secondsWeights,
            },
        };
    }

    /** Fields for these settings, and weights of them on a copy. */
    private async solve(studio: Studio, base: Model, settings: Settings, hooks: object): Promise<Live> {
        const solving = this.solving(settings);
        const solved = JSON.stringify(solving);
        let { live } = this;
        if (live?.base !== base || live.solved !== solved) {
            const model = await base.borrow();
            try {
                const binding = await model.binding({ ...solving, keepFields: true, ...hooks });
                const { names } = await model.skeleton();
                this.free();
                this.live = live = { base, solved, model, binding, names: names ?? [] };
            } catch (error) {
                model.free();
                throw error;
            }
        }
        await live.binding.apply(this.weighting(studio));
        return live;
    }

    /** Gives a model the weights that are shown. */
    private async copyWeights(studio: Studio, { binding }: Live, model: Model, settings: Settings, hooks: object): Promise<void> {
        const { fit } = settings;
        if (fit) return void (await model.bind({ ...this.solving(settings), ...this.weighting(studio), ...hooks }));
        const reused = await binding.reuse({ model });
        await reused.apply({ ...this.solving(settings), ...this.weighting(studio) });
        reused.free();
    }

    private free(): void {
        this.live?.binding.free();
        this.live?.model.free();
        this.live = undefined;
    }

    // ---- Live ----

    /** The step that live changes act on. */
    private bound(studio: Studio): Step | undefined {
        return studio.hasModel && !studio.comparing && studio.step.verb === this.name ? studio.step : undefined;
    }

    changed(studio: Studio): void {
        this.painter.show();
        this.showJoint();
        if (!this.bound(studio)) return;
        studio.times.change = performance.now();
        this.stale = this.bound(studio);
        void this.weigh(studio);
    }

    /** Computes and shows weights; changes meanwhile are shown together, after it. */
    private weigh(studio: Studio): Promise<void> {
        this.again = true;
        this.weighing ??= (async () => {
            try {
                while (this.again) {
                    this.again = false;
                    await this.weighOnce(studio);
                }
            } catch (error) {
                studio.tell((error as Error).message, "error");
            } finally {
                this.weighing = undefined;
            }
        })();
        return this.weighing;
    }

    private async weighOnce(studio: Studio): Promise<void> {
        const step = this.bound(studio);
        const base = studio.baseOf(this).model;
        if (!step) return;
        const solved = JSON.stringify(this.solving(studio.settings(this)));
        if (this.live?.base === base) {
            const start = performance.now();
            await this.live.binding.apply(this.weighting(studio));
            studio.times.reweight = performance.now() - start;
            const skin = await this.live.model.skin();
            if (skin && this.bound(studio) === step) studio.viewer.setSkin(skin, this.live.names);
            this.showFalloff(studio);
            this.drawn(studio);
        }
        if (this.live?.base !== base || this.live.solved !== solved) {
            clearTimeout(this.timer);
            this.timer = window.setTimeout(() => void this.solveAgain(studio), SOLVE_DELAY);
        } else this.settleSoon(studio);
    }

    /** The fields depend on a setting that changed. */
    private async solveAgain(studio: Studio): Promise<void> {
        const step = this.bound(studio);
        if (!step) return;
        if (studio.busy) return void (this.timer = window.setTimeout(() => void this.solveAgain(studio), SOLVE_DELAY));
        const done = await studio.work("Bind", async (hooks) => {
            await this.solve(studio, studio.baseOf(this).model, studio.settings(this), hooks);
            return true;
        });
        if (!done) return;
        this.showField(studio);
        await this.weigh(studio);
    }

    /** Notes when the pixels of a change are there. */
    private drawn(studio: Studio): void {
        const { change } = studio.times;
        requestAnimationFrame(() => requestAnimationFrame(() => (studio.times.pixels = performance.now() - change)));
        this.figures.textContent = `Weights in ${figure(studio.times.reweight, 2)} ms`;
    }

    async settle(studio: Studio, step: Step): Promise<void> {
        await this.settling;
        if (this.stale !== step) return;
        this.stale = undefined;
        this.settling = this.settleNow(studio, step)
            .catch((error: Error) => {
                this.stale = step;
                throw error;
            })
            .finally(() => (this.settling = undefined));
        return this.settling;
    }

    /** Some time after the last change the step has it too: its title, the command line. */
    private settleSoon(studio: Studio): void {
        clearTimeout(this.settleTimer);
        this.settleTimer = window.setTimeout(() => {
            const step = this.bound(studio);
            if (!step || this.stale !== step) return;
            const current = this.live?.solved === JSON.stringify(this.solving(studio.settings(this)));
            if (studio.busy || this.weighing || !current) return this.settleSoon(studio);
            this.settle(studio, step).catch((error: Error) => studio.tell(error.message, "error"));
        }, SETTLE_DELAY);
    }

    private async settleNow(studio: Studio, step: Step): Promise<void> {
        clearTimeout(this.timer);
        await this.weighing;
        const { steps } = studio.state;
        const base = steps[Math.max(steps.indexOf(step) - 1, 0)];
        const settings = studio.settings(this);
        const before = this.live;
        const live = await this.solve(studio, base.model, settings, {});
        if (live !== before) void this.weigh(studio); // the fields are others: so are the shown weights
        const model = await base.model.borrow();
        try {
            await this.copyWeights(studio, live, model, settings, {});
            const made = this.made(studio, await live.binding.report());
            studio.updateStep(step, await studio.makeStep(this, base, { ...made, model, settings }));
        } catch (error) {
            model.free();
            throw error;
        }
    }

    enter(studio: Studio): void {
        const { store, subject } = studio.viewer;
        const bound = this.bound(studio);
        const { live } = this;
        if (live && !studio.state.steps.some(({ model }) => model === live.base)) this.free();
        this.fields.disabled = !bound;
        this.figures.textContent = bound ? "" : "Press Bind; then all of this is live.";
        this.painter.show();
        this.joints.replaceChildren(...subject.model.joints.map(({ name }, joint) => h("option", { value: String(joint) }, name || `joint ${joint}`)));
        const names = [...new Set(studio.step.info.parts.map(({ name, material }) => name || material || ""))].filter(Boolean);
        this.parts.replaceChildren(...names.map((name) => h("option", {}, name)));
        if (bound && store.state.joint < 0) store.set({ joint: this.firstJoint(studio) });
        store.on(["joint"], this.followJoint);
        this.ends.push(() => store.off(this.followJoint));
        this.showJoint();
        if (bound && this.live?.base !== studio.baseOf(this).model) void this.solveAgain(studio);
        else if (bound) this.showField(studio);
    }

    leave(studio: Studio): void {
        for (const end of this.ends.splice(0)) end();
        clearTimeout(this.timer);
        clearTimeout(this.settleTimer);
        this.painter.use(false);
        this.section.hide();
        if (this.voxels.getAttribute("aria-pressed") === "true") this.toggleVoxels(studio, false);
        this.showsDistance = false;
        this.distance.setAttribute("aria-pressed", "false");
        studio.viewer.setValues(undefined);
    }

    private firstJoint(studio: Studio): number {
        const { joints } = studio.viewer.subject.model;
        return joints.reduce((best, { weight }, joint) => (weight > joints[best].weight ? joint : best), 0);
    }

    // ---- Joints and fields ----

    private readonly followJoint = (): void => {
        this.showJoint();
        this.showField(this.studio);
    };

    /** The name of the selected bone. */
    private get jointName(): string | undefined {
        return this.studio.viewer.subject?.model.joints[this.studio.viewer.store.state.joint]?.name;
    }

    private excluded(): string[] {
        const given = this.studio.settings(this).exclude;
        const list = Array.isArray(given) ? (given as string[]) : String(given ?? "").split(",");
        return list.map((name) => name.trim()).filter(Boolean);
    }

    private showJoint(): void {
        const { joint } = this.studio.viewer.store.state;
        const name = this.jointName;
        this.joints.value = String(joint);
        this.exclude.disabled = name === undefined;
        this.exclude.setAttribute("aria-pressed", String(name !== undefined && this.excluded().includes(name)));
    }

    private toggleExcluded(): void {
        const name = this.jointName;
        if (name === undefined) return;
        const list = this.excluded();
        const next = list.includes(name) ? list.filter((other) => other !== name) : [...list, name];
        this.studio.set(this, "exclude", next.length > 0 ? next.join(",") : undefined);
    }

    private addRigid(): void {
        const [part, joint] = [this.parts.value, this.jointName];
        if (!part || joint === undefined) return;
        const given = String(this.studio.settings(this).rigid ?? "");
        const others = given.split(",").filter((rule) => rule && !rule.startsWith(`${part}=`));
        const removes = given.split(",").includes(`${part}=${joint}`);
        const next = removes ? others : [...others, `${part}=${joint}`];
        this.studio.set(this, "rigid", next.length > 0 ? next.join(",") : undefined);
    }

    /** The library's joint of the selected bone. */
    private jointIndex(): number {
        const name = this.jointName;
        return name === undefined || !this.live ? -1 : this.live.names.indexOf(name);
    }

    /** Distances of the selected bone, or painted values, as colours; the section too. */
    private showField(studio: Studio): void {
        const joint = this.jointIndex();
        if (this.live && this.bound(studio)) void this.section.show(this.live.binding, joint).catch((error: Error) => studio.tell(error.message));
        if (this.showsDistance) void this.showDistances(studio, joint);
        else this.showFalloff(studio);
    }

    private async showDistances(studio: Studio, joint: number): Promise<void> {
        if (!this.live || joint < 0) return;
        try {
            const near = await this.live.binding.distances(joint);
            const far = near.reduce((most, d) => (Number.isFinite(d) && d > most ? d : most), 0);
            const data = this.onPage(near.map((d) => (Number.isFinite(d) ? d : NaN)));
            studio.viewer.setValues({ title: `Distance from ${this.jointName} through the voxels, object units`, data, low: 0, high: far || 1 });
            studio.viewer.setMode("values");
        } catch (error) {
            studio.tell((error as Error).message);
        }
    }

    /** Copies values of the library's vertices to those of the page. */
    private onPage(values: Float32Array): Float32Array {
        const { vertexCount } = this.studio.viewer.subject.model;
        return vertexCount === values.length ? values : Float32Array.from({ length: vertexCount }, (_, i) => values[i % values.length]);
    }

    private showFalloff(studio: Studio): void {
        if (!this.painter.on || this.showsDistance) return;
        const { vertexFalloff, falloff = DEFAULT_FALLOFF } = this.weighting(studio);
        const data = vertexFalloff ?? new Float32Array(studio.step.info.vertexCount).fill(falloff);
        studio.viewer.setValues({ title: ALPHA.title, data: this.onPage(data), low: 0, high: 1 });
        studio.viewer.setMode("values");
    }

    private async toggleVoxels(studio: Studio, on: boolean): Promise<void> {
        this.voxels.setAttribute("aria-pressed", String(on));
        const { viewer } = studio;
        if (!on || !this.live) return viewer.setVoxels(undefined);
        const { count, origin, cell, axes, cells, boundary } = await this.live.binding.voxels();
        const centers: number[] = [];
        for (let v = 0; v < count; v++) {
            if (!boundary![v]) continue;
            const at = [0, 1, 2].map((a) => origin[a] + (cells![3 * v + a] + 0.5) * cell[a]);
            for (let c = 0; c < 3; c++) centers.push(at[0] * axes[c] + at[1] * axes[3 + c] + at[2] * axes[6 + c]);
        }
        viewer.setVoxels({ centers: Float32Array.from(centers), size: cell[0], axes });
        if (!viewer.store.state.voxels) viewer.toggle("voxels");
    }

    // ---- Controls ----

    after(studio: Studio): HTMLElement {
        this.studio = studio;
        this.painter = new Painter(
            studio,
            {
                layers: [ALPHA],
                vertexCount: () => studio.step.info.vertexCount,
                map: () => this.marks(studio).falloff,
                base: () => new Float32Array(studio.step.info.vertexCount).fill((studio.settings(this).falloff as number) ?? DEFAULT_FALLOFF),
                paint: (_, falloff, label, merge) => studio.mark(this, falloff ? { falloff } : {}, label, merge),
            },
            "bind",
        );
        this.painter.onSwitch = () => {
            if (this.painter.on) this.setDistance(studio, false);
            if (this.painter.on) this.showFalloff(studio);
            else studio.viewer.setValues(undefined);
        };
        this.section = new SectionPlane(studio, () => this.showField(studio));
        const button = (id: string, text: string, title: string, run: () => void) => {
            const made = h("button", { type: "button", id, title }, text);
            made.addEventListener("click", run);
            return made;
        };
        this.joints = h("select", { id: "bind-joint" });
        this.joints.addEventListener("change", () => studio.viewer.store.set({ joint: Number(this.joints.value) }));
        this.exclude = button("bind-exclude", "Exclude", "The bone gets no weights; others take them", () => this.toggleExcluded());
        this.parts = h("select", { id: "bind-part", "aria-label": "Part of the mesh" });
        const rigid = button("bind-rigid", "Follows it rigidly", "The part follows the selected bone as a whole; again: it does not", () => this.addRigid());
        this.distance = button("bind-distance", "Distances", "Colours: distance of the surface from the bone through the voxels", () => this.setDistance(studio, !this.showsDistance));
        this.voxels = button("bind-voxels", "Voxels", "Voxels of the surface, in the rest pose", () => void this.toggleVoxels(studio, this.voxels.getAttribute("aria-pressed") !== "true"));
        for (const toggle of [this.exclude, this.distance, this.voxels]) toggle.setAttribute("aria-pressed", "false");
        this.figures = h("p", { class: "note", id: "bind-figures" });
        const save = button("bind-save-map", "Save α as text", "A number for each vertex, for --falloff-map", () => {
            const { vertexFalloff } = this.weighting(studio);
            if (vertexFalloff) download({ name: this.mapName(studio), data: mapText(vertexFalloff) });
            else studio.tell("Nothing is painted yet.");
        });
        this.fields = h(
            "fieldset",
            { class: "live", disabled: true },
            h("legend", {}, "Live"),
            this.figures,
            h("div", { class: "setting" }, h("label", { for: "bind-joint" }, "Bone"), h("span", { class: "value" }, this.joints)),
            h("div", { class: "row" }, this.exclude, this.distance, this.voxels),
            h("div", { class: "row" }, this.parts, rigid),
            this.section.element,
            this.painter.element,
            h("div", { class: "row" }, save),
        );
        return this.fields;
    }

    private setDistance(studio: Studio, on: boolean): void {
        this.showsDistance = on;
        this.distance.setAttribute("aria-pressed", String(on));
        if (on) this.painter.use(false);
        if (on) this.showField(studio);
        else studio.viewer.setValues(undefined);
    }

    // ---- Command line and settings ----

    private mapName(studio: Studio): string {
        return `${stem(studio.state.steps[0].files[0])}-falloff.txt`;
    }

    command(studio: Studio): string[] {
        return this.marks(studio).falloff ? ["--falloff-map", this.mapName(studio)] : [];
    }

    saved(studio: Studio): JsonObject {
        const { falloff } = this.marks(studio);
        return falloff ? { painted: { falloff: packMap(falloff) } } : {};
    }

    opened(studio: Studio, object: JsonObject): void {
        const painted = object.painted as JsonObject | undefined;
        if (painted?.falloff === undefined || !studio.hasModel) return;
        const falloff = unpackMap(painted.falloff, studio.step.info.vertexCount);
        if (falloff) studio.mark(this, { falloff }, "Open painted falloffs", "open settings");
        else studio.tell("The painted falloffs belong to a mesh with another number of vertices; they are left out.");
    }
}

export const bind: Panel = new Bind();
