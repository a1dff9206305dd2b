// bench_wasm.mjs BIN [PACKAGE]: the npm package in Chromium against the native program with one thread, in one run. CPU seconds of whole
// commands: reading, working, writing, and for decompose reading again and comparing. The browser's are those of the page's process, with
// compilation and messages; "first" is the first use after a page was opened, "again" the uses after it. "Waited" has of the first use only the
// threads of the page and the worker: others compile meanwhile. All are the least of three pages, which take turns with the native program. Frames are poses sent to the worker one at a time, each with its vertices
// sent back; medians of five.
import { chromium } from "playwright-core";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const bin = path.resolve(process.argv[2]);
const packed = path.resolve(process.argv[3] ?? path.join(bin, "../../wasm/wasm/package"));
const data = process.env.PELT_DATA ?? fileURLToPath(new URL("../../shared/data", import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), "pelt-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** CPU seconds of a program. */
function native(program, ...args) {
    const command = [path.join(bin, program), ...args].map((arg) => `'${arg}'`).join(" ");
    const { status, stderr } = spawnSync("bash", ["-c", `TIMEFORMAT='%U %S'; time ${command} >/dev/null`], { cwd: folder });
    if (status !== 0) throw new Error(`${command}: ${stderr}`);
    const [user, system] = stderr.toString().trim().split("\n").at(-1).split(" ").map(Number);
    return user + system;
}

// ---- Browser ----

const TYPES = { ".js": "text/javascript", ".wasm": "application/wasm" };
const places = { "/horse-gallop.obj": path.join(data, "bench"), "/horse-gallop.pc2": path.join(data, "bench"), "/character.glb": folder };
const server = createServer((request, reply) => {
    if (request.url === "/") return reply.setHeader("content-type", "text/html").end(`<!doctype html><link rel="icon" href="data:,">`);
    const file = path.join(places[request.url] ?? packed, path.basename(request.url));
    reply.setHeader("content-type", TYPES[path.extname(file)] ?? "application/octet-stream").end(readFileSync(file));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const system = await browser.newBrowserCDPSession();

async function openPage() {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.evaluate(async () => {
        const { Pelt } = await import("/pelt.js");
        window.pelt = await Pelt.start();
        window.file = async (name) => ({ name, data: await (await fetch(`/${name}`)).arrayBuffer() });
    });
    return page;
}

/** CPU seconds of all renderers, of which one works, and of their pages and workers alone. */
async function cpu() {
    const { processInfo } = await system.send("SystemInfo.getProcessInfo");
    const sum = { all: 0, waited: 0 };
    for (const { id, cpuTime } of processInfo.filter(({ type }) => type === "renderer")) {
        sum.all += cpuTime;
        for (const thread of readdirSync(`/proc/${id}/task`)) {
            const read = (name) => readFileSync(`/proc/${id}/task/${thread}/${name}`, "utf8");
            if (/^(chromium|DedicatedWorker)/.test(read("comm"))) sum.waited += parseInt(read("schedstat")) / 1e9;
        }
    }
    return sum;
}

/** CPU seconds and result of a function in the page. */
async function inPage(page, run, argument) {
    const before = await cpu();
    const result = await page.evaluate(run, argument);
    const after = await cpu();
    return { seconds: after.all - before.all, waited: after.waited - before.waited, result };
}

// ---- Commands ----

async function decompose() {
    const { pelt, file } = window;
    const model = await pelt.load([await file("horse-gallop.obj"), await file("horse-gallop.pc2")]);
    await model.decompose({ bones: 30 });
    const files = await model.save("horse.glb", { skipClips: true });
    (await pelt.load(files)).free();
    await model.compare();
    model.free();
}

async function bind() {
    const { pelt, file } = window;
    const model = await pelt.load(await file("character.glb"));
    await model.bind({ resolution: 128 });
    await model.save("bound.glb");
    model.free();
}

const commands = [];
native("pelt-scenes", "production", "--vertices", "10000", "-o", "character.glb");
if (existsSync(path.join(data, "bench/horse-gallop.obj"))) {
    const horse = ["horse-gallop.obj", "horse-gallop.pc2"].map((name) => path.join(data, "bench", name));
    commands.push(["decompose, horse, 30 bones", decompose, ["decompose", ...horse, "--bones", "30", "-o", "horse.glb"]]);
}
commands.push(["bind, 10,000 vertices, resolution 128", bind, ["bind", "character.glb", "--resolution", "128", "-o", "bound.glb"]]);

console.log("| command | native, s | first, s | waited, s | again, s | first / native | waited / native | again / native |\n|---|---|---|---|---|---|---|---|");
for (const [name, run, args] of commands) {
    const [here, first, waited, again] = [[], [], [], []];
    for (let n = 0; n < 3; n++) {
        here.push(native("pelt", ...args, "--threads", "1", "-q"));
        const page = await openPage();
        const use = await inPage(page, run);
        first.push(use.seconds);
        waited.push(use.waited);
        for (let k = 0; k < 2; k++) again.push((await inPage(page, run)).seconds);
        await page.close();
    }
    const [own, ...browsers] = [here, first, waited, again].map((times) => Math.min(...times));
    const row = [name, ...[own, ...browsers].map((value) => value.toFixed(2)), ...browsers.map((value) => (value / own).toFixed(1))];
    console.log(`| ${row.join(" | ")} |`);
}

// ---- Soft tissue: the sizes of bench_jiggle ----

async function simulate({ particles, frames, inside }) {
    const { pelt } = window;
    window.model ??= await pelt.scene("production", { vertices: 28059, frames: 60, seed: 1 });
    const jiggle = await window.model.jiggle({ particles, substep: 0.016 });
    const { particleCount } = await jiggle.report();
    let into;
    const advance = async (k) => {
        const pose = { motion: 0, time: (k * 0.016) % 1 };
        into = (await jiggle.advance({ pose, seconds: 0.016, into })).positions;
    };
    for (let k = 0; k < 100; k++) await advance(k);
    if (inside) for (let k = 0; k < frames; k++) await advance(k);
    jiggle.free();
    return { particleCount, vertexCount: (await window.model.info()).vertexCount };
}

const FRAMES = 600;
const { stdout } = spawnSync(path.join(bin, "bench_jiggle"), ["9"]);
const rows = stdout.toString().split("\n").filter((line) => /^\| \d+ \(\d+\) /.test(line));
const page = await openPage();
console.log("\n| particles | vertices | native, frames/s | Chromium, frames/s | ratio |\n|---|---|---|---|---|");
for (const particles of [1072, 1906, 2451, 3058]) {
    const cells = rows.find((line) => line.includes(`(${particles})`)).split("|").map((cell) => cell.trim());
    const runs = [];
    const { result: counts } = await inPage(page, simulate, { particles, frames: FRAMES, inside: true });
    for (let n = 0; n < 5; n++) {
        const without = await inPage(page, simulate, { particles, frames: FRAMES, inside: false });
        const whole = await inPage(page, simulate, { particles, frames: FRAMES, inside: true });
        runs.push(FRAMES / (whole.seconds - without.seconds));
    }
    const [own, median] = [Number(cells[10]), runs.sort((a, b) => a - b)[2]];
    console.log(`| ${counts.particleCount} | ${counts.vertexCount} | ${own} | ${median.toFixed(0)} | ${(own / median).toFixed(1)} |`);
}

const size = readFileSync(path.join(packed, "pelt.wasm"));
console.log(`\npelt.wasm: ${(size.length / 1e6).toFixed(2)} MB, ${(gzipSync(size, { level: 9 }).length / 1e6).toFixed(2)} MB compressed`);
await browser.close();
server.close();
