// shows.mjs PELT PELT-SCENES TOOL_POSE: the page opens from disk in silence, is small, and its vertices are where the
// library has them: rigs, morphs, every kind of track, a decomposed cloth and its source.
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { makeFixture } from "../node/fixture.mjs";
import { makeGlb, run } from "../node/support.mjs";
import * as support from "./support.mjs";

const TOLERANCE = 1e-5; // of the size
const PROGRAM_BYTES = 1e6; // what a page may take beside its data

const browser = await support.launch();
const cloth = support.decomposedCloth();

/** Bytes of a page without those of its blocks. */
function programSize(file) {
    const blocks = [...readFileSync(file, "latin1").matchAll(/<script type="application\/[^>]*>([^<]*)<\/script>/g)];
    return statSync(file).size - blocks.reduce((sum, [, data]) => sum + data.length, 0);
}

/** Positions of a rig in frames of every animation of its page, against the library's. */
async function compareRig(rig, frameCount = 5) {
    const page = await support.open(browser, support.makePage(`${path.basename(rig)}.html`, rig));
    const animations = await page.evaluate(() =>
        window.pelt.viewer.subject.animations.map(({ motion, times }) => ({ motion, times })),
    );
    let worst = 0;
    assert.equal(animations.pop().motion, undefined, "the rest pose comes last");
    for (const [index, { motion, times }] of animations.entries()) {
        await page.evaluate((animation) => window.pelt.viewer.store.set({ animation, frame: 0 }), index);
        const frames = [...Array(frameCount).keys()].map((n) =>
            Math.round((n * (times.length - 1)) / (frameCount - 1)),
        );
        const poses = support
            .libraryPoses(
                rig,
                frames.map((frame) => [motion, times[frame]]),
            )
            .slice(1);
        for (const [n, frame] of frames.entries()) {
            const ours = await support.floats(page, "(frame) => window.pelt.positions(frame)", frame);
            await page.evaluate((frame) => window.pelt.viewer.store.set({ frame, playing: false }), frame);
            const drawn = await support.floats(page, "() => window.pelt.drawn().positions");
            const error = Math.max(support.difference(poses[n], ours), support.difference(poses[n], drawn));
            assert(error <= TOLERANCE, `frame ${frame} differs by ${error} of the size`);
            worst = Math.max(worst, error);
        }
    }
    assert.deepEqual(page.complaints, []);
    await page.close();
    return worst;
}

/** The positions of a frame of a PC2 file. */
function cacheFrame(file, frame) {
    const bytes = readFileSync(file);
    const points = bytes.readInt32LE(16);
    return Float32Array.from({ length: 3 * points }, (_, n) => bytes.readFloatLE(32 + 12 * points * frame + 4 * n));
}

await support.checks(browser, {
    "a difference is seen": () => {
        assert.equal(support.difference([0, 0, 0, 3, 4, 0], [0, 0, 0, 3, 4, 5]), 1);
        assert(Number.isNaN(support.difference([0, 0, 0, 1, 1, 1], [0, NaN, 0, 1, 1, 1])));
    },
    "opens in silence, framed and playing": async () => {
        const page = await support.open(browser, support.makePage("creature.html", support.scene("creature")));
        const first = (await support.state(page)).frame;
        await page.waitForFunction((frame) => window.pelt.viewer.store.state.frame > frame + 2, first);
        assert.equal((await support.state(page)).playing, true);
        // Every vertex of this frame is inside the picture, and the model fills a good part of it.
        const seen = await page.evaluate(() => {
            const { stage, store } = window.pelt.viewer;
            const positions = window.pelt.positions(store.state.frame);
            const p = stage.camera.position.clone();
            let reach = 0;
            for (let i = 0; i < positions.length; i += 3) {
                p.fromArray(positions, i).project(stage.camera);
                reach = Math.max(reach, Math.abs(p.x), Math.abs(p.y));
            }
            return reach;
        });
        assert(seen < 1 && seen > 0.5, `the model reaches ${seen} of the way to the edge`);
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "the program takes less than 1 MB": () => {
        const size = programSize(cloth.page);
        console.log(`        ${size} bytes beside the data`);
        assert(size > 1e5 && size < PROGRAM_BYTES, `${size} bytes`);
    },
    "a rig is where the library has it": async () => assert((await compareRig(support.scene("creature"))) > 0),
    "morphs are": async () => void (await compareRig(support.scene("morph"))),
    "every kind of track, morph and accessor is": async () => {
        const file = path.join(support.folder, "fixture.glb");
        writeFileSync(file, makeFixture());
        await compareRig(file);
    },
    "a decomposed cloth and its source are": async () => {
        const page = await support.open(browser, cloth.page);
        const times = await page.evaluate(() => window.pelt.viewer.animation.times);
        assert.equal(await page.evaluate(() => window.pelt.viewer.subject.model.influences), 8, "only four influences");
        const moved = [];
        for (const frame of [0, 17, times.length - 1]) {
            const [, pose] = support.libraryPoses(cloth.rig, [[0, times[frame]]]);
            const result = await support.floats(page, "(frame) => window.pelt.positions(frame)", frame);
            const source = await support.floats(page, "(frame) => window.pelt.source(frame)", frame);
            assert(support.difference(pose, result) <= TOLERANCE);
            assert.equal(support.difference(cacheFrame(cloth.cache, frame), source), 0);
            moved.push(result);
        }
        assert(support.difference(moved[0], moved[1]) > 0.01, "scrubbing moves nothing");
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "the error is that of the report": async () => {
        const page = await support.open(browser, cloth.page);
        await page.waitForSelector("#measured table");
        const measured = await page.evaluate(() => window.pelt.viewer.measures.curve.whole);
        const { error_rms: reported } = JSON.parse(readFileSync(cloth.json)).result;
        assert(Math.abs(measured - reported) < 1e-4 * reported, `${measured}, reported ${reported}`);
        await page.close();
    },
    "a skeleton without a surface is shown": async () => {
        const file = path.join(support.folder, "skeleton.glb");
        const turns = Float32Array.of(0, 1, 0, 0, 0, 1, 0, 0, Math.SQRT1_2, Math.SQRT1_2); // 2 times, 2 quaternions
        const document = {
            asset: { version: "2.0" },
            buffers: [{ byteLength: 40 }],
            bufferViews: [{ buffer: 0, byteLength: 40 }],
            accessors: [
                { bufferView: 0, componentType: 5126, count: 2, type: "SCALAR", min: [0], max: [1] },
                { bufferView: 0, byteOffset: 8, componentType: 5126, count: 2, type: "VEC4" },
            ],
            nodes: [
                { name: "hip", children: [1] },
                { name: "knee", translation: [0, 2, 0] },
            ],
            scenes: [{ nodes: [0] }],
            animations: [
                {
                    samplers: [{ input: 0, output: 1 }],
                    channels: [{ sampler: 0, target: { node: 0, path: "rotation" } }],
                },
            ],
        };
        writeFileSync(file, makeGlb(document, Buffer.from(turns.buffer)));
        const page = await support.open(browser, support.makePage("skeleton.html", file), { hash: "#frame=30" });
        const joints = await support.floats(page, "() => window.pelt.viewer.overlays.skeleton.positions");
        assert(support.difference(Float32Array.of(0, 0, 0, -2, 0, 0), joints) < 1e-6, `joints are at ${joints}`);
        assert.equal((await support.state(page)).skeleton, true);
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "parts that share vertices are moved once, and are where the library has them": async () => {
        const [mesh, rig, json] = ["parts.obj", "parts.glb", "parts.json"].map((name) =>
            path.join(support.folder, name),
        );
        const cache = mesh.replace("obj", "pc2");
        run(support.pelt, [
            "bake",
            "-q",
            support.scene("production", "--vertices", "2000"),
            "-o",
            cache,
            "--mesh",
            mesh,
        ]);
        const options = ["--bones", "8", "--iterations", "2", "--json", json, "-q"];
        run(support.pelt, ["decompose", mesh, cache, "-o", rig, ...options]);
        const file = support.makePage("parts.html", rig, "--source", mesh, "--source", cache);
        const page = await support.open(browser, file);
        const { twins, time } = await page.evaluate(() => {
            const { subject, animation } = window.pelt.viewer;
            return { twins: subject.model.parts.filter(({ twin }) => twin).length, time: animation.times[9] };
        });
        assert(twins > 5, `${twins} parts share their vertices`);
        const [, pose] = support.libraryPoses(rig, [[0, time]]);
        const ours = await support.floats(page, "(frame) => window.pelt.positions(frame)", 9);
        assert(support.difference(pose, ours) <= TOLERANCE);
        await page.waitForSelector("#measured table");
        const measured = await page.evaluate(() => window.pelt.viewer.measures.curve.whole);
        const { error_rms: reported } = JSON.parse(readFileSync(json)).result;
        assert(Math.abs(measured - reported) < 1e-4 * reported, `${measured}, reported ${reported}`);
        await page.close();
    },
    "a cache alone plays": async () => {
        const page = await support.open(browser, support.makePage("cache.html", cloth.mesh, cloth.cache));
        const source = await support.floats(page, "(frame) => window.pelt.source(frame)", 33);
        assert.equal(support.difference(cacheFrame(cloth.cache, 33), source), 0);
        assert.equal((await support.state(page)).view, "source");
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
});
