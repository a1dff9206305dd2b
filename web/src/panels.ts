/** The panel beside the view: report, bones, morphs, the picked vertex. */
import { chart } from "./charts";
import { category, css } from "./colors";
import type { Controls } from "./controls";
import { byId, figure, h } from "./dom";
import type { ErrorCurve } from "./errors";
import type { Morph } from "./pose";
import * as reports from "./report";
import type { Subject } from "./subject";

export interface VertexFacts {
    vertex: number;
    point: number;
    part: string;
    position: [number, number, number];
    influences: { joint: number; name: string; weight: number }[];
    displacement: number;
    /** Distance from the source in this frame, and the largest of all frames; NaN without a source. */
    error: number;
    largest: number;
    largestFrame: number;
}

interface Tab {
    name: string;
    button: HTMLButtonElement;
    page: HTMLElement;
}

function table(rows: reports.Row[]): HTMLElement {
    return h(
        "table",
        {},
        h(
            "tbody",
            {},
            ...rows.map(({ name, value, hint }) =>
                h("tr", { title: hint }, h("th", { scope: "row" }, name), h("td", {}, value)),
            ),
        ),
    );
}

function section(title: string, ...content: (HTMLElement | undefined)[]): HTMLElement {
    return h("section", {}, h("h3", {}, title), ...content);
}

export class Panels {
    onJoint: (joint: number) => void = () => {};
    onMorph: (morph: Morph, value: number) => void = () => {};
    onSlider: (slider: number, value: number) => void = () => {};
    onReset: () => void = () => {};
    /** Rotation of the selected joint, in degrees about x, y and z. */
    onTurn: (degrees: number[]) => void = () => {};
    private tabs: Tab[] = [];
    private turns: { input: HTMLInputElement; output: HTMLOutputElement }[] = [];
    private morphValue: ((morph: Morph) => number) | undefined;
    private shows: (() => void)[] = [];
    private sliders: { morph: Morph; input: HTMLInputElement; output: HTMLOutputElement }[] = [];

    /** Replaces the pages by those of a subject. */
    setSubject(subject: Subject): void {
        this.sliders = [];
        this.shows = [];
        this.turns = [];
        this.morphValue = undefined;
        const pages: [string, HTMLElement][] = [["Report", this.reportPage(subject)]];
        if (subject.model.joints.length > 0) pages.push(["Bones", this.bonesPage(subject)]);
        const { controls } = subject.model;
        if (controls) pages.push(["Sliders", this.controlsPage(controls)]);
        if (subject.poser.morphs.length > 0) pages.push(["Morphs", this.morphsPage(subject.poser.morphs)]);
        pages.push(["Vertex", h("p", { class: "empty" }, "Click the surface to inspect a vertex.")]);
        this.tabs = pages.map(([name, content]) => {
            const id = name.toLowerCase();
            const page = h(
                "div",
                { role: "tabpanel", id: `page-${id}`, "aria-labelledby": `tab-${id}`, tabindex: 0, hidden: true },
                content,
            );
            const button = h(
                "button",
                {
                    type: "button",
                    role: "tab",
                    id: `tab-${id}`,
                    "aria-controls": page.id,
                    onclick: () => this.open(name),
                },
                name,
            );
            button.addEventListener("keydown", (event) => this.walk(event, name));
            return { name, button, page };
        });
        byId("tabs").replaceChildren(...this.tabs.map(({ button }) => button));
        byId("pages").replaceChildren(...this.tabs.map(({ page }) => page));
        this.open("Report");
    }

    open(name: string): void {
        for (const { name: other, button, page } of this.tabs) {
            page.hidden = other !== name;
            button.setAttribute("aria-selected", String(other === name));
            button.tabIndex = other === name ? 0 : -1;
        }
        if (this.morphValue) this.showMorphs(this.morphValue); // hidden sliders do not follow
    }

    /** Arrow keys move between tabs. */
    private walk(event: KeyboardEvent, name: string): void {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!by) return;
        event.stopPropagation();
        const place = this.tabs.findIndex((tab) => tab.name === name);
        const next = this.tabs[(place + by + this.tabs.length) % this.tabs.length];
        this.open(next.name);
        next.button.focus();
    }

    // ---- Report ----

    private reportPage({ data, model, animations }: Subject): HTMLElement {
        const report = data.report ?? {};
        const page = h("div");
        const warned = reports.warnings(report);
        if (warned.length > 0)
            page.append(
                h("ul", { class: "warnings", "aria-label": "Warnings" }, ...warned.map((line) => h("li", {}, line))),
            );
        const [figures, ...others] = reports.figures(report).map(({ title, rows }) => section(title, table(rows)));
        if (figures) page.append(figures);
        page.append(
            h("div", { id: "measured" }),
            h("div", { id: "charts" }, ...reports.curves(report).map(chart)),
            ...others,
        );
        const clips = reports.clipRows(report);
        if (clips.length > 0) page.append(section("Clips", table(clips)));
        const settings = reports.settings(report);
        if (settings.length > 0) page.append(section("Settings", table(settings)));
        const rows: reports.Row[] = [
            { name: "vertices", value: figure(model.vertexCount) },
            { name: "triangles", value: figure(model.triangles.length / 3) },
            { name: "parts", value: figure(model.parts.length) },
            { name: "joints", value: figure(model.joints.length) },
            { name: "animations", value: figure(animations.filter(({ times }) => times.length > 1).length) },
            { name: "GLB", value: `${figure(data.glb.byteLength / 1e6, 3)} MB` },
        ];
        page.append(section("Model", table(rows)));
        const validator = reports.validator(report);
        if (validator) page.append(h("p", { class: "note" }, validator));
        return page;
    }

    /** Errors measured by the page; E_rms only if the report has none. */
    showMeasured(curve: ErrorCurve, reported: boolean, go: (frame: number, vertex: number) => void): void {
        const { distance, frame, vertex } = curve.worst;
        const rows: reports.Row[] = [{ name: "largest error", value: `${figure(distance)} units` }];
        if (!reported)
            rows.unshift({
                name: "E_rms",
                value: figure(curve.whole),
                hint: "Thousandths of the radius of the first frame's enclosing ball",
            });
        const jump = h(
            "button",
            { type: "button", onclick: () => go(frame, vertex) },
            `Go to frame ${frame}, vertex ${vertex}`,
        );
        byId("measured").replaceChildren(section("Compared with the source", table(rows), h("div", { class: "row" }, jump)));
    }

    // ---- Bones ----

    private bonesPage({ model }: Subject): HTMLElement {
        const all = model.joints.reduce((sum, { weight }) => sum + weight, 0);
        const rows = model.joints.map(({ name, weight }, joint) => {
            const swatch = h("i", { style: `background:${css(category(joint))}` });
            const share = all > 0 ? `${((100 * weight) / all).toFixed(1)} %` : "";
            return h(
                "li",
                { role: "option", id: `joint-${joint}`, "aria-selected": "false", onclick: () => this.onJoint(joint) },
                swatch,
                h("span", {}, name || `joint ${joint}`),
                h("small", {}, share),
            );
        });
        const list = h(
            "ul",
            { role: "listbox", id: "joints", tabindex: 0, "aria-label": "Bones, with their share of all weights" },
            ...rows,
        );
        list.addEventListener("keydown", (event) => this.walkJoints(event, rows));
        const filter = h("input", { type: "search", placeholder: "Filter bones", "aria-label": "Filter bones" });
        filter.addEventListener("input", () => {
            const wanted = filter.value.toLowerCase();
            rows.forEach(
                (row, joint) =>
                    (row.hidden = !(model.joints[joint].name || `joint ${joint}`).toLowerCase().includes(wanted)),
            );
        });
        const reset = h("button", { type: "button", id: "reset-pose", onclick: () => this.onReset() }, "Reset pose");
        return h("div", { class: "bones" }, h("div", { class: "row" }, filter, reset), this.turnRows(), list);
    }

    /** Sliders for the selected joint. With y limited to ±90°, every rotation has one set of angles. */
    private turnRows(): HTMLElement {
        const rows = [180, 90, 180].map((most, axis) => {
            const id = `turn-${"xyz"[axis]}`;
            const input = h("input", { type: "range", min: -most, max: most, step: 1, value: 0, id });
            const output = h("output", { for: id });
            input.addEventListener("input", () => this.onTurn(this.turns.map(({ input }) => input.valueAsNumber)));
            return { input, output };
        });
        this.turns = rows;
        const sliders = rows.map(({ input, output }, axis) =>
            h("div", { class: "slider" }, h("label", { for: input.id }, `rotate ${"xyz"[axis]}`), input, output),
        );
        return h("div", { class: "turns" }, ...sliders);
    }

    /** undefined: no joint is selected. */
    showTurn(degrees: number[] | undefined): void {
        this.turns.forEach(({ input, output }, axis) => {
            input.disabled = !degrees;
            if (document.activeElement !== input) input.value = String(degrees?.[axis] ?? 0);
            output.value = degrees ? `${Math.round(degrees[axis])}°` : "";
        });
    }

    private walkJoints(event: KeyboardEvent, rows: HTMLElement[]): void {
        const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        event.stopPropagation();
        const shown = rows.filter(({ hidden }) => !hidden);
        const place = shown.findIndex((row) => row.getAttribute("aria-selected") === "true");
        const next = shown[Math.min(Math.max(place + by, 0), shown.length - 1)];
        if (next) this.onJoint(Number(next.id.slice("joint-".length)));
    }

    showJoint(joint: number): void {
        const list = document.getElementById("joints");
        if (!list) return;
        for (const row of list.children) row.setAttribute("aria-selected", String(row.id === `joint-${joint}`));
        const row = document.getElementById(`joint-${joint}`);
        if (row) list.setAttribute("aria-activedescendant", row.id);
        row?.scrollIntoView({ block: "nearest" });
    }

    // ---- Morphs ----

    private morphsPage(morphs: Morph[]): HTMLElement {
        const rows = morphs.map((morph, index) => {
            const input = h("input", { type: "range", min: 0, max: 1, step: 0.01, id: `morph-${index}` });
            const output = h("output", { for: input.id });
            input.addEventListener("input", () => this.onMorph(morph, input.valueAsNumber));
            this.sliders.push({ morph, input, output });
            return h("div", { class: "slider" }, h("label", { for: input.id }, morph.name), input, output);
        });
        const reset = h("button", { type: "button", onclick: () => this.onReset() }, "Follow the animation");
        return h("div", { class: "morphs" }, h("div", { class: "row" }, reset), ...rows);
    }

    private controlsPage(controls: Controls): HTMLElement {
        const rows = controls.names.map((name, slider) => {
            const input = h("input", { type: "range", min: 0, max: 1, step: 0.01, id: `slider-${slider}` });
            const output = h("output", { for: input.id });
            const show = () => {
                input.value = String(controls.value(slider));
                output.value = controls.value(slider).toFixed(2);
            };
            input.addEventListener("input", () => {
                this.onSlider(slider, input.valueAsNumber);
                show();
            });
            this.shows.push(show);
            show();
            return h("div", { class: "slider" }, h("label", { for: input.id }, name), input, output);
        });
        const reset = h("button", { type: "button", onclick: () => this.onReset() }, "Follow the animation");
        return h("div", { class: "morphs" }, h("div", { class: "row" }, reset), ...rows);
    }

    /** Sliders show their values again. */
    showControls(): void {
        for (const show of this.shows) show();
    }

    showMorphs(value: (morph: Morph) => number): void {
        this.morphValue = value;
        if (this.tabs.find(({ name }) => name === "Morphs")?.page.hidden) return;
        for (const { morph, input, output } of this.sliders) {
            const now = value(morph);
            if (document.activeElement !== input) input.value = String(now);
            output.value = now.toFixed(2);
        }
    }

    // ---- Vertex ----

    showVertex(facts: VertexFacts | undefined): void {
        const page = this.tabs.find(({ name }) => name === "Vertex")?.page;
        if (!page) return;
        if (!facts) return page.replaceChildren(h("p", { class: "empty" }, "Click the surface to inspect a vertex."));
        const { vertex, point, part, position, influences, displacement, error, largest, largestFrame } = facts;
        const rows: reports.Row[] = [
            { name: "vertex", value: String(vertex) },
            { name: "part", value: part || "–" },
            { name: "position", value: position.map((x) => figure(x, 4)).join("  ") },
            { name: "displacement", value: figure(displacement), hint: "Distance from the rest pose, object units" },
        ];
        if (point !== vertex)
            rows.splice(1, 0, { name: "point", value: String(point), hint: "Index in the source" });
        if (Number.isFinite(error))
            rows.push({
                name: "error",
                value: figure(error),
                hint: "Distance from the source in this frame, object units",
            });
        if (Number.isFinite(largest))
            rows.push({ name: "largest error", value: `${figure(largest)} at frame ${largestFrame}` });
        const bars = influences.map(({ joint, name, weight }) =>
            h(
                "button",
                {
                    type: "button",
                    class: "influence",
                    title: "Show the weights of this bone",
                    onclick: () => this.onJoint(joint),
                },
                h("i", { style: `background:${css(category(joint))}` }),
                h("span", {}, name),
                h("meter", { min: 0, max: 1, value: weight, "aria-label": `weight ${weight.toFixed(3)}` }),
                h("small", {}, weight.toFixed(3)),
            ),
        );
        page.replaceChildren(
            section("Vertex", table(rows)),
            section("Influences", ...(bars.length > 0 ? bars : [h("p", { class: "empty" }, "No skin.")])),
        );
    }
}
