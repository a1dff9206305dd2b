/** The studio: models as a list of steps, the settings of panels, undo, and work in the engine. */
import type { InputFile, LogLevel, Model, ModelInfo, OptionValue, Pelt, PeltError } from "pelt";
import { play } from "../app";
import type { JsonObject, PageData } from "../data";
import { announce } from "../dom";
import type { Viewer } from "../viewer";
import { stem } from "./command";
import { firstEngine, startEngine } from "./engine";
import { History } from "./history";
import type { Panel, Settings, Step, WorkHooks } from "./panel";
import { pageData } from "./show";

export interface State {
    readonly steps: readonly Step[];
    /** The shown step. */
    readonly at: number;
    /** By panel. */
    readonly settings: Readonly<Record<string, Settings>>;
    /** What panels paint or place, by panel. */
    readonly marks: Readonly<Record<string, unknown>>;
    /** Results that a slider chooses from. */
    readonly sweep: readonly Step[];
}

/** Models that only undo and redo lead to. */
const MOST_MODELS = 6;
const EMPTY: State = { steps: [], at: -1, settings: {}, marks: {}, sweep: [] };

/** What the page shows of work that runs. */
export interface Work {
    text: string;
    phase: string;
    fraction: number;
    /** Seconds since the beginning, and until the end of the phase; NaN: not known yet. */
    seconds: number;
    left: number;
    cancel(): void;
}

/** Where a model came from, to open it again after a crash of the engine. */
interface Origin {
    files: InputFile[];
    title: string;
    extra: readonly string[];
}

type Listener = (state: State, before: State) => void;

function isPeltError(error: unknown): error is PeltError {
    return error instanceof Error && error.name === "PeltError";
}

export class Studio {
    pelt!: Pelt;
    /** Times of the page's own clock, milliseconds since it was opened. */
    readonly times: Record<string, number> = {};
    /** What the engine logged since the last work began. */
    warnings: string[] = [];
    panel!: Panel;
    /** Shows the step before the shown one. */
    comparing = false;
    onWork: (work: Work | undefined) => void = () => {};
    onMessage: (text: string, kind: "error" | "note") => void = () => {};
    private readonly history = new History<State>(EMPTY);
    private readonly listeners = new Set<Listener>();
    private readonly framers = new Set<(seconds: number) => void>();
    /** Models of the engine that states refer to. */
    private readonly held = new Set<Model>();
    private running: Work | undefined;
    private origin: Origin | undefined;
    private shown: { step: Step; data: PageData } | undefined;
    /** Shows are done one after another. */
    private showing: Promise<void> = Promise.resolve();

    constructor(
        readonly viewer: Viewer,
        readonly panels: readonly Panel[],
    ) {
        this.panel = panels[0];
    }

    async start(memoryLimit = 0): Promise<void> {
        const log = (level: LogLevel, text: string) => this.log(level, text);
        const first = !this.pelt && memoryLimit === 0;
        this.pelt?.terminate();
        this.pelt = await (first ? firstEngine(log) : startEngine(log, memoryLimit));
        this.times.engine = performance.now();
    }

    private log(level: LogLevel, text: string): void {
        if (level === "warning" && !this.warnings.includes(text)) this.warnings.push(text);
    }

    // ---- State ----

    get state(): State {
        return this.history.state;
    }

    get step(): Step {
        return this.state.steps[this.state.at];
    }

    get hasModel(): boolean {
        return this.state.at >= 0;
    }

    settings(panel: Panel = this.panel): Settings {
        return this.state.settings[panel.name] ?? {};
    }

    /** What a panel works on: the shown step, or the one before it if the panel itself made the shown one. */
    baseIndex(panel: Panel = this.panel): number {
        const { steps, at } = this.state;
        return at > 0 && steps[at].verb === panel.name ? at - 1 : at;
    }

    baseOf(panel: Panel = this.panel): Step {
        return this.state.steps[this.baseIndex(panel)];
    }

    change(label: string, patch: Partial<State>, merge?: string): void {
        const before = this.state;
        this.history.push(label, { ...before, ...patch }, merge);
        this.changed(before);
    }

    set(panel: Panel, key: string, value: OptionValue, merge?: string): void {
        const { [key]: _, ...rest } = this.settings(panel);
        const settings = value === undefined ? rest : { ...rest, [key]: value };
        this.change(`${panel.label}: ${key}`, { settings: { ...this.state.settings, [panel.name]: settings } }, merge);
    }

    mark(panel: Panel, value: unknown, label: string, merge?: string): void {
        this.change(label, { marks: { ...this.state.marks, [panel.name]: value } }, merge);
    }

    undo(by: -1 | 1 = -1): void {
        const label = this.history.label(by);
        const before = this.state;
        if (this.running || !this.history.go(by)) return;
        this.changed(before);
        announce(`${by < 0 ? "undone" : "done again"}: ${label}`);
    }

    undoLabel(by: -1 | 1): string | undefined {
        return this.history.label(by);
    }

    /** Calls back after every change, undo and redo. Returns what ends it. */
    onChange(listener: Listener): () => void {
        this.listeners.add(listener);
        return () => void this.listeners.delete(listener);
    }

    onFrame(framer: (seconds: number) => void): () => void {
        this.framers.add(framer);
        return () => void this.framers.delete(framer);
    }

    frame(seconds: number): void {
        for (const framer of this.framers) framer(seconds);
    }

    private changed(before: State): void {
        const { state, panel } = this;
        this.release();
        const other = before.steps[before.at] !== state.steps[state.at];
        if (other) panel.leave?.(this);
        for (const listener of this.listeners) listener(state, before);
        if (other) {
            this.comparing = false;
            void this.show();
        }
        const { name } = panel;
        if (before.settings[name] !== state.settings[name] || before.marks[name] !== state.marks[name]) panel.changed?.(this);
    }

    private models(): Set<Model> {
        return new Set(this.history.states.flatMap(({ steps, sweep }) => [...steps, ...sweep].map(({ model }) => model)));
    }

    /** Frees models that no state refers to; bounds how many undo keeps. */
    private release(): void {
        const now = new Set([...this.state.steps, ...this.state.sweep].map(({ model }) => model));
        while (this.models().size > now.size + MOST_MODELS && this.history.forgetOldest());
        const used = this.models();
        for (const model of this.held) if (!used.has(model)) model.free();
        this.held.clear();
        for (const model of used) this.held.add(model);
    }

    openPanel(panel: Panel): void {
        if (panel === this.panel) return;
        if (this.hasModel) this.panel.leave?.(this);
        this.panel = panel;
        for (const listener of this.listeners) listener(this.state, this.state);
        if (this.hasModel) panel.enter?.(this);
    }

    // ---- Showing ----

    /** Shows the step of the state, or with `comparing` the one before it. */
    show(keep = true): Promise<void> {
        this.showing = this.showing.then(() => this.showNow(keep)).catch((error) => this.fail(error));
        return this.showing;
    }

    private async showNow(keep: boolean): Promise<void> {
        if (!this.hasModel) return;
        const { steps, at } = this.state;
        const step = steps[this.comparing ? Math.max(at - 1, 0) : at];
        if (this.shown?.step === step) return;
        await this.settle(step);
        const data = await pageData(step, steps[0].title);
        await this.viewer.open(data, { keep: keep && this.shown !== undefined });
        this.shown = { step, data };
        if (!this.comparing) this.panel.enter?.(this);
    }

    /** Resolves when the last step that was asked for is on the page. */
    get settled(): Promise<void> {
        return this.showing;
    }

    compareWithBefore(on: boolean): void {
        if (!this.hasModel || this.state.at === 0 || on === this.comparing || this.running) return;
        if (on) this.panel.leave?.(this);
        this.comparing = on;
        for (const listener of this.listeners) listener(this.state, this.state);
        void this.show();
    }

    // ---- Work ----

    get busy(): boolean {
        return this.running !== undefined;
    }

    /** Runs work of the engine with progress and a way to cancel it. A failure is told; then the result is undefined. */
    async work<T>(text: string, run: (hooks: WorkHooks) => Promise<T>): Promise<T | undefined> {
        if (this.running) return undefined;
        const stop = new AbortController();
        const start = performance.now();
        let [phaseStart, phase] = [start, ""];
        this.warnings = [];
        this.running = { text, phase: "", fraction: 0, seconds: 0, left: NaN, cancel: () => stop.abort() };
        this.onWork(this.running);
        const progress = (name: string, fraction: number) => {
            const now = performance.now();
            if (name !== phase) [phaseStart, phase] = [now, name];
            const seconds = (now - phaseStart) / 1000;
            const left = fraction > 0.02 && seconds > 0.3 ? (seconds / fraction) * (1 - fraction) : NaN;
            this.running = { ...this.running!, phase: name, fraction, seconds: (now - start) / 1000, left };
            this.onWork(this.running);
        };
        try {
            await this.settle(this.step);
            return await run({ progress, signal: stop.signal });
        } catch (error) {
            await this.fail(error);
            return undefined;
        } finally {
            this.running = undefined;
            this.onWork(undefined);
        }
    }

    cancel(): void {
        this.running?.cancel();
    }

    tell(text: string, kind: "error" | "note" = "note"): void {
        this.onMessage(text, kind);
        announce(text);
    }

    private async fail(error: unknown): Promise<void> {
        const message = error instanceof Error ? error.message : String(error);
        const code = isPeltError(error) ? error.code : error instanceof RangeError ? "memory" : "";
        if (code === "cancelled") return this.tell("Cancelled; everything is as it was.");
        if (code === "memory") return this.tell(`Out of memory: ${message}. The state before is kept; try a smaller model or smaller settings.`, "error");
        if (code === "engine") return this.recover(message);
        this.tell(message, "error");
        if (code === "") console.error(error);
    }

    /** After a crash all models are lost: the files are opened again. */
    private async recover(message: string): Promise<void> {
        this.tell(`The engine stopped (${message}). It is started again, with the model as it was opened.`, "error");
        await this.start();
        this.held.clear();
        this.shown = undefined;
        const { settings, marks } = this.state;
        this.history.begin({ ...EMPTY, settings, marks });
        if (this.origin) await this.load(this.origin);
    }

    // ---- Models ----

    /** Opens files in the place of everything. */
    async open(files: InputFile[], title: string, extra: readonly string[] = []): Promise<boolean> {
        const origin = { files, title, extra };
        const opened = await this.work(`Opening ${title}`, () => this.load(origin));
        return opened !== undefined;
    }

    private async load(origin: Origin): Promise<true> {
        const model = await this.pelt.load(origin.files);
        const info = await model.info();
        this.origin = origin;
        const files = origin.files.map(({ name }) => name);
        const step: Step = {
            verb: "open",
            title: origin.title,
            model,
            info,
            settings: {},
            files,
            extra: origin.extra,
            report: this.opened(info),
        };
        this.shown = undefined;
        this.comparing = false;
        if (this.hasModel) this.panel.leave?.(this);
        const before = this.state;
        // Marks are per vertex: of another model they mean nothing.
        this.history.begin({ ...EMPTY, settings: before.settings, steps: [step], at: 0 });
        this.release();
        for (const listener of this.listeners) listener(this.state, before);
        await this.show(false);
        play();
        this.times.opened = performance.now();
        return true;
    }

    private opened({ format, clips }: ModelInfo): JsonObject {
        const report: JsonObject = { verb: "open" };
        if (format) report.format = format;
        if (clips.length > 0) report.frames = clips.reduce((sum, { frameCount }) => sum + frameCount, 0);
        if (this.warnings.length > 0) report.warnings = this.warnings;
        return report;
    }

    /** Runs a panel on what it works on. */
    async run(panel: Panel = this.panel): Promise<boolean> {
        if (!this.hasModel) return false;
        const base = this.baseOf(panel);
        const settings = this.settings(panel);
        const why = panel.unfit(base.info, this);
        if (why) {
            this.tell(why, "error");
            return false;
        }
        if (this.comparing) this.compareWithBefore(false);
        const start = performance.now();
        const made = await this.work(panel.label, async (hooks) => {
            const model = await base.model.borrow();
            try {
                const { title, report } = await panel.run({ studio: this, model, base, settings, hooks });
                return await this.makeStep(panel, base, { title, model, report, settings });
            } catch (error) {
                model.free();
                throw error;
            }
        });
        if (!made) return false;
        this.times[panel.name] = performance.now() - start;
        this.addMade(panel, made);
        await this.settled;
        announce(`${panel.label}: ${made.title}`);
        return true;
    }

    /** A step of a model that a panel made of `base`. The studio owns the model. */
    async makeStep(
        panel: Panel,
        base: Step,
        { title, model, report, settings = this.settings(panel) }: { title: string; model: Model; report: JsonObject; settings?: Settings },
    ): Promise<Step> {
        const name = `${stem(this.state.steps[0].files[0])}-${panel.name}.glb`;
        const inputs = panel.inputs?.(this, base) ?? [...base.files];
        return {
            verb: panel.name,
            title,
            model,
            info: await model.info(),
            settings,
            files: [panel.file?.(name, settings) ?? name],
            extra: [...inputs, ...(panel.command?.(this, settings) ?? [])],
            report: { verb: panel.name, pelt: this.pelt.version, ...report, settings: settings as JsonObject, warnings: [...this.warnings] },
        };
    }

    /** Shows a step as the result of a panel; undo goes back. */
    addMade(panel: Panel, step: Step, merge?: string): void {
        const base = this.baseIndex(panel);
        const steps = [...this.state.steps.slice(0, base + 1), step];
        this.change(panel.label, { steps, at: base + 1 }, merge);
    }

    /** The same for a model that a live panel made. */
    async addStep(panel: Panel, result: { title: string; model: Model; report: JsonObject; settings?: Settings }): Promise<void> {
        this.addMade(panel, await this.makeStep(panel, this.baseOf(panel), result));
        await this.settled;
    }

    /** A live panel has other results for a step that it made. Undo goes by settings and marks, from which it makes them. */
    updateStep(step: Step, made: Step): void {
        Object.assign(step, made);
        this.release();
        for (const listener of this.listeners) listener(this.state, this.state);
    }

    private async settle(step: Step | undefined): Promise<void> {
        await this.panels.find(({ name }) => name === step?.verb)?.settle?.(this, step!);
    }

    /** Shows a step of the list. */
    goTo(at: number): void {
        if (at === this.state.at || !this.state.steps[at] || this.running) return;
        this.change("Show a step", { at }, "step");
    }
}
