// bench_budget.mjs BIN [NAME [ERROR]]: the table of docs/study.md "Bytes at equal largest error", by `pelt study --max-error` on the animations of the
// data. NAME: only this animation; ERROR: only this error, such as 1%.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import * as support from "../tests/node/support.mjs";

const [bin, only, error] = process.argv.slice(2);
const report = path.join(support.scratchFolder(), "report.json");
const ERRORS = ["0.5%", "1%", "2%"].filter((e) => !error || e === error);
const kilobytes = (bytes) => (bytes > 0 ? (bytes / 1000).toFixed(1) : "–");

console.log("| animation | largest error | file | bones, key frames | its numbers | SVD | CPCA | cache |\n|---|---|---|---|---|---|---|---|");
for (const name of ["horse-gallop", "elastic-cow", "samba"].filter((n) => !only || n === only)) {
    const files = ["obj", "pc2"].map((extension) => path.join(support.data, "bench", `${name}.${extension}`));
    if (!existsSync(files[1])) support.skip(`no animation ${files[1]} (PELT_DATA says where)`);
    const { status, stderr } = spawnSync(path.resolve(bin, "pelt"), ["study", ...files, "--max-error", ERRORS.join(","), "-q", "--json", report], { encoding: "utf8" });
    if (status !== 0) throw new Error(`${name}: ${stderr}`);
    for (const [n, row] of JSON.parse(readFileSync(report)).sizes.entries())
        console.log(`| ${[n === 0 ? name : "", ERRORS[n].replace("%", " %"), kilobytes(row.skin.bytes) + (row.skin.met ? "" : " (not kept)"),
            `${row.skin.bones} ${row.skin.rigid ? "rigid" : "affine"}, ${row.skin.key_frames}`, kilobytes(row.skin.numbers_bytes),
            ...["svd", "cpca", "cache"].map((other) => kilobytes(row[other].bytes))].join(" | ")} |`);
}
