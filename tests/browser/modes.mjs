// modes.mjs PELT PELT-SCENES TOOL_POSE: every mode paints what it says. Pixels are compared with colours worked out
// here from the files; each mode's pixels must be nearest to its own colours. Overlays and views change the picture
// and give it back.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { makeGlb, readGltf, run } from "../node/support.mjs";
import * as support from "./support.mjs";

const FRAME = 60;
const browser = await support.launch();
const cloth = support.decomposedCloth();

// ---- Colours, as docs and src/view/colors.c have them ----

function fromHue(lightness, chroma, degrees) {
    const [a, b] = [chroma * Math.cos((degrees * Math.PI) / 180), chroma * Math.sin((degrees * Math.PI) / 180)];
    return [lightness, a, b];
}
function fromLab([lightness, a, b]) {
    const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const rows = [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.707614701],
    ];
    return rows.map(([x, y, z]) => Math.max(0, x * l + y * m + z * s));
}
const along = (stops) => (value) => {
    const at = Math.min(Math.max(value, 0), 1) * (stops.length - 1);
    const s = Math.min(Math.floor(at), stops.length - 2);
    return fromLab(stops[s].map((x, c) => x + (stops[s + 1][c] - x) * (at - s)));
};
const heat = along([
    fromHue(0.9, 0.01, 250),
    fromHue(0.84, 0.12, 90),
    fromHue(0.72, 0.155, 58),
    fromHue(0.57, 0.185, 25),
    fromHue(0.38, 0.13, 350),
]);
const cool = along([
    fromHue(0.91, 0.02, 120),
    fromHue(0.76, 0.09, 190),
    fromHue(0.58, 0.115, 240),
    fromHue(0.38, 0.13, 280),
]);
const clay = fromLab(fromHue(0.865, 0.022, 62));
const category = (index) =>
    fromLab(fromHue([0.77, 0.69, 0.84][index % 3], 0.13, 25 + 360 * ((0.23606798 * index) % 1)));

// ---- What is in the files ----

/** [vertex] { bone: weight } of a rig with one skin and one primitive. */
function readWeights(file) {
    const { document, buffer } = readGltf(file);
    const [{ attributes }] = document.meshes[0].primitives;
    const numbers = (index) => {
        const { bufferView, byteOffset = 0, componentType, count } = document.accessors[index];
        const view = document.bufferViews[bufferView];
        const bytes = buffer(view.buffer);
        const Type = { 5121: Uint8Array, 5123: Uint16Array, 5126: Float32Array }[componentType];
        const start = bytes.byteOffset + (view.byteOffset ?? 0) + byteOffset;
        return new Type(bytes.buffer.slice(start, start + 4 * count * Type.BYTES_PER_ELEMENT));
    };
    const list = Array.from({ length: document.accessors[attributes.POSITION].count }, () => new Map());
    for (let set = 0; attributes[`JOINTS_${set}`] !== undefined; set++) {
        const [joints, weights] = [numbers(attributes[`JOINTS_${set}`]), numbers(attributes[`WEIGHTS_${set}`])];
        list.forEach((map, i) =>
            [0, 1, 2, 3].forEach(
                (c) =>
                    weights[4 * i + c] > 0 &&
                    map.set(joints[4 * i + c], (map.get(joints[4 * i + c]) ?? 0) + weights[4 * i + c]),
            ),
        );
    }
    for (const map of list) {
        const sum = [...map.values()].reduce((a, b) => a + b, 0);
        map.forEach((weight, joint) => map.set(joint, weight / sum));
    }
    return list;
}

/** [vertex] linear colours of a file with one primitive. */
function vertexColors(file) {
    const { document, buffer } = readGltf(file);
    const { bufferView, byteOffset = 0, count, componentType, type } = document.accessors[document.meshes[0].primitives[0].attributes.COLOR_0];
    const view = document.bufferViews[bufferView];
    const bytes = buffer(view.buffer);
    const width = type === "VEC4" ? 4 : 3;
    const [size, most] = { 5121: [1, 255], 5123: [2, 65535], 5126: [4, 1] }[componentType];
    const stride = view.byteStride ?? width * size;
    const read = { 1: "readUInt8", 2: "readUInt16LE", 4: "readFloatLE" }[size];
    return Array.from({ length: count }, (_, i) =>
        [0, 1, 2].map((c) => bytes[read]((view.byteOffset ?? 0) + byteOffset + stride * i + size * c) / most),
    );
}

function distances(a, b) {
    return Array.from({ length: a.length / 3 }, (_, i) =>
        Math.hypot(a[3 * i] - b[3 * i], a[3 * i + 1] - b[3 * i + 1], a[3 * i + 2] - b[3 * i + 2]),
    );
}

/** The colour of every vertex in every mode. */
async function expectedColors(page, joint) {
    const weights = readWeights(cloth.rig);
    const time = await page.evaluate((frame) => window.pelt.viewer.animation.times[frame], FRAME);
    const [rest, pose] = support.libraryPoses(cloth.rig, [[0, time]]);
    const bytes = readFileSync(cloth.cache);
    const source = Float32Array.from(pose, (_, n) => bytes.readFloatLE(32 + 4 * pose.length * FRAME + 4 * n));
    const { errorScale, displacementScale, shading } = await page.evaluate(() => {
        window.pelt.viewer.setMode("shading");
        const { errorScale, displacementScale, shading } = window.pelt.viewer.modeInput();
        return { errorScale, displacementScale, shading: Array.from(shading) }; // shading.mjs measures them
    });
    const blend = (map) =>
        [0, 1, 2].map((c) => [...map].reduce((sum, [bone, weight]) => sum + weight * category(bone)[c], 0));
    return {
        shaded: weights.map(() => clay),
        bones: weights.map(blend),
        weights: weights.map((map) => heat(map.get(joint) ?? 0)),
        influences: weights.map((map) => cool((map.size - 1) / 7)),
        displacement: distances(pose, rest).map((x) => heat(x / displacementScale)),
        error: distances(pose, source).map((x) => heat(x / errorScale)),
        shading: shading.map((x) => heat(x / 30)),
    };
}

// ---- Pixels ----

/** Gives the page a function that draws and reads all pixels. */
async function openReadable(file, hash = `#frame=${FRAME}`) {
    const page = await support.open(browser, file, { hash });
    await page.evaluate(() => {
        window.readPixels = () => {
            const { stage } = window.pelt.viewer;
            stage.invalidate();
            stage.draw();
            const { width, height } = document.getElementById("canvas");
            const context = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
            context.drawImage(document.getElementById("canvas"), 0, 0);
            return context.getImageData(0, 0, width, height).data;
        };
    });
    return page;
}

/** How many pixels differ from those that were kept before; keeps them when there are none. */
const changedPixels = (page) =>
    page.evaluate(() => {
        const now = window.readPixels();
        window.kept ??= now;
        let count = 0;
        for (let p = 0; p < now.length; p += 4)
            count += [0, 1, 2].some((c) => Math.abs(now[p + c] - window.kept[p + c]) > 4);
        return count;
    });

/** Waits for a picture with so many changed pixels as wanted: a busy machine may draw it late. */
async function pictureChanges(page, wanted, complaint) {
    let count;
    for (let tries = 0; tries < 20; tries++) {
        count = await changedPixels(page);
        if (wanted(count)) return;
        await support.settle(page);
    }
    assert.fail(`${complaint}: ${count} pixels differ`);
}

/** Pixels on a grid over the canvas with the vertex under each: [vertex, red, green, blue]. */
function sample(page, columns = 36, rows = 24) {
    return page.evaluate(
        ([columns, rows]) => {
            const { viewer } = window.pelt;
            const canvas = document.getElementById("canvas");
            const { left, top, width, height } = canvas.getBoundingClientRect();
            const data = window.readPixels();
            const list = [];
            for (let row = 0; row < rows; row++)
                for (let column = 0; column < columns; column++) {
                    const [x, y] = [
                        Math.floor(((column + 0.5) * width) / columns),
                        Math.floor(((row + 0.5) * height) / rows),
                    ];
                    const at = 4 * (y * canvas.width + x);
                    list.push([viewer.vertexAt(left + x + 0.5, top + y + 0.5), data[at], data[at + 1], data[at + 2]]);
                }
            return list;
        },
        [columns, rows],
    );
}

const linear = (byte) => (byte <= 10 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4);
/** White light changes how bright a colour is, not its shares of red, green and blue. */
function shares(color) {
    const sum = color[0] + color[1] + color[2] || 1;
    return color.map((x) => x / sum);
}

/** How far pixels are from the colours of their vertices, on average. */
function offset(pixels, colors) {
    const inside = pixels.filter(([vertex, ...rgb]) => vertex >= 0 && Math.max(...rgb) > 40);
    assert(inside.length > 60, `only ${inside.length} pixels show the model`);
    const each = inside.map(([vertex, ...rgb]) => {
        const [seen, wanted] = [shares(rgb.map(linear)), shares(colors[vertex])];
        return Math.hypot(...seen.map((x, c) => x - wanted[c]));
    });
    return each.reduce((a, b) => a + b, 0) / each.length;
}

/** How many of the pixels differ. */
const changes = (a, b) => a.filter((pixel, n) => pixel.some((x, c) => c > 0 && Math.abs(x - b[n][c]) > 4)).length;

/** A page with voxels and a lattice, put in by hand. */
function withOverlays() {
    const base64 = (array) => Buffer.from(array.buffer).toString("base64");
    const block = (name, array) =>
        `<script type="application/octet-stream" id="pelt-${name}">${base64(array)}</script>\n`;
    const centers = Float32Array.from(
        { length: 192 },
        (_, n) => 0.2 * ((n % 3 === 0 ? n / 3 : n % 3 === 1 ? n / 12 : n / 48) % 4),
    );
    const blocks =
        block("voxels", centers) +
        block("lattice-points", Float32Array.of(0, 0, 0, 1, 1, 1, 0, 1, 0)) +
        block("lattice-edges", Uint32Array.of(0, 1, 1, 2, 2, 0));
    const file = path.join(support.folder, "overlays.html");
    const html = readFileSync(cloth.page, "utf8").replace(
        '<script type="application/json" id="pelt-data">{',
        (head) => `${blocks}${head}"voxels":{"size":0.15},`,
    );
    writeFileSync(file, html);
    return file;
}

/** Two triangles side by side, red and green. */
function twoParts() {
    const corners = Float32Array.of(-1, 0, 0, 0, 0, 0, -1, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0);
    const material = (color) => ({ pbrMetallicRoughness: { baseColorFactor: [...color, 1], metallicFactor: 0 } });
    const accessor = (part) => ({
        bufferView: 0,
        byteOffset: 36 * part,
        componentType: 5126,
        count: 3,
        type: "VEC3",
        min: [part - 1, 0, 0],
        max: [part, 1, 0],
    });
    const document = {
        asset: { version: "2.0" },
        buffers: [{ byteLength: 72 }],
        bufferViews: [{ buffer: 0, byteLength: 72 }],
        accessors: [accessor(0), accessor(1)],
        materials: [material([0.8, 0.05, 0.05]), material([0.05, 0.8, 0.05])],
        meshes: [{ primitives: [0, 1].map((part) => ({ attributes: { POSITION: part }, material: part })) }],
        nodes: [{ mesh: 0 }],
        scenes: [{ nodes: [0] }],
    };
    const file = path.join(support.folder, "parts.glb");
    writeFileSync(file, makeGlb(document, Buffer.from(corners.buffer)));
    return support.makePage("parts.html", file);
}

await support.checks(browser, {
    "each mode paints its own colours": async () => {
        // In even light: normals that affine bones skin badly leave pixels too dark to tell their colours.
        const page = await openReadable(cloth.page, `#frame=${FRAME}&triangles=1`);
        await page.waitForSelector("#measured table");
        const joint = 3;
        const colors = await expectedColors(page, joint);
        for (const mode of Object.keys(colors)) {
            await page.evaluate(([mode, joint]) => window.pelt.viewer.store.set({ mode, joint }), [mode, joint]);
            const pixels = await sample(page);
            const ranked = Object.entries(colors)
                .map(([name, list]) => [name, offset(pixels, list)])
                .sort((a, b) => a[1] - b[1]);
            assert.equal(ranked[0][0], mode, `mode ${mode} looks like ${JSON.stringify(ranked)}`);
            assert(ranked[0][1] < 0.03, `mode ${mode} is off by ${ranked[0][1]}`);
            const legend = await page.locator("#legend").isVisible();
            assert.equal(legend, !["shaded", "bones"].includes(mode), `legend of ${mode}`);
        }
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "parts and materials have theirs": async () => {
        const page = await openReadable(twoParts(), "");
        for (const [mode, wanted] of Object.entries({
            material: [
                [0.8, 0.05, 0.05],
                [0.05, 0.8, 0.05],
            ],
            parts: [category(0), category(1)],
        })) {
            await page.evaluate((mode) => window.pelt.viewer.setMode(mode), mode);
            assert.equal((await support.state(page)).mode, mode);
            const colors = [0, 0, 0, 1, 1, 1].map((part) => wanted[part]);
            assert(offset(await sample(page, 60, 40), colors) < 0.03, mode);
        }
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "core triangles and outliers of SMA": async () => {
        const [mesh, cache, out] = ["sma.obj", "sma.pc2", "sma.glb"].map((name) => path.join(support.folder, name));
        run(support.sceneMaker, ["arm", "-o", mesh, "--vertices", "600"]);
        const clusters = ["--preset", "sma2005", "--color-clusters"];
        run(support.pelt, ["decompose", "-q", mesh, cache, "-o", out, ...clusters]);
        const page = await openReadable(support.makePage("sma.html", out), "#frame=0&triangles=1");
        assert.equal((await support.state(page)).mode, "colors", "a file with colours shows them");
        const colors = vertexColors(out);
        const pixels = await sample(page, 60, 40);
        const bright = colors.map((color) => color.map((x) => x + 1e-3)); // outliers are black
        assert(offset(pixels, bright) < 0.03, `off by ${offset(pixels, bright)}`);
        assert(new Set(colors.map(String)).size > 3, "too few clusters to tell");
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "a lit file shows its light, which moves": async () => {
        const rig = support.scene("troll", "--vertices", "800", "--frames", "8");
        for (const [kind, mode] of [
            ["ambient", "colors"],
            ["transfer", "light"],
        ]) {
            const [out, report] = [`${kind}.glb`, `${kind}.html`].map((name) => path.join(support.folder, name));
            run(support.pelt, ["light", "-q", rig, "-o", out, "--kind", kind, "--directions", "32", "--report", report]);
            const page = await openReadable(report, "#frame=0");
            assert.equal((await support.state(page)).mode, mode);
            assert.match(await page.textContent("#page-report"), /largest error of a colour0\.\d+[^%]*$/m);
            await page.evaluate(() => window.pelt.viewer.setMode("colors"));
            const colors = () => page.evaluate(() => Array.from(window.pelt.viewer.colors.array));
            const [first] = [await colors(), await page.evaluate(() => window.pelt.viewer.store.set({ frame: 5 }))];
            const moved = (await colors()).filter((x, e) => Math.abs(x - first[e]) > 0.01).length;
            assert(moved > 20, `${moved} colours change`);
            // The file's own sun gives the colours of the file, but for what the patterns miss.
            if (kind === "transfer") {
                const baked = await colors();
                await page.evaluate(() => window.pelt.viewer.setMode("light"));
                const mean = (await colors()).reduce((sum, x, e) => sum + Math.abs(x - baked[e]), 0) / baked.length;
                assert(mean < 0.03, `${mean} apart`);
            }
            assert.deepEqual(page.complaints, []);
            await page.close();
        }
    },
    "overlays come and go": async () => {
        const page = await openReadable(withOverlays());
        await page.waitForSelector("#measured table");
        await changedPixels(page);
        for (const overlay of ["skeleton", "wireframe", "voxels", "lattice"]) {
            await page.click(`[data-overlay=${overlay}]`);
            assert.equal(await page.getAttribute(`[data-overlay=${overlay}]`, "aria-pressed"), "true");
            await pictureChanges(page, (count) => count > 100, `${overlay} shows nothing`);
            await page.click(`[data-overlay=${overlay}]`);
            await pictureChanges(page, (count) => count === 0, `${overlay} leaves something behind`);
        }
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "the lattice of a jiggle lies around the mesh": async () => {
        const file = path.join(support.folder, "jiggle.html");
        const rig = support.scene("troll", "--vertices", "800", "--frames", "8");
        const out = path.join(support.folder, "soft.glb");
        const few = ["--particles", "400", "--preroll", "0", "--add", "3", "--iterations", "2"];
        run(support.pelt, ["jiggle", "-q", rig, "-o", out, "--report", file, ...few]);
        const page = await openReadable(file);
        await page.waitForSelector("#measured table");
        await changedPixels(page);
        await page.click("[data-overlay=lattice]");
        await pictureChanges(page, (count) => count > 1000, "the lattice shows nothing");
        /** Corners of the lattice's box, and its points. */
        const lattice = () =>
            page.evaluate(() => {
                const { geometry } = window.pelt.viewer.overlays.lattice.lines;
                geometry.computeBoundingBox();
                const { min, max } = geometry.boundingBox;
                return { box: [min.toArray(), max.toArray()], points: Array.from(geometry.attributes.position.array) };
            });
        const inside = (positions, { box }) =>
            positions.every((x, i) => x >= box[0][i % 3] - 1e-2 && x <= box[1][i % 3] + 1e-2);
        let before = [];
        for (const frame of [0, 3, 5]) {
            await page.evaluate((k) => window.pelt.viewer.store.set({ frame: k, playing: false }), frame);
            const now = await lattice();
            const source = await page.evaluate(() => Array.from(window.pelt.viewer.stage.source.positions));
            assert(inside(source, now), `frame ${frame}: a vertex outside`);
            assert(now.points.some((x, i) => Math.abs(x - before[i]) > 1e-3) || frame === 0, "the lattice stands still");
            before = now.points;
        }
        await page.evaluate(() => window.pelt.viewer.store.set({ animation: window.pelt.viewer.subject.animations.length - 1, frame: 0 }));
        assert(inside(Array.from(support.libraryPoses(rig, [])[0]), await lattice()), "at rest, a vertex outside");
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
    "result, source and both": async () => {
        const page = await openReadable(cloth.page);
        const pictures = {};
        for (const view of ["result", "source", "side"]) {
            await page.click(`[data-view=${view}]`);
            pictures[view] = await sample(page, 60, 42);
        }
        assert(changes(pictures.result, pictures.source) > 20, "the source looks like the result");
        assert(changes(pictures.result, pictures.side) > 300, "side by side looks like the result");
        const half = (right) => pictures.side.filter(([vertex], n) => vertex >= 0 && n % 60 >= 30 === right).length;
        assert(half(false) > 60 && Math.abs(half(false) - half(true)) < 0.1 * half(true), "the halves are not alike");
        assert.deepEqual(page.complaints, []);
        await page.close();
    },
});
