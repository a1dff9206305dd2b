// use.mjs PELT PELT-SCENES TOOL_POSE: what a person does: keys, scrubbing, picking, posing, morphs, links, pictures,
// dropping files; on a laptop and on a phone.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import * as node from "../node/support.mjs";
import * as support from "./support.mjs";

const browser = await support.launch();
const cloth = support.decomposedCloth();
const creature = support.scene("creature");
const creaturePage = support.makePage("creature.html", creature);

/** Opens the creature, still. */
const still = (more = {}) => support.open(browser, creaturePage, { hash: "#frame=0", ...more });

/** Where a vertex or a joint is in the window. */
const onScreen = (page, what, index) =>
    page.evaluate(
        ([what, index]) => {
            const { stage, overlays, store } = window.pelt.viewer;
            const positions = what === "joint" ? overlays.skeleton.positions : window.pelt.positions(store.state.frame);
            const p = stage.camera.position
                .clone()
                .fromArray(positions, 3 * index)
                .project(stage.camera);
            const { left, top, width, height } = document.getElementById("canvas").getBoundingClientRect();
            return { x: left + ((p.x + 1) / 2) * width, y: top + ((1 - p.y) / 2) * height };
        },
        [what, index],
    );

/** The vertex nearest to the camera: nothing can hide it. */
const nearestVertex = (page) =>
    page.evaluate(() => {
        const { stage, store } = window.pelt.viewer;
        const positions = window.pelt.positions(store.state.frame);
        const p = stage.camera.position.clone();
        let [best, nearest] = [0, Infinity];
        for (let i = 0; i < positions.length / 3; i++) {
            const distance = p.fromArray(positions, 3 * i).distanceTo(stage.camera.position);
            if (distance < nearest) [best, nearest] = [i, distance];
        }
        return best;
    });

const positions = (page, frame) => support.floats(page, "(frame) => window.pelt.positions(frame)", frame);

async function keyboard() {
    const page = await support.open(browser, cloth.page, { hash: "#frame=5" });
    const press = async (key) => {
        await page.keyboard.press(key);
        return support.state(page);
    };
    assert.equal((await press("ArrowRight")).frame, 6);
    assert.equal((await press("ArrowLeft")).frame, 5);
    assert.equal((await press("PageDown")).frame, 15);
    assert.equal((await press("End")).frame, 119);
    assert.equal((await press("ArrowRight")).frame, 0, "frames go round");
    assert.equal((await press(" ")).playing, true);
    assert.equal((await press(" ")).playing, false);
    assert.equal((await press("Home")).frame, 0);
    assert.equal((await press("Shift+>")).speed, 2);
    for (const [key, mode] of [
        ["e", "error"],
        ["b", "bones"],
        ["w", "weights"],
        ["i", "influences"],
        ["d", "displacement"],
        ["s", "shaded"],
    ])
        assert.equal((await press(key)).mode, mode);
    for (const [key, view] of [
        ["2", "source"],
        ["3", "side"],
        ["1", "result"],
    ])
        assert.equal((await press(key)).view, view);
    for (const [key, overlay] of [
        ["k", "skeleton"],
        ["x", "wireframe"],
        ["p", "pose"],
    ]) {
        assert.equal((await press(key))[overlay], true);
        assert.equal((await press(key))[overlay], false);
    }
    assert.equal((await press("v")).voxels, false, "there are no voxels");
    const { joint } = await support.state(page);
    assert.equal((await press("]")).joint, joint + 1);
    const camera = () => page.evaluate(() => window.pelt.viewer.stage.camera.position.toArray());
    const before = await camera();
    await press("Shift+ArrowLeft");
    assert.notDeepEqual(await camera(), before);
    await press("f");
    assert.deepEqual(await camera(), before);
    await press("Shift+?");
    assert(await page.locator("#help").isVisible());
    await press("Escape");
    assert(!(await page.locator("#help").isVisible()));
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    assert.equal(await theme(), "dark");
    await press("t");
    assert.equal(await theme(), "light");
    assert.deepEqual(page.complaints, []);
    await page.close();
}

/** Everything that can be done is reached with Tab and has a name. */
async function access() {
    const page = await support.open(browser, cloth.page, { hash: "#frame=5" });
    const nameless = await page.evaluate(() =>
        [...document.querySelectorAll("button, select, input, canvas, [role=listbox], [role=tabpanel]")]
            .filter(
                (element) =>
                    !(
                        element.getAttribute("aria-label") ||
                        element.textContent.trim() ||
                        element.labels?.[0]?.textContent.trim() ||
                        document.getElementById(element.getAttribute("aria-labelledby") ?? "")?.textContent
                    ),
            )
            .map((element) => element.outerHTML.slice(0, 80)),
    );
    assert.deepEqual(nameless, []);
    const reached = new Set();
    for (let n = 0; n < 60; n++) {
        await page.keyboard.press("Tab");
        reached.add(
            await page.evaluate(
                () =>
                    document.activeElement.id ||
                    document.activeElement.dataset.view ||
                    document.activeElement.dataset.overlay,
            ),
        );
    }
    for (const id of ["open", "theme", "side", "mode", "skeleton", "canvas", "tab-report", "play", "scrub", "speed"])
        assert(reached.has(id), `Tab does not reach ${id}`);
    // Arrow keys on the scrubber are its own: one frame, not two.
    await page.focus("#scrub");
    await page.keyboard.press("ArrowRight");
    assert.equal((await support.state(page)).frame, 6);
    assert.match(await page.getAttribute("#scrub", "aria-valuetext"), /frame 6 of 119/);
    await page.close();
}

async function scrubbing() {
    const page = await support.open(browser, cloth.page);
    await page
        .locator("#scrub")
        .click({ position: { x: (await page.locator("#scrub").boundingBox()).width / 2, y: 20 } });
    const { frame, playing } = await support.state(page);
    assert(Math.abs(frame - 59.5) < 3 && !playing, `frame ${frame}`);
    const drawn = await support.floats(page, "() => window.pelt.drawn().positions");
    assert(support.difference(await positions(page, frame), drawn) < 1e-6, "what is drawn is another frame");
    await page.close();
}

async function picking() {
    const page = await still();
    const vertex = await nearestVertex(page);
    const { x, y } = await onScreen(page, "vertex", vertex);
    await page.mouse.click(x, y);
    const picked = (await support.state(page)).vertex;
    const rest = await positions(page, 0);
    const at = (i) => [...rest.subarray(3 * i, 3 * i + 3)];
    assert.deepEqual(at(picked), at(vertex), `picked ${picked}, not ${vertex}`);
    const facts = await page.evaluate((vertex) => window.pelt.viewer.facts(vertex), picked);
    const sum = facts.influences.reduce((total, { weight }) => total + weight, 0);
    assert(Math.abs(sum - 1) < 1e-5);
    const text = await page.textContent("#page-vertex");
    assert(text.includes(String(picked)) && text.includes(facts.influences[0].name), text);
    // Beside the model there is nothing.
    const { x: left, y: top } = await page.locator("#canvas").boundingBox();
    await page.mouse.click(left + 4, top + 4);
    assert.equal((await support.state(page)).vertex, -1);
    await page.close();
}

async function bones() {
    const page = await still();
    await page.click("#tab-bones");
    await page.click("#joint-5");
    let now = await support.state(page);
    assert.deepEqual([now.joint, now.mode], [5, "weights"]);
    await page.focus("#joints");
    await page.keyboard.press("ArrowDown");
    assert.equal((await support.state(page)).joint, 6);
    await page.keyboard.press("k");
    const { x, y } = await onScreen(page, "joint", 9);
    await page.mouse.click(x, y);
    now = await support.state(page);
    const places = await support.floats(page, "() => window.pelt.viewer.overlays.skeleton.positions");
    assert.deepEqual([...places.subarray(3 * now.joint, 3 * now.joint + 3)], [...places.subarray(27, 30)]);
    await page.close();
}

/** Dragging a joint moves what hangs from it, and nothing else; resetting brings everything back. */
async function posing() {
    const page = await still();
    await page.keyboard.press("p");
    const joint = await page.evaluate(() =>
        window.pelt.viewer.subject.model.joints.findIndex(({ name }) => /head/i.test(name)),
    );
    const before = await positions(page, 0);
    const { x, y } = await onScreen(page, "joint", joint);
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 60, y, { steps: 3 });
    await page.mouse.up();
    const grabbed = (await support.state(page)).joint;
    const after = await positions(page, 0);
    assert(support.difference(before, after) > 0.01, "nothing moved");
    const follows = await page.evaluate((grabbed) => {
        const { joints, bones, influences, boneIndices, weights, vertexCount } = window.pelt.viewer.subject.model;
        const below = (joint) => joint >= 0 && (joint === grabbed || below(joints[joint].parent));
        return Array.from({ length: vertexCount }, (_, i) => {
            let sum = 0;
            for (let k = i * influences; k < (i + 1) * influences; k++)
                sum += below(bones[boneIndices[k]].joint) ? weights[k] : 0;
            return sum;
        });
    }, grabbed);
    follows.forEach(
        (weight, i) =>
            weight === 0 &&
            assert.deepEqual(after.subarray(3 * i, 3 * i + 3), before.subarray(3 * i, 3 * i + 3), `vertex ${i} moved`),
    );
    await page.keyboard.press("r");
    assert.equal(support.difference(before, await positions(page, 0)), 0, "the pose stays");
    await page.keyboard.press("Alt+ArrowUp");
    assert(support.difference(before, await positions(page, 0)) > 0.001, "keys turn nothing");
    await page.close();
}

async function morphs() {
    const page = await support.open(browser, support.makePage("morph.html", support.scene("morph")), {
        hash: "#frame=0",
    });
    await page.click("#tab-morphs");
    const before = await positions(page, 0);
    await page.locator("#morph-0").fill("1");
    const one = await positions(page, 0);
    await page.locator("#morph-0").fill("0.5");
    const half = await positions(page, 0);
    await page.locator("#morph-0").fill("0");
    const none = await positions(page, 0);
    assert(support.difference(none, one) > 0.001, "nothing moved");
    const middle = half.map((_, n) => (one[n] + none[n]) / 2);
    assert(support.difference(middle, half) < 1e-6, "half a morph is not half the way");
    await page.getByRole("button", { name: "Follow the animation" }).click();
    assert.equal(support.difference(before, await positions(page, 0)), 0);
    await page.close();
}

/** Sliders move bones as `pelt pose --slider` does; resetting plays the animation again. */
async function sliders() {
    const [rig, posed] = ["sliders.glb", "slid.glb"].map((name) => path.join(support.folder, name));
    const face = support.scene("face", "--vertices", "900", "--sliders", "8", "--frames", "6");
    node.run(support.pelt, ["decompose", "-q", face, "--sliders", "--bones", "12", "--morphs", "1", "-o", rig]);
    const page = await support.open(browser, support.makePage("sliders.html", rig), { hash: "#frame=3" });
    await page.click("#tab-sliders");
    assert.equal(await page.locator("#page-sliders label").count(), 8);
    const before = await positions(page, 3);
    const names = await page.locator("#page-sliders label").allTextContents();
    for (const [slider, value] of [[0, 0.75], [3, 1], [5, 0.25]]) await page.locator(`#slider-${slider}`).fill(String(value));
    assert.equal(await page.locator("#slider-0 + output").textContent(), "0.75");
    const given = [`${names[0]}=0.75`, `${names[3]}=1`, `${names[5]}=0.25`].flatMap((text) => ["--slider", text]);
    node.run(support.pelt, ["pose", "-q", rig, ...given, "-o", posed]);
    assert(support.difference(node.positionsOf(posed), await positions(page, 3)) < 1e-5, "not as pelt pose --slider");
    await page.getByRole("button", { name: "Follow the animation" }).first().click();
    assert.equal(support.difference(before, await positions(page, 3)), 0);
    assert.equal(await page.locator("#slider-0 + output").textContent(), "0.00");
    await page.close();
}

/** Morphs follow joints that a person turns, as `pelt pose` has them; animations play as they are. */
async function drivers() {
    const page = await support.open(browser, support.makePage("drivers.html", support.drivers), { hash: "#frame=0" });
    const posed = path.join(support.folder, "posed.glb");
    const byLibrary = async () => {
        const joints = await page.evaluate(() =>
            Object.fromEntries(
                window.pelt.viewer.subject.model.joints.map(({ name, node }) => [
                    name,
                    { rotation: node.quaternion.toArray() },
                ]),
            ),
        );
        writeFileSync(path.join(support.folder, "pose.json"), JSON.stringify({ joints }));
        const pose = path.join(support.folder, "pose.json");
        node.run(support.pelt, ["pose", "-q", support.drivers, "--pose", pose, "-o", posed]);
        return node.positionsOf(posed);
    };
    const weights = () => page.evaluate(() => window.pelt.viewer.subject.model.parts[1].object.morphTargetInfluences);
    const [, played] = support.libraryPoses(support.drivers, [[0, 0]]);
    const before = await positions(page, 0);
    assert(support.difference(before, played) < 1e-5, "drivers change what plays");
    for (const name of ["elbow", "hand"]) {
        await page.evaluate((name) => {
            const { viewer } = window.pelt;
            viewer.store.set({ joint: viewer.subject.model.joints.findIndex((joint) => joint.name === name) });
        }, name);
        for (const key of ["Alt+ArrowUp", "Alt+ArrowRight", "Alt+ArrowRight"]) await page.keyboard.press(key);
        assert(support.difference(await byLibrary(), await positions(page, 0)) < 1e-5, `${name}: not as pelt pose`);
    }
    for (const weight of await weights()) assert(weight !== 0 && weight !== 0.25, "not all are driven");
    await page.keyboard.press("r");
    await page.click("#tab-bones"); // sliders have the angles of `pelt pose --joint`
    await page.click("#joint-1");
    for (const [axis, degrees] of Object.entries({ x: 20, y: -35, z: 110 }))
        await page.locator(`#turn-${axis}`).fill(String(degrees));
    node.run(support.pelt, ["pose", "-q", support.drivers, "--joint", "elbow=20,-35,110", "-o", posed]);
    assert(support.difference(node.positionsOf(posed), await positions(page, 0)) < 1e-5, "sliders turn otherwise");
    assert.equal(await page.locator("#turn-y + output").textContent(), "-35°");
    await page.click("#tab-morphs");
    const shown = await page.locator("#morph-0 + output").textContent();
    assert.equal(shown, (await weights())[0].toFixed(2));
    await page.locator("#morph-0").fill("0.75"); // what a person sets stays, the others still follow
    const [set, other] = await weights();
    await page.locator("#canvas").focus();
    await page.keyboard.press("Alt+ArrowUp");
    assert.equal((await weights())[0], set);
    assert.equal(set, 0.75);
    assert.notEqual((await weights())[1], other);
    await page.keyboard.press("r");
    assert.equal(support.difference(before, await positions(page, 0)), 0, "the pose stays");
    assert.deepEqual(await weights(), [0, 0, 0.25], "the file's own weights are not back");
    assert.deepEqual(page.complaints, []);
    await page.close();
}

async function links() {
    const page = await support.open(browser, cloth.page, { hash: "#frame=12&mode=error&view=side" });
    const { frame, mode, view, playing } = await support.state(page);
    assert.deepEqual({ frame, mode, view, playing }, { frame: 12, mode: "error", view: "side", playing: false });
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => location.hash.includes("frame=13"));
    await page.evaluate(() => (location.hash = "#frame=7&mode=bones"));
    await page.waitForFunction(() => window.pelt.viewer.store.state.frame === 7);
    assert.equal((await support.state(page)).mode, "bones");
    // What is not there is passed over.
    await page.evaluate(() => (location.hash = "#frame=99999&mode=nonsense&joint=4711"));
    await page.waitForFunction(() => window.pelt.viewer.store.state.frame === 119);
    // A link that is followed just before the address is written is not overwritten.
    await page.waitForFunction(() => location.hash.includes("frame=119"));
    await page.evaluate(() => {
        const later = window.setTimeout;
        window.setTimeout = (write) => {
            location.hash = "#frame=20";
            write();
        };
        window.pelt.viewer.store.set({ frame: 3 });
        window.setTimeout = later;
    });
    await page.waitForFunction(() => window.pelt.viewer.store.state.frame === 20);
    assert.deepEqual(page.complaints, []);
    await page.close();
}

async function picture() {
    const page = await still();
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#picture")]);
    assert.equal(download.suggestedFilename(), "creature-shaded-0.png");
    const bytes = readFileSync(await download.path());
    assert.equal(bytes.subarray(1, 4).toString(), "PNG");
    assert(bytes.length > 10000, "an empty picture");
    await page.close();
}

async function drop() {
    const page = await support.open(browser, cloth.page);
    const base64 = readFileSync(creature).toString("base64");
    const dropFile = (name, data) =>
        page.evaluate(
            ([name, data]) => {
                const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
                const transfer = new DataTransfer();
                transfer.items.add(new File([bytes], name));
                dispatchEvent(new DragEvent("dragover", { dataTransfer: transfer, cancelable: true }));
                dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, cancelable: true }));
            },
            [name, data],
        );
    await dropFile("wolf.glb", base64);
    await page.waitForFunction(() => document.getElementById("title").textContent === "wolf.glb");
    const [rest] = support.libraryPoses(creature, []);
    assert.equal(await page.evaluate(() => window.pelt.viewer.subject.model.vertexCount), rest.length / 3);
    assert.equal(await page.locator("#drop").isVisible(), false);
    assert.equal((await support.state(page)).playing, true);
    // What is no GLB is told, and what was there stays.
    await dropFile("notes.txt", Buffer.from("not a model").toString("base64"));
    await page.waitForFunction(() =>
        document.getElementById("headline").textContent.includes("notes.txt cannot be shown"),
    );
    assert.equal(await page.textContent("#title"), "wolf.glb");
    await page.close();
}

/** Rectangles of the parts of the page, and how many of them are cut off. */
const measureLayout = (page) =>
    page.evaluate(() => {
        const names = [
            ".top",
            ".tools",
            "#timeline",
            "#panel",
            "#title",
            ".actions",
            "#views",
            "#mode",
            "#overlays",
            ".transport",
            ".track",
            "#clock",
            "#speed",
            "#animation",
            "#canvas-frame",
        ];
        const cut = [...document.querySelectorAll("#clock, .tools, .actions")].filter(
            (element) => element.scrollWidth > element.clientWidth + 1,
        );
        const boxes = names.map((name) => [name, document.querySelector(name).getBoundingClientRect().toJSON()]);
        return { boxes, cut: Math.max(document.documentElement.scrollWidth - innerWidth, 0) + cut.length };
    });

/** Nothing overlaps, nothing is cut off, nothing scrolls sideways. */
async function layout() {
    const inside = {
        ".top": ["#title", ".actions"],
        ".tools": ["#views", "#mode", "#overlays"],
        "#timeline": [".transport", ".track", "#clock", "#speed", "#animation"],
    };
    const overlap = (a, b) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5;
    const page = await support.open(browser, cloth.page, { hash: "#frame=5", dark: false });
    await page.waitForSelector("#measured table");
    for (const [width, height] of [
        [1280, 800],
        [900, 600],
        [390, 844],
    ])
        for (const [mode, view] of [
            ["error", "result"],
            ["weights", "side"],
        ]) {
            await page.setViewportSize({ width, height });
            await page.evaluate(([mode, view]) => window.pelt.viewer.store.set({ mode, view, joint: 0 }), [mode, view]);
            await support.settle(page);
            const { boxes, cut } = await measureLayout(page);
            const where = `${width} × ${height}, ${mode}, ${view}`;
            assert.equal(cut, 0, `${where}: something is cut off`);
            boxes.forEach(([name, box], n) => {
                assert(
                    box.left >= -0.5 && box.right <= width + 0.5 && box.bottom <= height + 0.5,
                    `${where}: ${name} leaves the window`,
                );
                for (const [other, its] of boxes.slice(n + 1))
                    assert(
                        inside[name]?.includes(other) || !overlap(box, its),
                        `${where}: ${name} and ${other} overlap`,
                    );
            });
            const canvas = boxes.at(-1)[1];
            assert(canvas.height > 0.3 * height, `${where}: the view is ${canvas.height} high`);
        }
    await page.close();
}

await support.checks(browser, {
    keyboard,
    "names and Tab": access,
    scrubbing,
    picking,
    bones,
    posing,
    morphs,
    sliders,
    drivers,
    links,
    picture,
    "dropping files": drop,
    layout,
});
