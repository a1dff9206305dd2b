// interop.mjs PELT SCENES TOOL_POSE [--quick] [--only REGEX] [--rigs] [--write FILE]: what other programs make of the files that Pelt writes, and Pelt of
// theirs, against Pelt's own evaluation: in rest, at keys and halfway between them.
//
//   --quick  some kinds of file, and nothing of the real data: what `make test` runs
//   --only   kinds, rigs and ways whose name matches this expression
//   --rigs   every rig of the real data through the verbs too
//   --write  write the tables as Markdown to this file
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import * as support from "../node/support.mjs";
import { runWays } from "./back.mjs";
import { judgeCache } from "./cache.mjs";
import { checkCompare } from "./compare.mjs";
import { judge } from "./judge.mjs";
import { kinds, makeKind } from "./kinds.mjs";
import { programs } from "./programs.mjs";
import { runRigs } from "./rigs.mjs";
import { markdown } from "./tables.mjs";

const { values: options, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: "boolean", default: false }, rigs: { type: "boolean", default: false }, only: { type: "string", default: "" }, write: { type: "string" } },
});
const [pelt, scenes, toolPose] = positionals;
const folder = support.scratchFolder();
const wanted = (name) => new RegExp(options.only).test(name);
const t = { pelt, scenes, toolPose, folder, quick: options.quick, wanted };

/** Rows of the table of kinds: { name, cells: [program] }. */
async function runKinds() {
    const rows = [];
    for (const [number, kind] of kinds.entries()) {
        if ((options.quick && !kind.quick) || !wanted(kind.name)) continue;
        try {
            rows.push({ kind, name: kind.name, files: makeKind(kind, number, t), cells: [] });
        } catch (error) {
            rows.push({ kind, name: kind.name, cells: programs.map(() => ({ ok: false, text: error.message.trim().split("\n")[0] })) });
        }
    }
    const playable = rows.filter(({ kind, files }) => files && !kind.cache);
    for (const [n, program] of programs.entries()) {
        console.log(`${program.name}: ${program.missing() ? `skipped: ${program.missing()}` : `${playable.length} kinds of file`}`);
        const cells = await judge(program, playable.map(({ files }) => files[0]), toolPose, folder);
        playable.forEach((row, k) => {
            const limit = row.kind.limits?.[program.name];
            row.cells[n] = limit && !cells[k].ok ? { ...cells[k], ok: true, note: limit } : cells[k];
        });
        for (const { kind, files, cells: mine } of rows) if (kind.cache && files) mine[n] = judgeCache(program, files, folder);
    }
    return rows;
}

/** Prints what is wrong; how many cells are. */
function tellFailures(rows, columns) {
    let failed = 0;
    for (const { name, cells } of rows)
        cells.forEach((cell, n) => {
            if (!cell || cell.ok) return;
            failed++;
            console.log(`${name}: ${columns[n]}: ${cell.text}`);
        });
    return failed;
}

checkCompare();
const kindRows = await runKinds();
const ways = await runWays(t);
const rigs = options.rigs ? await runRigs(t) : { rows: [], columns: [] };
const failed =
    tellFailures(kindRows, programs.map(({ name }) => name)) + tellFailures(ways.rows, ways.columns) + tellFailures(rigs.rows, rigs.columns);
if (options.write) writeFileSync(options.write, markdown({ programs, kinds: kindRows, ways, rigs }));
const cells = [...kindRows, ...ways.rows, ...rigs.rows].flatMap((row) => row.cells).filter((cell) => cell && !cell.skipped && !cell.none);
console.log(`${cells.length} results, ${failed} failed`);
process.exit(failed > 0 || cells.length === 0 ? 1 : 0);
