// gauntlet.mjs PELT SCENES TOOL_POSE [--quick] [--settings N] [--only REGEX] [--write FILE]: every verb with no options on every real
// character, clip and capture, and on random scenes. Each run must end with exit code 0, and its measures must lie within
// stated bounds. Three then evaluates a sample of the written rigs and must agree to 1e-5 of the size.
//
//   --quick     a few small files, and one setting of every scene: what `make test` runs
//   --settings  random settings of every scene, 10 unless told
//   --only      runs whose "verb input" matches this expression
//   --write     write the tables as Markdown to this file
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import * as support from "../node/support.mjs";
import { realInputs, sceneInputs } from "./inputs.mjs";
import { checkMeasures } from "./measures.mjs";
import { markdown } from "./tables.mjs";
import { retargetVerb, verbs } from "./verbs.mjs";

const { values: options, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: "boolean", default: false }, settings: { type: "string", default: "10" }, only: { type: "string", default: "" }, write: { type: "string" } },
});
const [pelt, scenes, toolPose] = positionals;
const folder = support.scratchFolder();
const [SCENE_SETTINGS, SCENE_VERTICES] = options.quick ? [1, 600] : [Number(options.settings), 4000];
const TIME_LIMIT = 1200; // seconds; a run that takes longer has failed
const THREE_EVERY = options.quick ? 4 : 8; // of the rigs that are written, three evaluates one in so many

if (!existsSync("/usr/bin/time")) support.skip("/usr/bin/time is not installed (scripts/setup installs it)");

/** Runs pelt, timed: { code, seconds, megabytes, message }. */
function timed(args, times) {
    return new Promise((resolve) => {
        const command = ["-q", "-f", "%e %M", "-o", times, pelt, ...args];
        const child = spawn("/usr/bin/time", command, { stdio: ["ignore", "ignore", "pipe"], timeout: TIME_LIMIT * 1000 });
        let message = "";
        child.stderr.on("data", (bytes) => (message += bytes));
        child.on("close", (code, signal) => {
            const [seconds, kilobytes] = signal ? [NaN, NaN] : readFileSync(times, "utf8").trim().split(" ").map(Number);
            resolve({ code: signal ?? code, seconds, megabytes: kilobytes / 1024, message: message.trim() });
        });
    });
}

const isWithin = ({ value, least, most }) => value >= least && value <= most;

/** One verb on one input. `failure` is a sentence where something is wrong. */
async function runOne({ verb, input }, number) {
    const here = path.join(folder, `run_${number}`);
    mkdirSync(here);
    const temp = (name) => path.join(here, name);
    const t = {
        input,
        temp,
        out: verb.output && temp(verb.output),
        pelt: (args) => support.run(pelt, [...args, "-q"]),
        json: (args) => JSON.parse(support.run(pelt, [...args, "-q", "--json", "-"])),
    };
    const row = { verb, input, measures: [] };
    try {
        verb.prepare?.(t);
        Object.assign(row, await timed([...verb.args(t), "-q", "--json", temp("report.json")], temp("times")));
        if (row.code !== 0) throw new Error(`exit ${row.code}: ${row.message}`);
        t.report = JSON.parse(readFileSync(temp("report.json")));
        row.measures = (await verb.judge(t)).map(([name, value, least, most]) => ({ name, value, least, most }));
        const wrong = row.measures.filter((measure) => !isWithin(measure));
        if (wrong.length > 0) throw new Error(wrong.map(({ name, value, least, most }) => `${name} ${value} is not in ${least} … ${most}`).join("; "));
        if (verb.output === "out.glb" && number % THREE_EVERY === 0) {
            row.sample = path.join(folder, `sample_${number}.glb`);
            copyFileSync(t.out, row.sample);
        }
    } catch (error) {
        row.failure = error.message.trim().split("\n")[0];
    }
    rmSync(here, { recursive: true });
    return row;
}

/** Runs all, as many at once as there are cores; rows in the order of `runs`. */
async function runAll(runs) {
    const rows = [];
    let next = 0;
    const work = async () => {
        while (next < runs.length) {
            const number = next++;
            const row = await runOne(runs[number], number);
            rows[number] = row;
            if (row.failure) console.log(`${row.verb.name}: ${row.input.name}: ${row.failure}`);
            if ((number + 1) % 50 === 0) console.log(`${number + 1} of ${runs.length} runs`);
        }
    };
    await Promise.all(Array.from({ length: availableParallelism() }, work));
    return rows;
}

/** What three says of the sampled rigs: the last line of its report. Marks a failure where it differs. */
function evaluateByThree(rows) {
    const sampled = rows.filter(({ sample }) => sample);
    if (sampled.length === 0) return "";
    const script = fileURLToPath(new URL("../node/three.mjs", import.meta.url));
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, toolPose, ...sampled.map(({ sample }) => sample)], { encoding: "utf8" });
    const lines = `${stdout}${stderr}`.trim().split("\n");
    for (const row of sampled) {
        const line = lines.find((text) => text.includes(path.basename(row.sample)));
        if (line) row.failure = `three: ${line}`;
        if (line) console.log(`${row.verb.name}: ${row.input.name}: ${row.failure}`);
    }
    if (status !== 0 && !sampled.some(({ failure }) => failure)) throw new Error(`three: ${lines.at(-1)}`);
    return lines.at(-1);
}

/** A checker that accepts everything proves nothing: these must fail. */
async function checkTheChecker() {
    checkMeasures();
    const verb = { name: "checker", args: () => ["info", path.join(folder, "no such file")], judge: () => [] };
    const bounded = (value) => ({ ...verb, args: () => ["info", input.files[0]], judge: () => [["value", value, 0, 1]] });
    const file = path.join(folder, "checker.glb");
    support.run(scenes, ["tube", "-o", file]);
    const input = { name: "checker", files: [file] };
    for (const [number, one] of [verb, bounded(2), bounded(NaN), bounded(-1)].entries())
        if (!(await runOne({ verb: one, input }, `checker_${number}`)).failure) throw new Error(`the gauntlet accepts case ${number} of its own check`);
    const { failure } = await runOne({ verb: bounded(1), input }, "checker_good");
    if (failure) throw new Error(`the gauntlet rejects a good run: ${failure}`);
}

await checkTheChecker();
const inputs = [...realInputs(pelt, options.quick), ...sceneInputs(pelt, scenes, folder, SCENE_SETTINGS, SCENE_VERTICES)];
if (!existsSync(support.data)) console.log(`no real data at ${support.data} (PELT_DATA says where): scenes only`);
const all = [...verbs, ...inputs.filter(({ kind }) => kind === "capture").map(retargetVerb)];
const runs = all
    .flatMap((verb) => inputs.filter(verb.takes).map((input) => ({ verb, input })))
    .filter(({ verb, input }) => new RegExp(options.only).test(`${verb.name} ${input.name}`));
const rows = await runAll(runs);
const three = evaluateByThree(rows);
const failed = rows.filter(({ failure }) => failure).length;
if (options.write) writeFileSync(options.write, markdown(all, rows, three, SCENE_SETTINGS));
console.log(`three: ${three || "nothing written"}`);
console.log(`${inputs.length} inputs, ${rows.length} runs, ${failed} failed`);
process.exit(failed > 0 || rows.length === 0 ? 1 : 0);
