// What the gauntlet does with an input: a row for every verb, run with no options but those that name files.
//
//   name     the verb, as it is told
//   about    what runs, and on what
//   takes    whether this input goes to this verb
//   prepare  files that the verb needs beside the input, made first and not counted
//   output   the name of what is written
//   args     the command line
//   judge    [[measure, value, least, most]…]: a value outside least … most, or NaN, is a failure
//
// `t` has the input, `out`, the verb's own report (`report`), `temp(name)` for a file of this run, `pelt(args)` that must
// succeed, and `json(args)` for its report.
import { statSync, writeFileSync } from "node:fs";
import * as measures from "./measures.mjs";

const isRig = ({ kind, info }) => kind === "rig" && info.bones > 0;
/** Vertices that follow several joints; else all parts hang from a node each, and no pose or weight can be learned. */
const isBlended = (input) => isRig(input) && input.info.influences.max > 1;
const isMoved = (input) => isRig(input) && input.moves;

/** Frames of a file with a rig or a clip, as a cache. */
function cacheOf(t, files, name) {
    const cache = t.temp(name);
    const rig = /\.(glb|gltf)$/.test(files.at(-1));
    t.pelt(rig ? ["bake", files[0], "-o", cache] : ["convert", ...files, cache]);
    return cache;
}

/** The measures that every written rig must pass: the validator, and nothing far from where the source was. */
async function soundRig(t) {
    const source = measures.boxOfCache(cacheOf(t, t.input.files, "source.pc2"));
    const box = measures.boxOfCache(cacheOf(t, [t.out], "result.pc2"));
    return [
        ["new complaints", await measures.newComplaints(t.input.files.at(-1), t.out), 0, 0],
        ["reach of the box", measures.reach(source, box), 0, 2],
    ];
}

/** A page that files can be embedded in; the studio itself needs emscripten. */
function standIn(temp) {
    writeFileSync(temp("studio.html"), "<!doctype html>\n<!-- files -->\n");
    return temp("studio.html");
}

const difference = (t, a, b) => t.json(["compare", ...a, ...b]);

const seconds = (info) => Math.max(...info.motions.map(({ duration }) => duration), ...info.clips.map(({ duration }) => duration));

export const verbs = [
    {
        name: "info",
        about: "`pelt info INPUT`",
        takes: () => true,
        args: ({ input }) => ["info", ...input.files],
        judge: (t) => [["not finite", t.report.inputs[0].not_finite, 0, 0]],
    },
    {
        name: "convert",
        about: "`pelt convert INPUT out.glb`, compared with the input",
        takes: ({ kind, info, files }) => kind === "rig" || (kind === "clip" && files.length === 1 && info.clips.length === 0),
        output: "out.glb",
        args: ({ input, out }) => ["convert", ...input.files, out],
        judge: async (t) => [
            ["E_rms", difference(t, t.input.files, [t.out]).error_rms, 0, 1e-3],
            ["new complaints", await measures.newComplaints(t.input.files[0], t.out), 0, 0],
        ],
    },
    {
        name: "bake",
        about: "`pelt bake RIG -o out.pc2`, whose length is compared with the motion's",
        takes: isMoved,
        output: "out.pc2",
        args: ({ input, out }) => ["bake", input.files[0], "-o", out],
        judge: (t) => [
            ["seconds too many", Math.abs(t.report.duration - t.input.info.motions[0].duration), 0, 1e-4],
            ["E_rms", difference(t, t.input.files, [t.input.files[0], t.out]).error_rms, 0, 1e-3],
        ],
    },
    {
        name: "bake, bones",
        about: "`pelt bake RIG -o out.glb --skinning dual-quaternion`; distances from dual quaternion skinning as per cent of the size",
        takes: (input) => isMoved(input) && isBlended(input),
        output: "out.glb",
        args: ({ input, out }) => ["bake", input.files[0], "-o", out, "--skinning", "dual-quaternion"],
        judge: async (t) => [
            ["part of the RMS difference left", t.report.after_rms / Math.max(t.report.before_rms, 1e-6), 0, 1],
            ["RMS, %", 100 * t.report.after_rms, 0, 0.25],
            ["largest, %", 100 * t.report.after_max, 0, 5],
            ...(await soundRig(t)),
        ],
    },
    {
        name: "decompose",
        about: "`pelt decompose INPUT -o out.glb`, with the number of bones that it chooses; shading as three skins the normals",
        takes: ({ moves, kind }) => moves && kind !== "capture",
        output: "out.glb",
        args: ({ input, out }) => ["decompose", ...input.files, "-o", out],
        judge: async (t) => [
            ["bones", t.report.result.bones, 1, 256],
            ["E_rms", t.report.result.error_rms, 0, 6],
            ["shading, degrees RMS", t.report.result.skinned_normal_degrees ?? 0, 0, 45],
            ...(await soundRig(t)),
        ],
    },
    {
        name: "decompose, sliders",
        about: "`pelt decompose RIG --sliders -o out.glb`; errors over all sliders at 1 as per cent of the height of the morphed parts",
        takes: ({ info }) => (info?.morphs?.length ?? 0) > 0 && !(info.drivers?.length > 0),
        output: "out.glb",
        args: ({ input, out }) => ["decompose", input.files[0], "--sliders", "-o", out],
        judge: async (t) => [
            ["bones", t.report.result.bones, 1, 40],
            ["mean, %", t.report.result.mean_percent, 0, 1],
            ["largest, %", t.report.result.largest_percent, 0, 10],
            ...(await soundRig(t)),
        ],
    },
    {
        name: "bind",
        about: "`pelt bind RIG -o out.glb`; L1 is the mean distance to the weights that the file had (not on RecursiveSkeletons, whose copies of one mesh lie inside each other)",
        takes: (input) => isBlended(input) && !/RecursiveSkeletons/.test(input.name),
        output: "out.glb",
        args: ({ input, out }) => ["bind", input.files[0], "-o", out],
        judge: async (t) => [
            ["L1", difference(t, t.input.files, [t.out]).weights?.l1_mean ?? NaN, 0, 0.85],
            ...(await soundRig(t)),
        ],
    },
    {
        name: "jiggle",
        about: "`pelt jiggle RIG -o out.glb`, as helper bones; distances from the plain skin as shares of the model's size",
        takes: isMoved,
        output: "out.glb",
        args: ({ input, out }) => ["jiggle", input.files[0], "-o", out],
        judge: async (t) => [
            ["seconds too many", Math.abs(seconds(t.json(["info", t.out]).inputs[0]) - seconds(t.input.info)), 0, 1e-4],
            ["E_max", difference(t, t.input.files, [t.out]).error_max, 0, 0.2],
            ...(await soundRig(t)),
        ],
    },
    {
        name: "jiggle, cache",
        about: "`pelt jiggle RIG -o out.pc2`",
        takes: isMoved,
        output: "out.pc2",
        args: ({ input, out }) => ["jiggle", input.files[0], "-o", out],
        judge: (t) => [["reach of the box", measures.reach(measures.boxOfCache(cacheOf(t, t.input.files, "source.pc2")), measures.boxOfCache(t.out)), 0, 2]],
    },
    {
        name: "correct",
        about: "`pelt correct RIG truth.pc2 -o out.glb`; the truth is the rig with volume preservation; error after as a share of that before",
        takes: isMoved,
        prepare: (t) => t.pelt(["jiggle", t.input.files[0], "-o", t.temp("truth.pc2"), "--delta", "0"]),
        output: "out.glb",
        args: ({ input, out, temp }) => ["correct", input.files[0], temp("truth.pc2"), "-o", out],
        judge: async (t) => {
            const truth = [t.input.files[0], t.temp("truth.pc2")];
            const before = difference(t, truth, t.input.files).error_rms;
            const after = difference(t, truth, [t.out]).error_rms;
            return [["error left", before > 1e-3 ? after / before : 0, 0, 1], ...(await soundRig(t))];
        },
    },
    {
        name: "correct, pose",
        about: "`pelt correct RIG truth.pc2 --driver pose --hold-out 3 -o out.glb`; the error of the frames that were held out, as a share of what the skin alone misses",
        takes: (input) => isBlended(input) && input.moves && seconds(input.info) > 0.3,
        prepare: (t) => t.pelt(["jiggle", t.input.files[0], "-o", t.temp("truth.pc2"), "--delta", "0"]),
        output: "out.glb",
        args: ({ input, out, temp }) => ["correct", input.files[0], temp("truth.pc2"), "--driver", "pose", "--hold-out", "3", "-o", out],
        judge: async (t) => [["unseen error", t.report.unseen?.error ?? NaN, 0, 1], ...(await soundRig(t))],
    },
    {
        name: "light",
        about: "`pelt light RIG -o out.glb`",
        takes: isRig,
        output: "out.glb",
        args: ({ input, out }) => ["light", input.files[0], "-o", out],
        judge: async (t) => [
            ["mean light", t.report.mean, 0.05, 1],
            ["E_rms of colours", t.report.error_rms, 0, 0.1],
            ["new complaints", await measures.newComplaints(t.input.files[0], t.out), 0, 0],
        ],
    },
    {
        name: "pose",
        about: "`pelt pose RIG -o out.obj`, the rest pose",
        takes: isRig,
        output: "out.obj",
        args: ({ input, out }) => ["pose", input.files[0], "-o", out],
        judge: (t) => [["not finite", t.json(["info", t.out]).inputs[0].not_finite, 0, 0]],
    },
    {
        name: "edit",
        about: "`pelt edit RIG --rest rest.obj -o out.glb`, with its own rest pose: nothing may change",
        takes: isRig,
        prepare: (t) => t.pelt(["convert", t.input.files[0], t.temp("rest.obj")]),
        output: "out.glb",
        args: ({ input, out, temp }) => ["edit", input.files[0], "--rest", temp("rest.obj"), "-o", out],
        judge: (t) => [["E_rms", difference(t, t.input.files, [t.out]).error_rms, 0, 0.01]],
    },
    {
        name: "simplify",
        about: "`pelt simplify INPUT -o out.glb`; distances between the surfaces, RMS, as a share of the size",
        takes: isRig,
        output: "out.glb",
        args: ({ input, out }) => ["simplify", input.files[0], "-o", out],
        judge: async (t) => [
            ["triangles left", t.report.levels[0].triangles / t.report.triangles_before, 0.2, 1],
            ["surface distance", t.report.levels[0].error_rms, 0, 0.02],
            ...(await soundRig(t)),
        ],
    },
    {
        name: "weights",
        about: "`pelt weights smooth RIG -o out.glb`",
        takes: isRig,
        output: "out.glb",
        args: ({ input, out }) => ["weights", "smooth", input.files[0], "-o", out],
        judge: async (t) => [["mean change, L1", t.report.change_mean, 0, 1], ...(await soundRig(t))],
    },
    {
        name: "weights, relax",
        about: "`pelt weights relax RIG -o out.glb`",
        takes: isRig,
        output: "out.glb",
        args: ({ input, out }) => ["weights", "relax", input.files[0], "-o", out],
        judge: async (t) => [["mean change, L1", t.report.change_mean, 0, 1], ...(await soundRig(t))],
    },
    {
        name: "weights, hammer",
        about: "`pelt weights hammer RIG -o out.glb`",
        takes: isRig,
        output: "out.glb",
        args: ({ input, out }) => ["weights", "hammer", input.files[0], "-o", out],
        judge: async (t) => [["mean change, L1", t.report.change_mean, 0, 0.05], ...(await soundRig(t))],
    },
    {
        name: "weights, limit",
        about: "`pelt weights limit RIG -o out.glb`",
        takes: isRig,
        output: "out.glb",
        args: ({ input, out }) => ["weights", "limit", input.files[0], "-o", out],
        judge: async (t) => [["mean change, L1", t.report.change_mean, 0, 0.2], ...(await soundRig(t))],
    },
    {
        name: "weights, transfer",
        about: "`pelt weights transfer RIG RIG -o out.glb`; L1 is the mean distance to the weights that the file had",
        takes: isRig,
        output: "out.glb",
        args: ({ input, out }) => ["weights", "transfer", input.files[0], input.files[0], "-o", out],
        judge: async (t) => [
            ["L1", difference(t, t.input.files, [t.out]).weights?.l1_mean ?? NaN, 0, 0.1],
            ...(await soundRig(t)),
        ],
    },
    {
        name: "compare",
        about: "`pelt compare INPUT INPUT`",
        takes: ({ kind }) => kind !== "capture",
        args: ({ input }) => ["compare", ...input.files, ...input.files],
        judge: (t) => [["E_rms", t.report.error_rms, 0, 0]],
    },
    {
        name: "collide",
        about: "`pelt collide INPUT`",
        takes: ({ kind }) => kind !== "capture",
        args: ({ input }) => ["collide", ...input.files],
        judge: (t) => [["frames", t.report.frames, 1, Infinity]],
    },
    {
        name: "study",
        about: "`pelt study INPUT`; the least error of any method",
        takes: ({ kind }) => kind === "clip",
        args: ({ input }) => ["study", ...input.files],
        judge: (t) => [["least E_rms", Math.min(...t.report.rows.map(({ error_rms }) => error_rms)), 0, 10]],
    },
    {
        name: "view",
        about: "`pelt view INPUT -o out.html`",
        takes: () => true,
        output: "out.html",
        args: ({ input, out }) => ["view", ...input.files, "-o", out],
        judge: (t) => [["kilobytes", Math.round(statSync(t.out).size / 1000), 100, 200000]],
    },
    {
        name: "studio",
        about: "`pelt studio INPUT -o out.html`, with a page that stands for the studio: the files are in it",
        takes: () => true,
        output: "out.html",
        args: ({ input, out, temp }) => ["studio", ...input.files, "--page", standIn(temp), "-o", out],
        judge: (t) => [["kilobytes", Math.round(statSync(t.out).size / 1000), 0, 600000]],
    },
    {
        name: "view, picture",
        about: "`pelt view INPUT --png out.png`; a blank picture has few different values",
        takes: () => true,
        output: "out.png",
        args: ({ input, out }) => ["view", ...input.files, "--png", out],
        judge: (t) => [["values", measures.pictureValues(t.out), 16, 256]],
    },
];

/** Captures on people: an entry for every capture, so that rows are pairs. */
export function retargetVerb(capture) {
    return {
        name: `retarget ${capture.name}`,
        about: `\`pelt retarget RIG ${capture.name} -o out.glb\`; the largest frame as a multiple of the rig at rest, and what the skin stretches`,
        takes: (input) => isRig(input) && input.person,
        output: "out.glb",
        args: ({ input, out }) => ["retarget", input.files[0], ...capture.files, "-o", out],
        judge: async (t) => {
            const rest = measures.largestFrame(cacheOf(t, t.input.files, "source.pc2"));
            const cache = t.temp("moved.pc2");
            t.pelt(["bake", t.out, "-o", cache, "--motion", t.report.motion]);
            return [
                ["joints matched", t.report.matched, 12, Infinity],
                ["largest frame", measures.largestFrame(cache) / rest, 0.2, 2],
                ["stretch", t.report.stretch, 0, 0.15],
                ["new complaints", await measures.newComplaints(t.input.files[0], t.out), 0, 0],
            ];
        },
    };
}
