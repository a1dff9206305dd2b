// package.mjs PACKAGE: the npm package in node, on the calling thread (engine.js) and in a worker (pelt.js).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const folder = path.resolve(process.argv[2] ?? process.env.PELT_PACKAGE);
const root = fileURLToPath(new URL("../..", import.meta.url));
const { Engine, PeltError: EngineError } = await import(pathToFileURL(path.join(folder, "engine.js")).href);
const { Pelt, PeltError } = await import(pathToFileURL(path.join(folder, "pelt.js")).href);
const wasm = new WebAssembly.Module(readFileSync(path.join(folder, "pelt.wasm")));

const file = (name) => ({ name: path.basename(name), data: readFileSync(path.join(root, name)) });
const bytes = (text) => new TextEncoder().encode(text);
const fails = (run, code, sentence) =>
    assert.throws(run, (error) => error instanceof EngineError && error.code === code && sentence.test(error.message));
const rejects = (promise, code, sentence = /./) =>
    assert.rejects(promise, (error) => error instanceof PeltError && error.code === code && sentence.test(error.message));

// ---- On the calling thread ----

const engine = await Engine.start(wasm);

test("option tables have names, ranges and help", () => {
    const { decompose, bind } = engine.options;
    const bones = decompose.options.find(({ key }) => key === "bones");
    assert.deepEqual([bones.kind, bones.letter, bones.min, bones.max, bones.initial], ["uint", "b", 0, 4000, "0"]);
    assert.deepEqual(bind.options.find(({ name }) => name === "max-voxels").key, "maxVoxels");
    assert.ok(bind.options.find(({ key }) => key === "method").choices.includes("geodesic"));
    assert.ok("fesam2010" in decompose.presets);
    for (const { options } of Object.values(engine.options)) {
        assert.ok(options.length > 0 && options.every(({ help }) => help.length > 0));
        assert.equal(new Set(options.map(({ key }) => key)).size, options.length);
    }
    assert.deepEqual(JSON.parse(readFileSync(path.join(folder, "options.json"), "utf8")), engine.options);
});

/** Hashes of the native program's files (tests/same_bytes.sh). */
const table = Object.fromEntries(
    readFileSync(path.join(root, "tests/same_bytes.sha256"), "utf8").trim().split("\n").map((line) => line.split(/ +/).reverse()),
);
const sameBytes = ({ name, data }) =>
    assert.equal(createHash("sha256").update(data).digest("hex"), table[name], `${name} has other bytes than the native program writes`);

test("files have the bytes of the native program", () => {
    const scene = engine.scene("cloth", { vertices: 600, frames: 24 });
    const files = [...scene.save("cloth.obj"), ...scene.save("cloth.pc2")];
    files.forEach(sameBytes);
    const cloth = engine.load(files);
    cloth.decompose({ bones: 8, transforms: "rigid" });
    sameBytes(cloth.save("rigid.glb")[0]);
    const character = engine.scene("production", { vertices: 2000 });
    const [written] = character.save("production.glb");
    sameBytes(written);
    const bound = engine.load(written);
    bound.bind({ resolution: 64 });
    sameBytes(bound.save("bound.glb")[0]);
    for (const model of [scene, cloth, character, bound]) model.free();
});

test("every format is read, and written files come back", () => {
    const cloth = engine.scene("cloth", { vertices: 200, frames: 5 });
    const obj = cloth.save("cloth.obj");
    for (const cache of ["cloth.pc2", "cloth.mdd"]) {
        const again = engine.load([...obj, ...cloth.save(cache)]);
        const { clips } = again.info();
        assert.deepEqual([clips.length, clips[0].frameCount], [1, 5]);
        assert.deepEqual(again.frame(0, 3), cloth.frame(0, 3));
    }
    const sequence = cloth.save("cloth_%02d.ply");
    assert.equal(sequence.length, 5);
    assert.equal(engine.load(sequence).info().clips[0].frameCount, 5);
    const creature = engine.scene("creature", { vertices: 500 });
    const gltf = creature.save("creature.gltf");
    const again = engine.load(gltf);
    assert.equal(gltf.length, 2);
    assert.equal(again.info().boneCount, creature.info().boneCount);
    assert.equal(engine.load(creature.save("walk.bvh")).info().motions.length, 1);
    const skeleton = engine.load([file("tests/cli/leg.asf"), file("tests/cli/leg.amc")]);
    assert.equal(skeleton.info().motions.length, 1);
    const alembic = engine.load(file("fuzz/corpus/abc/transforms.abc"));
    assert.deepEqual([alembic.info().format, alembic.info().clips[0].frameCount], ["Alembic", 3]);
    assert.deepEqual(engine.formats.map(({ name }) => name).sort(), ["AMC", "ASF", "Alembic", "BVH", "FBX", "MDD", "OBJ", "PC2", "PLY", "USD", "VAT", "glTF"].sort());
});

test("failures are the library's sentences", () => {
    fails(() => engine.load({ name: "bad.obj", data: bytes("v 1 2\n") }), "input", /^bad\.obj: line 1: /);
    fails(() => engine.load({ name: "none.xyz", data: bytes("?") }), "input", /^none\.xyz: /);
    fails(() => engine.load({ name: "../a.obj", data: bytes("") }), "usage", /no name of a file/);
    const model = engine.scene("cloth", { vertices: 100, frames: 3 });
    fails(() => model.decompose({ boness: 3 }), "usage", /^boness: there is no such option/);
    fails(() => model.decompose({ bones: 1e9 }), "usage", /^bones: .* out of range/);
    fails(() => model.decompose({ restPositions: new Float32Array(3) }), "usage", /restPositions has 3 numbers, should have \d+$/);
    fails(() => model.bind(), "input", /./);
    fails(() => model.frame(0, 3), "usage", /no frame 3 of clip 0/);
    fails(() => model.save("a.xyz"), "usage", /./);
    fails(() => engine.scene("nothing"), "usage", /there is no scene 'nothing'/);
    assert.equal(model.info().boneCount, 0);
    model.free();
    model.free();
    fails(() => model.info(), "usage", /the Model was freed/);
});

test("a binding is weighted again with other settings", () => {
    const model = engine.scene("creature", { vertices: 2000 });
    const binding = model.binding({ resolution: 48, keepFields: true });
    binding.apply();
    const first = model.skin();
    const other = engine.scene("creature", { vertices: 2000 });
    other.bind({ resolution: 48 });
    assert.deepEqual(other.skin().weights, first.weights);
    binding.apply({ falloff: 0.1 });
    assert.notDeepEqual(model.skin().weights, first.weights);
    binding.apply({ falloff: 0.7, influences: 1 });
    assert.equal(model.skin().influenceCount, 1);
    const { names } = model.skeleton();
    const used = first.boneJoints[first.bones[0]];
    binding.apply({ exclude: [names[used]] });
    const { bones, weights, boneJoints } = model.skin();
    assert.ok(weights.every((weight, n) => weight === 0 || boneJoints[bones[n]] !== used));
    assert.equal(binding.report().idle[used], 1);
    const { vertexCount } = model.info();
    binding.apply({ falloff: 0, vertexFalloff: new Float32Array(vertexCount).fill(0.7) });
    assert.ok(model.skin().weights.every((weight, n) => Math.abs(weight - first.weights[n]) < 1e-5));
    binding.apply({ attributes: { brush: new Float32Array(vertexCount).fill(1) }, rigid: `attribute(brush)=${names[used]}` });
    assert.equal(binding.report().rigidCount, vertexCount);
    const voxels = binding.voxels();
    assert.equal(voxels.cells.length, 3 * voxels.count);
    const section = binding.section({ axis: "x", show: "weights" });
    assert.equal(section.pixels.length, 4 * section.width * section.height);
    model.free(); // the binding keeps what it needs
    binding.apply();
    for (const handle of [binding, other]) handle.free();
});

test("decompose, correct, simplify and skinning agree", () => {
    const model = engine.scene("cloth", { vertices: 400, frames: 12 });
    const errors = [];
    const report = model.decompose({ bones: 6, iteration: (error) => errors.push(error) });
    assert.equal(errors.length, report.iterationCount);
    assert.ok(errors.at(-1) < errors[0]);
    const before = model.compare();
    assert.ok(Math.abs(before.errorRms - report.errorFit) < 0.01 * report.errorFit);
    const { errors: ranks } = model.correct({ rank: 3 });
    assert.equal(ranks.length, 4);
    assert.ok(model.compare().errorRms < 0.9 * before.errorRms);
    const { locals, weights } = model.sample(0, 0.2);
    assert.deepEqual(model.pose({ locals, weights }).positions, model.pose({ motion: 0, time: 0.2 }).positions);
    assert.equal(model.normals().length, 3 * model.info().vertexCount);
    const half = model.simplify({ ratio: 0.5 });
    assert.ok(half.triangleCount <= half.trianglesBefore / 2 + 1);
    model.free();
});

test("frames of clips, corrections by pose, and motions of another model", () => {
    const cloth = engine.scene("cloth", { vertices: 300, frames: 5 });
    const { positions, radius } = cloth.clipPoints(0);
    const { pointCount } = cloth.info().clips[0];
    assert.equal(positions.length, 5 * 3 * pointCount);
    assert.ok(radius > 0.1 && radius < 10);
    const [points, frame] = [cloth.points(), cloth.frame(0, 3)];
    for (let v = 0; v < frame.length / 3; v++) assert.equal(frame[3 * v], positions[3 * (3 * pointCount + (points ? points[v] : v))]);
    fails(() => cloth.clipPoints(1), "usage", /there is no clip 1/);

    const arm = engine.scene("arm", { vertices: 500 });
    const before = arm.compare().errorRms;
    const report = arm.eigenskin({ modes: 3 });
    assert.equal(report.modeCount, 3);
    assert.ok(report.morphCount > 0 && arm.info().morphs.length >= report.morphCount);
    assert.ok(arm.compare().errorRms < 0.2 * before, `${before} before`);

    const [rig, source] = [engine.scene("creature", { vertices: 500 }), engine.scene("creature", { vertices: 300 })];
    const partners = rig.matchJoints({ source });
    assert.deepEqual([...partners], [...partners.keys()], "a joint has another partner than itself");
    const { matched, frameCount, torn } = rig.retarget({ source, name: "again", replace: true });
    assert.equal(matched, partners.length);
    assert.ok(frameCount > 1 && !torn);
    assert.deepEqual(rig.info().motions.map(({ name }) => name), ["again"]);
    fails(() => rig.retarget({ source: cloth }), "usage", /there is no motion 0 to retarget/);

    // A copy decomposes what the model plays, which stays as it is.
    const copy = rig.borrow();
    copy.motionsToClips({ source: rig, fps: 10 });
    copy.decompose({ bones: 4, iterations: 2 });
    assert.equal(copy.info().boneCount, 4);
    assert.ok(rig.info().boneCount > 4 && copy.compare().errorRms < 100);
    for (const model of [cloth, arm, rig, source, copy]) model.free();
});

test("soft tissue steps the same way twice, and becomes bones", () => {
    const model = engine.scene("creature", { vertices: 1500 });
    const shake = () => {
        const jiggle = model.jiggle({ particles: 400, forces: { gravity: [0, -9.81, 0] } });
        let shape;
        for (let k = 0; k < 20; k++) shape = jiggle.advance({ pose: { motion: 0, time: k / 30 }, seconds: 1 / 30, normals: true });
        const { positions } = jiggle.lattice();
        assert.equal(positions.length, 4 * jiggle.report().particleCount);
        const kept = jiggle.shape({ into: new Float32Array(shape.positions.length) });
        assert.deepEqual(kept.positions, shape.positions);
        fails(() => jiggle.shape({ into: new Float32Array(1) }), "usage", /^into has 1 numbers, should have/);
        const pin = new Float32Array(model.info().vertexCount).fill(1);
        jiggle.setValues({ maps: { pin } });
        const pinned = jiggle.advance({ seconds: 1 / 30 });
        jiggle.free();
        return [shape, pinned];
    };
    const [[first, pinned], [second]] = [shake(), shake()];
    assert.deepEqual(first, second);
    assert.notDeepEqual(pinned.positions, first.positions);
    const stiff = model.jiggle({ particles: 400, colliders: [{ kind: "sphere", a: [0, 0, 0], radius: 0.1 }] });
    stiff.setCollider(0, { kind: "plane", a: [0, -1, 0], b: [0, 1, 0] });
    fails(() => stiff.setCollider(1, { kind: "sphere", a: [0, 0, 0] }), "usage", /there are 1/);
    stiff.free();
    const simulated = model.simulate({ motion: 0, particles: 400, fps: 20 });
    assert.ok(simulated.particleCount > 100);
    const { boneCount } = model.info();
    model.addBones({ add: 4, iterations: 2 });
    assert.ok(model.info().boneCount > boneCount);
    model.free();
});

test("tissue can be grabbed, and its values read", () => {
    const model = engine.scene("creature", { vertices: 1500 });
    const { vertexCount } = model.info();
    const jiggle = model.jiggle({ particles: 400 });
    const before = jiggle.values("delta");
    const soft = before.indexOf(Math.max(...before));
    assert.ok(before[soft] > 0.1);
    const stiffness = new Float32Array(vertexCount).fill(-1);
    stiffness[soft] = 5;
    jiggle.setValues({ maps: { stiffness } });
    assert.ok(jiggle.values("stiffness")[soft] > 2.01 && jiggle.values("stiffness")[soft] <= 5);
    assert.deepEqual(jiggle.values("delta"), before);
    fails(() => jiggle.values("weight"), "usage", /there is no value 'weight'/);
    const rest = jiggle.advance({ pose: { motion: null, time: 0 }, seconds: 0 }).positions;
    const at = [...rest.subarray(3 * soft, 3 * soft + 3)];
    jiggle.grab({ vertex: soft, target: [at[0], at[1] + 0.05, at[2]], radius: 0.1 });
    const pulled = jiggle.advance({ seconds: 0.5 }).positions;
    assert.ok(pulled[3 * soft + 1] > at[1] + 0.001);
    jiggle.grab(null);
    for (let k = 0; k < 5; k++) jiggle.step(1);
    assert.ok(Math.abs(jiggle.shape().positions[3 * soft + 1] - at[1]) < 1e-5);
    jiggle.free();
    model.free();
});

test("distances of a joint, and the axes of its voxels", () => {
    const model = engine.scene("creature", { vertices: 1500 });
    const binding = model.binding({ resolution: 48 });
    const [joint, axes] = [binding.report().idle.indexOf(0), binding.voxels().axes];
    const distances = binding.distances(joint);
    assert.equal(distances.length, model.info().vertexCount);
    assert.ok(distances.every((d) => d >= 0) && Math.min(...distances) < 0.2 * Math.max(...distances));
    for (let a = 0; a < 9; a += 3) assert.ok(Math.abs(Math.hypot(...axes.slice(a, a + 3)) - 1) < 1e-5);
    fails(() => binding.distances(9999), "input", /gets no weights/);
    binding.free();
    model.free();
});

test("repeated binds do not grow memory, and nothing is left", () => {
    const model = engine.scene("creature", { vertices: 1000 });
    const sizes = [];
    for (let n = 0; n < 10; n++) {
        model.bind({ resolution: 40 });
        sizes.push(engine.memoryInfo().current);
    }
    assert.equal(sizes[9], sizes[2]);
    model.free();
});

test("running out of memory is a sentence and changes nothing", async () => {
    const small = await Engine.start(wasm, { memoryLimit: 4 << 20 });
    const model = small.scene("creature", { vertices: 2000 });
    const { weights } = model.skin();
    fails(() => model.bind({ resolution: 128 }), "memory", /needs more memory than the limit of 4194304 bytes/);
    assert.deepEqual(model.skin().weights, weights);
    model.free();
    assert.equal(small.memoryInfo().current, 0);
});

test("after a trap the engine says that it stopped", async () => {
    const broken = await Engine.start(wasm);
    fails(() => broken.run({}, () => broken.call._pw_counts(0xfffffff0, 0)), "engine", /^internal error: .*; start another engine$/);
    fails(() => broken.scene("cloth"), "engine", /stopped after an internal error/);
});

// ---- In a worker ----

test("in a worker", async (t) => {
    const pelt = await Pelt.start();
    assert.equal(pelt.version, engine.version);
    assert.deepEqual(pelt.options, engine.options);

    await t.test("results are those of the calling thread", async () => {
        const [here, there] = [engine.scene("cloth", { vertices: 300, frames: 8 }), await pelt.scene("cloth", { vertices: 300, frames: 8 })];
        const phases = new Set();
        const errors = [];
        const report = await there.decompose({ bones: 5, progress: (phase) => phases.add(phase), iteration: (error) => errors.push(error) });
        here.decompose({ bones: 5 });
        assert.ok(phases.size > 0);
        assert.equal(errors.length, report.iterationCount);
        const [a, b] = [here.save("a.glb")[0], (await there.save("a.glb"))[0]];
        assert.deepEqual(a, b);
        const again = await pelt.load({ name: "a.glb", data: new Blob([b.data]) });
        assert.equal((await again.info()).motions.length, 1);
        await rejects(pelt.load({ name: "x.obj", data: bytes("v") }), "input", /^x\.obj: /);
        const pose = await again.pose({ motion: 0, time: 0.1 });
        assert.equal(pose.positions.length, 3 * (await again.info()).vertexCount);
        const moved = await again.pose({ motion: 0, time: 0.2, into: pose.positions });
        assert.equal(pose.positions.length, 0);
        assert.deepEqual(moved, await again.pose({ motion: 0, time: 0.2 }));
        const rig = await pelt.scene("cloth", { vertices: 300, frames: 8 });
        await rig.decompose({ rig: again, givenMotion: true });
        for (const model of [there, again, rig]) model.free();
        here.free();
        await rejects(again.info(), "usage", /freed/);
    });

    await t.test("a cancelled call leaves the model as it was", async () => {
        const model = await pelt.scene("cloth", { vertices: 5000, frames: 60 });
        const before = await model.info();
        const stop = new AbortController();
        const call = model.decompose({ bones: 60, effort: "best", signal: stop.signal, iteration: () => stop.abort() });
        await rejects(call, "cancelled", /^cancelled$/);
        assert.deepEqual(await model.info(), before);
        await rejects(model.decompose({ signal: AbortSignal.abort() }), "cancelled");
        const small = await model.simplify({ ratio: 0.1 });
        assert.ok(small.triangleCount < 2000);
        model.free();
        assert.equal((await pelt.memoryInfo()).current, 0);
    });

    await t.test("handles that are forgotten are freed", { skip: !globalThis.gc && "needs node --expose-gc" }, async () => {
        await (async () => void (await pelt.scene("cloth", { vertices: 1000, frames: 5 })))();
        for (let n = 0; n < 50 && (await pelt.memoryInfo()).current > 0; n++) {
            globalThis.gc();
            await new Promise((done) => setTimeout(done, 10));
        }
        assert.equal((await pelt.memoryInfo()).current, 0);
    });

    const lost = pelt.scene("cloth", { vertices: 1000 });
    pelt.terminate();
    await rejects(lost, "engine", /terminated/);
    await rejects(pelt.memoryInfo(), "engine");
});
