// bench_page.mjs BIN: how long a page of 42,000 vertices, 48 frames and their source takes to open, with WebGL in
// software.
import { chromium } from "playwright-core";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [bin] = process.argv.slice(2);
const folder = mkdtempSync(path.join(tmpdir(), "pelt-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

function run(program, ...args) {
    const { status, stderr } = spawnSync(path.resolve(bin, program), args, { cwd: folder });
    if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${stderr}`);
}

run("pelt-scenes", "creature", "-o", "creature.glb", "--vertices", "42000");
run("pelt", "bake", "-q", "creature.glb", "-o", "walk.pc2", "--mesh", "walk.obj", "--fps", "24");
run(
    "pelt",
    "decompose",
    "-q",
    "walk.obj",
    "walk.pc2",
    "-o",
    "walk.glb",
    "--bones",
    "40",
    "--iterations",
    "4",
    "--report",
    "walk.html",
);

const args = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args });
const seconds = [];
let counts;
for (let n = 0; n < 5; n++) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const start = performance.now();
    await page.goto(pathToFileURL(path.join(folder, "walk.html")).href);
    await page.evaluate(() =>
        window.pelt.ready.then(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))),
    );
    seconds.push((performance.now() - start) / 1000);
    counts = await page.evaluate(() => [
        window.pelt.viewer.subject.model.vertexCount,
        window.pelt.viewer.animation.times.length,
    ]);
    await page.close();
}
await browser.close();
seconds.sort((a, b) => a - b);
const [fastest, , median, , slowest] = seconds.map((time) => time.toFixed(2));
const size = (statSync(path.join(folder, "walk.html")).size / 1e6).toFixed(1);
console.log(`${counts[0]} vertices, ${counts[1]} frames, ${size} MB: opened and drawn in ${median} s`);
console.log(`(median of 5, ${fastest} to ${slowest})`);
