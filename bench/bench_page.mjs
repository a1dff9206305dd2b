// bench_page.mjs BIN: WebGL in software. How long a page of 42,000 vertices, 48 frames and their source takes to open; and
// the CPU time of a pose of a rig with EigenSkin corrections, when the GPU adds them and when the CPU does.
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

const args = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args });

async function open(file) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(pathToFileURL(path.join(folder, file)).href);
    await page.evaluate(() =>
        window.pelt.ready.then(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))),
    );
    return page;
}

/** Smallest, median and largest of an odd number of values. */
function spread(values, digits) {
    const sorted = values.toSorted((a, b) => a - b).map((value) => value.toFixed(digits));
    return { fastest: sorted[0], median: sorted[sorted.length >> 1], slowest: sorted.at(-1) };
}

async function opening() {
    run("pelt-scenes", "creature", "-o", "creature.glb", "--vertices", "42000");
    run("pelt", "bake", "-q", "creature.glb", "-o", "walk.pc2", "--mesh", "walk.obj", "--fps", "24");
    const decompose = ["decompose", "-q", "walk.obj", "walk.pc2", "-o", "walk.glb", "--bones", "40"];
    run("pelt", ...decompose, "--iterations", "4", "--report", "walk.html");
    const seconds = [];
    let counts;
    for (let n = 0; n < 5; n++) {
        const start = performance.now();
        const page = await open("walk.html");
        seconds.push((performance.now() - start) / 1000);
        counts = await page.evaluate(() => [
            window.pelt.viewer.subject.model.vertexCount,
            window.pelt.viewer.animation.times.length,
        ]);
        await page.close();
    }
    const { fastest, median, slowest } = spread(seconds, 2);
    const size = (statSync(path.join(folder, "walk.html")).size / 1e6).toFixed(1);
    console.log(`${counts[0]} vertices, ${counts[1]} frames, ${size} MB: opened and drawn in ${median} s`);
    console.log(`(median of 5, ${fastest} to ${slowest})`);
}

/** Poses by turned joints: mixer, drivers, bone matrices and what goes to the GPU, without drawing. */
async function posing() {
    run("pelt-scenes", "creature", "-o", "fine.glb", "--vertices", "13380");
    run("pelt", "jiggle", "-q", "fine.glb", "-o", "soft.pc2", "--delta", "0");
    run("pelt", "correct", "-q", "fine.glb", "soft.pc2", "--driver", "pose", "--normals", "-o", "rig.glb");
    run("pelt", "view", "-q", "rig.glb", "-o", "rig.html");
    const page = await open("rig.html");
    const { vertices, targets, times } = await page.evaluate(() => {
        const { viewer } = window.pelt;
        const { model, poser } = viewer.subject;
        viewer.store.set({ playing: false });
        const rounds = [];
        const pose = (n) => {
            model.joints.forEach(({ node }, j) => poser.setAngles(node, [5 * Math.sin(n + j), 0, 0]));
            const start = performance.now();
            viewer.showFrame();
            return performance.now() - start;
        };
        for (const mode of ["shaded", "displacement"]) {
            viewer.setMode(mode);
            for (let n = 0; n < 20; n++) pose(n);
            rounds.push(Array.from({ length: 101 }, (_, n) => pose(n)));
        }
        return { vertices: model.vertexCount, targets: poser.table.weights.length, times: rounds };
    });
    await page.close();
    console.log(`${vertices} vertices, ${targets} targets, CPU time of a pose (median of 101, fastest to slowest):`);
    ["by the GPU", "on the CPU too, with colours of displacements"].forEach((name, n) => {
        const { fastest, median, slowest } = spread(times[n], 2);
        console.log(`${name}: ${median} ms (${fastest} to ${slowest})`);
    });
}

await opening();
await posing();
await browser.close();
