// The panels of the studio: each opens a file, changes a setting, shows and exports its result; settings files. Times are those of the page's own
// clock.
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import * as node from "../node/support.mjs";
import { browser, cache, command, creature, exportAs, file, info, mesh, message, place, run, sameAsLibrary, set, settled, step, studio } from "./studio-support.mjs";
import * as support from "./support.mjs";

async function start() {
    const size = statSync(file).size;
    assert(size <= 4e6, `the page has ${size} bytes`);
    const page = await studio([], { plays: true });
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
    assert.match(await command(page), /^pelt-scenes cloth -o flag\.obj --frames 60\npelt decompose flag\.obj flag\.pc2 -o flag-decompose\.glb --bones 16 --effort fast$/);
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

/** A sweep keeps its results; the slider shows each. */
async function sweep() {
    const page = await studio([mesh, cache]);
    await set(page, "decompose", "effort", "fast");
    await page.fill("#sweep-most", "6");
    await page.click("#sweep");
    await page.waitForFunction(() => !window.pelt.studio.busy && window.pelt.studio.state.sweep.length === 3);
    await settled(page);
    assert.equal((await step(page)).bones, 6);
    for (const [place, bones] of [["0", 2], ["1", 4]]) {
        await page.locator("#sweep-slider").fill(place);
        await settled(page);
        assert.equal((await step(page)).bones, bones);
        assert.equal(await page.evaluate(() => window.pelt.viewer.subject.model.joints.length), bones);
    }
    const errors = await page.evaluate(() => window.pelt.studio.state.sweep.map(({ report }) => report.error_rms));
    assert(errors[0] > errors[1] && errors[1] > errors[2], `errors ${errors}`);
    await page.keyboard.press("Control+z"); // the slider is one change
    await settled(page);
    assert.equal((await step(page)).verb, "open");
    assert.deepEqual(page.complaints, []);
    await page.close();
}

/** On the result of decompose: by time and by pose; morphs are sliders; undo, redo, before and after. */
async function correct() {
    const page = await studio([mesh, cache]);
    await page.click("#verb-correct");
    assert.match(await page.textContent("#panel-correct .unfit"), /no bones to correct/);
    await page.click("#verb-decompose");
    await set(page, "decompose", "bones", 4);
    await set(page, "decompose", "effort", "fast");
    await run(page, "decompose");
    const before = (await step(page)).report.error_rms;
    await page.click("#verb-correct");
    await set(page, "correct", "rank", 3);
    await run(page, "correct");
    const after = await step(page);
    assert.equal(after.report.rank, 3);
    assert(after.report.error_rms < before, "no better than before");
    const exported = await exportAs(page, "glb");
    const read = info(exported).inputs[0];
    assert.equal(read.morphs.length, after.morphs);
    await sameAsLibrary(page, exported);
    await page.click("#tab-morphs");
    const still = await support.floats(page, "() => window.pelt.positions(5)");
    await page.locator("#morph-0").fill("1");
    assert(support.difference(still, await support.floats(page, "() => window.pelt.positions(5)")) > 1e-4, "the mode moves nothing");
    const joints = () => page.evaluate(() => [window.pelt.viewer.subject.model.joints.length, window.pelt.viewer.subject.poser.morphs.length]);
    await page.locator("#canvas").focus();
    await page.keyboard.press("q");
    await settled(page);
    assert.deepEqual(await joints(), [4, 0], "before");
    await page.keyboard.press("q");
    await settled(page);
    assert.deepEqual(await joints(), [4, after.morphs], "after");
    await page.click("#undo");
    await settled(page);
    assert.equal((await step(page)).verb, "decompose");
    await page.click("#redo");
    await settled(page);
    assert.equal((await step(page)).verb, "correct");
    assert.match(await command(page), /\npelt correct flag-decompose\.glb flag\.obj flag\.pc2 -o flag-correct\.glb --rank 3$/);
    assert.deepEqual(page.complaints, []);
    await page.close();
}

/** The arm with its cache: morphs that the pose drives follow when the elbow turns. */
async function byPose() {
    const [rig, muscles] = [place("arm.glb"), place("arm.pc2")];
    node.run(support.sceneMaker, ["arm", "-o", rig, "--vertices", "700"]);
    node.run(support.sceneMaker, ["arm", "-o", place("arm.obj"), "--vertices", "700"]);
    const page = await studio([rig, muscles]);
    await page.click("#verb-correct");
    await set(page, "correct", "driver", "pose");
    await run(page, "correct");
    const made = await step(page);
    assert(made.morphs > 0 && made.report.error_rms < 1, JSON.stringify(made.report));
    const exported = await exportAs(page, "glb");
    const driven = JSON.parse(node.run(support.pelt, ["correct", rig, muscles, "--driver", "pose", "-o", place("driven.glb"), "--json", "-"]).toString());
    assert.equal(driven.morphs, made.report.morphs);
    assert(readFileSync(exported).equals(readFileSync(place("driven.glb"))), "other bytes than the native program");
    await page.evaluate(() => {
        const { viewer } = window.pelt;
        viewer.store.set({ animation: viewer.subject.animations.length - 1, frame: 0, playing: false });
    });
    const weights = () => page.evaluate(() => window.pelt.viewer.subject.poser.morphs.map((morph) => window.pelt.viewer.subject.poser.morphValue(morph)));
    const rest = await weights();
    await support.turnJoints(page, Object.fromEntries(await page.evaluate(() => window.pelt.viewer.subject.model.joints.map(({ name }) => [name, [0, 0, 40]]))));
    assert.notDeepEqual(await weights(), rest, "the pose drives nothing");
    assert.deepEqual(page.complaints, []);
    await page.close();
}

async function simplify() {
    const page = await studio([creature]);
    await page.click("#verb-simplify");
    await set(page, "simplify", "ratio", 0.25);
    await run(page, "simplify");
    const { triangles, report } = await step(page);
    assert(triangles < 0.3 * report.triangles_before && triangles > 0.2 * report.triangles_before, `${triangles} triangles`);
    const exported = await exportAs(page, "glb");
    node.run(support.pelt, ["simplify", "-q", creature, "--ratio", "0.25", "-o", place("simple.glb")]);
    assert(readFileSync(exported).equals(readFileSync(place("simple.glb"))), "other bytes than the native program");
    await sameAsLibrary(page, exported);
    // Every other kind of file, read again by the program.
    for (const [ending, check] of [
        ["fbx", ({ triangles: count }) => assert.equal(count, triangles)],
        ["usdz", ({ triangles: count }) => assert.equal(count, triangles)],
        ["obj", ({ triangles: count }) => assert.equal(count, triangles)],
        ["pc2", ({ animations, clips }) => assert.equal((animations ?? clips).length, 1)],
    ])
        check(info(await exportAs(page, ending)).inputs[0]);
    assert.match(await command(page), /\npelt bake creature-simplify\.glb -o creature-simplify\.pc2$/);
    assert.deepEqual(page.complaints, []);
    await page.close();
}

/** A motion of another file on a rig; without one the panel says so. */
async function retarget() {
    const motion = place("walk.bvh");
    node.run(support.pelt, ["convert", "-q", creature, motion]);
    const page = await studio([creature]);
    await page.click("#verb-retarget");
    assert.match(await page.textContent("#panel-retarget .unfit"), /Open a motion first/);
    await page.setInputFiles("#file", [motion]); // a motion, because a rig is open
    await page.waitForSelector("#matches");
    assert.match(await page.textContent("#matches summary"), /^(\d+) of \1 joints have a partner$/);
    await page.locator("#set-retarget-replace").setChecked(true);
    await run(page, "retarget");
    const made = await step(page);
    assert.equal(made.motions, 1);
    assert(made.report.matched > 20 && made.report.stretch < 0.15);
    const exported = await exportAs(page, "glb");
    await sameAsLibrary(page, exported);
    assert.match(await command(page), /^pelt retarget creature\.glb walk\.bvh -o creature-retarget\.glb --replace$/);
    assert.deepEqual(page.complaints, []);
    await page.close();
}

/** Saved settings give the program the same result, and come back; a report of --json is taken too. */
async function settings() {
    const page = await studio([mesh, cache]);
    await set(page, "decompose", "bones", 5);
    await set(page, "decompose", "transforms", "rigid");
    await set(page, "decompose", "hierarchy", true);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save-settings")]);
    const saved = place("settings.json");
    await download.saveAs(saved);
    assert.deepEqual(JSON.parse(readFileSync(saved)), { verb: "decompose", settings: { bones: 5, transforms: "rigid", hierarchy: true } });
    await run(page, "decompose");
    const exported = await exportAs(page, "glb");
    const [native, report] = [place("by-settings.glb"), place("report.json")];
    node.run(support.pelt, ["decompose", "-q", mesh, cache, "-o", native, "--settings", saved, "--json", report]);
    assert(readFileSync(exported).equals(readFileSync(native)), "the program makes something else of the settings");
    const given = () => page.evaluate(() => window.pelt.studio.settings());
    const before = await given();
    for (let n = 0; n < 3; n++) await page.keyboard.press("Control+z");
    assert.notDeepEqual(await given(), before);
    await page.setInputFiles("#settings-file", report);
    await page.waitForFunction(() => window.pelt.studio.settings().hierarchy === true);
    assert.deepEqual(await given(), before);
    assert.match(await message(page), /report\.json: settings of Decompose/);
    writeFileSync(place("bad.json"), '{"bones": "many"}');
    await page.setInputFiles("#settings-file", place("bad.json"));
    await page.waitForFunction(() => /bad\.json: bones: "many" is no number/.test(document.getElementById("message").textContent));
    assert.deepEqual(await given(), before);
    assert.deepEqual(page.complaints, []);
    await page.close();
}

await support.checks(browser, {
    start,
    decompose,
    sweep,
    correct,
    "correct by pose": byPose,
    simplify,
    retarget,
    "settings files": settings,
});
