// drivers.mjs PELT: morphs that follow the pose, in C and in JavaScript. The Khronos validator must find nothing in a file
// with drivers, which must come through Pelt as it was. For many poses web/src/drivers.ts must give the weights that
// `pelt pose` gives, to 1e-6, from what three's loader makes of the file, and three must then show what Pelt writes.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { validate } from "./gltf_check.mjs";
import * as support from "./support.mjs";

const [pelt] = process.argv.slice(2);
const esbuild = await support.need("esbuild");
const THREE = await support.need("three");
const { GLTFLoader } = await support.need("three/examples/jsm/loaders/GLTFLoader.js");
const source = readFileSync(path.join(support.root, "web/src/drivers.ts"), "utf8");
const { code } = await esbuild.transform(source, { loader: "ts", format: "esm" });
const { Drivers, readDrivers } = await import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`);

const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);
const fixture = path.join(support.root, "fuzz/corpus/gltf/drivers.gltf");
const converted = inFolder("converted.glb");
support.run(pelt, ["convert", "-q", fixture, converted]);
for (const file of [fixture, converted]) assert.deepEqual(await validate(file), { errors: {}, warnings: {} });
assert.deepEqual(support.readGltf(converted).document.extras, support.readGltf(fixture).document.extras);

const glb = readFileSync(converted);
const gltf = await new GLTFLoader().parseAsync(glb.buffer.slice(glb.byteOffset, glb.byteOffset + glb.length), "");
const { nodes, meshes } = gltf.parser.json;
const objects = await Promise.all(nodes.map((_, node) => gltf.parser.getDependency("node", node)));
const rotation = (node) => objects[node].quaternion.toArray();
const rests = nodes.map((_, node) => rotation(node));
const drivers = new Drivers(readDrivers(gltf.userData), rotation);
const names = drivers.targets.map(({ node, target }) => meshes[nodes[node].mesh].extras.targetNames[target]);
assert.deepEqual(names.toSorted(), ["elbow mode 1", "elbow mode 2", "hand mode 1"]);

/** Vertices as three shows them with these weights, primitive by primitive. */
function shown(weights) {
    const out = [];
    const v = new THREE.Vector3();
    gltf.scene.updateMatrixWorld(true);
    objects[0].traverse((object) => {
        if (!object.isMesh) return;
        drivers.targets.forEach(({ target }, t) => (object.morphTargetInfluences[target] = weights[t]));
        object.bindMode = "detached";
        object.skeleton.update();
        for (let i = 0; i < object.geometry.attributes.position.count; i++) out.push(...object.getVertexPosition(i, v));
    });
    return out;
}

let [worstWeight, worstPlace] = [0, 0];
/** Turns joints from rest, in both. */
function compare(turns, name) {
    const joints = {};
    objects.forEach((object, node) => object.quaternion.fromArray(rests[node]));
    for (const [node, turn] of turns) {
        const local = new THREE.Quaternion(...rests[node]).multiply(turn).toArray().map(Math.fround);
        objects[node].quaternion.fromArray(local);
        joints[nodes[node].name] = { rotation: local };
    }
    writeFileSync(inFolder("pose.json"), JSON.stringify({ joints }));
    const args = ["pose", "-q", converted, "--pose", inFolder("pose.json"), "-o", inFolder("posed.glb"), "--json", "-"];
    const report = JSON.parse(support.run(pelt, args));
    const weights = drivers.weights(rotation);
    names.forEach((morph, t) => {
        const off = Math.abs(report.weights[morph] - weights[t]) / Math.max(1, Math.abs(weights[t]));
        assert(off <= 1e-6, `${name}: ${morph} is ${weights[t]}, in C ${report.weights[morph]}`);
        worstWeight = Math.max(worstWeight, off);
    });
    const [a, b] = [shown(weights), support.positionsOf(inFolder("posed.glb"))];
    assert.equal(a.length, b.length);
    a.forEach((x, e) => (worstPlace = Math.max(worstPlace, Math.abs(x - b[e]) / 4)));
    assert(worstPlace <= 1e-5, `${name}: three shows vertices elsewhere, by ${worstPlace} of the size`);
}

const turn = (x, y, z) => new THREE.Quaternion().setFromEuler(new THREE.Euler(x, y, z));
const at = (driver, centre) => new THREE.Quaternion(...gltf.userData.pelt_drivers.drivers[driver].centres[centre]);
compare([[2, turn(0, 0, 0)]], "rest");
compare([[2, at(0, 2)], [3, at(2, 1)]], "centres");
compare([[3, turn(0, Math.PI, 0)]], "half a turn of swing");
compare([[3, turn(Math.PI, 0, 0)]], "half a turn of twist");
const random = support.seededRandom(8);
for (let n = 0; n < 20; n++)
    compare([2, 3].map((node) => [node, turn(...[0, 0, 0].map(() => 6 * random() - 3))]), `pose ${n}`);

// What is not as it should be drives nothing.
const [good] = gltf.userData.pelt_drivers.drivers;
const read = (...list) => readDrivers({ pelt_drivers: { version: 1, drivers: list } }).length;
assert.equal(read(good), 1);
for (const bad of [
    { joint: "2" },
    { part: "spin" },
    { part: "twist", axis: [1, 0] },
    { kernel: "cubic" },
    { radius: 0 },
    { radius: "1" },
    { centres: [[0, 0, 0]] },
    { centres: {} },
    { targets: [null] },
    { targets: [{ ...good.targets[0], coefficients: [1] }] },
    { targets: [{ ...good.targets[0], target: 0.5 }] },
])
    assert.equal(read(good, { ...good, ...bad }), 0, JSON.stringify(bad));
assert.equal(read(null), 0);
for (const extras of [undefined, null, 7, {}, { pelt_drivers: null }, { pelt_drivers: { version: 2, drivers: [good] } }])
    assert.deepEqual(readDrivers(extras), []);
console.log(`24 poses: weights differ by ${worstWeight.toExponential(1)}, vertices by ${worstPlace.toExponential(1)} of the size`);
