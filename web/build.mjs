// build.mjs OUTPUT: bundles the page and writes it as C arrays: the bytes before and after the data
// (src/view/page.h).
// build.mjs --studio OUTPUT.html PACKAGE: bundles the studio, the page with the engine of the npm package in that folder, as one HTML file.
// build.mjs --check: checks types only.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Imports a package, or exits with a message that tells how to install it. */
async function need(name) {
    try {
        return await import(name);
    } catch (error) {
        if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
        console.error(
            `The page cannot be built: the npm package ${name} is not installed. Run scripts/setup (or npm ci).`,
        );
        process.exit(1);
    }
}

async function bundle(entry, styles) {
    const { build } = await need("esbuild");
    await need("three");
    // Pages contain the licence of bundled software.
    const three = readFileSync(here("../node_modules/three/LICENSE"), "utf8").trim();
    const decoder = readFileSync(here("../node_modules/three/examples/jsm/libs/meshopt_decoder.module.js"), "utf8");
    const author = decoder.match(/^\/\/ (Copyright .*)$/m)[1];
    const notice = `/*! Contains three.js and the decoder of meshoptimizer (MIT License, ${author}).\n\n${three}\n*/`;
    const common = { bundle: true, minify: true, write: false, legalComments: "none", logLevel: "warning" };
    const [script, ...style] = await Promise.all([
        build({ ...common, entryPoints: [here(entry)], format: "iife", target: "es2022", charset: "utf8", banner: { js: notice }, ...STUDIO }),
        ...styles.map((file) => build({ ...common, entryPoints: [here(file)], charset: "utf8" })),
    ]);
    return { script: script.outputFiles[0].text, style: style.map(({ outputFiles }) => outputFiles[0].text).join("") };
}

/** The studio imports the sources of the npm package, which ask for the place of their files and run in node too. */
const STUDIO = {
    alias: { pelt: here("../wasm/src/index.ts") },
    define: { "import.meta.url": '""' },
    external: ["node:*"],
};

/** The page in two halves, before and after the data; the script comes last. */
async function page(entry = "src/main.ts", styles = ["page.css"]) {
    const { script, style } = await bundle(entry, styles);
    const [head, tail] = readFileSync(here("page.html"), "utf8").split("<!-- data -->\n");
    return [head.replace("/* style */", () => style), tail.replace("/* script */", () => script)];
}

function block(name, bytes) {
    return `<script type="application/octet-stream" id="pelt-${name}">${gzipSync(bytes, { level: 9 }).toString("base64")}</script>\n`;
}

/** The studio in one file. `pelt studio` embeds files where the mark is. */
async function studio(file, engine) {
    const [head, tail] = await page("src/studio/main.ts", ["page.css", "studio.css"]);
    const policy = head.replace("connect-src data: blob:", "connect-src data: blob:; worker-src blob:");
    const blocks = [block("wasm", readFileSync(path.join(engine, "pelt.wasm"))), block("worker", readFileSync(path.join(engine, "worker.js")))];
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(`${file}.part`, [policy, ...blocks, "<!-- files -->\n", tail].join(""));
    renameSync(`${file}.part`, file); // the old file stays when this fails
}

function asC(name, text) {
    const bytes = [...Buffer.from(text)];
    const lines = [];
    for (let at = 0; at < bytes.length; at += 40) lines.push(bytes.slice(at, at + 40).join(","));
    return `const unsigned char ${name}[] = {${lines.join(",\n")}};\nconst size_t ${name}_size = sizeof ${name};\n`;
}

if (process.argv[2] === "--check") {
    const compiler = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url));
    execFileSync(process.execPath, [compiler, "--project", here(".")], { stdio: "inherit" });
} else if (process.argv[2] === "--studio") await studio(process.argv[3], process.argv[4]);
else {
    const [head, tail] = await page();
    writeFileSync(process.argv[2], `#include "view/page.h"\n${asC("px_page_head", head)}${asC("px_page_tail", tail)}`);
}
