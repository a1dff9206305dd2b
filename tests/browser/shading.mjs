// shading.mjs PELT PELT-SCENES TOOL_POSE: normals are those that three's own shader would skin, the switch makes them from
// the triangles, and the colours of the shading error are the angles between them and the source's.
import assert from "node:assert/strict";
import path from "node:path";
import { load, readPc2, shader, withoutNormals } from "../node/shown.mjs";
import { run } from "../node/support.mjs";
import * as support from "./support.mjs";

const FRAME = 15;
const browser = await support.launch();
const place = (name) => path.join(support.folder, name);

/** Cloth as rigid bones, and morphs that correct normals too: a page with the cloth beside it. */
function makeFlag() {
    const [mesh, cache, bones, rig] = ["flag.obj", "flag.pc2", "bones.glb", "flag.glb"].map(place);
    run(support.sceneMaker, ["cloth", "-o", mesh, "--vertices", "400", "--frames", "20"]);
    withoutNormals(mesh); // all of it is smooth
    run(support.pelt, ["decompose", "-q", mesh, cache, "-o", bones, "--bones", "6", "--transforms", "rigid"]);
    run(support.pelt, ["correct", "-q", bones, mesh, cache, "-o", rig, "--rank", "2", "--normals"]);
    return { cache, rig, page: support.makePage("flag.html", rig, "--source", mesh, "--source", cache) };
}
const flag = makeFlag();

/** Area-weighted normals of a surface whose vertices at one place are one, [vertex][3]. */
function triangleNormals(positions, triangles) {
    const places = new Map();
    const first = Array.from({ length: positions.length / 3 }, (_, i) => {
        const key = positions.slice(3 * i, 3 * i + 3).join();
        if (!places.has(key)) places.set(key, i);
        return places.get(key);
    });
    const sums = new Float64Array(positions.length);
    for (let t = 0; t < triangles.length; t += 3) {
        const [a, b, c] = [0, 1, 2].map((corner) => 3 * triangles[t + corner]);
        const [u, v] = [b, c].map((to) => [0, 1, 2].map((e) => positions[to + e] - positions[a + e]));
        for (let corner = 0; corner < 3; corner++)
            for (let e = 0; e < 3; e++)
                sums[3 * first[triangles[t + corner]] + e] += u[(e + 1) % 3] * v[(e + 2) % 3] - u[(e + 2) % 3] * v[(e + 1) % 3];
    }
    return Float64Array.from(sums, (_, n) => {
        const at = 3 * first[Math.floor(n / 3)];
        return sums[at + (n % 3)] / Math.hypot(sums[at], sums[at + 1], sums[at + 2]);
    });
}

const apart = (a, b) => {
    assert.equal(a.length, b.length);
    return a.reduce((most, x, n) => Math.max(most, Math.abs(x - b[n])), 0);
};
const shownNormals = (page) => support.floats(page, "() => window.pelt.drawn().normals");
const trianglesOf = (page) => page.evaluate(() => Array.from(window.pelt.viewer.subject.model.triangles));

await support.checks(browser, {
    "normals are those of three's shader": async () => {
        const page = await support.open(browser, flag.page, { hash: `#frame=${FRAME}` });
        const time = await page.evaluate((frame) => window.pelt.viewer.animation.times[frame], FRAME);
        const wanted = shader(await load(flag.rig))(time);
        assert(apart(await support.floats(page, "(frame) => window.pelt.normals(frame)", FRAME), wanted) < 1e-4);
        assert(apart(await shownNormals(page), wanted) < 1e-4, "others are shown");
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "the switch makes them from triangles, and back": async () => {
        const page = await support.open(browser, flag.page, { hash: `#frame=${FRAME}` });
        const before = await shownNormals(page);
        const positions = await support.floats(page, "(frame) => window.pelt.positions(frame)", FRAME);
        const wanted = triangleNormals(positions, await trianglesOf(page));
        await page.click("[data-overlay=triangles]");
        assert.equal(await page.getAttribute("[data-overlay=triangles]", "aria-pressed"), "true");
        const after = await shownNormals(page);
        assert(apart(after, wanted) < 1e-4 && apart(after, before) > 0.01);
        await page.keyboard.press("n");
        assert.equal((await support.state(page)).triangles, false);
        assert.deepEqual(await shownNormals(page), before);
        assert.deepEqual(page.complaints, []);
        await page.close();
        const linked = await support.open(browser, flag.page, { hash: `#frame=${FRAME}&triangles=1` });
        assert.deepEqual(await shownNormals(linked), after);
        await linked.close();
    },
    "the shading error is their angle to the source's": async () => {
        const page = await support.open(browser, flag.page, { hash: `#frame=${FRAME}&mode=shading` });
        assert.equal((await support.state(page)).mode, "shading");
        assert.match(await page.textContent("#legend"), /Angle to the normals of the source/);
        const shading = await support.floats(page, "() => window.pelt.viewer.modeInput().shading");
        const source = await support.floats(page, "(frame) => window.pelt.source(frame)", FRAME);
        assert(apart(source.slice(0, 3), readPc2(flag.cache)[FRAME].slice(0, 3)) < 1e-3);
        const [shown, wanted] = [await shownNormals(page), triangleNormals(source, await trianglesOf(page))];
        const angles = Array.from(shading, (_, i) => {
            const cosine = [0, 1, 2].reduce((sum, c) => sum + shown[3 * i + c] * wanted[3 * i + c], 0);
            return (180 / Math.PI) * Math.acos(Math.min(cosine, 1));
        });
        assert(apart(shading, angles) < 0.1 && Math.max(...angles) > 1, `up to ${Math.max(...angles)}`);
        await page.keyboard.press("s");
        await page.keyboard.press("g");
        assert.equal((await support.state(page)).mode, "shading");
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "a file without normals has neither": async () => {
        const [mesh, cache] = [place("cloth.obj"), place("cloth.pc2")];
        run(support.sceneMaker, ["cloth", "-o", mesh, "--vertices", "100", "--frames", "4"]);
        withoutNormals(mesh);
        const page = await support.open(browser, support.makePage("alone.html", mesh, cache));
        assert.equal(await page.locator("[data-overlay=triangles]").count(), 0);
        assert.equal(await page.locator("#mode option[value=shading]").count(), 0);
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
});
