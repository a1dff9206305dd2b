// bench_verbs.mjs BIN [TABLE [NAME]]: tables of README.md and docs/ that runs of `pelt` measure, on the animations and characters of the data and
// on scenes of pelt-scenes. TABLE: one of `tables` below; all without it. NAME: only animations or rigs of this name. Errors are those of the
// written files.
import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import * as support from "../tests/node/support.mjs";

const [bin, table, only] = process.argv.slice(2);
const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);
const print = (...cells) => console.log(`| ${cells.join(" | ")} |`);
const wanted = ([name]) => !only || name === only;

/** The report of a run. */
function pelt(verb, ...args) {
    support.run(path.resolve(bin, "pelt"), [verb, ...args.map(String), "-q", "--json", inFolder("report.json")]);
    return JSON.parse(readFileSync(inFolder("report.json"), "utf8"));
}

/** A file of pelt-scenes, made once. */
function scene(name, extension, ...args) {
    const file = inFolder(`${name}.${extension}`);
    if (!existsSync(file)) support.run(path.resolve(bin, "pelt-scenes"), [name, "-o", file, ...args]);
    return file;
}

/** A file of the data. */
function data(...parts) {
    const file = path.join(support.data, ...parts);
    return existsSync(file) ? file : support.skip(`no ${file} (PELT_DATA says where)`);
}

/** Mesh and cache of an animation. */
function clip(name) {
    if (name === "flag") return [scene("cloth", "obj"), inFolder("cloth.pc2")];
    return ["obj", "pc2"].map((extension) => data("bench", `${name}.${extension}`));
}

const decompose = (name, ...args) => pelt("decompose", ...clip(name), "-o", inFolder("rig.glb"), ...args);
const study = (name, ...args) => pelt("study", ...clip(name), ...args).rows;
const three = (value) => value.toFixed(3);
const digits = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
const kilobytes = (bytes) => (bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
const degrees = (value) => `${value.toFixed(1)}°`;

const ANIMATIONS = [["horse-gallop", 30], ["samba", 30], ["elastic-cow", 18]].filter(wanted);

const tables = {
    // README.md. Dem Bones as measured in November 2026: its most accurate setting, and defaults.
    peers() {
        console.log("| clip | Pelt | Dem Bones, most accurate | Dem Bones, defaults |\n|---|---|---|---|");
        const peers = [
            ["horse-gallop", "8,431 vertices, 48 frames", "5.78 / 2.34 / 1.43", "9.52 / 2.89 / 1.94"],
            ["samba", "9,971 vertices, 175 frames", "9.66 / 5.30 / 3.88", "13.0 / 7.14 / 5.51"],
            ["elastic-cow", "2,904 vertices, 204 frames", "11.5 / 6.13 / 4.68", "17.0 / 9.34 / 7.00"],
        ];
        for (const [name, size, ...others] of peers.filter(wanted)) {
            const errors = [10, 20, 30].map((bones) => digits(decompose(name, "--bones", bones, "--transforms", "rigid").result.error_rms));
            print(`${name} (${size})`, errors.join(" / "), ...others);
        }
    },

    // docs/decompose.md
    kinds() {
        const kinds = ["affine", "trs", "similarity", "rigid"];
        console.log("| 20 bones | affine | trs | similarity | rigid |\n|---|--:|--:|--:|--:|");
        for (const [name] of ANIMATIONS) print(name, ...kinds.map((kind) => three(decompose(name, "--bones", 20, "--transforms", kind).result.error_rms)));
    },
    search() {
        console.log("| clip | bones: E_rms | result |\n|---|---|--:|");
        const searches = [["horse-gallop"], ["horse-gallop", "--error", 1], ["samba", "--error", 2], ["flag", "--error", 3]];
        for (const [name, ...args] of searches.filter(wanted)) {
            const r = decompose(name, ...args);
            const tried = r.curves[0].points.map(([bones, error]) => `${bones}: ${digits(error)}`);
            print(args.length > 0 ? `${name}, \`${args.join(" ")}\`` : name, tried.join(", "), r.result.bones);
        }
    },
    shading() {
        console.log("| animation | bones | E_rms | posed triangles | fitted | fitted, by the inverse transposed |\n|---|---|--:|--:|--:|--:|");
        for (const [name, bones] of ANIMATIONS)
            for (const kind of ["affine", "rigid"]) {
                const { result: r } = decompose(name, "--bones", bones, "--transforms", kind);
                const angles = [r.normal_degrees, r.skinned_normal_degrees, r.inverse_normal_degrees];
                print(name, `${bones} ${kind}`, three(r.error_rms), ...angles.map(degrees));
            }
    },

    // docs/study.md
    methods() {
        console.log("| horse-gallop | stored | E_rms | E_kg % | ratio | bytes per vertex | bytes per frame |\n|---|---|--:|--:|--:|--:|--:|");
        for (const r of study("horse-gallop", "--bones", 30)) {
            const morphs = r.corrections > 0 ? `, ${r.corrections} morphs` : "";
            const stored = { CPCA: `${r.bones} clusters of ${r.components} components`, SVD: `${r.components} components` }[r.method] ?? `${r.bones} bones${morphs}`;
            const small = (value) => (value < 0.01 ? value.toExponential(1) : three(value));
            print(r.method + (r.corrections > 0 ? ` + ${r.corrections}` : ""), stored, small(r.error_rms), small(r.error_kg), r.ratio.toFixed(1), r.bytes_per_vertex, r.bytes_per_frame);
        }
    },

    // docs/jiggle.md
    troll() {
        const rig = scene("troll", "glb");
        const soft = ["--loop", "--soft", "belly=0.95,ear*=0.97", "--frequency", 8, "--damping", 4];
        const forms = [["--add", 4], ["--add", 8], ["--add", 16], ["--add", 32], ["--corrections", 10], ["--bones", 37], ["--as", "morphs"]];
        console.log("| output | E_rms | file |\n|---|--:|--:|");
        for (const form of forms) {
            const r = pelt("jiggle", rig, "-o", inFolder("soft.glb"), ...soft, ...form);
            print(`\`${form.join(" ")}\``, three((r.skin.result ?? r.skin).error_rms), kilobytes(r.bytes));
        }
        pelt("jiggle", rig, "-o", inFolder("soft.pc2"), ...soft);
        print("`-o soft.pc2`", 0, kilobytes(statSync(inFolder("soft.pc2")).size));
    },

    // docs/eigenskin.md
    arm() {
        const settings = ["", "--support 0.01", "--support 0.01 --split", "--support 0.01 --kernel thin-plate", "--kernel exponential", "--exact"];
        const rig = scene("arm", "glb", "--poses", inFolder("poses"), "--unseen", inFolder("unseen"));
        console.log("| settings | errors with 0, 1 … modes | left out | unseen | file |\n|---|---|--:|--:|--:|");
        for (const setting of settings) {
            const args = ["--driver", "pose", "--poses", inFolder("poses"), "--unseen", inFolder("unseen"), ...setting.split(" ").filter(Boolean)];
            const r = pelt("correct", rig, ...args, "-o", inFolder("corrected.glb"));
            const errors = r.errors.map((e) => (e === 1 ? "1" : e < 5e-4 ? e.toExponential(0) : three(e)));
            print(setting ? `\`${setting}\`` : "default", errors.join(", "), three(r.left_out_error), three(r.unseen.error), `${kilobytes(r.bytes_in)} to ${kilobytes(r.bytes_out)}`);
        }
    },
    rigs() {
        const body = ["char-makehuman", "human_cmu.glb"];
        const rigs = [
            ["human_cmu, CMU 09_06", body, { clip: "09_06" }],
            ["human_cmu, CMU 49_06", body, { clip: "49_06" }],
            ["Fox, Survey", ["char-gltf-khronos", "Fox", "glTF-Binary", "Fox.glb"], { motion: "Survey" }],
            ["CesiumMan", ["char-gltf-khronos", "CesiumMan", "glTF-Binary", "CesiumMan.glb"], {}],
            ["Stag, headbutt", ["char-quaternius", "animals_pack", "Stag.glb"], { motion: "AnimalArmature|Attack_Headbutt" }],
        ];
        console.log("| rig, motion | frames | E_rms of the skin | corrected | error |\n|---|--:|--:|--:|--:|");
        for (const [name, parts, { clip: capture, motion }] of rigs.filter(wanted)) {
            let rig = data(...parts);
            if (capture) pelt("retarget", rig, data("mocap-cmu-bvh", `0${capture.slice(0, 2)}`, `${capture}.bvh`), "-o", inFolder("moved.glb"));
            rig = capture ? inFolder("moved.glb") : rig;
            const which = motion ? ["--motion", motion] : [];
            pelt("jiggle", rig, "-o", inFolder("soft.pc2"), "--delta", 0, ...which);
            const r = pelt("correct", rig, inFolder("soft.pc2"), "--driver", "pose", "--hold-out", 3, ...which, "-o", inFolder("corrected.glb"));
            print(name, r.poses + r.unseen.poses, three(r.unseen.error_rms_before), three(r.unseen.error_rms), three(r.unseen.error));
        }
    },
};
if (table && !tables[table]) throw new Error(`there is no table ${table}; there are ${Object.keys(tables).join(", ")}`);
for (const name of table ? [table] : Object.keys(tables)) tables[name]();
