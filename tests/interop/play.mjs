// play.mjs FILE… [--with blender,three,…] [--pose build/release/bin/tool_pose]: the largest vertex distance, as a share of the
// size, between what other programs make of glTF files and Pelt's own evaluation: in rest, at keys and halfway between them.
import path from "node:path";
import { parseArgs } from "node:util";
import * as support from "../node/support.mjs";
import { checkCompare } from "./compare.mjs";
import { judge } from "./judge.mjs";
import { programs } from "./programs.mjs";

const { values: options, positionals: files } = parseArgs({
    allowPositionals: true,
    options: { with: { type: "string", default: "three,blender" }, pose: { type: "string", default: "build/release/bin/tool_pose" } },
});
checkCompare();
const folder = support.scratchFolder();
for (const name of options.with === "all" ? programs.map((one) => one.name) : options.with.split(",")) {
    const program = programs.find((one) => one.name === name);
    if (!program) throw new Error(`no program ${name}: ${programs.map((one) => one.name).join(", ")}`);
    const cells = await judge(program, files.map((file) => path.resolve(file)), options.pose, folder);
    cells.forEach(({ text, ok }, n) => console.log(`${name}: ${path.basename(files[n])}: ${text}${ok ? "" : "  ✗"}`));
}
