// The way back: files that other programs write, read by Pelt. A way is a row: a program that reads a file and writes it anew.
// Two things are measured of what it wrote:
//
//   read   Pelt's poses of it against those of three with the specification's interpolation and all influences, to 1e-5
//   plays  of files that Pelt wrote: Pelt's poses of it against those of the file that it was made from
//
// A way has `settings` of Blender's exporter or a function `run`; `extension`, what the result must use, or else this program
// cannot; and its own bounds, with the reason, where the program cannot meet these.
import { existsSync, mkdtempSync } from "node:fs";
import path from "node:path";
import { ours } from "../node/positions.mjs";
import * as support from "../node/support.mjs";
import { compare, momentsOf, oursAt } from "./compare.mjs";
import { LARGEST, cutInfluences, influencesOf } from "./influences.mjs";
import { withinLimit } from "./judge.mjs";
import { byThree, gltfpack, missingPackage, missingProgram, runBlender, transform } from "./programs.mjs";

const READ_BOUND = 1e-5;
const PLAY_BOUND = 1e-3;
/** Weights of 8 bits: 1.0e-3 measured of gltfpack. */
const PACKED_BOUND = 2e-3;
/** Weights of 8 bits, 8 of them a vertex: 3.2e-3 measured of glTF-Transform. */
const MESHOPT_BOUND = 4e-3;

const blender = (name, settings, ending = "glb") => ({ name: `Blender: ${name}`, settings: { export_format: "GLB", ...settings }, ending, missing: () => missingProgram("blender") });
const convert = (name, missing, run, bound) => ({ name, run, bound, ending: "glb", missing });

/** Limits of ways, by source, of what plays: { why, bound }. */
const NO_REST_SCALE = {
    "8 influences": { bound: 0.3, why: "Blender's bones have no scale at rest, and these settings write what is animated only: constant scales of affine bones are lost (0.25 measured)" },
};

export const ways = [
    { ...blender("binary, as it is set", {}), quick: true },
    blender("separate", { export_format: "GLTF_SEPARATE" }, "gltf"),
    blender("embedded", { export_format: "GLTF_EMBEDDED" }, "gltf"),
    blender("all influences", { export_all_influences: true }),
    { ...blender("no sampling", { export_force_sampling: false }), limits: NO_REST_SCALE },
    { ...blender("optimised animation size", { export_optimize_animation_size: true }), limits: NO_REST_SCALE },
    blender("deform bones only", { export_def_bones: true }),
    blender("morph normals, tangents", { export_morph_normal: true, export_tangents: true }),
    { ...blender("Draco", { export_draco_mesh_compression_enable: true }), extension: "KHR_draco_mesh_compression" },
    convert("gltfpack", () => missingPackage("gltfpack"), gltfpack(["-kn"]), PACKED_BOUND),
    { ...convert("gltfpack -c", () => missingPackage("gltfpack"), gltfpack(["-kn", "-c"]), PACKED_BOUND), quick: true },
    // The filter of its quaternions is decoded by two versions of meshoptimizer (0.18 here, 1.1 in three), which now and then
    // differ by one in 16 bits.
    { ...convert("gltfpack -cc", () => missingPackage("gltfpack"), gltfpack(["-kn", "-cc"]), PACKED_BOUND), readBound: 5e-5 },
    convert("glTF-Transform", () => missingPackage("@gltf-transform/core"), transform([])),
    convert("glTF-Transform, meshopt", () => missingPackage("@gltf-transform/core"), transform(["--compress"]), MESHOPT_BOUND),
];

/** Files to send there and back: scenes, what Pelt makes of them, and real characters. `make` writes a file that is not there yet. */
const sources = [
    { name: "skin", fps: 30, plays: true, quick: true, make: (t) => t.scene("troll") },
    { name: "skin and morphs", fps: 30, plays: true, quick: true, make: (t) => t.made("corrected", ["correct", t.scene("troll"), t.flesh()]) },
    { name: "8 influences", fps: 30, plays: true, make: (t) => t.made("eight", ["decompose", t.scene("creature"), "-k", "8", "--bones", "12"]) },
    ...[
        ["CesiumMan", 24, "char-gltf-khronos/CesiumMan/glTF-Binary/CesiumMan.glb"],
        ["Fox", 24, "char-gltf-khronos/Fox/glTF-Binary/Fox.glb"],
        ["RobotExpressive", 24, "char-threejs/gltf/RobotExpressive/RobotExpressive.glb"],
        ["MorphStressTest", 30, "char-gltf-khronos/MorphStressTest/glTF-Binary/MorphStressTest.glb"],
    ].map(([name, fps, place]) => ({ name, fps, file: path.join(support.data, place) })),
];
const sourcesHere = ({ quick }) => sources.filter((source) => (!quick || source.quick) && (source.make || existsSync(source.file)));

function makeSources({ pelt, scenes, folder, quick }) {
    const file = (name) => path.join(folder, `back_${name}.glb`);
    const scene = (name) => {
        if (!existsSync(file(name))) support.run(scenes, [name, "-o", file(name), "--vertices", "600", "--frames", "24"]);
        return file(name);
    };
    const made = (name, args) => {
        support.run(pelt, [...args, "-o", file(name), "-q"]);
        return file(name);
    };
    const flesh = () => {
        const out = path.join(folder, "back_flesh.pc2");
        support.run(pelt, ["jiggle", scene("troll"), "-o", out, "-q"]);
        return out;
    };
    return sourcesHere({ quick }).map((source) => (source.make ? { ...source, file: source.make({ scene, made, flesh }) } : source));
}

const failure = (text) => ({ ok: false, error: NaN, text });
const cellOf = ({ error, moment }, bound) => ({ ok: error <= bound, error, judged: error, moment, text: `${error.toExponential(1)} at ${moment[0] < 0 ? "rest" : `motion ${moment[0]}, ${moment[1].toFixed(4)} s`}` });

/** `shown` is the file that three gets: another one only to see that it is rejected. */
export async function judgeRead(tool, file, bound, shown = file) {
    const moments = await momentsOf(file);
    return cellOf(compare(oursAt(tool, file, moments), await byThree({ file: shown, moments }, "slerp"), moments), bound);
}

/** Motions go by name, joined as Pelt's verbs join them: Blender writes bones and shape keys of one motion as two animations.
 * Rest poses are left out: Blender writes the pose that it shows as such. */
export async function judgePlay({ pelt, toolPose }, source, file, bound) {
    const names = (one, join) => JSON.parse(support.run(pelt, ["info", one, "--join", join, "-q", "--json", "-"])).inputs[0].motions.map(({ name }) => name);
    const [before, after] = [names(source, "none"), names(file, "auto")];
    const moments = (await momentsOf(source)).slice(1);
    const places = before.map((name) => after.indexOf(name));
    const lost = moments.find(([motion]) => places[motion] < 0);
    if (lost) return failure(`the motion ${before[lost[0]]} is not there: ${after.join(", ") || "none"}`);
    const pelts = (one) => ours(toolPose, one, moments).slice(1);
    const [, ...theirs] = ours(toolPose, file, moments.map(([motion, time]) => [places[motion], time]), "auto");
    const distance = (from) => compare(from, { poses: theirs, unordered: true }, moments);
    const cell = cellOf(distance(pelts(source)), bound);
    const [had, has] = [influencesOf(source), influencesOf(file)];
    if (has >= had) return cell;
    // Fewer influences: what is left must be the largest ones, and play as they do.
    const cut = `${source}-cut.glb`;
    cutInfluences(source, cut, { ...LARGEST, keep: has });
    const { ok, error: judged, text } = cellOf(distance(pelts(cut)), bound);
    return { ...cell, ok, judged, text: `${cell.text}; with the ${has} largest influences ${text}`, note: `the ${has} largest of ${had} influences: ${text}` };
}

/** Lets every way write every source anew: [way][source] of { out } or { out, wrong }: a sentence. Blender starts once for all. */
function writeAll(list, chosen, folder) {
    const written = chosen.map((way, w) => list.map((_, n) => ({ out: path.join(folder, `way_${w}_${n}.${way.ending}`) })));
    const jobs = chosen.flatMap((way, w) =>
        way.settings && !way.missing() ? list.map(({ file, fps }, n) => ({ file, fps, export: written[w][n].out, settings: way.settings, into: written[w][n] })) : [],
    );
    if (jobs.length > 0) runBlender(jobs, mkdtempSync(path.join(folder, "blender-"))).forEach(({ error }, n) => (jobs[n].into.wrong = error));
    for (const [w, way] of chosen.entries())
        for (const [n, source] of list.entries())
            try {
                if (!way.missing()) way.run?.(source.file, written[w][n].out);
            } catch (error) {
                written[w][n].wrong = error.message.trim().split("\n")[0];
            }
    return written;
}

/** One or two columns for every source. */
export const wayColumns = (t) => sourcesHere(t).flatMap(({ name, plays }) => [`${name}: read`, ...(plays ? [`${name}: plays`] : [])]);

/** Adds the rows of ways to `rows`, and calls `progress` after each. */
export async function runWays(t, rows, progress) {
    const chosen = ways.filter((way) => (!t.quick || way.quick) && t.wanted(way.name));
    if (chosen.length === 0) return;
    const list = makeSources(t);
    const written = writeAll(list, chosen, t.folder);
    for (const [w, way] of chosen.entries()) {
        const missing = way.missing();
        console.log(`${way.name}: ${missing ? `skipped: ${missing}` : `${list.length} files there and back`}`);
        const cells = [];
        for (const [n, source] of list.entries()) {
            const { out, wrong } = written[w][n];
            const judges = [() => judgeRead(t.toolPose, out, way.readBound ?? READ_BOUND), ...(source.plays ? [async () => withinLimit(await judgePlay(t, source.file, out, way.bound ?? PLAY_BOUND), way.limits?.[source.name])] : [])];
            const has = (extension) => support.readGltf(out).document.extensionsUsed?.includes(extension);
            const skipped = missing || (way.extension && !wrong && !has(way.extension) && `this Blender writes no ${way.extension}`);
            for (const judge of judges)
                if (skipped) cells.push({ ok: true, skipped, text: `skipped: ${skipped}` });
                else if (wrong) cells.push(failure(wrong));
                else cells.push(await judge().catch((error) => failure(error.message.trim().split("\n")[0])));
        }
        rows.push({ name: way.name, cells });
        progress();
    }
}
