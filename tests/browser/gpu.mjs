// gpu.mjs PELT PELT-SCENES TOOL_POSE: the vertex shader morphs and skins as the library does, and nothing is evaluated on the
// CPU for it.
import assert from "node:assert/strict";
import path from "node:path";
import { run } from "../node/support.mjs";
import * as node from "../node/support.mjs";
import * as support from "./support.mjs";

/* Of the size, and of unit normals: floats through a sum of ten displacements and four bones. */
const TOLERANCE = 2e-6;
const place = (name) => path.join(support.folder, name);
const browser = await support.launch();

const [arm, rig, posed] = ["arm.glb", "better.glb", "posed.glb"].map(place);
run(support.sceneMaker, ["arm", "-o", arm, "--poses", place("poses"), "--vertices", "600"]);
run(support.pelt, ["correct", "-q", arm, "--driver", "pose", "--poses", place("poses"), "--normals", "-o", rig]);
/* The same with pairs of joints, learned from a clip. */
const [clip, paired] = ["clip.obj", "paired.glb"].map(place);
run(support.sceneMaker, ["arm", "-o", clip, "--vertices", "600"]);
const learn = ["correct", "-q", arm, place("clip.pc2"), "--driver", "pose", "--coupled", "--max-per-vertex", "0"];
run(support.pelt, [...learn, "--normals", "-o", paired]);
const pairs = support.makePage("paired.html", paired);
const corrected = support.makePage("better.html", rig);
const plain = support.makePage("arm.html", arm);

const drawn = async (page) => ({
    positions: await support.floats(page, "() => window.pelt.drawn().positions"),
    normals: await support.floats(page, "() => window.pelt.drawn().normals"),
});

const furthest = (a, b) => a.reduce((most, x, n) => Math.max(most, Math.abs(x - b[n])), 0);

/** Compares driven poses of a page with `pelt pose`. */
async function driven(file, rig) {
    const page = await support.open(browser, file);
    const [wide, bare] = [await support.open(browser, plain), []];
    for (const joints of [{ elbow: [70, 0, 0] }, { elbow: [40, 0, 15], wrist: [-30, 20, 0], shoulder: [0, 20, 30] }]) {
        await support.turnJoints(page, joints);
        const turns = Object.entries(joints).flatMap(([name, degrees]) => ["--joint", `${name}=${degrees}`]);
        run(support.pelt, ["pose", "-q", rig, ...turns, "-o", posed]);
        const { positions, normals } = await drawn(page);
        const apart = support.difference(node.positionsOf(posed), positions);
        assert(apart < TOLERANCE, `${apart} of the size`);
        const evaluated = await support.floats(page, "() => window.pelt.normals(0)");
        assert(furthest(normals, evaluated) < TOLERANCE, `normals: ${furthest(normals, evaluated)}`);
        await support.turnJoints(wide, joints);
        bare.push(support.difference(positions, (await drawn(wide)).positions));
    }
    assert(Math.min(...bare) > 0.005, "the corrections are too small to be seen");
    assert.deepEqual([...page.complaints, ...wide.complaints], []);
    await page.close();
    await wide.close();
}

await support.checks(browser, {
    "positions and normals of driven poses are the library's": () => driven(corrected, rig),
    "so are those that pairs of joints drive": async () => {
        const { drivers } = node.readGltf(paired).document.extras.pelt_drivers;
        assert(drivers.some(({ against, above }) => against?.length === 1 && above?.includes(against[0])), "no pair");
        await driven(pairs, paired);
    },
    "frames are drawn without evaluating vertices here, until something needs them": async () => {
        const page = await support.open(browser, corrected);
        const count = () =>
            page.evaluate(() => {
                const { viewer } = window.pelt;
                const { poser } = viewer.subject;
                let count = 0;
                const pose = poser.pose.bind(poser);
                poser.pose = (...args) => (count++, pose(...args));
                viewer.store.set({ playing: false });
                for (const frame of [3, 7, 11]) viewer.store.set({ frame });
                poser.pose = pose;
                return count;
            });
        assert.equal(await count(), 0);
        await page.keyboard.press("d");
        await page.evaluate(() => window.pelt.viewer.store.set({ frame: 0 }));
        assert.equal(await count(), 3, "colours of displacements need the vertices");
        await page.keyboard.press("s");
        await page.keyboard.press("n");
        await page.evaluate(() => window.pelt.viewer.store.set({ frame: 0 }));
        assert.equal(await count(), 3, "normals of triangles need the vertices");
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
});
