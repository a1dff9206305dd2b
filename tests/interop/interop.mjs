// interop.mjs PELT SCENES TOOL_POSE [--quick] [--only REGEX] [--rigs] [--write FILE]: what other programs make of the files that Pelt writes, and Pelt of
// theirs, against Pelt's own evaluation: in rest, at keys and halfway between them.
//
//   --quick  some kinds of file, and nothing of the real data: what `make test` runs
//   --only   kinds, rigs and ways whose name matches this expression
//   --with   programs whose name matches this expression, in the table of kinds
//   --rigs   every rig of the real data through the verbs too
//   --steps  of rigs, the verbs that match this expression
//   --jobs   rigs at once; as many as there are processors
//   --write  write the tables as Markdown to this file: after every row, so that a run that ends early leaves what it has, and says so
//
// Exits with 77, which CTest takes for skipped, where no other program is installed.
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import * as support from "../node/support.mjs";
import { runWays, wayColumns } from "./back.mjs";
import { judgeCache } from "./cache.mjs";
import { checkCache, checkJudges, checkProgram, checkWays, makeFixtures } from "./check.mjs";
import { checkCompare } from "./compare.mjs";
import { fbxPrograms, runFbx } from "./fbx.mjs";
import { influencesOf } from "./influences.mjs";
import { judge, withinLimit } from "./judge.mjs";
import { kinds, makeKind } from "./kinds.mjs";
import { programs } from "./programs.mjs";
import { rigColumns, runRigs } from "./rigs.mjs";
import { markdown } from "./tables.mjs";

const text = (value = "") => ({ type: "string", default: value });
const flag = { type: "boolean", default: false };
const { values: options, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: flag, rigs: flag, only: text(), with: text(), steps: text(), jobs: text(`${availableParallelism()}`), write: { type: "string" } },
});
const [pelt, scenes, toolPose] = positionals;
const folder = support.scratchFolder();
const wanted = (name) => new RegExp(options.only).test(name);
const t = { pelt, scenes, toolPose, folder, quick: options.quick, wanted, steps: options.steps, jobs: Math.max(1, Number(options.jobs) || 1) };
const shown = programs.filter(({ name }) => new RegExp(options.with).test(name));

/** What there is so far. */
const tables = {
    kinds: { rows: [], columns: shown.map(({ name }) => name) },
    ways: { rows: [], columns: wayColumns(t) },
    fbx: { rows: [], columns: fbxPrograms.map(({ name }) => name) },
    rigs: { rows: [], columns: rigColumns },
};
const all = Object.values(tables);
const writeTables = (whole) => options.write && writeFileSync(options.write, markdown({ programs: shown, ...tables, whole }));
const progress = () => writeTables(false);

/** A file that is made for a program must not have more influences than it plays, though it plays the others right. */
function ownTarget({ kind, files }, program, cell) {
    const lost = kind.target === program.name && program.influences && influencesOf(files[0]) > program.influences.keep;
    return lost && !cell.skipped ? { ...cell, ok: false, text: `its own target has ${influencesOf(files[0])} influences: ${cell.text}` } : cell;
}

/** Rows of the table of kinds: { name, cells: [program] }. */
async function runKinds({ rows }, fixtures) {
    for (const [number, kind] of kinds.entries()) {
        if ((options.quick && !kind.quick) || !wanted(kind.name)) continue;
        try {
            rows.push({ kind, name: kind.name, files: makeKind(kind, number, t), cells: [] });
        } catch (error) {
            rows.push({ kind, name: kind.name, cells: shown.map(() => ({ ok: false, error: NaN, text: error.message.trim().split("\n")[0] })) });
        }
    }
    const playable = rows.filter(({ kind, files }) => files && !kind.cache);
    const caches = rows.filter(({ kind, files }) => files && kind.cache);
    for (const [n, program] of shown.entries()) {
        console.log(`${program.name}: ${program.missing() ? `skipped: ${program.missing()}` : `${playable.length} kinds of file`}`);
        if (playable.length > 0) await checkProgram(program, fixtures, t);
        const cells = await judge(program, playable.map(({ files }) => files[0]), toolPose, folder);
        playable.forEach((row, k) => (row.cells[n] = ownTarget(row, program, withinLimit(cells[k], row.kind.limits?.[program.name]))));
        if (caches.length > 0) checkCache(program, caches[0].files, t);
        for (const { files, cells: mine } of caches) mine[n] = judgeCache(program, files, folder);
        progress();
    }
}

/** Prints what is wrong; how many cells are. */
function tellFailures({ rows, columns }) {
    let failed = 0;
    for (const { name, cells } of rows)
        cells.forEach((cell, n) => {
            if (!cell || cell.ok) return;
            failed++;
            console.log(`${name}: ${columns[n]}: ${cell.text}`);
        });
    return failed;
}

/** Ends the run: with what is in the tables by now. */
function finish(whole) {
    const failed = all.map(tellFailures).reduce((a, b) => a + b);
    writeTables(whole);
    const cells = all.flatMap(({ rows }) => rows.flatMap((row) => row.cells)).filter((cell) => cell && !cell.skipped && !cell.none);
    console.log(`${cells.length} results, ${failed} failed${whole ? "" : "; the run was interrupted"}`);
    process.exit(!whole || failed > 0 || cells.length === 0 ? 1 : 0);
}

const others = programs.filter(({ name }) => name !== "three");
if (others.every((program) => program.missing())) support.skip(others.map((program) => program.missing()).join("; "));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => finish(false));
checkCompare();
await checkJudges();
const fixtures = makeFixtures(t);
await checkWays(fixtures, t);
await runKinds(tables.kinds, fixtures);
await runWays(t, tables.ways.rows, progress);
await runFbx(t, tables.fbx.rows, progress);
if (options.rigs) await runRigs(t, tables.rigs.rows, progress);
finish(true);
