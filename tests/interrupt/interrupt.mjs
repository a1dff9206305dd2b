// Every verb that writes, stopped at about twenty places each (a signal, a full disk, a failed allocation): a result appears
// complete or not at all, the old file stays, nothing is left beside it, and the exit code and the message tell why.
//
//   node interrupt.mjs PELT PELT-SCENES FAULT-LIBRARY [--dense] [VERB…]
//
// --dense: at 20 times as many places.
//
// fault.c says how a place is chosen: by counting calls, so it is the same in every run.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { run, scratchFolder } from "../node/support.mjs";

const [pelt, scenes, library] = process.argv.slice(2, 5).map((file) => path.resolve(file));
const only = process.argv.slice(5).filter((word) => word !== "--dense");
const density = process.argv.includes("--dense") ? 20 : 1;
process.chdir(scratchFolder());

// ---- What is run ----

const overview = run(pelt, ["help"]).toString();
const verbs = [...overview.split("\nInputs\n")[0].matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map((match) => match[1]);
const rig = ["tube", "-o", "rig.glb", "--vertices", "60", "--frames", "4"];
const jiggle = ["--particles", "60", "--preroll", "0", "--frequency", "4", "--softness", "even"];

// [verb, arguments, files in out/ ("a+b": one save writes both or none), reports that the verb has not]. Every option that
// writes a file is in some row.
const ROWS = [
    ["info", ["rig.glb"], []],
    ["convert", ["rig.glb", "-o", "out/a.gltf"], ["a.gltf+a.bin"]],
    ["convert", ["q_%d.obj", "out/a_%d.ply"], ["a_0.ply+a_1.ply+a_2.ply"]],
    ["bake", ["rig.glb", "-o", "out/a.pc2", "--mesh", "out/a.obj"], ["a.pc2+a.obj"]],
    ["bake", ["rig.glb", "-o", "out/a.glb", "--skinning", "dual-quaternion"], ["a.glb"]],
    ["decompose", ["mesh.obj", "clip.pc2", "-o", "out/a.glb", "-b", "2", "--iterations", "2"], ["a.glb"]],
    ["decompose", ["mesh.obj", "clip.pc2", "-o", "out/a.glb", "-b", "2", "--iterations", "2", "--corrections", "2"], ["a.glb"]],
    ["decompose", ["face.glb", "-o", "out/a.glb", "--sliders", "-b", "4", "--iterations", "2"], ["a.glb"]],
    ["decompose", ["mesh.obj", "clip.pc2", "-o", "out/a.glb", "--iterations", "2", "--max-error", "5%"], ["a.glb"]],
    ["bind", ["rig.glb", "-o", "out/a.glb", "--resolution", "16"], ["a.glb"]],
    ["bind", ["rig.glb", "-o", "out/a.glb", "--resolution", "16", "--also", "rig.glb=out/b.glb"], ["a.glb", "b.glb"]],
    ["bind", ["rig.glb", "-o", "out/a.glb", "--resolution", "16", "--prefer", "poses"], ["a.glb"]],
    ["correct", ["rig.glb", "clip.pc2", "--rank", "1", "--normal-rank", "1", "-o", "out/a.glb"], ["a.glb"]],
    ["correct", ["rig.glb", "--driver", "pose", "--poses", "poses", "-o", "out/a.glb"], ["a.glb"]],
    ["edit", ["rig.glb", "--displace", "numbers", "-o", "out/a.glb"], ["a.glb"]],
    ["jiggle", ["rig.glb", ...jiggle, "-o", "out/a.pc2", "--mesh", "out/a.obj"], ["a.pc2+a.obj"]],
    ["jiggle", ["rig.glb", ...jiggle, "-o", "out/a.glb"], ["a.glb"]],
    ["jiggle", ["rig.glb", ...jiggle, "-o", "out/a.glb", "--as", "morphs"], ["a.glb"]],
    ["light", ["rig.glb", "-o", "out/a.glb", "--directions", "8"], ["a.glb"], "--report"],
    ["pose", ["rig.glb", "-j", "upper=0,0,60", "-o", "out/a.obj"], ["a.obj"]],
    ["retarget", ["rig.glb", "walk.bvh", "-o", "out/a.glb"], ["a.glb"]],
    ["simplify", ["rig.glb", "-o", "out/a.glb", "--lods", "2"], ["a.glb+a_lod1.glb"]],
    ["simplify", ["mesh.obj", "clip.pc2", "-o", "out/a.pc2", "--mesh", "out/a.obj", "--ratio", "0.5"], ["a.pc2+a.obj"]],
    ["weights", ["smooth", "rig.glb", "-o", "out/a.glb"], ["a.glb"]],
    ["weights", ["relax", "rig.glb", "-o", "out/a.glb"], ["a.glb"]],
    ["weights", ["hammer", "rig.glb", "-o", "out/a.glb"], ["a.glb"]],
    ["weights", ["limit", "rig.glb", "-o", "out/a.glb", "-k", "1"], ["a.glb"]],
    ["weights", ["copy", "rig.glb", "-o", "out/a.glb", "--parts", "vertices(0-9)"], ["a.glb"]],
    ["weights", ["mirror", "rig.glb", "-o", "out/a.glb", "--match", "topology"], ["a.glb"]],
    ["weights", ["transfer", "rig.glb", "mesh.obj", "-o", "out/a.glb"], ["a.glb"]],
    ["compare", ["rig.glb", "rig.glb"], []],
    ["collide", ["rig.glb", "rig.glb"], []],
    ["study", ["mesh.obj", "clip.pc2", "--bones", "2", "--corrections", "1", "--csv", "out/a.csv"], ["a.csv"]],
    ["study", ["mesh.obj", "clip.pc2", "--bones", "2", "--methods", "svd", "--svg", "out/a.svg"], ["a.svg"], "--report"],
    ["study", ["mesh.obj", "clip.pc2", "--bones", "2", "--methods", "svd", "--write", "out"], ["svd-5.pc2"], "--report"],
    ["view", ["rig.glb", "--png", "out/a.png", "--size", "32x32"], ["a.png"], "--report"],
    ["view", ["rig.glb", "-o", "out/a.html"], ["a.html"], "--report"],
    ["studio", ["rig.glb", "--page", "studio.html", "-o", "out/a.html"], ["a.html"], "--report"],
    ["man", ["--all", "out"], ["pelt.1", ...verbs.map((verb) => `pelt-${verb}.1`)], "--json --report"],
];
// Every verb also writes these.
const REPORTS = [["--json", "r.json"], ["--report", "r.html"]];
// Options with a file that is read, and those of states that go on after a stop (tests/cli/checkpoint.sh kills such runs).
const READS = [
    "--skeleton", "--poses", "--unseen", "--rest", "--original", "--displace", "--soft-map", "--pin-map", "--stiffness-map",
    "--damping-map", "--map", "--pose", "--source", "--paint-file", "--prefer",
    "--settings", "--page", "--falloff-map", "--checkpoint",
];

function makeInputs() {
    run(scenes, rig);
    run(scenes, ["face", "-o", "face.glb", "--vertices", "500", "--sliders", "4", "--frames", "3"]);
    run(pelt, ["bake", "-q", "rig.glb", "-o", "clip.pc2", "--mesh", "mesh.obj", "--fps", "4"]);
    run(pelt, ["convert", "-q", "rig.glb", "walk.bvh"]);
    mkdirSync("poses");
    run(pelt, ["pose", "-q", "rig.glb", "-j", "upper=0,0,50", "-o", "poses/bent.obj"]);
    writeFileSync("poses/bent.json", '{"joints": {"upper": {"euler": [0, 0, 70]}}}');
    const info = JSON.parse(run(pelt, ["info", "rig.glb", "--json", "-"]));
    writeFileSync("numbers", "0.1\n".repeat(info.inputs[0].vertices));
    writeFileSync("studio.html", "<!doctype html>\n<html>\n<!-- files -->\n</html>\n");
    for (const k of [0, 1, 2]) writeFileSync(`q_${k}.obj`, `v 0 0 ${k}\nv 1 0 ${k}\nv 1 1 ${k}\nv 0 1 ${k}\nf 1 2 3 4\n`);
}

// ---- The table is complete ----

/** Fails when a verb has an option with a file that neither READS nor a row of the verb knows. */
function checkTable() {
    const missing = [];
    for (const verb of ROWS.map((row) => row[0])) if (!verbs.includes(verb)) missing.push(`${verb} is no verb`);
    for (const verb of verbs) {
        if (verb === "batch") continue; // its commands are processes that write for themselves: tests/cli/batch.sh stops them
        const help = run(pelt, ["help", verb]).toString();
        const options = [...help.matchAll(/^ {2}(-\w, |  {3,})(--[a-z-]+) (?:FILE|MESH|PAGE|FOLDER|\S*\|FILE)/gm)];
        for (const [, short, name] of options) {
            if (READS.includes(name) || REPORTS.some(([option]) => option === name)) continue;
            const spellings = [name, short.trim().replace(",", "")];
            const written = ROWS.some((row) => row[0] === verb && row[1].some((word) => spellings.includes(word)));
            if (!written) missing.push(`${verb} ${name}: no row of ROWS writes it, and READS does not have it`);
        }
    }
    return missing;
}

// ---- Running ----

const OLD = "what was there before\n";

/** Runs a row over old files; what came of it. */
function attempt(verb, args, files, fault) {
    rmSync("out", { recursive: true, force: true });
    mkdirSync("out");
    for (const file of files) writeFileSync(`out/${file}`, OLD);
    const env = { ...process.env, LD_PRELOAD: library, PELT_FAULT_COUNTS: "counts" };
    if (fault) env.PELT_FAULT = fault;
    else delete env.PELT_FAULT;
    const { status, signal, stderr } = spawnSync(pelt, [verb, ...args, "--threads", "1", "--quiet"], { env });
    const written = new Map();
    for (const file of readdirSync("out")) written.set(file, readFileSync(`out/${file}`));
    return { code: signal ?? status, message: stderr.toString(), written };
}

/** Whether a file is what an undisturbed run writes; reports and tables have times in them. */
function complete(file, bytes, good) {
    const text = bytes.toString("latin1");
    switch (path.extname(file)) {
        case ".json":
            try {
                return typeof JSON.parse(bytes) === "object";
            } catch {
                return false;
            }
        case ".html":
            return /<\/html>\s*$/.test(text) && Math.abs(bytes.length - good.length) < 0.01 * good.length;
        case ".csv":
            return text.split("\n").length === good.toString("latin1").split("\n").length && text.endsWith("\n");
        default:
            return bytes.equals(good);
    }
}

const EXPECTED = {
    memory: { code: 2, message: /memory/ },
    file: { code: 3, message: /No space left on device/ },
    signal: { code: 130, message: /interrupted/ },
};

/** What is wrong with an attempt, as sentences. */
function judge(kind, attempted, good, saves) {
    const { code, message, written } = attempted;
    const wrong = [];
    const state = new Map();
    for (const [file, bytes] of written) {
        if (!good.has(file)) wrong.push(`left behind: ${file}`);
        else if (bytes.toString("latin1") === OLD) state.set(file, "old");
        else if (complete(file, bytes, good.get(file))) state.set(file, "new");
        else wrong.push(`${file} is neither the old file nor a complete one`);
    }
    for (const file of good.keys()) if (!written.has(file)) wrong.push(`${file} is gone`);
    for (const files of saves)
        if (new Set(files.split("+").map((file) => state.get(file))).size > 1) wrong.push(`only some of ${files} are new`);
    const expected = EXPECTED[kind];
    if (code === 0) {
        // A signal may come after the last moment it can count; an allocation may be one the program can do without.
        if (kind === "file") wrong.push("succeeds on a full disk");
        for (const [file, what] of state) if (what === "old") wrong.push(`succeeds without ${file}`);
    } else if (code !== expected.code) {
        wrong.push(`exit ${code}, not ${expected.code}`);
    } else if (!expected.message.test(message)) {
        wrong.push(`does not say ${expected.message}`);
    }
    return wrong.map((sentence) => `${sentence} (exit ${code}: ${message.trim() || "no message"})`);
}

/** Fails when judge() accepts what it must reject, or rejects what it must accept. */
function checkJudge() {
    const good = new Map([["a.pc2", Buffer.from("new a")], ["a.obj", Buffer.from("new b")]]);
    const full = { code: 3, message: "pelt: a.pc2: cannot be written: No space left on device" };
    const accepts = (kind, result, a, b, more) => {
        const written = new Map([["a.pc2", Buffer.from(a)], ["a.obj", Buffer.from(b)], ...(more ?? [])]);
        return judge(kind, { ...result, written }, good, ["a.pc2+a.obj"]).length === 0;
    };
    const done = { code: 0, message: "" };
    const cases = [
        [true, accepts("file", full, OLD, OLD)],
        [true, accepts("file", full, "new a", "new b")],
        [true, accepts("signal", done, "new a", "new b")],
        [false, accepts("file", full, "new", "new b")],
        [false, accepts("file", full, "new a", OLD)],
        [false, accepts("file", full, OLD, OLD, [[".a.pc2.pelt-1", Buffer.from("new")]])],
        [false, accepts("file", { ...full, code: 2 }, OLD, OLD)],
        [false, accepts("file", { ...full, message: "" }, OLD, OLD)],
        [false, accepts("file", done, "new a", "new b")],
        [false, accepts("signal", done, OLD, OLD)],
        [false, accepts("memory", { code: "SIGSEGV", message: "" }, OLD, OLD)],
    ];
    return cases.flatMap(([expected, got], n) => (expected === got ? [] : [`judge: case ${n} is ${got}`]));
}

/** Some `count` of 1 … last with both ends, evenly or, the ratio of neighbours being constant, more of them early. */
function places(last, count, early) {
    const at = (x) => (early ? last ** x : 1 + (last - 1) * x);
    if (last < 1) return [];
    return [...new Set(Array.from({ length: density * count }, (_, n) => Math.round(at(n / (density * count - 1)))))];
}

const failures = [...checkTable(), ...checkJudge()];
makeInputs();
let total = 0;
for (const [verb, own, saves, without] of ROWS) {
    if (only.length > 0 && !only.includes(verb)) continue;
    const reports = REPORTS.filter(([option]) => !without?.includes(option));
    const args = [...own, ...reports.flatMap(([option, file]) => [option, `out/${file}`])];
    const files = [...saves.flatMap((save) => save.split("+")), ...reports.map(([, file]) => file)];
    const dry = attempt(verb, args, files);
    const name = `${verb} ${own.join(" ")}`;
    const old = files.filter((file) => dry.written.get(file)?.toString("latin1") === OLD);
    if (dry.code !== 0 || old.length > 0 || dry.written.size !== files.length) {
        failures.push(`${name}: undisturbed: exit ${dry.code}, not written: ${old.join(" ")}: ${dry.message}`);
        continue;
    }
    const [memory, file, place] = readFileSync("counts", "utf8").split(" ").map(Number);
    // Most calls for files are those of the page, which is written last.
    const faults = [
        ...places(memory, 4).map((n, k) => ["signal", `${k % 2 ? "TERM" : "INT"} memory ${n}`]),
        ...places(file, 5, true).map((n, k) => ["signal", `${k % 2 ? "TERM" : "INT"} file ${n}`]),
        ...places(memory, 7).map((n) => ["memory", `memory ${n}`]),
        ...places(file, 7, true).map((n) => ["file", `file ${n}`]),
        ...places(place, 7).map((n) => ["file", `place ${n}`]),
    ];
    let stopped = 0;
    for (const [kind, fault] of faults) {
        const attempted = attempt(verb, args, files, fault);
        if (attempted.code !== 0) stopped++;
        failures.push(...judge(kind, attempted, dry.written, saves).map((wrong) => `${name}: ${fault}: ${wrong}`));
    }
    total += faults.length;
    console.log(`${name}: ${memory} allocations, ${file} calls for files, ${place} links and renames; stopped at ${stopped} of ${faults.length} places`);
    // Faults that do nothing prove nothing.
    if (stopped < 0.6 * faults.length) failures.push(`${name}: stopped at ${stopped} of ${faults.length} places only`);
}
for (const failure of failures) console.error(`FAIL: ${failure}`);
console.log(`${total} places, ${failures.length} failures`);
process.exit(failures.length > 0 ? 1 : 0);
