// bench_correct.mjs BIN [TABLE [NAME]]: the tables of docs/correct.md, by `pelt decompose` and `pelt correct` on the animations of the data and on
// the cloth of pelt-scenes. TABLE: basis, joint, normals; all without it. NAME: only this animation. Times are CPU seconds.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import * as support from "../tests/node/support.mjs";

const [bin, table, only] = process.argv.slice(2);
const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);
const print = (...cells) => console.log(`| ${cells.join(" | ")} |`);

const ANIMATIONS = [["horse-gallop", 30], ["elastic-cow", 20], ["samba", 25]].filter(([name]) => !only || name === only);
const CLOTH = ["cloth", 6];

/** Mesh and cache of an animation. */
function inputs(name) {
    const files = ["obj", "pc2"].map((extension) => (name === "cloth" ? inFolder(`cloth.${extension}`) : path.join(support.data, "bench", `${name}.${extension}`)));
    if (name === "cloth" && !existsSync(files[0])) support.run(path.resolve(bin, "pelt-scenes"), ["cloth", "-o", files[0], "--vertices", "500", "--frames", "20"]);
    if (!existsSync(files[1])) support.skip(`no animation ${files[1]} (PELT_DATA says where)`);
    return files;
}

/** A report of pelt, with the CPU seconds of the run as `cpu`: the second line of what `times` prints is of children. */
function pelt(...args) {
    const command = [path.resolve(bin, "pelt"), ...args, "-q", "--json", inFolder("report.json")].map(String);
    const { status, stdout, stderr } = spawnSync("bash", ["-c", '"$@" && times', "bash", ...command], { encoding: "utf8" });
    if (status !== 0) throw new Error(`${command.join(" ")}: ${stderr}`);
    const seconds = [...stdout.trim().split("\n").at(-1).matchAll(/(\d+)m([\d.]+)s/g)].map(([, m, s]) => 60 * Number(m) + Number(s));
    return { ...JSON.parse(readFileSync(inFolder("report.json"))), cpu: seconds[0] + seconds[1] };
}

const decompose = (name, bones, ...args) => pelt("decompose", ...inputs(name), "-o", inFolder("rig.glb"), "--bones", bones, ...args);
const correct = (name, ...args) => pelt("correct", inFolder("rig.glb"), ...inputs(name), "-o", inFolder("out.glb"), ...args);
const three = (value) => value.toFixed(3);
const megabytes = (bytes) => (bytes / 1e6).toFixed(2);
const KINDS = ["affine", "rigid"];

const tables = {
    basis() {
        console.log("| animation | bones | basis | rank 0 | 2 | 5 | 10 | E_kg at 10 | ill-conditioned | file | s |\n|---|---|---|---|---|---|---|---|---|---|---|");
        for (const [name, bones] of ANIMATIONS)
            for (const kind of KINDS) {
                decompose(name, bones, "--transforms", kind);
                for (const basis of ["skinned", "rest"]) {
                    const r = correct(name, "--rank", 10, "--basis", basis);
                    const first = basis === "skinned";
                    print(first ? name : "", first ? `${bones} ${kind}` : "", basis, ...[0, 2, 5, 10].map((rank) => three(r.errors[rank])), `${three(r.error_kg)} %`,
                        first ? `${r.ill_conditioned} of ${r.vertices}` : "", first ? `${megabytes(r.bytes_in)} to ${megabytes(r.bytes_out)} MB` : "", r.cpu.toFixed(1));
                }
            }
    },
    joint() {
        console.log("| animation | bones | rank 0 | 2 | 5 | 10 | E_kg at 10 | without rounds | s | alone |\n|---|---|---|---|---|---|---|---|---|---|");
        for (const [name, bones] of ANIMATIONS.filter(([name]) => only || name !== "samba")) // which takes as long as the others together
            for (const kind of KINDS) {
                const alone = decompose(name, bones, "--transforms", kind);
                const apart = correct(name, "--rank", 10);
                const r = decompose(name, bones, "--transforms", kind, "--corrections", 10);
                print(name, `${bones} ${kind}`, ...[0, 2, 5, 10].map((rank) => three(r.corrections.errors[rank])), `${three(r.result.error_kg)} %`, `${three(apart.error_kg)} %`,
                    r.cpu.toFixed(1), alone.cpu.toFixed(1));
            }
    },
    normals() {
        console.log("| animation | normals by | R | without | `--normals` | `--normal-rank R` | both |\n|---|---|---|---|---|---|---|");
        for (const [name, bones] of [...ANIMATIONS, ...(!only || only === "cloth" ? [CLOTH] : [])]) {
            decompose(name, bones);
            for (const [rule, rank] of [["matrix", 2], ["matrix", 5], ["matrix", 10], ["inverse", 5]]) {
                const run = (...args) => correct(name, "--rank", rank, "--normal-rule", rule, ...args);
                const [shared, own, both] = [["--normals"], ["--normal-rank", rank], ["--normals", "--normal-rank", rank]].map((args) => run(...args));
                print(name, rule, rank, ...[shared.normals_before, shared.normals_after, own.normals_after, both.normals_after].map(three));
            }
        }
    },
};
if (table && !tables[table]) throw new Error(`there is no table ${table}; there are ${Object.keys(tables).join(", ")}`);
for (const name of table ? [table] : Object.keys(tables)) tables[name]();
