// The studio as it is used: cancelling, memory, random actions, layout, kinds of files, embedded files.
import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import path from "node:path";
import * as node from "../node/support.mjs";
import { browser, cache, creature, file, info, mesh, message, openFiles, place, run, set, settled, step, studio } from "./studio-support.mjs";
import * as support from "./support.mjs";

/** Cancelling in the middle leaves everything as it was, and the page goes on. */
async function cancel() {
    const large = [place("large.obj"), place("large.pc2")];
    node.run(support.sceneMaker, ["cloth", "-o", large[0], "--vertices", "1500", "--frames", "40"]);
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
                            if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5) // borders may coincide
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

/** Every kind of file opens: what the program tells of it is what the page tells. */
async function formats() {
    const made = (name, ...from) => {
        node.run(support.pelt, ["convert", "-q", ...from, place(name)]);
        return place(name);
    };
    made("s_%d.ply", mesh, cache);
    const text = made("walk.gltf", creature);
    const legs = ["leg.asf", "leg.amc"].map((name) => path.join(node.root, "tests/cli", name));
    const sequence = [0, 1, 2, 3].map((k) => place(`s_${k}.ply`));
    const lists = [
        [made("flag.abc", mesh, cache)],
        [made("creature.fbx", creature)],
        [made("creature.usdz", creature)],
        [text, place("walk.bin")],
        [made("creature.bvh", creature)],
        legs,
        sequence,
    ];
    if (existsSync(node.data)) {
        const small = (name) => statSync(name).size < 4e6;
        const real = node.characterFiles().find((name) => name.endsWith(".glb") && small(name));
        if (real) lists.push([real]);
    } else console.log(`        without a real character: there is no ${node.data}`);
    const page = await studio();
    for (const files of lists) {
        // A motion alone would go to the rig that is open.
        await page.evaluate(() => window.pelt.studio.hasModel && window.pelt.studio.change("none", { steps: [], at: -1 }));
        await openFiles(page, files);
        const shown = await page.evaluate(() => {
            const { vertexCount, triangleCount, jointCount, clips, motions } = window.pelt.studio.step.info;
            return { vertexCount, triangleCount, jointCount, frames: clips[0]?.frameCount, motions: motions.length };
        });
        const patterns = files === sequence ? [mesh] : files.filter((name) => !name.endsWith(".bin"));
        const [told] = info(...patterns).inputs;
        assert.equal(shown.vertexCount, told.vertices ?? 0, files[0]);
        assert.equal(shown.jointCount, told.joints ?? 0, files[0]);
        if (files === sequence) assert.equal(shown.frames, 4);
        assert.equal(await page.evaluate(() => window.pelt.viewer.subject.model.triangles.length / 3), shown.triangleCount, files[0]);
    }
    assert.deepEqual(page.complaints, []);
    await page.close();
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
    cancel,
    "out of memory": memory,
    heap,
    "random actions": random,
    layout,
    formats,
    "embedded files": embedded,
});
