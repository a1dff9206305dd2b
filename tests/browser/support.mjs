// What the browser tests share: a Chromium, pages that must stay silent, and scenes made into pages.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import * as node from "../node/support.mjs";

export const [pelt, sceneMaker, poseTool] = process.argv.slice(2);
export const folder = node.scratchFolder();
const place = (name) => path.join(folder, name);
/** An arm whose elbow and hand drive morphs. */
export const drivers = path.join(node.root, "fuzz/corpus/gltf/drivers.gltf");

const chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((file) => existsSync(file));
if (!chromium) node.skip("Chromium is not installed (scripts/setup installs it)");
const playwright = await node.need("playwright-core");

/** A browser for the time of the test. */
export async function launch() {
    const args = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
    return playwright.chromium.launch({ executablePath: chromium, args });
}

/** Opens a page from disk and waits until its model is there. `complaints` gathers what must not happen: errors,
 * warnings on the console, requests for anything but the page itself. */
export async function open(browser, file, { hash = "", width = 1000, height = 700, dark = true } = {}) {
    const page = await browser.newPage({
        viewport: { width, height },
        colorScheme: dark ? "dark" : "light",
        acceptDownloads: true,
    });
    const url = pathToFileURL(file).href;
    const complaints = [];
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on(
        "request",
        (request) =>
            !request.url().startsWith(url) &&
            !/^(blob|data):/.test(request.url()) &&
            complaints.push(`asked for ${request.url()}`),
    );
    await page.goto(url + hash);
    await page.evaluate(() => window.pelt.ready);
    page.complaints = complaints;
    return page;
}

/** Two pictures later everything that was asked for is drawn. */
export function settle(page) {
    return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

export function state(page) {
    return page.evaluate(() => window.pelt.viewer.store.state);
}

/** Rotates joints of the page, {name: [x, y, z] in degrees}, in the rest pose. */
export function turnJoints(page, joints) {
    return page.evaluate((joints) => {
        const { viewer } = window.pelt;
        const { model, poser, animations } = viewer.subject;
        viewer.store.set({ animation: animations.length - 1, frame: 0, playing: false });
        for (const { name, node } of model.joints) if (joints[name]) poser.setAngles(node, joints[name]);
        viewer.showFrame();
    }, joints);
}

/** A scene as GLB. */
export function scene(name, ...options) {
    const file = place(`${name}.glb`);
    node.run(sceneMaker, [name, "-o", file, ...options]);
    return file;
}

export function makePage(name, ...args) {
    const file = place(name);
    node.run(pelt, ["view", "-q", ...args, "-o", file]);
    return file;
}

/** Simulated cloth, decomposed with up to six influences: files, figures, and the page that shows result and source. */
export function decomposedCloth() {
    const [mesh, cache, rig, json] = ["cloth.obj", "cloth.pc2", "cloth.glb", "cloth.json"].map(place);
    node.run(sceneMaker, ["cloth", "-o", mesh]);
    node.run(pelt, ["decompose", "-q", mesh, cache, "-o", rig, "--bones", "12", "--influences", "6", "--json", json]);
    return { mesh, cache, rig, json, page: makePage("cloth.html", rig, "--source", mesh, "--source", cache) };
}

/** Positions by the library: [motion, time] each, behind the rest pose. */
export function libraryPoses(file, moments) {
    const bytes = node.run(poseTool, [file, ...moments.flatMap(([motion, time]) => [`${motion}`, `${time}`])]);
    const count = bytes.readUInt32LE(0);
    const floats = new Float32Array(bytes.buffer.slice(bytes.byteOffset + 4, bytes.byteOffset + bytes.length));
    return [...Array(moments.length + 1).keys()].map((k) => floats.subarray(k * count * 3, (k + 1) * count * 3));
}

/** Calls a function of the page that gives floats. */
export async function floats(page, run, argument) {
    return Float32Array.from(await page.evaluate(`Array.from((${run})(${JSON.stringify(argument)}))`));
}

/** The largest distance of two vertices with the same number, as a fraction of the size of `a`. */
export function difference(a, b) {
    assert.equal(a.length, b.length, "other vertices");
    const [low, high] = [
        [Infinity, Infinity, Infinity],
        [-Infinity, -Infinity, -Infinity],
    ];
    let largest = 0;
    for (let i = 0; i < a.length; i += 3) {
        for (let c = 0; c < 3; c++) {
            low[c] = Math.min(low[c], a[i + c]);
            high[c] = Math.max(high[c], a[i + c]);
        }
        const distance = Math.hypot(a[i] - b[i], a[i + 1] - b[i + 1], a[i + 2] - b[i + 2]);
        if (Number.isNaN(distance)) return NaN;
        largest = Math.max(largest, distance);
    }
    return largest / Math.hypot(...high.map((x, c) => x - low[c]));
}

/** Runs named checks one after another; ends the process. */
export async function checks(browser, list) {
    let failed = 0;
    for (const [name, run] of Object.entries(list)) {
        const start = Date.now();
        try {
            await run();
            console.log(`ok      ${name} (${Date.now() - start} ms)`);
        } catch (error) {
            failed++;
            console.log(`FAILED  ${name}: ${error.stack ?? error}`);
        }
    }
    await browser.close();
    process.exit(failed > 0 ? 1 : 0);
}
