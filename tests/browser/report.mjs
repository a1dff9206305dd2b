// report.mjs PELT PELT-SCENES: pages of --report show what the run reported, and the frames that it reported on.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { run } from "../node/support.mjs";
import * as support from "./support.mjs";

const place = (name) => path.join(support.folder, name);
const [mesh, cache, rig] = ["hare.obj", "hare.pc2", "hare.glb"].map(place);
const browser = await support.launch();

/** Runs a verb; gives its report and the opened page of it. */
async function reported(name, ...args) {
    const [json, html] = [place(`${name}.json`), place(`${name}.html`)];
    run(support.pelt, [...args, "--json", json, "--report", html]);
    return { report: JSON.parse(readFileSync(json, "utf8")), page: await support.open(browser, html) };
}

/** E_rms of all frames of the first animation, measured by the page on what it shows. */
async function measured(page) {
    await page.waitForFunction(() => window.pelt.viewer.measures.curve?.done === window.pelt.viewer.animation.times.length);
    return page.evaluate(() => Array.from(window.pelt.viewer.measures.curve.rms));
}

function assertClose(ours, reference) {
    assert.equal(ours.length, reference.length);
    ours.forEach((value, frame) => assert(Math.abs(value - reference[frame]) <= 1e-3 * Math.max(...reference), `frame ${frame}: ${value}, not ${reference[frame]}`));
}

/** The value beside a name in a table of the panel. */
const cell = (page, name) => page.locator("#panel tr").filter({ has: page.locator("th", { hasText: new RegExp(`^${name}$`) }) }).first().locator("td").textContent();

run(support.sceneMaker, ["softbody", "-o", mesh, "--vertices", "400", "--frames", "40"]);

await support.checks(browser, {
    "decompose: figures, settings, warnings, curves, the source's frames": async () => {
        const settings = ["--error", "0.3", "--iterations", "3", "--target", "unreal", "--transforms", "affine"];
        const { report, page } = await reported("decompose", "decompose", "-q", mesh, cache, "-o", rig, ...settings);
        assert.equal(Number(await cell(page, "E_rms")), Number(report.result.error_rms.toPrecision(4)));
        assert.equal(await cell(page, "bones"), String(report.result.bones));
        assert.equal(await cell(page, "transforms"), "affine");
        assert.equal(report.warnings.length, 1);
        assert.deepEqual(await page.locator(".warnings li").allTextContents(), report.warnings);
        const captions = await page.locator("#charts figcaption").allTextContents();
        assert(captions.some((text) => text.startsWith("error against bones")), captions.join());
        assert.equal(await page.locator("#charts figure").first().locator("circle").count(), report.curves[0].points.length);
        assert.equal(report.frame_rms.length, 40);
        assertClose(await measured(page), report.frame_rms);
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "compare: the same frames, the same figures": async () => {
        const { report, page } = await reported("compare", "compare", mesh, cache, rig);
        assert.equal(Number(await cell(page, "E_rms")), Number(report.error_rms.toPrecision(4)));
        assertClose(await measured(page), report.frame_rms);
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "bake: the frames are those of the rig": async () => {
        const { page } = await reported("bake", "bake", "-q", rig, "-o", place("baked.pc2"));
        assert(Math.max(...(await measured(page))) < 1e-2);
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
});
