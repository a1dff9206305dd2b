// three-picture.mjs FILE.glb OUTPUT.png [WIDTHxHEIGHT] [TIME…]: a glTF file in three's own renderer, one picture beside the
// other for each time (seconds) of the first clip: GLTFLoader, its materials, its skinning and its normals, nothing of ours.
import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const [file, output, size = "500x500", ...times] = process.argv.slice(2);
const [width, height] = size.split("x").map(Number);
const program = `
import * as THREE from "three";
import { GLTFLoader } from "three/examples/jsm/loaders/GLTFLoader.js";
window.draw = async (base64, times, width, height) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const gltf = await new GLTFLoader().parseAsync(bytes.buffer, "");
    const renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
    renderer.setSize(width * times.length, height);
    renderer.setScissorTest(true);
    document.body.append(renderer.domElement);
    const scene = new THREE.Scene();
    scene.background = new THREE.Color(0xf4f4f4);
    scene.add(gltf.scene, new THREE.HemisphereLight(0xffffff, 0x888888, 1.2));
    const sun = new THREE.DirectionalLight(0xffffff, 2.5);
    scene.add(sun);
    gltf.scene.traverse((object) => (object.frustumCulled = false));
    const mixer = new THREE.AnimationMixer(gltf.scene);
    if (gltf.animations.length > 0) mixer.clipAction(gltf.animations[0]).play();
    times.forEach((time, column) => {
        mixer.setTime(time);
        gltf.scene.updateMatrixWorld(true);
        const box = new THREE.Box3().setFromObject(gltf.scene, true);
        const ball = box.getBoundingSphere(new THREE.Sphere());
        const camera = new THREE.PerspectiveCamera(30, width / height, ball.radius / 100, ball.radius * 100);
        camera.position.copy(ball.center).add(new THREE.Vector3(1, 0.35, 0.8).normalize().multiplyScalar(ball.radius * 3.7));
        camera.lookAt(ball.center);
        sun.position.copy(camera.position).add(new THREE.Vector3(0, ball.radius * 3, 0));
        renderer.setViewport(column * width, 0, width, height);
        renderer.setScissor(column * width, 0, width, height);
        renderer.render(scene, camera);
    });
};`;
const { outputFiles } = await build({ stdin: { contents: program, resolveDir: import.meta.dirname }, bundle: true, write: false, format: "iife", logLevel: "warning" });
const args = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args });
const moments = times.length > 0 ? times.map(Number) : [0];
const page = await browser.newPage({ viewport: { width: width * moments.length, height } });
await page.setContent("<style>body { margin: 0 }</style>");
await page.addScriptTag({ content: outputFiles[0].text });
await page.evaluate(([base64, list, w, h]) => window.draw(base64, list, w, h), [readFileSync(file).toString("base64"), moments, width, height]);
await page.screenshot({ path: output });
await browser.close();
