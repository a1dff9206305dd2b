// usd.mjs PELT SCENES TOOL_POSE [--rigs] [--only REGEX] [--write FILE]: what other programs make of the USD files that Pelt writes, against Pelt's own
// evaluation of the same model as glTF: in rest, at keys and halfway between them.
//
//   --rigs   every glTF file of the real data too
//   --only   kinds and rigs whose name matches this expression
//   --write  write the table as Markdown to this file
//
// Exits with 77, which CTest takes for skipped, where no other program is installed.
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import * as support from "../node/support.mjs";
import * as positions from "../node/three_positions.mjs";
import { checkCompare, compare, momentsOf, oursAt } from "./compare.mjs";
import { influencesOf } from "./influences.mjs";
import { kinds, makeKind } from "./kinds.mjs";
import { missingPackage } from "./programs.mjs";

const BOUND = 1e-4;
const { values: options, positionals } = parseArgs({ allowPositionals: true, options: { rigs: { type: "boolean", default: false }, only: { type: "string", default: "" }, write: { type: "string" } } });
const [pelt, scenes, toolPose] = positionals;
const folder = support.scratchFolder();
const wanted = (name) => new RegExp(options.only).test(name);
const bufferOf = (file) => {
    const bytes = readFileSync(file);
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
};
const hasMorphs = (file) => (support.readGltf(file).document.meshes ?? []).some(({ primitives }) => primitives.some(({ targets }) => targets?.length));

/** three's USDLoader makes images with a browser's elements, which are not needed here. */
async function byThree({ usd, moments, names }) {
    const image = { addEventListener() {}, removeEventListener() {}, set src(_) {} };
    globalThis.document ??= { createElementNS: () => image };
    globalThis.self ??= globalThis;
    const { USDLoader } = await support.need("three/examples/jsm/loaders/USDLoader.js");
    const group = new USDLoader().parse(bufferOf(usd));
    const gltf = { scene: group };
    const objects = [];
    group.traverse((object) => object.isMesh && objects.push(object));
    objects.forEach((object) => object.isSkinnedMesh && (object.bindMode = "detached"));
    const clip = (motion) => group.animations.find(({ name }) => name === names[motion]);
    const rest = positions.worldPositions(gltf, objects);
    return moments.map(([motion, time]) => {
        if (motion >= 0 && !clip(motion)) throw new Error(`has no animation '${names[motion]}'`);
        return motion < 0 ? rest : positions.positionsAt(gltf, objects, clip(motion), time);
    });
}

/** tinyusdz is built for browsers; its module takes node for one where process.type says so. It gives meshes, no skins: the rest pose. */
async function byTinyusdz({ usd }) {
    process.type = "renderer";
    globalThis.window ??= globalThis;
    globalThis.document ??= { currentScript: null };
    const { default: start } = await import("tinyusdz/tinyusdz.js");
    const module = await start({ wasmBinary: readFileSync(new URL("node_modules/tinyusdz/tinyusdz.wasm", import.meta.url)), print() {}, printErr() {} });
    const loader = new module.TinyUSDZLoaderNative();
    if (!loader.loadFromBinary(new Uint8Array(bufferOf(usd)), path.basename(usd))) throw new Error(loader.error().trim().split("\n").at(-1));
    const all = [];
    for (let n = 0; n < loader.numMeshes(); n++) all.push(...loader.getMesh(n).points);
    return [all];
}

// About a program: why it is not asked for a file, in words, or "".
const programs = [
    { name: "three", about: "three, `USDLoader`", missing: () => "", evaluate: byThree, skips: ({ glb }) => (hasMorphs(glb) ? "reads no blend shapes" : influencesOf(glb) > 4 ? "plays 4 influences" : "") },
    { name: "tinyusdz", about: "npm `tinyusdz`, points of meshes", missing: () => missingPackage("tinyusdz"), evaluate: byTinyusdz, restOnly: true, skips: ({ glb, bound }) => (hasMorphs(glb) ? "0.9.0-rc10 ends with an internal error on animated weights of blend shapes" : bound ? "" : "gives points before skinning, which differ from the rest pose of this file") },
];

/** The names of the animation prims: as the file has them. */
const animationNames = (usd) => [...readFileSync(usd, "latin1").matchAll(/def SkelAnimation "(\w+)"/g)].map(([, name]) => name);

/** Points of the meshes as the file has them, against the pose: whether the rest pose is the one that the skin was bound in. */
function isBound(usd, rest) {
    const points = [...readFileSync(usd, "latin1").matchAll(/point3f\[\] points = \[(.*)\]\n/g)].flatMap(([, list]) => list.replace(/[()]/g, "").split(", ").map(Number));
    return compare([rest], { poses: [points], unordered: true }, [[-1, 0]]).error < BOUND;
}

async function judge(program, job) {
    const missing = program.missing() || program.skips(job);
    if (missing) return { ok: true, text: "–", note: missing };
    try {
        const poses = await program.evaluate(job);
        const moments = program.restOnly ? job.moments.slice(0, 1) : job.moments;
        const { error } = compare(program.restOnly ? job.poses.slice(0, 1) : job.poses, { poses, unordered: true }, moments);
        return { ok: error <= BOUND, error, text: `${error.toExponential(0)}` };
    } catch (error) {
        return { ok: false, text: error.message.split("\n")[0] };
    }
}

/** Every glTF file below a folder. */
const gltfFiles = (root) => readdirSync(root).flatMap((name) => {
    const full = path.join(root, name);
    return statSync(full).isDirectory() ? gltfFiles(full) : /\.(glb|gltf)$/.test(name) ? [full] : [];
});

checkCompare();
if (programs.every(({ missing }) => missing())) process.exit(77);
const sources = kinds.flatMap((kind, number) => (kind.cache || kind.target || !wanted(kind.name) ? [] : [{ name: kind.name, glb: () => makeKind(kind, number, { pelt, scenes, folder })[0] }]));
if (options.rigs) {
    const data = process.env.PELT_DATA ?? path.join(path.dirname(new URL(import.meta.url).pathname), "../../../shared/data");
    for (const root of readdirSync(data).filter((name) => name.startsWith("char-")))
        for (const file of gltfFiles(path.join(data, root))) if (wanted(file)) sources.push({ name: path.relative(data, file).replace(/^char-|\.\w+$/g, ""), glb: () => file });
}
const lines = [`| file | ${programs.map(({ name }) => name).join(" | ")} |`, `|---|${programs.map(() => "---:|").join("")}`];
const notes = [];
let failed = false;
for (const { name, glb } of sources) {
    const source = glb();
    const usd = path.join(folder, "file.usda");
    support.run(pelt, ["convert", source, usd, "-q"]);
    const moments = await momentsOf(source);
    const poses = oursAt(toolPose, source, moments);
    const job = { glb: source, usd, moments, poses, names: animationNames(usd), bound: isBound(usd, poses[0]) };
    const cells = [];
    for (const program of programs) {
        const { ok, text, note } = await judge(program, job);
        failed ||= !ok;
        if (note && !notes.includes(note)) notes.push(note);
        cells.push(ok ? `${text}${note ? ` [${notes.indexOf(note) + 1}]` : ""}` : `**✗ ${text}**`);
    }
    lines.push(`| ${name} | ${cells.join(" | ")} |`);
    console.log(lines.at(-1));
}
lines.push("", ...notes.map((note, n) => `[${n + 1}] ${note}  `));
console.log(notes.map((note, n) => `[${n + 1}] ${note}`).join("\n"));
if (options.write) writeFileSync(options.write, `${lines.join("\n")}\n`);
process.exit(failed ? 1 : 0);
