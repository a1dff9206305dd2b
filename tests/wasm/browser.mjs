// browser.mjs PACKAGE: the npm package in Chromium: as modules from a server, and in one page from disk, where a worker has neither
// files of its own nor shared memory. Results are those of node, to the byte.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { need, scratchFolder, skip } from "../node/support.mjs";

const folder = path.resolve(process.argv[2]);
const chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((file) => existsSync(file));
if (!chromium) skip("Chromium is not installed (scripts/setup installs it)");
const playwright = await need("playwright-core");
const { Engine } = await import(pathToFileURL(path.join(folder, "engine.js")).href);

const TYPES = { ".js": "text/javascript", ".wasm": "application/wasm", ".html": "text/html" };
const server = createServer((request, reply) => {
    const file = path.join(folder, path.normalize(new URL(request.url, "http://localhost").pathname));
    if (request.url === "/") return reply.setHeader("content-type", "text/html").end(`<!doctype html><title>Pelt</title><link rel="icon" href="data:,">`);
    if (!existsSync(file)) return reply.writeHead(404).end();
    reply.setHeader("content-type", TYPES[path.extname(file)] ?? "application/octet-stream").end(readFileSync(file));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const address = `http://127.0.0.1:${server.address().port}`;

/** What a page does with `pelt`, in the page. */
async function use() {
    const pelt = await window.startPelt();
    const digest = async (data) =>
        [...new Uint8Array(await crypto.subtle.digest("SHA-256", data))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const cloth = await pelt.scene("cloth", { vertices: 400, frames: 12 });
    let [progress, iterations] = [0, 0];
    // A signal that nothing aborts must not cancel, wherever the page comes from.
    const { signal } = new AbortController();
    const report = await cloth.decompose({ bones: 6, signal, progress: () => progress++, iteration: () => iterations++ });
    const [file] = await cloth.save("cloth.glb");
    const again = await pelt.load(new File([file.data], "cloth.glb"));
    const info = await again.info();
    // Cancel in the middle of a long call: the page goes on, the model is as it was.
    const long = await pelt.scene("cloth", { vertices: 6000, frames: 80 });
    const stop = new AbortController();
    let frames = 0;
    const count = () => ++frames && requestAnimationFrame(count);
    requestAnimationFrame(count);
    const failed = long
        .decompose({ bones: 80, effort: "best", signal: stop.signal, iteration: () => stop.abort() })
        .then(() => null, ({ code, message }) => ({ code, message }));
    const cancelled = await failed;
    const after = await long.info();
    const creature = await pelt.scene("creature", { vertices: 1500 });
    const binding = await creature.binding({ resolution: 48 });
    await binding.apply({ falloff: 0.4 });
    const weights = await digest((await creature.skin()).weights);
    const jiggle = await creature.jiggle({ particles: 300 });
    let shape;
    for (let k = 0; k < 10; k++) shape = await jiggle.advance({ pose: { motion: 0, time: k / 30 }, seconds: 1 / 30 });
    const bad = await pelt.load({ name: "bad.obj", data: new TextEncoder().encode("v 1 2\n") }).catch(({ code, message }) => ({ code, message }));
    for (const handle of [cloth, again, long, creature, binding, jiggle]) handle.free();
    const { current } = await pelt.memoryInfo();
    pelt.terminate();
    return {
        file: await digest(file.data), weights, shape: await digest(shape.positions), motions: info.motions.length, progress, iterations,
        count: report.iterationCount, cancelled, boneCount: after.boneCount, frames, bad, current,
    };
}

/** The same on this thread. */
async function expected() {
    const engine = await Engine.start(new WebAssembly.Module(readFileSync(path.join(folder, "pelt.wasm"))));
    const digest = (data) => createHash("sha256").update(data).digest("hex");
    const cloth = engine.scene("cloth", { vertices: 400, frames: 12 });
    cloth.decompose({ bones: 6 });
    const creature = engine.scene("creature", { vertices: 1500 });
    creature.binding({ resolution: 48 }).apply({ falloff: 0.4 });
    const jiggle = creature.jiggle({ particles: 300 });
    let shape;
    for (let k = 0; k < 10; k++) shape = jiggle.advance({ pose: { motion: 0, time: k / 30 }, seconds: 1 / 30 });
    const { buffer, byteOffset, byteLength } = creature.skin().weights;
    return {
        file: digest(cloth.save("cloth.glb")[0].data),
        weights: digest(new Uint8Array(buffer, byteOffset, byteLength)),
        shape: digest(new Uint8Array(shape.positions.buffer)),
    };
}

const wanted = await expected();
function check(got) {
    const { file, weights, shape } = got;
    assert.deepEqual({ file, weights, shape }, wanted);
    assert.equal(got.motions, 1);
    assert.ok(got.progress > 0 && got.iterations === got.count);
    assert.deepEqual(got.cancelled, { code: "cancelled", message: "cancelled" });
    assert.equal(got.boneCount, 0);
    assert.ok(got.frames > 2, "the page must go on while the worker works");
    assert.equal(got.bad.code, "input");
    assert.match(got.bad.message, /^bad\.obj: line 1: /);
    assert.equal(got.current, 0);
}

const browser = await playwright.chromium.launch({ executablePath: chromium, args: ["--no-sandbox"] });
/** Opens a page on which nothing may complain; `lines` gathers what does. */
async function open(url) {
    const page = await browser.newPage();
    page.lines = [];
    // A cancelled call asks for a blob that is gone.
    page.on("console", (message) => !/blob:.*ERR_FILE_NOT_FOUND|ERR_FILE_NOT_FOUND/.test(message.text()) && page.lines.push(message.text()));
    page.on("pageerror", (error) => page.lines.push(error.message));
    await page.goto(url);
    return page;
}
try {
    const served = await open(address);
    await served.evaluate(async (address) => {
        const { Pelt } = await import(`${address}/pelt.js`);
        window.startPelt = () => Pelt.start();
    }, address);
    check(await served.evaluate(use));
    assert.deepEqual(served.lines, []);

    const read = (name) => readFileSync(path.join(folder, name));
    const inline = `<!doctype html><script type="module">
${read("pelt.js").toString().replace(/export\{[^}]*\bas Pelt\b[^}]*\};?\s*$/, (names) => `window.Pelt=${names.match(/(\w+) as Pelt\b/)[1]};`)}
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const source = new TextDecoder().decode(bytes("${read("worker.js").toString("base64")}"));
const wasm = bytes("${read("pelt.wasm").toString("base64")}");
window.startPelt = () => window.Pelt.start({ wasm, worker: { source } });
</script>`;
    const file = path.join(scratchFolder(), "pelt.html");
    writeFileSync(file, inline);
    const local = await open(pathToFileURL(file).href);
    await local.waitForFunction(() => window.startPelt);
    check(await local.evaluate(use));
    assert.deepEqual(local.lines, []);
} finally {
    await browser.close();
    server.close();
}
