/** Decompose: bones and weights from a vertex animation, and a sweep over numbers of bones. */
import { chart } from "../../charts";
import { figure, h } from "../../dom";
import type { JsonObject } from "../../data";
import type { Job, Made, Panel, Step } from "../panel";
import type { Studio } from "../studio";
import { clipsForWork, errorsOf } from "./report";

/** Numbers of bones of a sweep, up to the last. */
const SWEEP = [2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128];

let live: HTMLElement;

/** The error curve while it grows. */
function showCurve(errors: number[]): void {
    const points = errors.map((error, n): [number, number] => [n, error]);
    live.replaceChildren(...(points.length > 1 ? [chart({ title: "error while it runs", x: "iteration", y: "E_rms", points })] : []));
}

async function decomposeJob(job: Job, settings: Job["settings"], tell: (errors: number[]) => void): Promise<Made> {
    const { model, hooks } = job;
    await clipsForWork(job);
    const errors: number[] = [];
    let due = 0;
    const iteration = (error: number) => {
        errors.push(error);
        if (performance.now() < due) return;
        due = performance.now() + 80;
        tell(errors);
    };
    const report = await model.decompose({ ...settings, ...hooks, iteration });
    tell(errors);
    const measured = await errorsOf(model, await model.info());
    const { boneCount, influenceCount, searchBones, searchErrors } = report;
    const curves: JsonObject[] = [];
    if (searchBones && searchErrors && searchBones.length > 1) {
        const points = Array.from(searchBones, (bones, n) => [bones, searchErrors[n]]).sort(([a], [b]) => a - b);
        curves.push({ title: "error against bones", x: "bones", y: "E_rms", points });
    }
    return {
        title: `${boneCount} bones`,
        report: { bones: boneCount, influences: influenceCount, ...measured, iterations: errors, curves },
    };
}

async function sweep(studio: Studio, most: number): Promise<void> {
    const base = studio.baseOf(decompose);
    const counts = [...new Set([...SWEEP.filter((count) => count < most), most])];
    const steps: Step[] = [];
    const done = await studio.work("Sweep", async (hooks) => {
        try {
            for (const [n, bones] of counts.entries()) {
                const settings = { ...studio.settings(decompose), bones };
                const model = await base.model.borrow();
                const progress = (_: string, fraction: number) => hooks.progress(`${bones} bones`, (n + fraction) / counts.length);
                try {
                    const made = await decomposeJob({ studio, model, base, settings, hooks: { ...hooks, progress } }, settings, () => {});
                    steps.push(await studio.makeStep(decompose, base, { ...made, model, settings }));
                } catch (error) {
                    model.free();
                    throw error;
                }
            }
        } catch (error) {
            for (const { model } of steps) model.free();
            throw error;
        }
        return true;
    });
    if (!done) return;
    studio.change("Sweep", { sweep: steps });
    studio.addMade(decompose, steps.at(-1)!, "sweep");
}

/** Slider and curve of the results of a sweep. */
function sweepControls(studio: Studio): HTMLElement {
    const most = h("input", { type: "number", id: "sweep-most", min: 2, max: 512, step: 1, value: 32 });
    const start = h("button", { type: "button", id: "sweep" }, "Sweep");
    start.addEventListener("click", () => most.reportValidity() && void sweep(studio, most.valueAsNumber));
    const slider = h("input", { type: "range", id: "sweep-slider", min: 0, max: 0, step: 1, "aria-label": "Number of bones" });
    const output = h("output", { for: "sweep-slider" });
    const plot = h("div");
    const results = h("div", { hidden: true }, plot, h("div", { class: "slider" }, h("label", { for: "sweep-slider" }, "Bones"), slider, output));
    slider.addEventListener("input", () => {
        const step = studio.state.sweep[slider.valueAsNumber];
        if (step) studio.addMade(decompose, step, "sweep");
    });
    studio.onChange((state, before) => {
        const { sweep: steps } = state;
        results.hidden = steps.length === 0;
        if (steps !== before.sweep && steps.length > 0) {
            slider.max = String(steps.length - 1);
            const points = steps.map(({ report }): [number, number] => [Number(report.bones), Number(report.error_rms)]);
            plot.replaceChildren(chart({ title: "error against bones", x: "bones", y: "E_rms", points, log: true }));
        }
        const place = steps.indexOf(state.steps[state.at]);
        if (place >= 0) slider.value = String(place);
        if (steps.length > 0) output.value = figure(Number(steps[slider.valueAsNumber]?.report.bones ?? NaN));
    });
    const help = h("small", {}, "decompose with 2, 4, 6 … bones up to this many; a slider then shows each result");
    return h(
        "section",
        { class: "sweep" },
        h("h3", {}, "Number of bones"),
        h("div", { class: "setting" }, h("label", { for: "sweep-most" }, "Up to"), h("span", { class: "value" }, most, start), help),
        results,
    );
}

export const decompose: Panel = {
    name: "decompose",
    label: "Decompose",
    summary: "Turn an animated mesh into bones and skin weights that play in any engine.",
    tables: ["decompose"],
    main: ["bones", "error", "influences", "transforms", "effort"],
    hidden: ["memory", "refine", "add", "lockBones", "lockVertices", "freeRest"],
    sliders: { bones: [0, 128, 1], influences: [1, 8, 1] },
    action: "Decompose",
    unfit({ clips, motions }) {
        return clips.length + motions.length === 0
            ? "This model has no animation to decompose; open a mesh with a cache, a sequence, or an animated rig."
            : undefined;
    },
    after(studio) {
        live = h("div", { id: "live-curve" });
        return h("div", {}, live, sweepControls(studio));
    },
    async run(job) {
        showCurve([]);
        return decomposeJob(job, job.settings, showCurve);
    },
};
