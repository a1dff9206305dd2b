/** The parts of the page that only the studio has. */
import { byId, figure, h } from "../dom";
import { commandLines, readSettings, settingsFile } from "./command";
import { download, exportCommand, exportName, exportStep, readable, type Sample, SAMPLES, targets } from "./files";
import { type Form, makeForm } from "./form";
import type { Panel } from "./panel";
import type { Studio, Work } from "./studio";

interface Page {
    panel: Panel;
    tab: HTMLButtonElement;
    page: HTMLElement;
    form: Form;
    run: HTMLButtonElement;
    unfit: HTMLElement;
}

export interface LayoutActions {
    sample(sample: Sample): void;
    open(): void;
}

export class Layout {
    private readonly pages: Page[];
    private readonly steps = h("nav", { id: "steps", "aria-label": "Steps" });
    private readonly undo = h("button", { type: "button", id: "undo", title: "Undo (Ctrl Z)", "aria-label": "Undo" }, "↶");
    private readonly redo = h("button", { type: "button", id: "redo", title: "Redo (Ctrl Shift Z)", "aria-label": "Redo" }, "↷");
    private readonly before = h("button", { type: "button", id: "before", title: "Show the model before the last step (Q)", "aria-pressed": "false" }, "Before");
    private readonly command = h("pre", { id: "command", tabindex: 0, "aria-label": "Command line" });
    private readonly format = h("select", { id: "export-format" });
    private readonly message = h("p", { id: "message", role: "alert", hidden: true });
    private readonly work = {
        text: h("span", { id: "work-text" }),
        bar: h("progress", { max: 1, "aria-label": "Progress" }),
        cancel: h("button", { type: "button", id: "cancel" }, "Cancel"),
    };
    private readonly strip = h("div", { id: "work", role: "group", "aria-label": "Work", hidden: true }, this.work.text, this.work.bar, this.work.cancel);
    private readonly result: HTMLElement;

    constructor(
        private readonly studio: Studio,
        actions: LayoutActions,
    ) {
        this.pages = studio.panels.map((panel) => this.makePage(panel));
        const tabs = h("div", { id: "verbs", role: "tablist", "aria-label": "Verbs" }, ...this.pages.map(({ tab }) => tab));
        this.result = this.resultSection();
        const aside = h("aside", { id: "studio", "aria-label": "Work" }, tabs, h("div", { id: "verb-pages" }, ...this.pages.map(({ page }) => page), this.result));
        document.querySelector("main")!.prepend(aside);
        byId("title").replaceWith(h("h1", { id: "title" }, "Pelt Studio"));
        byId("headline").before(this.steps);
        document.querySelector(".actions")!.prepend(this.undo, this.redo, this.before);
        byId("canvas-frame").append(this.welcome(actions), this.strip, this.message);
        this.phoneSwitch();
        byId("open").title = "Open a model: rigs, meshes with caches, sequences, motions (O), or drop files on the page";
        byId("drop").replaceChildren(h("p", {}, "Drop a model with its files, or a motion"));
        const file = byId<HTMLInputElement>("file");
        file.multiple = true;
        file.accept = readable(studio.pelt.formats);
        file.setAttribute("aria-label", "Files to open");
        this.listen();
        this.show();
    }

    private listen(): void {
        const { studio } = this;
        this.undo.addEventListener("click", () => studio.undo(-1));
        this.redo.addEventListener("click", () => studio.undo(1));
        this.before.addEventListener("click", () => studio.compareWithBefore(!studio.comparing));
        this.work.cancel.addEventListener("click", () => studio.cancel());
        studio.onChange(() => this.show());
        studio.onWork = (work) => this.showWork(work);
        studio.onMessage = (text, kind) => this.tell(text, kind);
        document.addEventListener("keydown", (event) => {
            if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
            const { target } = event;
            if (target instanceof HTMLInputElement && (target.type === "text" || target.type === "search")) return;
            event.preventDefault();
            studio.undo(event.shiftKey ? 1 : -1);
        });
    }

    // ---- Panels ----

    private makePage(panel: Panel): Page {
        const { studio } = this;
        const form = makeForm(panel, studio.pelt.options, (key, value, merge) => studio.set(panel, key, value, merge));
        const run = h("button", { type: "button", class: "run", id: `run-${panel.name}` }, panel.action);
        run.addEventListener("click", () => void studio.run(panel));
        const unfit = h("p", { class: "unfit", hidden: true });
        const page = h(
            "section",
            { role: "tabpanel", id: `panel-${panel.name}`, "aria-labelledby": `verb-${panel.name}`, class: "verb-page" },
            h("p", { class: "summary" }, panel.summary),
            unfit,
            panel.before?.(studio),
            form.element,
            h("div", { class: "row go" }, run),
            panel.after?.(studio),
        );
        const tab = h("button", { type: "button", role: "tab", id: `verb-${panel.name}`, "aria-controls": page.id }, panel.label);
        tab.addEventListener("click", () => studio.openPanel(panel));
        tab.addEventListener("keydown", (event) => this.walk(event, panel));
        return { panel, tab, page, form, run, unfit };
    }

    private walk(event: KeyboardEvent, panel: Panel): void {
        const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        event.stopPropagation();
        const place = this.pages.findIndex((page) => page.panel === panel);
        const next = this.pages[(place + by + this.pages.length) % this.pages.length];
        this.studio.openPanel(next.panel);
        next.tab.focus();
    }

    // ---- Export, command line, settings ----

    private resultSection(): HTMLElement {
        const { studio } = this;
        const list = targets(studio.pelt.formats);
        this.format.replaceChildren(...list.map(({ ending, label }) => h("option", { value: ending }, label)));
        this.format.addEventListener("change", () => this.showCommand());
        const save = h("button", { type: "button", id: "export" }, "Export");
        save.addEventListener("click", () => void this.export());
        const copy = h("button", { type: "button", id: "copy-command" }, "Copy");
        copy.addEventListener("click", async () => {
            await navigator.clipboard?.writeText(this.command.textContent ?? "").catch(() => undefined);
            studio.tell("Command line copied.");
        });
        const write = h("button", { type: "button", id: "save-settings", title: "As JSON, which pelt VERB --settings FILE reads" }, "Save settings");
        write.addEventListener("click", () => {
            const { panel } = studio;
            download({ name: `${panel.name}.json`, data: settingsFile(panel, studio.pelt.options, studio.settings(panel), panel.saved?.(studio)) });
        });
        const input = h("input", { type: "file", accept: ".json", hidden: true, id: "settings-file", "aria-label": "Settings to open" });
        input.addEventListener("change", async () => {
            const [file] = input.files ?? [];
            if (file) this.openSettings(file.name, await file.text());
            input.value = "";
        });
        const read = h("button", { type: "button", id: "open-settings", title: "Settings, or a report of --json" }, "Open settings…");
        read.addEventListener("click", () => input.click());
        return h(
            "section",
            { id: "result" },
            h("h3", {}, "Export"),
            h("div", { class: "row" }, h("label", { for: "export-format", class: "unseen" }, "Format"), this.format, save),
            h("h3", {}, "Command line"),
            this.command,
            h("div", { class: "row" }, copy, write, read, input),
        );
    }

    openSettings(name: string, text: string): void {
        const { studio } = this;
        try {
            const { panel, settings, ignored, object } = readSettings(name, text, studio.panels, studio.panel, studio.pelt.options);
            studio.openPanel(panel);
            studio.change("Open settings", { settings: { ...studio.state.settings, [panel.name]: settings } });
            panel.opened?.(studio, object);
            studio.tell(`${name}: settings of ${panel.label}.${ignored.length > 0 ? ` Without a control here: ${ignored.join(", ")}.` : ""}`);
        } catch (error) {
            studio.tell((error as Error).message, "error");
        }
    }

    private get target() {
        return targets(this.studio.pelt.formats).find(({ ending }) => ending === this.format.value)!;
    }

    private async export(): Promise<void> {
        const { studio, target } = this;
        if (!studio.hasModel) return;
        const { step } = studio;
        const files = await studio.work(`Writing ${exportName(step, target)}`, () => exportStep(step, target, exportName(step, target)));
        files?.forEach(download);
        if (files) studio.tell(`Saved ${files.map(({ name, data }) => `${name}, ${figure(data.length / 1e6, 3)} MB`).join("; ")}.`);
    }

    private showCommand(): void {
        const { studio } = this;
        const { steps, at } = studio.state;
        const lines = commandLines(steps.slice(0, at + 1), studio.panels, studio.pelt.options);
        const last = studio.hasModel ? exportCommand(studio.step, this.target) : undefined;
        if (last) lines.push(last);
        this.command.textContent = lines.join("\n");
    }

    // ---- State ----

    private show(): void {
        const { studio } = this;
        const { steps, at } = studio.state;
        document.body.dataset.empty = String(!studio.hasModel);
        for (const { panel, tab, page, form, run, unfit } of this.pages) {
            const open = panel === studio.panel;
            page.hidden = !open;
            tab.setAttribute("aria-selected", String(open));
            tab.tabIndex = open ? 0 : -1;
            if (!open) continue;
            form.show(studio.settings(panel));
            const why = studio.hasModel ? panel.unfit(studio.baseOf(panel).info, studio) : undefined;
            unfit.hidden = !why;
            unfit.textContent = why ?? "";
            run.disabled = studio.busy || !studio.hasModel || !!why;
        }
        this.undo.disabled = studio.undoLabel(-1) === undefined || studio.busy;
        this.redo.disabled = studio.undoLabel(1) === undefined || studio.busy;
        this.undo.title = `Undo${studio.undoLabel(-1) ? `: ${studio.undoLabel(-1)}` : ""} (Ctrl Z)`;
        this.redo.title = `Redo${studio.undoLabel(1) ? `: ${studio.undoLabel(1)}` : ""} (Ctrl Shift Z)`;
        this.before.disabled = at < 1;
        this.before.setAttribute("aria-pressed", String(studio.comparing));
        this.steps.replaceChildren(
            ...steps.map((step, n) => {
                const label = studio.panels.find(({ name }) => name === step.verb)?.label;
                const button = h("button", { type: "button", "aria-current": n === at ? "step" : undefined }, label ? `${label}: ${step.title}` : step.title);
                button.addEventListener("click", () => studio.goTo(n));
                return button;
            }),
        );
        this.steps.scrollLeft = (this.steps.children[at] as HTMLElement | undefined)?.offsetLeft ?? 0;
        this.showCommand();
    }

    private showWork(work: Work | undefined): void {
        if (this.strip.hidden === !!work) {
            this.strip.hidden = !work;
            this.show();
        }
        if (!work) return;
        this.message.hidden = true;
        const left = Number.isFinite(work.left) ? ` · about ${Math.ceil(work.left)} s left` : "";
        const share = work.fraction > 0 ? ` ${Math.round(100 * work.fraction)} %` : "";
        this.work.text.textContent = `${work.text}${work.phase ? `: ${work.phase}` : ""}${share}${left}`;
        if (work.fraction > 0) this.work.bar.value = work.fraction;
        else this.work.bar.removeAttribute("value");
    }

    private tell(text: string, kind: "error" | "note"): void {
        const close = h("button", { type: "button", "aria-label": "Close the message", onclick: () => (this.message.hidden = true) }, "×");
        this.message.className = kind;
        this.message.replaceChildren(h("span", {}, text), close);
        this.message.hidden = false;
    }

    // ---- Beginning ----

    private welcome({ sample, open }: LayoutActions): HTMLElement {
        const known = new Set(this.studio.pelt.scenes.map(({ name }) => name));
        const cards = SAMPLES.filter(({ scene }) => known.has(scene)).map((one, n) =>
            h(
                "button",
                { type: "button", class: n === 0 ? "card first" : "card", "data-sample": one.name, onclick: () => sample(one) },
                h("b", {}, one.label),
                h("span", {}, one.text),
            ),
        );
        return h(
            "div",
            { id: "welcome" },
            h("h2", {}, "Animation to rigs, in this tab"),
            h("p", {}, "Nothing is uploaded: models stay on this machine."),
            h("div", { class: "cards", role: "group", "aria-label": "Samples" }, ...cards),
            h("p", {}, h("button", { type: "button", id: "welcome-open", onclick: open }, "Open a model…"), " or drop files here: glTF, FBX, USD, Alembic, OBJ with PC2 or MDD, sequences, BVH, ASF and AMC"),
        );
    }

    /** On phones work and details share one place. */
    private phoneSwitch(): void {
        const choose = (part: "work" | "details") => {
            document.body.dataset.part = part;
            for (const button of buttons) button.setAttribute("aria-checked", String(button.dataset.part === part));
        };
        const buttons = (["work", "details"] as const).map((part) =>
            h("button", { type: "button", role: "radio", "data-part": part, onclick: () => choose(part) }, part === "work" ? "Work" : "Details"),
        );
        document.querySelector("main")!.append(h("div", { id: "parts", class: "segments", role: "radiogroup", "aria-label": "Lower part of the page" }, ...buttons));
        choose("work");
    }
}
