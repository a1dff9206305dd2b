// bench_papers.mjs BIN [TABLE [NAME]]: the tables of docs/papers/fesam.md and docs/papers/sma.md, by `pelt study` and `pelt decompose` on the
// animations of the papers that are in the data. TABLE: fesam, fesam-time, convergence, sma, epsilon, rank, weights; all without it. NAME: only this animation, in the first three.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import * as support from "../tests/node/support.mjs";

const [bin, table, only] = process.argv.slice(2);
const folder = support.scratchFolder();
const report = path.join(folder, "report.json");

/** The report of a command on an animation of the data. */
function pelt(verb, name, ...args) {
    const input = ["obj", "pc2"].map((extension) => path.join(support.data, "bench", `${name}.${extension}`));
    if (!existsSync(input[1])) support.skip(`no animation ${input[1]} (PELT_DATA says where)`);
    support.run(path.resolve(bin, "pelt"), [verb, ...input, ...args, "-q", "--json", report]);
    return JSON.parse(readFileSync(report, "utf8"));
}
const study = (name, ...args) => pelt("study", name, ...args).rows;
const row = (rows, method, corrections = false) => rows.find((r) => r.method === method && r.corrections > 0 === corrections);
const number = (value) => (value < 10 ? value.toPrecision(2) : value.toFixed(0));
const print = (...cells) => console.log(`| ${cells.join(" | ")} |`);

// FESAM, Table 2: bones; E_rms of SMA and SAD with rank-10 corrections in brackets, of the method, CPCA and SVD; seconds: total, init, one step.
const FESAM = [
    ["horse-gallop", 30, ["2.3 (0.3)", "4.9 (2.9)", "1.3", "2.4", "2E-5"], "4.3 (0.4, 0.26)"],
    ["elastic-cow", 18, ["17 (9.2)", "16 (9.1)", "3.6", "7.3", "1.3"], "5.0 (1.8, 0.21)"],
    ["samba", 30, ["8.6 (3.6)", "11.4 (6)", "1.5", "4", "0.2"], "15.8 (4.2, 0.77)"],
].filter(([name]) => !only || name === only);
const both = (rows, method) => `${number(row(rows, method).error_rms)} (${number(row(rows, method, true).error_rms)})`;

const tables = {
    fesam() {
        console.log("| animation, bones | | FESAM | SMA | SAD | CPCA | SVD |\n|---|---|--:|--:|--:|--:|--:|");
        for (const [name, bones, [sma, sad, fesam, cpca, svd]] of FESAM) {
            const args = ["--bones", bones, "--basis", "rest"];
            const preset = study(name, "--methods", "fesam,sma-affine-nnls", "--published", ...args);
            const rows = study(name, "--methods", "fesam,sma-affine-nnls,sad,cpca,svd", "--bones", bones);
            const alone = (method) => number(row(rows, method).error_rms);
            print(`${name}, ${bones}`, "published", fesam, sma, sad, cpca, svd);
            print("", "preset", number(row(preset, "FESAM").error_rms), both(preset, "SMA affine NNLS"), both(rows, "SAD"), alone("CPCA"), alone("SVD"));
            print("", "default", alone("FESAM"), both(rows, "SMA affine NNLS"), both(rows, "SAD"), alone("CPCA"), alone("SVD"));
        }
    },
    "fesam-time"() {
        console.log("| animation | published: total (init, step) | preset | default |\n|---|---|---|---|");
        const time = (r) => `${r.seconds.toFixed(2)} (${r.seconds_init.toFixed(2)}, ${r.seconds_step.toFixed(3)})`;
        for (const [name, bones, , published] of FESAM) {
            const args = ["--methods", "fesam", "--bones", bones, "--corrections", 0];
            print(name, published, time(study(name, ...args, "--published")[0]), time(study(name, ...args)[0]));
        }
    },
    convergence() {
        const at = [1, 2, 5, 10, 15, 20, 30];
        console.log("| animation | | 1 | 2 | 5 | 10 | 15 | 20 | 30 |\n|---|---|--:|--:|--:|--:|--:|--:|--:|");
        for (const [name, bones] of FESAM) {
            const run = (...args) => pelt("decompose", name, "-o", path.join(folder, "x.glb"), "--bones", bones, ...args).iterations;
            const curve = (errors) => at.map((n) => (errors[n - 1] ?? errors.at(-1)).toFixed(2));
            print(name, "preset", ...curve(run("--preset", "fesam2010", "--iterations", 30)));
            print("", "default", ...curve(run("--iterations", 30)));
        }
    },
    sma() {
        const SMA = [
            ["horse-gallop", 30, 0.84, "8.10 (1.46)", "8.90 (1.38)", 17.6, "3.62 (0.59)", "4.53 (0.53)", 15.9],
            ["elastic-cow", 18, 0.41, "2.82 (1.54)", "3.27 (1.55)", 38.6, "3.09 (1.94)", "3.18 (2.02)", 27.6],
        ];
        console.log("| animation | | bones | η | rigid, TSVD | rigid, NNLS | ratio | flexible, TSVD | flexible, NNLS | ratio |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|");
        for (const [name, ...published] of SMA) {
            print(name, "published", ...published);
            for (const [title, args] of [["preset", ["--published", "--basis", "rest"]], ["preset, `--basis skinned`", ["--published"]], ["default", []]]) {
                const rows = study(name, "--methods", "sma", ...args);
                const cell = (method) => `${number(row(rows, method).error_kg)} (${number(row(rows, method, true).error_kg)})`;
                const of = (kind) => [cell(`SMA ${kind} TSVD`), cell(`SMA ${kind} NNLS`), row(rows, `SMA ${kind} NNLS`).ratio.toFixed(1)];
                print("", title, rows[0].bones, rows[0].near_rigid.toFixed(2), ...of("rigid"), ...of("affine"));
            }
        }
    },
    epsilon() {
        const values = [0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3];
        console.log("| ε | bones | η | preset: E_kg, rank 0 | rank 5 | triangles, rank 0 | rank 5 | skinned normals, rank 0 | rank 5 | default: E_kg, rank 0 | rank 5 | skinned normals, rank 0 | rank 5 |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
        const run = (...args) => study("horse-gallop", "--methods", "sma-affine-nnls", "--rotation-tolerance", values.join(), "--corrections", 5, "--normal-rank", 5, ...args);
        const [preset, rows] = [run("--published", "--basis", "rest"), run()];
        const pairs = (all) => all.map((r, n) => [r, all[n + 1]]).filter(([r]) => r.corrections === 0);
        const others = pairs(rows);
        pairs(preset).forEach(([r, five], n) =>
            print(values[n], r.bones, r.near_rigid.toFixed(2), number(r.error_kg), number(five.error_kg), ...[r.normal_rms, five.normal_rms, r.skinned_normal_rms, five.skinned_normal_rms].map((x) => x.toFixed(3)),
                ...others[n].map((other) => number(other.error_kg)), ...others[n].map((other) => other.skinned_normal_rms.toFixed(3))),
        );
    },
    rank() {
        console.log("| | 0 | 1 | 2 | 5 | 7 | 10 | 20 |\n|---|--:|--:|--:|--:|--:|--:|--:|");
        const at = [0, 1, 2, 5, 7, 10, 20];
        for (const [title, args] of [["preset", ["--published", "--basis", "rest"]], ["preset, `--basis skinned`", ["--published"]], ["default", []]]) {
            const { curves } = pelt("study", "horse-gallop", "--methods", "sma-affine,svd", "--ranks", 20, "--corrections", 20, ...args);
            for (const curve of curves.filter((c) => c.title.includes("error against corrections"))) {
                const points = new Map(curve.points.map(([x, y]) => [x, y]));
                const name = curve.title.replace(/:.*/, "");
                if (name !== "SVD" || title === "default") print(name === "SVD" ? "SVD (Alexa and Müller)" : `${title}: ${name}`, ...at.map((x) => (points.has(x) ? number(points.get(x)) : "")));
            }
        }
    },
    weights() {
        console.log("| horse-gallop, preset | least | 1 % | 10 % | 25 % | 50 % | 75 % | 90 % | 99 % | largest |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
        for (const r of study("horse-gallop", "--methods", "sma", "--published", "--corrections", 0))
            print(r.method, ...r.weight_quantiles.map((w) => (Math.abs(w) < 5e-4 ? "0" : w.toPrecision(2))));
    },
};
if (table && !tables[table]) throw new Error(`there is no table ${table}; there are ${Object.keys(tables).join(", ")}`);
for (const name of table ? [table] : Object.keys(tables)) tables[name]();
