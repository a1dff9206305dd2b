// The live panels of the studio: Bind weighs while settings and paint change, Jiggle simulates, is grabbed, painted and baked. What is shown is
// read back from the page, what is exported by three and the program. Skipped where the page is not built (make studio).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import * as node from "../node/support.mjs";
import * as support from "./support.mjs";

const file = process.env.PELT_STUDIO ?? path.join(node.root, "build/studio/studio.html");
if (!existsSync(file)) node.skip(`${path.relative(process.cwd(), file)} is not built (make studio)`);

const place = (name) => path.join(support.folder, name);
const creature = support.scene("creature", "--vertices", "2000");
const troll = support.scene("troll", "--vertices", "2000");
const browser = await support.launch();
const page = await support.open(browser, file, { width: 900, height: 600 });

// ---- What a person does ----

async function openFile(name) {
    await page.setInputFiles("#file", [name]);
    await page.waitForFunction((title) => window.pelt.studio.hasModel && !window.pelt.studio.busy && window.pelt.studio.state.steps[0].files.includes(title), path.basename(name));
    await page.evaluate(() => window.pelt.studio.settled);
    await page.evaluate(() => window.pelt.viewer.store.set({ playing: false, frame: 0 }));
}

const idle = () => page.waitForFunction(() => !window.pelt.studio.busy && !window.pelt.studio.panel.weighing && !window.pelt.studio.panel.settling);

/** Waits until the voxels of the page are those of its settings. */
async function solved() {
    await page.waitForFunction(() => JSON.stringify(window.pelt.studio.panel.solving(window.pelt.studio.settings())) === window.pelt.studio.panel.live?.solved);
    await idle();
}

async function set(panel, key, value) {
    await page.evaluate(([key, value]) => window.pelt.studio.set(window.pelt.studio.panel, key, value), [key, value ?? undefined]);
    await idle();
    // Weights are computed by promises that follow each other.
    await page.waitForFunction(() => !window.pelt.studio.panel.weighing);
}

async function run(panel) {
    await page.click(`#run-${panel}`);
    await idle();
    await page.evaluate(() => window.pelt.studio.settled);
}

/** Weights of the page, [vertex] by bone. */
const weights = () =>
    page.evaluate(() => {
        const { influences, boneIndices, weights, vertexCount } = window.pelt.viewer.subject.model;
        return Array.from({ length: vertexCount }, (_, i) => {
            const row = {};
            for (let k = i * influences; k < (i + 1) * influences; k++) if (weights[k] > 0) row[boneIndices[k]] = (row[boneIndices[k]] ?? 0) + weights[k];
            return row;
        });
    });
/** Vertices with other weights; files and pages make sums 1 in their last bits. */
const different = (a, b) =>
    [...a.keys()].filter((i) => [...new Set([...Object.keys(a[i]), ...Object.keys(b[i])])].some((bone) => Math.abs((a[i][bone] ?? 0) - (b[i][bone] ?? 0)) > 1e-6));
const same = (a, b) => assert.deepEqual(different(a, b), []);

/** A place of the window where the model is, near a share of its picture. */
const spot = () =>
    page.evaluate(() => {
        const { viewer } = window.pelt;
        const { left, top, width, height } = document.getElementById("canvas").getBoundingClientRect();
        for (let ring = 0; ring < 40; ring++)
            for (let n = 0; n < 8; n++) {
                const [x, y] = [left + width / 2 + ring * 4 * Math.cos(n), top + height / 2 + ring * 4 * Math.sin(n)];
                const vertex = viewer.vertexAt(x, y);
                if (vertex >= 0) return { x, y, vertex };
            }
        return undefined;
    });

async function exportAs(ending) {
    await page.selectOption("#export-format", ending);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#export")]);
    const to = place(`live-${download.suggestedFilename()}`);
    await download.saveAs(to);
    return to;
}

async function downloaded(button) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
    const to = place(download.suggestedFilename());
    await download.saveAs(to);
    return to;
}

/** Runs the last command line of the page in the folder of the test; what it wrote. */
async function runCommand(output) {
    const [line] = (await page.textContent("#command")).trim().split("\n").slice(-1);
    assert.match(line, /^pelt /);
    execFileSync("sh", ["-c", line.replace(/^pelt /, '"$PELT" ').replace(/-o \S+/, `-o ${output}`) + " -q --threads 1"], {
        cwd: support.folder,
        env: { ...process.env, PELT: support.pelt },
    });
    return place(output);
}

const info = (name) => JSON.parse(node.run(support.pelt, ["info", "--json", "-", name]).toString()).inputs[0];
const positions = () => page.evaluate(() => Array.from(window.pelt.viewer.positions));
const distance = (a, b, i) => Math.hypot(a[3 * i] - b[3 * i], a[3 * i + 1] - b[3 * i + 1], a[3 * i + 2] - b[3 * i + 2]);

// ---- Checks ----

let bound;

await support.checks(browser, {
    "bind weighs again at once, and undo takes it back": async () => {
        await openFile(creature);
        await page.click("#verb-bind");
        await page.evaluate(() => window.pelt.studio.set(window.pelt.studio.panel, "resolution", 48));
        await run("bind");
        assert.equal(await page.evaluate(() => window.pelt.studio.step.verb), "bind");
        bound = await weights();
        await set("bind", "falloff", 0.2);
        const soft = await weights();
        assert.ok(different(bound, soft).length > 200, "the falloff changes weights");
        await set("bind", "influences", 1);
        assert.ok((await weights()).every((row) => Object.keys(row).length === 1));
        await page.click("#undo");
        await idle();
        same(await weights(), soft);
        await page.click("#undo");
        await idle();
        same(await weights(), bound);
        await page.click("#redo");
        await idle();
        same(await weights(), soft);
    },
    "what is shown is what is exported and what the command line writes": async () => {
        const exported = await exportAs("glb");
        const written = await runCommand("command.glb");
        assert.ok(readFileSync(exported).equals(readFileSync(written)), "the command line writes other bytes");
        assert.ok(info(exported).bones > 0);
        await page.evaluate(() => window.pelt.viewer.store.set({ frame: 5 }));
        const [motion, time] = await page.evaluate(() => {
            const { motion, time } = window.pelt.viewer.subject.moment(window.pelt.viewer.animation, 5);
            return [motion, time];
        });
        const [, posed] = support.libraryPoses(exported, [[motion, time]]);
        assert.ok(support.difference(posed, Float32Array.from(await positions())) < 1e-5);
        const { positions: drawn } = await page.evaluate(() => ({ positions: Array.from(window.pelt.drawn().positions) }));
        assert.ok(support.difference(posed, Float32Array.from(drawn)) < 1e-4, "the GPU has the weights too");
    },
    "a stroke changes weights near it only": async () => {
        await page.evaluate(() => window.pelt.viewer.store.set({ frame: 0, playing: false }));
        const before = await weights();
        await page.click("#bind-brush");
        await page.fill("#bind-radius", "0.06");
        const { x, y, vertex } = await spot();
        await page.mouse.move(x, y);
        await page.mouse.down();
        await page.mouse.up();
        await idle();
        const painted = await page.evaluate(() => Array.from(window.pelt.studio.state.marks.bind.falloff, (value, i) => (Number.isNaN(value) ? -1 : i)).filter((i) => i >= 0));
        assert.ok(painted.includes(vertex) && painted.length < before.length / 2);
        const changed = different(before, await weights());
        assert.ok(changed.length > 0, "the stroke changes weights");
        const reach = await page.evaluate(() => window.pelt.studio.panel.painter.units);
        const now = await positions();
        for (const i of changed) {
            const near = Math.min(...painted.map((p) => Math.hypot(now[3 * i] - now[3 * p], now[3 * i + 1] - now[3 * p + 1], now[3 * i + 2] - now[3 * p + 2])));
            assert.ok(near < 0.2 * reach, `vertex ${i} is ${near} from the stroke`);
        }
        const colors = await page.evaluate((i) => Array.from(window.pelt.viewer.colors.array.slice(3 * i, 3 * i + 3)), vertex);
        assert.equal(await page.evaluate(() => window.pelt.viewer.store.state.mode), "values");
        assert.ok(colors.every(Number.isFinite));
        // The program takes what was painted.
        await page.evaluate(() => window.pelt.studio.work("settle", async () => true));
        await downloaded("#bind-save-map");
        const [exported, written] = [await exportAs("glb"), await runCommand("painted.glb")];
        assert.match(await page.textContent("#command"), /--falloff-map creature-falloff\.txt/);
        assert.ok(readFileSync(exported).equals(readFileSync(written)), "painted, the command line writes other bytes");
        await page.click("#undo");
        await idle();
        same(await weights(), before);
        await page.click("#bind-brush");
    },
    "paint without a pointer, settings files": async () => {
        await page.click("#bind-fill-joint");
        await idle();
        const painted = await page.evaluate(() => window.pelt.studio.state.marks.bind.falloff.filter((value) => !Number.isNaN(value)).length);
        assert.ok(painted > 10);
        const saved = await downloaded("#save-settings");
        const { verb, settings, painted: maps } = JSON.parse(readFileSync(saved, "utf8"));
        assert.equal(verb, "bind");
        assert.equal(settings.falloff, 0.2);
        const filled = await weights();
        await page.click("#bind-clear");
        await idle();
        assert.ok(different(filled, await weights()).length > 0);
        await page.setInputFiles("#settings-file", [saved]);
        await page.waitForFunction(() => window.pelt.studio.state.marks.bind?.falloff);
        await idle();
        same(await weights(), filled);
        assert.ok(maps.falloff.length < 20000);
        await page.click("#bind-clear");
        await idle();
    },
    "distances, sections, voxels and excluded joints": async () => {
        await page.click("#bind-distance");
        await page.waitForFunction(() => window.pelt.viewer.subject.values?.title.startsWith("Distance"));
        const { data, high } = await page.evaluate(() => ({ ...window.pelt.viewer.subject.values, data: Array.from(window.pelt.viewer.subject.values.data) }));
        assert.ok(Math.min(...data) < 0.2 * high && Math.max(...data) <= high * 1.0001);
        await page.click("#bind-section");
        await page.waitForFunction(() => window.pelt.studio.panel.section.mesh);
        await page.click("#bind-section");
        assert.ok(await page.evaluate(() => !window.pelt.studio.panel.section.mesh));
        await page.click("#bind-voxels");
        await page.waitForFunction(() => window.pelt.viewer.store.state.voxels);
        await page.click("#bind-voxels");
        await page.waitForFunction(() => !window.pelt.viewer.store.state.voxels);
        await page.click("#bind-distance");
        const joint = await page.evaluate(() => window.pelt.viewer.store.state.joint);
        const share = () => page.evaluate((joint) => {
            const { model } = window.pelt.viewer.subject;
            return model.weights.reduce((sum, weight, n) => sum + (model.bones[model.boneIndices[n]].joint === joint ? weight : 0), 0);
        }, joint);
        assert.ok((await share()) > 1);
        await page.click("#bind-exclude");
        await solved();
        assert.equal(await share(), 0);
        await page.click("#undo");
        await solved();
        assert.ok((await share()) > 1);
    },
    "ten binds leave the heap as it was": async () => {
        const sizes = [];
        for (let n = 0; n < 10; n++) {
            await page.evaluate((n) => window.pelt.studio.set(window.pelt.studio.panel, "resolution", 40 + (n % 2)), n);
            await run("bind");
            await set("bind", "falloff", n % 2 ? 0.3 : 0.6);
            await solved();
            sizes.push((await page.evaluate(() => window.pelt.studio.pelt.memoryInfo())).current);
        }
        // Undo keeps six results at most: from there on nothing grows.
        assert.ok(sizes[9] < 1.1 * sizes[7], sizes.join(" "));
    },
    "tissue swings after a jolt and comes to rest": async () => {
        await openFile(troll);
        await page.click("#verb-jiggle");
        await page.waitForFunction(() => window.pelt.studio.panel.live);
        await page.evaluate(() => window.pelt.viewer.store.set({ playing: false, frame: 0 }));
        await page.waitForFunction(() => window.pelt.studio.panel.still > 3);
        const rest = await positions();
        await page.click("#jiggle-jolt");
        await page.waitForFunction((x) => Math.abs(window.pelt.viewer.positions[0] - x) > 1e-3, rest[0]);
        await page.waitForFunction(() => window.pelt.studio.panel.still > 5, undefined, { timeout: 60000 });
        const after = await positions();
        assert.ok(support.difference(Float32Array.from(rest), Float32Array.from(after)) < 1e-3);
    },
    "a grabbed vertex follows the pointer, others stay": async () => {
        const rest = await positions();
        const { x, y, vertex } = await spot();
        await page.mouse.move(x, y);
        await page.mouse.down();
        await page.mouse.move(x + 40, y, { steps: 4 });
        await page.waitForFunction(([vertex, from, to]) => Math.hypot(window.pelt.viewer.positions[3 * vertex] - from[0], window.pelt.viewer.positions[3 * vertex + 2] - from[2]) > to, [vertex, rest.slice(3 * vertex, 3 * vertex + 3), 0.002]);
        const now = await positions();
        const moved = rest.filter((_, n) => n % 3 === 0).map((_, i) => distance(rest, now, i));
        const most = Math.max(...moved);
        assert.ok(moved[vertex] > 0.2 * most, `${moved[vertex]} of ${most}`);
        assert.ok(moved.filter((d) => d < 0.02 * most).length > moved.length / 4, "far tissue stays");
        await page.mouse.up();
        await page.waitForFunction(() => window.pelt.studio.panel.still > 5, undefined, { timeout: 60000 });
    },
    "a painted stroke changes the tissue under it in the next frame, nothing else": async () => {
        await page.click("#jiggle-brush");
        await page.selectOption("#jiggle-layer", "pin");
        await page.fill("#jiggle-radius", "0.06");
        await page.waitForFunction(() => window.pelt.viewer.subject.values?.title.startsWith("Pins"));
        const values = () => page.evaluate(async () => Array.from(await window.pelt.studio.panel.live.simulation.values("pin")));
        const before = await values();
        const { x, y, vertex } = await spot();
        await page.mouse.move(x, y);
        await page.mouse.down();
        await page.mouse.up();
        const after = await values(); // calls keep their order: the stroke was sent first
        assert.ok(after[vertex] > before[vertex] + 0.2);
        const [rest, size] = [await positions(), await page.evaluate(() => window.pelt.studio.panel.painter.units)];
        const cell = await page.evaluate(async () => (await window.pelt.studio.panel.live.simulation.report()).cell);
        let kept = 0;
        before.forEach((value, i) => {
            const far = Math.hypot(rest[3 * i] - rest[3 * vertex], rest[3 * i + 1] - rest[3 * vertex + 1], rest[3 * i + 2] - rest[3 * vertex + 2]);
            if (far < 1.2 * size + 4 * cell) return;
            kept++;
            assert.equal(after[i], value, `vertex ${i}, ${far} from the stroke`);
        });
        assert.ok(kept > 100);
        await page.click("#undo");
        await page.waitForFunction(() => !window.pelt.studio.state.marks.jiggle?.maps.pin);
        assert.deepEqual(await values(), before);
        await page.click("#redo");
        await page.click("#jiggle-brush");
    },
    "gravity and colliders; baked, exported, and the same by the command line": async () => {
        await page.fill("#jiggle-gravity", "1");
        await page.click("#jiggle-sphere");
        await page.waitForFunction(() => window.pelt.studio.panel.applied.colliders.length === 1);
        const [{ x, y }, from] = await page.evaluate(() => {
            const { viewer, studio } = window.pelt;
            const { left, top, width, height } = document.getElementById("canvas").getBoundingClientRect();
            const handle = studio.panel.handles.list.at(-1).place;
            const p = handle.clone().project(viewer.stage.camera);
            return [{ x: left + ((p.x + 1) * width) / 2, y: top + ((1 - p.y) * height) / 2 }, handle.toArray()];
        });
        await page.mouse.move(x, y);
        await page.mouse.down();
        await page.mouse.move(x + 30, y, { steps: 3 });
        await page.mouse.up();
        const { a } = await page.evaluate(() => window.pelt.studio.state.marks.jiggle.colliders[0]);
        assert.ok(Math.hypot(a[0] - from[0], a[1] - from[1], a[2] - from[2]) > 0.01);
        for (const [key, value] of Object.entries({ particles: 300, fps: 10, add: 4 })) await set("jiggle", key, value);
        await run("jiggle");
        assert.equal(await page.evaluate(() => window.pelt.studio.step.verb), "jiggle", await page.textContent("#message"));
        const line = await page.textContent("#command");
        assert.match(line, /--pin-map troll-pin\.txt.* --gravity=.* --collider sphere:/);
        const exported = await exportAs("glb");
        assert.ok(info(exported).bones > info(troll).bones);
        await downloaded("#jiggle-save-maps");
        const written = await runCommand("baked.glb");
        assert.equal(info(written).bones, info(exported).bones);
        // Numbers of the command line have seven digits: not the same bytes.
        const { error_rms } = JSON.parse(node.run(support.pelt, ["compare", "--json", "-", exported, written]).toString());
        assert.ok(error_rms < 0.5, `E_rms ${error_rms}`);
    },
    "nothing complained": async () => assert.deepEqual(page.complaints, []),
});
