// The studio in a browser: every panel opens a file, changes a setting, shows and exports its result; cancelling, undo, settings files,
// memory, random actions. Figures are those of the page's own clock. Skipped where the page is not built (make studio).
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import * as node from "../node/support.mjs";
import * as support from "./support.mjs";

const file = process.env.PELT_STUDIO ?? path.join(node.root, "build/studio/studio.html");
if (!existsSync(file)) node.skip(`${path.relative(process.cwd(), file)} is not built (make studio)`);

const place = (name) => path.join(support.folder, name);
const [mesh, cache] = [place("flag.obj"), place("flag.pc2")];
node.run(support.sceneMaker, ["cloth", "-o", mesh, "--vertices", "600", "--frames", "24"]);
const creature = support.scene("creature");
const browser = await support.launch();

/** A studio with files in it. */
async function studio(files = [], options = {}) {
    const page = await support.open(browser, file, { width: 1280, height: 800, ...options });
    if (files.length > 0) await openFiles(page, files);
    return page;
}

async function openFiles(page, files) {
    await page.setInputFiles("#file", files);
    await page.waitForFunction(
        (title) => window.pelt.studio.hasModel && !window.pelt.studio.busy && window.pelt.studio.state.steps[0].files.includes(title),
        path.basename(files[0]),
    );
    await settled(page);
}

function settled(page) {
    return page.evaluate(() => window.pelt.studio.settled);
}

/** Runs the open panel and waits for its result; the sentence where it failed. */
async function run(page, panel) {
    await page.click(`#run-${panel}`);
    await page.waitForFunction(() => !window.pelt.studio.busy);
    await settled(page);
}

const step = (page) =>
    page.evaluate(() => {
        const { verb, title, info, report } = window.pelt.studio.step;
        return { verb, title, bones: info.boneCount, triangles: info.triangleCount, motions: info.motions.length, morphs: info.morphs.length, report };
    });

async function set(page, panel, name, value) {
    const control = page.locator(`#set-${panel}-${name}`);
    if (!(await control.isVisible())) await page.locator(`#panel-${panel} .more > summary`).first().click();
    if ((await control.evaluate((element) => element.tagName)) === "SELECT") return control.selectOption(String(value));
    if (typeof value === "boolean") return control.setChecked(value);
    await control.fill(String(value));
    await control.press("Enter");
}

async function exportAs(page, ending) {
    await page.selectOption("#export-format", ending);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#export")]);
    const to = place(`exported-${download.suggestedFilename()}`);
    await download.saveAs(to);
    return to;
}

const message = (page) => page.textContent("#message");
const command = (page) => page.textContent("#command");
const info = (name) => JSON.parse(node.run(support.pelt, ["info", "--json", "-", name]).toString());

/** What the page shows of a frame is what the library makes of the exported file. */
async function sameAsLibrary(page, exported) {
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

async function start() {
    const size = statSync(file).size;
    assert(size <= 4e6, `the page has ${size} bytes`);
    const page = await studio();
    assert.equal(await page.locator("#welcome").isVisible(), true);
    assert.equal(await page.locator(".card").count(), 5);
    const before = await page.evaluate(() => performance.now());
    await page.click('[data-sample="flag"]');
    await page.waitForFunction(() => window.pelt.studio.times.opened);
    const { engine, opened } = await page.evaluate(() => window.pelt.studio.times);
    assert.equal((await support.state(page)).playing, true);
    console.log(`        page ${(size / 1e6).toFixed(2)} MB, engine after ${engine.toFixed(0)} ms, sample plays ${(opened - before).toFixed(0)} ms after the click`);
    await page.waitForFunction(() => window.pelt.studio.state.steps.length === 2, undefined, { timeout: 60000 });
    await settled(page);
    assert.equal((await step(page)).bones, 16);
    assert.match(await command(page), /^pelt-scenes cloth -o flag\.obj\npelt decompose flag\.obj flag\.pc2 -o flag-decompose\.glb --bones 16 --effort fast$/);
    assert.deepEqual(page.complaints, []);
    await page.close();
}

async function decompose() {
    const page = await studio([mesh, cache]);
    await set(page, "decompose", "bones", 32);
    await run(page, "decompose");
    const made = await step(page);
    assert.equal(made.report.bones, 32);
    assert(made.report.error_rms > 0 && made.report.iterations.length > 3);
    assert.equal(await page.locator("#live-curve svg").count(), 1);
    assert((await page.evaluate(() => window.pelt.viewer.views())).includes("side"), "the source is not beside the result");
    const exported = await exportAs(page, "glb");
    const native = place("native.glb");
    node.run(support.pelt, ["decompose", "-q", mesh, cache, "--bones", "32", "-o", native]);
    assert(readFileSync(exported).equals(readFileSync(native)), "other bytes than the native program");
    assert.equal(info(exported).bones ?? info(exported).skin?.bones, info(native).bones ?? info(native).skin?.bones);
    await sameAsLibrary(page, exported);
    assert.deepEqual(page.complaints, []);
    await page.close();
}

await support.checks(browser, { start, decompose });
