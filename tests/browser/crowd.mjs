// crowd.mjs PELT PELT-SCENES TOOL_POSE: crowds on the page. Animals stand where the CPU's evaluation of the skin puts them; far ones are
// coarse; a crowd of one is the model again. Counts are small: WebGL is software here.
import assert from "node:assert/strict";
import * as support from "./support.mjs";

const browser = await support.launch();
const rig = support.makePage("creature.html", support.scene("creature", "--vertices", "900", "--frames", "20"));

const figures = (page) => page.evaluate(() => window.pelt.viewer.crowd?.figures());
const show = async (page, patch) => {
    await page.evaluate((patch) => window.pelt.viewer.store.set(patch), patch);
    await support.settle(page);
};

/** The box of the pixels that are not background, and the one of the projected vertices of all animals. */
function boxes(page) {
    return page.evaluate(async () => {
        const { viewer } = window.pelt;
        const { crowd, stage, store, animation } = viewer;
        const { frame } = store.state;
        const picture = await createImageBitmap(await stage.picture());
        const { width, height } = picture;
        const context = new OffscreenCanvas(width, height).getContext("2d");
        context.drawImage(picture, 0, 0);
        const pixels = context.getImageData(0, 0, width, height).data;
        const around = () => ({ left: 1e9, top: 1e9, right: -1e9, bottom: -1e9 });
        const add = (box, x, y) => {
            [box.left, box.right] = [Math.min(box.left, x), Math.max(box.right, x)];
            [box.top, box.bottom] = [Math.min(box.top, y), Math.max(box.bottom, y)];
        };
        const [drawn, wanted] = [around(), around()];
        for (let n = 0; n < width * height; n++)
            if ([0, 1, 2].some((c) => Math.abs(pixels[4 * n + c] - pixels[c]) > 12)) add(drawn, n % width, Math.floor(n / width));
        const frames = animation.times.length;
        const p = stage.camera.position.clone();
        for (let a = 0; a < crowd.animals.length; a += 8) {
            const [x, z, heading, scale, phase] = crowd.animals.subarray(a, a + 8);
            const at = ((frame / frames + phase) % 1) * frames;
            const [before, after] = [Math.floor(at), (Math.floor(at) + 1) % frames].map((k) => window.pelt.positions(k));
            const [c, s] = [Math.cos(heading), Math.sin(heading)];
            for (let i = 0; i < before.length; i += 3) {
                const [u, v, w] = [0, 1, 2].map((e) => before[i + e] + (at % 1) * (after[i + e] - before[i + e]));
                p.set(scale * (c * u + s * w) + x, scale * v, scale * (c * w - s * u) + z).project(stage.camera);
                add(wanted, ((p.x + 1) / 2) * width, ((1 - p.y) / 2) * height);
            }
        }
        viewer.showFrame();
        return { drawn, wanted, width };
    });
}

await support.checks(browser, {
    "animals are drawn where the skin puts them": async () => {
        const page = await support.open(browser, rig, { hash: "#frame=7&crowd=2" });
        const looks = [];
        for (const frame of [7, 15]) {
            await show(page, { frame, playing: false });
            await page.evaluate(() => window.pelt.viewer.stage.zoom(3)); // all of both
            const { drawn, wanted, width } = await boxes(page);
            for (const side of Object.keys(drawn))
                assert(Math.abs(drawn[side] - wanted[side]) < 3, `${side}: ${drawn[side]}, not ${wanted[side]} of ${width}`);
            looks.push(drawn);
        }
        assert.notDeepEqual(looks[0], looks[1]);
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "far animals are coarse, and one animal is the model": async () => {
        const page = await support.open(browser, rig, { hash: "#frame=3&crowd=100" });
        await support.settle(page);
        const near = await figures(page);
        assert.equal(near.animals, 100);
        assert(near.levels.filter((count) => count > 0).length > 1, `levels ${near.levels}`);
        const seen = near.levels.reduce((sum, count) => sum + count, 0);
        assert(seen > 0 && seen <= 100);
        await page.evaluate(() => window.pelt.viewer.stage.zoom(2));
        await support.settle(page);
        const far = await figures(page);
        const each = (f) => f.triangles / f.levels.reduce((sum, count) => sum + count, 0);
        assert(each(far) < each(near), `${each(far)} triangles each, near ${each(near)}`);
        assert.match(await page.textContent("#crowd-figures"), /^100 animals, .* triangles/);
        await page.selectOption("#crowd", "1");
        assert.equal((await support.state(page)).crowd, 1);
        assert.equal(await figures(page), undefined);
        assert(await page.isHidden("#crowd-figures"));
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "links keep the crowd": async () => {
        const page = await support.open(browser, rig, { hash: "#frame=3" });
        await show(page, { crowd: 100, playing: false });
        await page.waitForFunction(() => location.hash.includes("crowd=100"));
        await page.close();
    },
});
