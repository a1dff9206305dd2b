// types.mjs PACKAGE: TypeScript accepts and rejects uses of the npm package as types.ts says.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { root, scratchFolder, skip } from "../node/support.mjs";

const compiler = path.join(root, "node_modules/typescript/bin/tsc");
if (!existsSync(compiler)) skip("npm package typescript is not installed (scripts/setup installs it)");
const folder = scratchFolder();
mkdirSync(path.join(folder, "node_modules"));
symlinkSync(path.resolve(process.argv[2]), path.join(folder, "node_modules/pelt"));
copyFileSync(path.join(root, "tests/wasm/types.ts"), path.join(folder, "types.ts"));
const compilerOptions = {
    noEmit: true, strict: true, target: "es2022", module: "esnext", moduleResolution: "bundler",
    lib: ["es2023", "esnext.disposable", "dom", "dom.iterable"], types: [],
};
writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["types.ts"] }));
process.exitCode = spawnSync(process.execPath, [compiler, "--project", folder], { stdio: "inherit" }).status;
