// build.mjs OUTPUT: bundles the page and writes it as C arrays: the bytes before and after the data
// (src/view/page.h).
// build.mjs --check: checks types only.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

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

async function bundle() {
    const { build } = await need("esbuild");
    await need("three");
    // Pages contain the licence of bundled software.
    const three = readFileSync(here("../node_modules/three/LICENSE"), "utf8").trim();
    const decoder = readFileSync(here("../node_modules/three/examples/jsm/libs/meshopt_decoder.module.js"), "utf8");
    const author = decoder.match(/^\/\/ (Copyright .*)$/m)[1];
    const notice = `/*! Contains three.js and the decoder of meshoptimizer (MIT License, ${author}).\n\n${three}\n*/`;
    const common = { bundle: true, minify: true, write: false, legalComments: "none", logLevel: "warning" };
    const [script, style] = await Promise.all([
        build({ ...common, entryPoints: [here("src/main.ts")], format: "iife", target: "es2022", charset: "utf8", banner: { js: notice } }),
        build({ ...common, entryPoints: [here("page.css")], charset: "utf8" }),
    ]);
    return { script: script.outputFiles[0].text, style: style.outputFiles[0].text };
}

/** The page in two halves, before and after the data; the script comes last. */
async function page() {
    const { script, style } = await bundle();
    const [head, tail] = readFileSync(here("page.html"), "utf8").split("<!-- data -->\n");
    return [head.replace("/* style */", () => style), tail.replace("/* script */", () => script)];
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
} else {
    const [head, tail] = await page();
    writeFileSync(process.argv[2], `#include "view/page.h"\n${asC("px_page_head", head)}${asC("px_page_tail", tail)}`);
}
