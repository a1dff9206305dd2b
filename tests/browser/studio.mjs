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

/** A studio with files in it. It plays nothing by itself unless asked for: drawing in software takes the processor. */
async function studio(files = [], { plays = false, ...options } = {}) {
    const page = await support.open(browser, file, { width: 1280, height: 800, ...options });
    if (!plays) await page.emulateMedia({ reducedMotion: "reduce" });
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

/** Cancelling in the middle leaves everything as it was, and the page goes on. */
async function cancel() {
    const large = [place("large.obj"), place("large.pc2")];
    node.run(support.sceneMaker, ["cloth", "-o", large[0], "--vertices", "2500", "--frames", "60"]);
    const page = await studio(large);
    await set(page, "decompose", "bones", 60);
    await set(page, "decompose", "effort", "best");
    await page.click("#run-decompose");
    await page.waitForFunction(() => document.querySelector("#live-curve svg")); // iterations run
    assert.equal(await page.locator("#cancel").isVisible(), true);
    const frames = await page.evaluate(() => new Promise((done) => {
        let count = 0;
        const next = () => (++count < 5 ? requestAnimationFrame(next) : done(count));
        requestAnimationFrame(next);
    }));
    assert.equal(frames, 5, "the page stands still");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !window.pelt.studio.busy);
    assert.match(await message(page), /Cancelled; everything is as it was/);
    assert.equal((await step(page)).verb, "open");
    await set(page, "decompose", "bones", 3);
    await set(page, "decompose", "effort", "fast");
    await run(page, "decompose");
    assert.equal((await step(page)).bones, 3);
    assert.deepEqual(page.complaints, []);
    await page.close();
}

/** Out of memory is a sentence; the model stays. */
async function memory() {
    const page = await studio();
    await page.evaluate(() => window.pelt.studio.start(6 << 20));
    await openFiles(page, [creature]);
    const shown = await page.evaluate(() => window.pelt.viewer.subject.model.vertexCount);
    await set(page, "decompose", "bones", 60);
    await run(page, "decompose");
    assert.match(await message(page), /Out of memory: .*The state before is kept/);
    assert.equal((await step(page)).verb, "open");
    assert.equal(await page.evaluate(() => window.pelt.viewer.subject.model.vertexCount), shown);
    await page.click("#verb-simplify");
    await page.setInputFiles("#file", [place("flag.obj")]); // a smaller one still opens
    await page.waitForFunction(() => window.pelt.studio.state.steps[0].files.includes("flag.obj"));
    await page.setInputFiles("#file", { name: "notes.obj", mimeType: "text/plain", buffer: Buffer.from("v 1 2\n") });
    await page.waitForFunction(() => /notes\.obj: line 1/.test(document.getElementById("message").textContent));
    assert.equal((await step(page)).title, "flag.obj");
    assert.deepEqual(page.complaints, []);
    await page.close();
}

/** Memory of the engine does not grow over ten runs, once undo holds as many results as it may. */
async function heap() {
    const page = await studio([mesh, cache]);
    await set(page, "decompose", "bones", 3);
    await set(page, "decompose", "iterations", 2);
    const sizes = [];
    for (let n = 0; n < 10; n++) {
        await run(page, "decompose");
        sizes.push(await page.evaluate(async () => (await window.pelt.studio.pelt.memoryInfo()).current));
    }
    assert(sizes[9] <= 1.001 * sizes[7], `bytes after every run: ${sizes}`);
    assert.deepEqual(page.complaints, []);
    await page.close();
}

/** Fifty random actions of a fixed seed: no complaint, and the page still works. */
async function random() {
    const next = node.seededRandom(23);
    const pick = (list) => list[Math.floor(next() * list.length)];
    const page = await studio([mesh, cache]);
    await set(page, "decompose", "iterations", 2);
    const panels = await page.evaluate(() => window.pelt.studio.panels.map(({ name }) => name));
    const actions = {
        panel: () => page.click(`#verb-${pick(panels)}`),
        number: async () => {
            const controls = page.locator('.verb-page:not([hidden]) .form > .setting:not([hidden]) input[type="number"]');
            const count = await controls.count();
            if (count === 0) return;
            const control = controls.nth(Math.floor(next() * count));
            await control.fill(String(Math.floor(next() * 6)));
            await control.press("Enter");
        },
        run: async () => {
            const button = page.locator(".verb-page:not([hidden]) .run");
            if (await button.isEnabled()) await button.click();
            if (next() < 0.3) await page.keyboard.press("Escape");
            await page.waitForFunction(() => !window.pelt.studio.busy, undefined, { timeout: 60000 });
        },
        undo: () => page.keyboard.press("Control+z"),
        redo: () => page.keyboard.press("Control+Shift+z"),
        step: async () => {
            const steps = page.locator("#steps button");
            await steps.nth(Math.floor(next() * (await steps.count()))).click();
        },
        before: () => page.evaluate(() => window.pelt.studio.compareWithBefore(!window.pelt.studio.comparing)),
        play: () => page.click("#play"),
        key: async () => {
            await page.locator("#canvas").focus();
            await page.keyboard.press(pick(["e", "b", "s", "k", "x", "1", "2", "3", "ArrowRight", "End", "f", "t"]));
        },
        format: () => page.selectOption("#export-format", pick(["glb", "pc2", "obj"])),
    };
    const names = Object.keys(actions);
    for (let n = 0; n < 50; n++) {
        const name = pick(names);
        try {
            await actions[name]();
            await settled(page);
        } catch (error) {
            throw new Error(`action ${n}, ${name}: ${error.message}`);
        }
    }
    assert.deepEqual(page.complaints, []);
    await page.evaluate(() => window.pelt.studio.goTo(0));
    await settled(page);
    await page.click("#verb-decompose");
    await run(page, "decompose");
    assert.equal((await step(page)).verb, "decompose");
    await page.close();
}

/** Nothing overlaps and nothing is cut off at four sizes, light and dark. */
async function layout() {
    for (const dark of [false, true]) {
        const page = await studio([mesh, cache], { dark });
        await set(page, "decompose", "bones", 3);
        await set(page, "decompose", "iterations", 2);
        await run(page, "decompose"); // then there is most to show
        await page.evaluate(() => window.pelt.viewer.store.set({ mode: "error", view: "side", frame: 20 }));
        for (const [width, height] of [[1440, 900], [1280, 800], [1120, 700], [390, 844]]) {
            await page.setViewportSize({ width, height });
            await support.settle(page);
            const wrong = await page.evaluate(() => {
                const box = (element) => element.getBoundingClientRect();
                const shown = (selector) => [...document.querySelectorAll(selector)].filter((element) => box(element).width > 0);
                const problems = [];
                if (document.documentElement.scrollWidth > innerWidth) problems.push("the page scrolls sideways");
                const regions = shown(".top, #studio, .tools, #canvas-frame, #timeline, #panel, #parts");
                for (const list of [regions, shown(".actions button"), shown("#verbs button"), shown(".tools button, .tools select"), shown("#timeline button, #timeline select, #clock, .track")])
                    list.forEach((one, n) => {
                        const a = box(one);
                        if (a.left < -0.5 || a.right > innerWidth + 0.5 || a.bottom > innerHeight + 0.5) problems.push(`${one.id || one.className} leaves the window`);
                        for (const other of list.slice(n + 1)) {
                            const b = box(other);
                            if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5)
                                problems.push(`${one.id || one.className} and ${other.id || other.className} overlap`);
                        }
                    });
                for (const row of shown(".verb-page:not([hidden]) .setting, #clock, .segments button"))
                    if (row.scrollWidth > row.clientWidth + 1) problems.push(`${row.dataset.key ?? row.id ?? row.textContent} is cut off`);
                if (box(document.getElementById("canvas-frame")).height < 0.25 * innerHeight) problems.push("the view is too low");
                const unnamed = shown("button, input, select").filter((element) => !(element.textContent.trim() || element.getAttribute("aria-label") || element.labels?.length));
                if (unnamed.length > 0) problems.push(`without a name: ${unnamed.map(({ id }) => id)}`);
                return problems;
            });
            assert.deepEqual(wrong, [], `${width} × ${height}, ${dark ? "dark" : "light"}`);
        }
        await page.close();
    }
}

/** A page with files in it opens with them. */
async function embedded() {
    const page = place("embedded.html");
    node.run(support.pelt, ["studio", "-q", mesh, cache, "--page", file, "-o", page]);
    const opened = await support.open(browser, page);
    assert.equal((await step(opened)).title, "flag.obj");
    assert.equal(await opened.evaluate(() => window.pelt.studio.step.info.clips[0].frameCount), 24);
    assert.deepEqual(opened.complaints, []);
    await opened.close();
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
    cancel,
    "out of memory": memory,
    heap,
    "random actions": random,
    layout,
    "embedded files": embedded,
});
