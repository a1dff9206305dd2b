// vrm.mjs PELT SCENES: the data of VRM 0 and VRM 1 avatars comes through every verb: unchanged where nodes keep their places,
// renumbered where the skeleton is another with the same joints, removed with a warning where joints are replaced.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import * as support from "./support.mjs";

const [pelt, scenes] = process.argv.slice(2);
const folder = support.scratchFolder();
const place = (name) => path.join(folder, name);

support.run(scenes, ["creature", "-o", place("plain.glb"), "--vertices", "400"]);
const { document, buffer } = support.readGltf(place("plain.glb"));
const names = document.nodes.map(({ name }) => name);
assert.equal(new Set(names).size, names.length);
const mesh = document.nodes.findIndex((node) => node.mesh !== undefined);

/** Writes an avatar; every reference to a node is beside the node's name. */
function makeAvatar(file) {
    const d = structuredClone(document);
    const at = (node) => ({ node, extras: names[node] });
    d.extensionsUsed = ["VRM", "VRMC_vrm", "VRMC_springBone", "VRMC_node_constraint"];
    d.extensions = {
        VRM: {
            humanoid: { humanBones: names.slice(0, mesh).map((bone, node) => ({ bone, ...at(node) })) },
            firstPerson: { firstPersonBone: 1, meshAnnotations: [{ mesh: 0, firstPersonFlag: "Auto" }] },
            blendShapeMaster: { blendShapeGroups: [{ name: "a", binds: [{ mesh: 0, index: 0, weight: 100 }] }] },
            secondaryAnimation: { boneGroups: [{ bones: [3, 4], center: -1, colliderGroups: [0] }], colliderGroups: [{ ...at(5), colliders: [] }] },
        },
        VRMC_vrm: {
            specVersion: "1.0",
            humanoid: { humanBones: Object.fromEntries(names.slice(0, mesh).map((name, node) => [name, at(node)])) },
            firstPerson: { meshAnnotations: [{ ...at(mesh), type: "auto" }] },
            expressions: { preset: { happy: { morphTargetBinds: [{ ...at(mesh), index: 0, weight: 1 }] } }, custom: { odd: { morphTargetBinds: [at(mesh)] } } },
        },
        VRMC_springBone: { specVersion: "1.0", colliders: [at(1)], springs: [{ joints: [at(1), at(2)], center: 0 }] },
    };
    d.nodes[2].extensions = { VRMC_node_constraint: { specVersion: "1.0", constraint: { rotation: { source: 1, weight: 1 } } } };
    writeFileSync(file, support.makeGlb(d, buffer(0)));
    return d.extensions;
}

/** The avatar with its nodes in the reverse order, children first. */
function makeReversed(file) {
    const d = structuredClone(support.readGltf(avatar).document);
    const last = d.nodes.length - 1, turn = (n) => last - n;
    d.nodes.reverse();
    for (const node of d.nodes) if (node.children) node.children = node.children.map(turn);
    for (const skin of d.skins) {
        skin.joints = skin.joints.map(turn);
        if (skin.skeleton !== undefined) skin.skeleton = turn(skin.skeleton);
    }
    for (const scene of d.scenes) scene.nodes = scene.nodes.map(turn);
    for (const { channels } of d.animations ?? []) for (const { target } of channels) target.node = turn(target.node);
    const walk = (value) => {
        if (value?.node !== undefined) value.node = turn(value.node);
        if (value?.source !== undefined) value.source = turn(value.source);
        if (value && typeof value === "object") Object.values(value).forEach(walk);
    };
    walk(d.extensions);
    for (const node of d.nodes) walk(node.extensions);
    d.extensions.VRM.firstPerson.firstPersonBone = turn(1);
    d.extensions.VRM.secondaryAnimation.boneGroups[0].bones = [3, 4].map(turn);
    d.extensions.VRMC_springBone.springs[0].center = turn(0);
    checkNames(d.extensions, d.nodes);
    writeFileSync(file, support.makeGlb(d, buffer(0)));
}

/** Runs a verb; gives the document and what was said. */
function run(...args) {
    const out = place("out.vrm");
    const result = spawnSync(pelt, [...args, "-o", out], { encoding: "utf8" });
    assert.equal(result.status, 0, `${args.join(" ")}: ${result.stderr}`);
    return { written: support.readGltf(out).document, said: result.stderr };
}

/** Every reference of `value` must lead to the node that is named beside it. */
function checkNames(value, nodes) {
    if (value?.extras !== undefined && value.node !== undefined) assert.equal(nodes[value.node]?.name, value.extras);
    if (value && typeof value === "object") for (const child of Object.values(value)) checkNames(child, nodes);
}

const avatar = place("avatar.vrm");
const extensions = makeAvatar(avatar);
const verbs = [["convert"], ["convert", "--order", "skin"], ["bind"], ["simplify", "--ratio", "0.5"], ["jiggle"], ["decompose", "--add", "3"], ["light"]];
for (const [verb, ...options] of verbs) {
    const { written } = run(verb, avatar, ...options);
    assert.deepEqual(written.extensions, extensions, verb);
    assert.deepEqual(written.nodes[2].extensions, { VRMC_node_constraint: { specVersion: "1.0", constraint: { rotation: { source: 1, weight: 1 } } } }, verb);
    checkNames(written.extensions, written.nodes);
    assert.equal(written.extensionsUsed.filter((name) => name.startsWith("VRM")).length, 4);
}
const compressed = spawnSync(pelt, ["convert", "-q", avatar, "-o", place("out.vrm"), "--compress"], { encoding: "utf8" });
if (compressed.status === 0) assert.deepEqual(support.readGltf(place("out.vrm")).document.extensions, extensions);
else assert.match(compressed.stderr, /meshoptimizer/); // a build without it

// Scaled, the skeleton is another: its nodes are written anew, parents first.
makeReversed(place("reversed.vrm"));
const { written } = run("convert", place("reversed.vrm"), "--scale", "2");
assert.notEqual(written.nodes.at(-1).name, names[0], "the nodes are where they were");
checkNames(written.extensions, written.nodes);
assert.deepEqual(written.extensions.VRM.secondaryAnimation.boneGroups[0].bones.map((n) => written.nodes[n].name), [names[3], names[4]]);
assert.equal(written.extensions.VRM.secondaryAnimation.boneGroups[0].center, -1);
assert.equal(written.nodes[written.extensions.VRM.firstPerson.firstPersonBone].name, names[1]);
const constrained = written.nodes.find(({ name }) => name === names[2]);
assert.equal(written.nodes[constrained.extensions.VRMC_node_constraint.constraint.rotation.source].name, names[1]);

// Joints that are gone: no data that leads to others.
const gone = run("decompose", avatar, "--bones", "6");
assert.match(gone.said, /VRM data .* is left out/);
assert.equal(gone.written.extensions, undefined);
assert(!(gone.written.extensionsUsed ?? []).some((name) => name.startsWith("VRM")));
assert(!gone.written.nodes.some(({ extensions }) => extensions));
console.log(`VRM data came through ${verbs.length + 1} verbs, renumbered once, removed once`);
