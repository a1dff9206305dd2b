// build.mjs MODULE-FOLDER PACKAGE [--write-options]: bundles the npm package from src/ and from pelt_module.mjs and .wasm, which
// emscripten made. Keywords of operations and their types (src/options.ts) come from the option tables of the library: a file that
// differs from them is an error; --write-options writes it.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const [moduleFolder, out, flag] = process.argv.slice(2).map((arg) => (arg.startsWith("--") ? arg : path.resolve(arg)));
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** One bundle of src/NAME.ts. */
function bundle(name, file, format) {
    const emscripten = path.join(moduleFolder, "pelt_module.mjs");
    return build({
        entryPoints: [here(`src/${name}.ts`)],
        outfile: path.join(out, file),
        bundle: true,
        minify: true,
        keepNames: true,
        format,
        target: "es2022",
        platform: "neutral",
        external: ["node:*"],
        alias: { "pelt-module": emscripten },
        logLevel: "warning",
    });
}

const NUMBERS = ["uint", "real", "size"];

function typeOf({ kind, choices }) {
    if (kind === "flag") return "boolean";
    if (kind === "choice") return choices.map((choice) => JSON.stringify(choice)).join(" | ");
    if (kind === "vector") return "readonly [number, number, number]";
    if (kind === "size") return "number | string";
    return NUMBERS.includes(kind) ? "number" : "string | readonly string[]";
}

function commentOf({ kind, help, initial, min, max, value }) {
    const range = NUMBERS.includes(kind) && min !== null ? `, ${min} to ${max}` : "";
    const initially = initial === null ? "" : `; default ${initial}`;
    return `/** ${help}${value && !NUMBERS.includes(kind) ? ` (${value})` : ""}${range}${initially}. */`;
}

/** src/options.ts: an interface per table. */
function optionTypes(tables) {
    const parts = ["// Made by build.mjs --write-options from the option tables of the library."];
    for (const [name, { options, presets }] of Object.entries(tables)) {
        const rows = options.map((option) => `    ${commentOf(option)}\n    ${option.key}?: ${typeOf(option)};`);
        const names = Object.keys(presets);
        if (names.length > 0)
            rows.unshift(`    /** A published method; other options take precedence. */\n    preset?: ${names.map((p) => `"${p}"`).join(" | ")};`);
        parts.push(`export interface ${name[0].toUpperCase()}${name.slice(1)}Options {\n${rows.join("\n")}\n}`);
    }
    return `${parts.join("\n\n")}\n`;
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
copyFileSync(path.join(moduleFolder, "pelt_module.wasm"), path.join(out, "pelt.wasm"));
for (const [from, to] of [["package.json", "package.json"], ["README.md", "README.md"], ["../LICENSE", "LICENSE"], ["../THIRD_PARTY.md", "THIRD_PARTY.md"]])
    copyFileSync(here(from), path.join(out, to));
await Promise.all([bundle("index", "pelt.js", "esm"), bundle("engine", "engine.js", "esm"), bundle("worker", "worker.js", "iife")]);

const { Engine } = await import(pathToFileURL(path.join(out, "engine.js")).href);
const engine = await Engine.start(new WebAssembly.Module(readFileSync(path.join(out, "pelt.wasm"))));
writeFileSync(path.join(out, "options.json"), `${JSON.stringify(engine.options, null, 1)}\n`);
const types = optionTypes(engine.options);
if (flag === "--write-options") writeFileSync(here("src/options.ts"), types);
else if (readFileSync(here("src/options.ts"), "utf8") !== types) {
    console.error("wasm/src/options.ts differs from the option tables: run wasm/build.mjs with --write-options");
    process.exit(1);
}
const compiler = here("../node_modules/typescript/bin/tsc");
if (existsSync(compiler))
    execFileSync(process.execPath, [compiler, "--project", here("."), "--outDir", path.join(out, "types")], { stdio: "inherit" });
else console.warn("types are missing: the npm package typescript is not installed");
