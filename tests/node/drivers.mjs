// drivers.mjs PELT SCENES: morphs that follow the pose, in C and in JavaScript. The Khronos validator must find nothing in a
// file with drivers, which must come through Pelt as it was. For many poses of it, and of an arm that learned from examples,
// web/src/drivers.ts must give the weights that `pelt pose` gives, to 1e-6, from what three's loader makes of the file, and
// three must then show what Pelt writes.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { validate } from "./gltf_check.mjs";
import * as support from "./support.mjs";

const [pelt, scenes] = process.argv.slice(2);
const esbuild = await support.need("esbuild");
const THREE = await support.need("three");
const { GLTFLoader } = await support.need("three/examples/jsm/loaders/GLTFLoader.js");
const source = readFileSync(path.join(support.root, "web/src/drivers.ts"), "utf8");
const { code } = await esbuild.transform(source, { loader: "ts", format: "esm" });
const { Drivers, readDrivers } = await import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`);

const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);
const random = support.seededRandom(8);
const turn = (x, y, z) => new THREE.Quaternion().setFromEuler(new THREE.Euler(x, y, z));
let [poseCount, worstWeight, worstPlace] = [0, 0, 0];

/** What three's loader makes of a file, and the drivers in it. */
async function load(file) {
    const bytes = readFileSync(file);
    const gltf = await new GLTFLoader().parseAsync(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), "");
    const { nodes, meshes } = gltf.parser.json;
    const objects = await Promise.all(nodes.map((_, node) => gltf.parser.getDependency("node", node)));
    const rotation = (node) => objects[node].quaternion.toArray();
    const list = readDrivers(gltf.userData);
    const drivers = new Drivers(list, rotation);
    const names = drivers.targets.map(({ node, target }) => meshes[nodes[node].mesh].extras.targetNames[target]);
    return { file, gltf, nodes, objects, rests: nodes.map((_, node) => rotation(node)), rotation, list, drivers, names };
}

/** Vertices as three shows them with these weights, primitive by primitive. */
function shown({ gltf, objects, drivers }, weights) {
    const out = [];
    const v = new THREE.Vector3();
    drivers.targets.forEach(({ node, target }, t) =>
        objects[node].traverse((object) => object.isMesh && (object.morphTargetInfluences[target] = weights[t])),
    );
    gltf.scene.updateMatrixWorld(true);
    gltf.scene.traverse((object) => {
        if (!object.isMesh) return;
        object.bindMode = "detached";
        object.skeleton.update();
        for (let i = 0; i < object.geometry.attributes.position.count; i++) out.push(...object.getVertexPosition(i, v));
    });
    return out;
}

/** Turns joints from rest, in both. */
function compare(rig, turns, name) {
    const { objects, rests, nodes } = rig;
    const joints = {};
    objects.forEach((object, node) => object.quaternion.fromArray(rests[node]));
    for (const [node, by] of turns) {
        const local = new THREE.Quaternion(...rests[node]).multiply(by).toArray().map(Math.fround);
        objects[node].quaternion.fromArray(local);
        joints[nodes[node].name] = { rotation: local };
    }
    writeFileSync(inFolder("pose.json"), JSON.stringify({ joints }));
    const args = ["pose", "-q", rig.file, "--pose", inFolder("pose.json"), "-o", inFolder("posed.glb"), "--json", "-"];
    const report = JSON.parse(support.run(pelt, args));
    const weights = rig.drivers.weights(rig.rotation);
    rig.names.forEach((morph, t) => {
        const off = Math.abs(report.weights[morph] - weights[t]) / Math.max(1, Math.abs(weights[t]));
        assert(off <= 1e-6, `${name}: ${morph} is ${weights[t]}, in C ${report.weights[morph]}`);
        worstWeight = Math.max(worstWeight, off);
    });
    const [a, b] = [shown(rig, weights), support.positionsOf(inFolder("posed.glb"))];
    assert.equal(a.length, b.length);
    const size = Math.max(...b) - Math.min(...b);
    a.forEach((x, e) => (worstPlace = Math.max(worstPlace, Math.abs(x - b[e]) / size)));
    assert(worstPlace <= 1e-5, `${name}: three shows vertices elsewhere, by ${worstPlace} of the size`);
    poseCount++;
}

/** Poses in which all joints that drive are turned anyhow. */
function compareAnyhow(rig, count) {
    const joints = [...new Set(rig.list.flatMap(({ joint, against = [] }) => [joint, ...against]))];
    for (let n = 0; n < count; n++)
        compare(rig, joints.map((node) => [node, turn(...[0, 0, 0].map(() => 6 * random() - 3))]), `pose ${n}`);
}

// ---- An arm made by hand: every kernel, every part, a target with two drivers, two primitives ----

const fixture = path.join(support.root, "fuzz/corpus/gltf/drivers.gltf");
const converted = inFolder("converted.glb");
support.run(pelt, ["convert", "-q", fixture, converted]);
for (const file of [fixture, converted]) assert.deepEqual(await validate(file), { errors: {}, warnings: {} });
assert.deepEqual(support.readGltf(converted).document.extras, support.readGltf(fixture).document.extras);

const arm = await load(converted);
assert.deepEqual(arm.names.toSorted(), ["elbow mode 1", "elbow mode 2", "hand mode 1"]);
const at = (driver, centre) => new THREE.Quaternion(...arm.list[driver].centres[centre]);
compare(arm, [], "rest");
compare(arm, [[2, at(0, 2)], [3, at(2, 1)]], "centres");
compare(arm, [[3, turn(0, Math.PI, 0)]], "half a turn of swing");
compare(arm, [[3, turn(Math.PI, 0, 0)]], "half a turn of twist");
compareAnyhow(arm, 12);

// ---- An arm that learned from examples ----

const learned = inFolder("learned.glb");
support.run(scenes, ["arm", "-o", inFolder("arm.glb"), "--vertices", "300", "--poses", inFolder("poses")]);
support.run(pelt, ["correct", "-q", inFolder("arm.glb"), "--driver", "pose", "--poses", inFolder("poses"), "--split", "-o", learned]);
compareAnyhow(await load(learned), 12);

// ---- The same arm with a flat skeleton: joints turn against their siblings, and nothing above them matters ----

/** [rotation, translation] of all joints in world space; the arm's joints are one chain in the order of their names. */
function worlds(chain, local) {
    const out = {};
    const [q, p] = [new THREE.Quaternion(), new THREE.Vector3()];
    for (const { name, translation = [0, 0, 0], rotation = [0, 0, 0, 1] } of chain) {
        p.add(new THREE.Vector3(...translation).applyQuaternion(q));
        q.multiply(new THREE.Quaternion(...(local?.[name]?.rotation ?? rotation)));
        out[name] = { rotation: q.toArray(), translation: p.toArray() };
    }
    return out;
}

support.run(pelt, ["convert", "-q", inFolder("arm.glb"), inFolder("flat.gltf")]);
const flat = JSON.parse(readFileSync(inFolder("flat.gltf"), "utf8"));
const chain = [];
for (let n = flat.nodes.findIndex(({ name }) => name === "base"); n !== undefined; n = flat.nodes[n].children?.[0])
    chain.push(flat.nodes[n]);
const rest = worlds(chain);
const heads = chain.slice(1).map((node) => flat.nodes.indexOf(node));
const original = structuredClone(chain);
for (const node of chain) {
    Object.assign(node, rest[node.name]);
    delete node.children;
}
const root = flat.nodes.indexOf(chain[0]);
const holder = flat.nodes.find(({ children }) => children?.includes(root)) ?? flat.scenes[0];
(holder.children ?? holder.nodes).push(...heads);
delete flat.animations;
writeFileSync(inFolder("flat.gltf"), JSON.stringify(flat));
for (const file of readdirSync(inFolder("poses")).filter((f) => f.endsWith(".json"))) {
    const pose = JSON.parse(readFileSync(path.join(inFolder("poses"), file), "utf8"));
    writeFileSync(path.join(inFolder("poses"), file), JSON.stringify({ joints: worlds(original, pose.joints) }));
}
const siblings = inFolder("siblings.glb");
support.run(pelt, ["correct", "-q", inFolder("flat.gltf"), "--driver", "pose", "--poses", inFolder("poses"), "-o", siblings]);
const flatRig = await load(siblings);
assert.equal(flatRig.list.length, 3);
assert(flatRig.list.every(({ against }) => against.length === 1));
assert.equal(flatRig.gltf.userData.pelt_drivers.version, 2);
compareAnyhow(flatRig, 6);

// ---- What is not as it should be drives nothing ----

const [good] = arm.list;
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
    { against: [] },
    { against: 3 },
    { above: [0.5] },
    { targets: [null] },
    { targets: [{ ...good.targets[0], coefficients: [1] }] },
    { targets: [{ ...good.targets[0], target: 0.5 }] },
])
    assert.equal(read(good, { ...good, ...bad }), 0, JSON.stringify(bad));
assert.equal(read(null), 0);
for (const extras of [undefined, null, 7, {}, { pelt_drivers: null }, { pelt_drivers: { version: 3, drivers: [good] } }])
    assert.deepEqual(readDrivers(extras), []);
console.log(
    `${poseCount} poses: weights differ by ${worstWeight.toExponential(1)}, vertices by ${worstPlace.toExponential(1)} of the size`,
);
