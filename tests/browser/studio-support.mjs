// What the tests of the studio share: a page with files in it, running panels, exports. Tests are skipped where the page is not built (make studio).
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import * as node from "../node/support.mjs";
import * as support from "./support.mjs";

export const file = process.env.PELT_STUDIO ?? path.join(node.root, "build/studio/studio.html");
if (!existsSync(file)) node.skip(`${path.relative(process.cwd(), file)} is not built (make studio)`);

export const place = (name) => path.join(support.folder, name);
export const [mesh, cache] = [place("flag.obj"), place("flag.pc2")];
node.run(support.sceneMaker, ["cloth", "-o", mesh, "--vertices", "600", "--frames", "24"]);
export const creature = support.scene("creature");
export const browser = await support.launch();

/** A studio with files in it. It plays nothing by itself unless asked for: drawing in software takes the processor. */
export async function studio(files = [], { plays = false, ...options } = {}) {
    const page = await support.open(browser, file, { width: 1280, height: 800, ...options });
    if (!plays) await page.emulateMedia({ reducedMotion: "reduce" });
    if (files.length > 0) await openFiles(page, files);
    return page;
}

export async function openFiles(page, files) {
    await page.setInputFiles("#file", files);
    await page.waitForFunction(
        (title) => window.pelt.studio.hasModel && !window.pelt.studio.busy && window.pelt.studio.state.steps[0].files.includes(title),
        path.basename(files[0]),
    );
    await settled(page);
}

export function settled(page) {
    return page.evaluate(() => window.pelt.studio.settled);
}

/** Runs the open panel and waits for its result; the sentence where it failed. */
export async function run(page, panel) {
    await page.click(`#run-${panel}`);
    await page.waitForFunction(() => !window.pelt.studio.busy);
    await settled(page);
}

export const step = (page) =>
    page.evaluate(() => {
        const { verb, title, info, report } = window.pelt.studio.step;
        return { verb, title, bones: info.boneCount, triangles: info.triangleCount, motions: info.motions.length, morphs: info.morphs.length, report };
    });

export async function set(page, panel, name, value) {
    const control = page.locator(`#set-${panel}-${name}`);
    if (!(await control.isVisible())) await page.locator(`#panel-${panel} .more > summary`).first().click();
    if ((await control.evaluate((element) => element.tagName)) === "SELECT") return control.selectOption(String(value));
    if (typeof value === "boolean") return control.setChecked(value);
    await control.fill(String(value));
    await control.press("Enter");
}

export async function exportAs(page, ending) {
    await page.selectOption("#export-format", ending);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#export")]);
    const to = place(`exported-${download.suggestedFilename()}`);
    await download.saveAs(to);
    return to;
}

export const message = (page) => page.textContent("#message");
export const command = (page) => page.textContent("#command");
export const info = (...names) => JSON.parse(node.run(support.pelt, ["info", "--json", "-", ...names]).toString());

/** What the page shows of a frame is what the library makes of the exported file. */
export async function sameAsLibrary(page, exported) {
    await page.evaluate(() => window.pelt.viewer.store.set({ playing: false, frame: 5 }));
    const [motion, time] = await page.evaluate(() => {
        const { viewer } = window.pelt;
        const { motion, time } = viewer.subject.moment(viewer.animation, 5);
        return [motion, time];
    });
    const [, posed] = support.libraryPoses(exported, [[motion, time]]);
    const shown = await support.floats(page, "() => window.pelt.positions(5)");
    assert(support.difference(posed, shown) < 1e-5, "the page shows other vertices than the library");
}
