/** Entry point of the studio: the view page with the engine. */
import { embeddedFiles } from "./engine"; // first: the engine starts while the view is built
import { startPage, viewer } from "../app";
import { byId } from "../dom";
import { areMotions, readFiles, type Sample, SAMPLES, sampleFiles, titleOf } from "./files";
import { Layout } from "./layout";
import { PANELS } from "./panels";
import { openMotion, retarget } from "./panels/retarget";
import { Studio } from "./studio";

const studio = new Studio(viewer, PANELS);

/** Files without a surface, and any with Shift, are motions for the rig that is open. */
async function openFiles(list: File[], motion: boolean): Promise<void> {
    const files = await readFiles(list);
    if (studio.hasModel && studio.step.info.jointCount > 0 && (motion || areMotions(files))) {
        studio.openPanel(retarget);
        await openMotion(studio, files);
        return;
    }
    await studio.open(files, titleOf(files));
}

async function openSample(sample: Sample): Promise<void> {
    const made = await studio.work(`Making ${sample.name}`, () => sampleFiles(studio.pelt, sample));
    if (!made || !(await studio.open(made.files, sample.name, made.commands))) return;
    const panel = PANELS.find(({ name }) => name === sample.panel);
    if (!panel) return;
    studio.openPanel(panel);
    if (Object.keys(sample.settings).length > 0)
        studio.change(`Settings of ${sample.label}`, { settings: { ...studio.state.settings, [panel.name]: sample.settings } });
    studio.times.sample = performance.now();
    if (sample.run) await studio.run(panel);
}

async function begin(): Promise<void> {
    byId("title").textContent = "Pelt Studio";
    document.title = "Pelt Studio";
    document.body.dataset.empty = "true";
    document.body.classList.add("studio");
    await studio.start();
    const layout = new Layout(studio, { sample: (sample) => void openSample(sample), open: () => byId("open").click() });
    Object.assign((window as unknown as { pelt: object }).pelt, { layout });
    const files = embeddedFiles();
    const wanted = new URLSearchParams(location.hash.slice(1)).get("sample");
    const sample = SAMPLES.find(({ name }) => name === wanted);
    if (files.length > 0) await studio.open(files, titleOf(files));
    else if (sample) await openSample(sample);
}

(window as unknown as { pelt?: object }).pelt = { studio, samples: SAMPLES, openFiles };
startPage({
    open: openFiles,
    begin,
    frame: (seconds) => studio.frame(seconds),
    shortcuts: [
        { keys: ["q"], text: "the model before the last step, or after it", run: () => studio.compareWithBefore(!studio.comparing) },
        { keys: ["Enter"], text: "run the open panel", run: () => void (studio.hasModel && studio.run()) },
        { keys: ["Escape"], text: "cancel the work", run: () => studio.cancel() },
    ],
});
