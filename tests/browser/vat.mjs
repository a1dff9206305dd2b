// vat.mjs PELT PELT-SCENES TOOL_POSE: three plays a vertex animation texture with the shader of docs/vat.md; positions and
// normals that it computes are read back and compared with the clip.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { validate } from "../node/gltf_check.mjs";
import { readPc2 } from "../node/shown.mjs";
import * as node from "../node/support.mjs";
import * as support from "./support.mjs";

const place = (name) => path.join(support.folder, name);
const esbuild = await node.need("esbuild");
const docs = readFileSync(path.join(node.root, "docs/vat.md"), "utf8");
const [, vat] = docs.match(/```glsl\n(\/\/ vat\.glsl[^]*?)```/);

// A page with a function that plays frames of the files that are handed to it: one pixel per vertex.
writeFileSync(
    place("vat_page.js"),
    `import * as THREE from "three";
import { EXRLoader } from "three/examples/jsm/loaders/EXRLoader.js";
import { GLTFLoader } from "three/examples/jsm/loaders/GLTFLoader.js";
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
function texture(text) {
    const map = new EXRLoader().setDataType(THREE.FloatType).parse(bytes(text));
    const out = new THREE.DataTexture(map.data, map.width, map.height, map.format, map.type);
    out.needsUpdate = true;
    return out;
}
window.play = async ({ positions, normals, mesh, json, vat, moments }) => {
    const model = (await new GLTFLoader().parseAsync(bytes(mesh), "")).scene;
    const renderer = new THREE.WebGLRenderer();
    const geometries = [];
    model.traverse((o) => o.isMesh && geometries.push(o.geometry));
    const maps = [texture(positions), texture(normals)];
    const out = { normals: [], triangles: [], frames: [] };
    for (const g of geometries) {
        out.triangles.push(...Array.from(g.index.array, (i) => i + out.normals.length / 3));
        out.normals.push(...g.attributes.normal.array);
    }
    for (const moment of moments)
        for (const [n, name] of ["vatPositions", "vatNormals"].entries()) {
            const numbers = [];
            for (const g of geometries) {
                const count = g.attributes.position.count, target = new THREE.WebGLRenderTarget(count, 1, { type: THREE.FloatType });
                const points = new THREE.BufferGeometry();
                points.setAttribute("position", g.attributes.position);
                points.setAttribute("uv1", g.attributes.uv1);
                points.setAttribute("number", new THREE.BufferAttribute(Float32Array.from({ length: count }, (_, i) => i), 1));
                const material = new THREE.ShaderMaterial({
                    uniforms: {
                        vatPositions: { value: maps[0] }, vatNormals: { value: maps[1] }, vatFrame: { value: moment },
                        vatFrames: { value: json.frames }, vatStep: { value: json.rows_per_frame / json.height },
                    },
                    vertexShader: "attribute vec2 uv1; attribute float number; varying vec3 value;" + vat +
                        "void main() { value = vatBlend(" + name + ", uv1); gl_PointSize = 1.0;" +
                        "gl_Position = vec4((number + 0.5) / " + count.toFixed(1) + " * 2.0 - 1.0, 0.0, 0.0, 1.0); }",
                    fragmentShader: "varying vec3 value; void main() { gl_FragColor = vec4(value, 1.0); }",
                    blending: THREE.NoBlending, depthTest: false,
                });
                const scene = new THREE.Scene(), drawn = new THREE.Points(points, material);
                drawn.frustumCulled = false;
                scene.add(drawn);
                renderer.setRenderTarget(target);
                renderer.render(scene, new THREE.Camera());
                const pixels = new Float32Array(4 * count);
                renderer.readRenderTargetPixels(target, 0, 0, count, 1, pixels);
                for (let i = 0; i < count; i++) numbers.push(pixels[4 * i], pixels[4 * i + 1], pixels[4 * i + 2]);
            }
            if (n === 0) out.frames.push({});
            out.frames.at(-1)[name] = numbers;
        }
    return out;
};
`,
);
await esbuild.build({ entryPoints: [place("vat_page.js")], bundle: true, outfile: place("vat.js"), nodePaths: [path.join(node.root, "node_modules")], logLevel: "error" });
writeFileSync(place("vat.html"), '<!doctype html><meta charset="utf-8"><script src="vat.js"></script>');

const browser = await support.launch();

/** Plays NAME.exr at moments, frames that need not be whole. */
async function play(name, moments) {
    const page = await browser.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.goto(pathToFileURL(place("vat.html")).href);
    const base64 = (file) => readFileSync(place(file)).toString("base64");
    const json = JSON.parse(readFileSync(place(`${name}.json`), "utf8"));
    const played = await page.evaluate((job) => window.play(job), {
        positions: base64(json.positions), normals: base64(json.normals), mesh: base64(json.mesh), json, vat, moments,
    });
    assert.deepEqual(errors, []);
    await page.close();
    return { json, ...played };
}

const size = (points) => Math.hypot(...[0, 1, 2].map((c) => { const x = points.filter((_, n) => n % 3 === c); return Math.max(...x) - Math.min(...x); }));
const furthest = (a, b) => {
    assert.equal(a.length, b.length);
    return a.reduce((most, x, n) => Math.max(most, Math.abs(x - b[n])), 0);
};

/** Area-weighted normals of vertices without seams. */
function faceNormals(positions, triangles) {
    const sums = new Float64Array(positions.length);
    for (let t = 0; t < triangles.length; t += 3) {
        const [a, b, c] = [0, 1, 2].map((n) => 3 * triangles[t + n]);
        const [u, v] = [b, c].map((to) => [0, 1, 2].map((e) => positions[to + e] - positions[a + e]));
        for (const at of [a, b, c]) for (let e = 0; e < 3; e++) sums[at + e] += u[(e + 1) % 3] * v[(e + 2) % 3] - u[(e + 2) % 3] * v[(e + 1) % 3];
    }
    return sums.map((x, n) => x / Math.hypot(...sums.slice(n - (n % 3), n - (n % 3) + 3)));
}

/** The normal n turned by the smallest rotation that maps a to b. */
function turned(n, a, b) {
    const cross = (p, q) => [0, 1, 2].map((e) => p[(e + 1) % 3] * q[(e + 2) % 3] - p[(e + 2) % 3] * q[(e + 1) % 3]);
    const dot = (p, q) => p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
    const axis = cross(a, b), cosine = dot(a, b), across = cross(axis, n);
    return [0, 1, 2].map((e) => n[e] * cosine + across[e] + (axis[e] * dot(axis, n)) / (1 + cosine));
}

/** Compares positions at frames and between two with those of a cache; without seams, vertices are its points. */
async function compare(name, cache) {
    const frames = readPc2(cache);
    const last = frames.length - 1;
    const moments = [0, 1, Math.floor(last / 2), last, 0.25, last - 0.5];
    const played = await play(name, moments);
    assert.equal(played.json.frames, frames.length);
    const whole = size(frames[0]);
    const wanted = moments.map((k) => {
        const [a, b] = [frames[Math.floor(k)], frames[Math.min(Math.floor(k) + 1, last)]];
        return Array.from(a, (x, n) => x + (b[n] - x) * (k - Math.floor(k)));
    });
    const distances = moments.map((_, n) => furthest(played.frames[n].vatPositions, wanted[n]) / whole);
    console.log(`${name}: largest distance ${Math.max(...distances.slice(0, 4))} of the size at frames, ${Math.max(...distances.slice(4))} between`);
    assert.equal(Math.max(...distances.slice(0, 4)), 0);
    assert(Math.max(...distances.slice(4)) < 1e-6);
    return { played, frames, moments };
}

await support.checks(browser, {
    "three plays a texture as the clip": async () => {
        node.run(support.sceneMaker, ["cloth", "-o", place("cloth.obj"), "--vertices", "600", "--frames", "24"]);
        node.run(support.pelt, ["convert", "-q", place("cloth.obj"), place("cloth.pc2"), place("cloth.exr")]);
        const { played, frames, moments } = await compare("cloth", place("cloth.pc2"));
        const { errors } = await validate(place("cloth.glb"));
        assert.deepEqual(errors, {});
        assert(furthest(played.frames[0].vatPositions, played.frames[3].vatPositions) > 0.01, "nothing moves");
        const rest = faceNormals(frames[0], played.triangles);
        const worst = moments.slice(0, 4).map((k, n) => {
            const now = faceNormals(frames[k], played.triangles);
            const three = (array, i) => Array.from(array.slice(3 * i, 3 * i + 3));
            const wanted = Array.from({ length: now.length / 3 }, (_, i) => turned(three(played.normals, i), three(rest, i), three(now, i))).flat();
            return furthest(played.frames[n].vatNormals, wanted);
        });
        console.log(`normals: at most ${Math.max(...worst)}`);
        assert(Math.max(...worst) < 5e-4, "normals do not follow the faces"); // half of the step of 16-bit floats below 1
    },
    "frames of several rows": async () => {
        node.run(support.sceneMaker, ["cloth", "-o", place("wide.obj"), "--vertices", "5000", "--frames", "5"]);
        node.run(support.pelt, ["convert", "-q", place("wide.obj"), place("wide.pc2"), place("wide.exr")]);
        const { played } = await compare("wide", place("wide.pc2"));
        assert(played.json.rows_per_frame > 1);
    },
});
