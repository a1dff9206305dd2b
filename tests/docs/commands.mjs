// commands.mjs PELT PELT_SCENES: what README.md and docs/ tell people to type works.
//   commands  every line of a ```sh block that starts with pelt or pelt-scenes runs as written, page by page, in a folder
//             with small generated scenes under the names that the pages use. It must end with 0, or with N where its comment
//             says "exit code N".
//   options   every --option that is named is one of Pelt's.
//   links     every file that a page links to exists.
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const [pelt, scenes] = process.argv.slice(2);
const pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "THIRD_PARTY.md",
    ...["docs", "docs/papers"].flatMap((folder) =>
        readdirSync(join(root, folder)).filter((name) => name.endsWith(".md")).map((name) => `${folder}/${name}`))];

// ---- Checks of a page's text ----

// Runnable lines of the ```sh blocks, with the exit code that their comment names.
function commands(text) {
    const found = [];
    for (const [, block] of text.matchAll(/^```sh\n([^]*?)^```$/gm)) {
        for (const line of block.replace(/\\\n/g, " ").split("\n")) {
            if (/^pelt(-scenes)? /.test(line)) found.push({ line, code: Number(line.match(/#.*exit code (\d+)/)?.[1] ?? 0) });
        }
    }
    return found;
}
// Options in code that are nobody's; lines that start other programs do not count.
function strangeOptions(text, known) {
    const code = [...text.matchAll(/^```\w*\n([^]*?)^```$|`([^`\n]+)`/gm)].flatMap(([, block, inline]) => (block ?? inline).split("\n"));
    return code.filter((line) => !line.includes("pkg-config") && !/^\s*(cmake|ctest|cc|git|npm|node|python3|play\.mjs|bench_\w+|(scripts|tests)\/\w+)\b/.test(line))
        .flatMap((line) => line.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? []).filter((option) => !known.has(option));
}
// Anchors of a page's headings, as GitHub makes them.
const anchors = (text) => [...text.replace(/^```[^]*?^```$/gm, "").matchAll(/^#+ (.*)$/gm)]
    .map(([, title]) => title.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replace(/ /g, "-"));
function deadLinks(text, folder) {
    return [...text.replace(/^```[^]*?^```$/gm, "").matchAll(/\]\(([^)#\s]*)(?:#([^)]*))?\)/g)].filter(([, target, anchor]) => {
        if (/^[a-z]+:/.test(target)) return false;
        const path = join(folder, target);
        if (target && !existsSync(path)) return true;
        return anchor && !anchors(target ? readFileSync(path, "utf8") : text).includes(anchor);
    }).map(([, target, anchor]) => target + (anchor ? `#${anchor}` : ""));
}

// ---- Files that the pages name ----

const work = mkdtempSync(join(tmpdir(), "pelt-docs-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
const bin = join(work, "bin"), files = join(work, "files");
mkdirSync(bin);
mkdirSync(files);
const script = (name, text) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
};
script("pelt", `exec '${pelt}' "$@"`);
// Scenes are small: a later option wins.
script("pelt-scenes", `case $1 in cloth | softbody) set -- "$@" --frames 61 ;; esac; exec '${scenes}' "$@" --vertices 300`);
script("xdg-open", ":");

const environment = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
const make = (line) => execFileSync("sh", ["-c", line], { cwd: files, env: environment, stdio: ["ignore", "ignore", "inherit"] });
for (const line of [
    "pelt-scenes production -o hero.glb", "pelt-scenes production -o human.glb", "pelt-scenes creature -o wolf.glb",
    "pelt-scenes troll -o troll.glb", "pelt-scenes troll -o robot.glb", "pelt-scenes cloth -o flag.obj", "pelt-scenes softbody -o hare.obj",
    "pelt-scenes arm -o rig.glb", "pelt -q bake rig.glb -o muscles.pc2", "cp wolf.glb rider.glb", "cp wolf.glb horse.glb",
    "pelt -q bake wolf.glb -o horse.pc2 --mesh horse.obj --fps 10", "cp horse.obj fat.obj",
    "pelt -q bake wolf.glb -o cow.pc2 --mesh cow.obj --fps 10", "cp hare.obj cloth.obj", "cp hare.pc2 cloth.pc2", "cp wolf.glb body.glb",
    "pelt -q convert cloth.obj cloth.pc2 sim.abc",
    "pelt -q convert wolf.glb scan.obj", "pelt -q convert wolf.glb walk.bvh", "pelt -q convert hero.glb run.bvh",
    "pelt -q view hero.glb --png paint.png --size 64x64",
]) make(line.replace(/^pelt -q (\w+)/, "pelt $1 -q"));
writeFileSync(join(files, "joints.txt"), "# no lines\n");
for (const ending of ["asf", "amc"]) cpSync(join(root, `tests/cli/leg.${ending}`), join(files, `walk.${ending}`));

// ---- The checks can fail ----

const help = (program, ...names) => execFileSync(program, [...names, "--help"], { encoding: "utf8" });
const verbs = [...help(pelt).match(/^Verbs\n(?: .*\n)+/m)[0].matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, verb]) => verb);
const known = new Set([...[help(pelt), help(scenes), ...verbs.map((verb) => help(pelt, verb))].join("\n").match(/--[a-z][a-z-]*/g), "--version"]);
const failures = [];
const expect = (what, condition) => condition || failures.push(what);
expect("verbs are found in the help", verbs.includes("decompose") && verbs.length > 10);
expect("a misspelt option is found", strangeOptions("`pelt bind --resolutoin 3`", known).length === 1);
expect("dead links are found", deadLinks("[a](nowhere.md) [b](README.md) [c](README.md#nothing) [d](README.md#two-commands)", root).length === 2);
expect("exit codes are read", commands("```sh\npelt info x  # exit code 2\nls\n```\n")[0]?.code === 2);

// run LINE: the message of a command that does not end as it should, else "".
function run({ line, code }, folder) {
    const result = spawnSync("sh", ["-c", line], { cwd: folder, env: environment, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    return result.status === code ? "" : `${line}\n    exit code ${result.status}, not ${code}: ${result.stderr.trim().split("\n").at(-1)}`;
}
expect("a failing command is found", run({ line: "pelt info nothing.glb", code: 0 }, files) !== "");

// ---- All pages ----

let count = 0;
const slowest = { seconds: 0 };
for (const page of pages) {
    const text = readFileSync(join(root, page), "utf8");
    const say = (message) => failures.push(`${page}: ${message}`);
    for (const option of new Set(strangeOptions(text, known))) say(`${option} is no option of any verb`);
    for (const target of deadLinks(text, dirname(join(root, page)))) say(`links to ${target}, which does not exist`);
    const lines = commands(text);
    if (lines.length === 0) continue;
    const folder = join(work, page.replace(/\W/g, "_"));
    cpSync(files, folder, { recursive: true });
    for (const line of lines) {
        const start = performance.now();
        const message = run(line, folder);
        const seconds = (performance.now() - start) / 1000;
        if (seconds > slowest.seconds) Object.assign(slowest, line, { seconds });
        if (message) say(message);
        count++;
    }
    rmSync(folder, { recursive: true });
}
expect("there are commands", count > 50);
for (const failure of failures) console.error(failure);
console.log(`${count} commands on ${pages.length} pages, ${failures.length} failures; slowest, ${slowest.seconds.toFixed(1)} s: ${slowest.line}`);
process.exit(failures.length ? 1 : 0);
