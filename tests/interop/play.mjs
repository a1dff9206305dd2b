// play.mjs FILE… [--with blender,three,…] [--pose build/release/bin/tool_pose]: the largest vertex distance, as a share of the size, between what
// other programs make of glTF files and Pelt's own evaluation: in rest, at keys and halfway between them.
import { mkdirSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import * as support from "../node/support.mjs";
import { checkCompare, compare, momentsOf, oursAt } from "./compare.mjs";
import { programs } from "./programs.mjs";

const { values: options, positionals: files } = parseArgs({
    allowPositionals: true,
    options: { with: { type: "string", default: "three,blender" }, pose: { type: "string", default: "build/release/bin/tool_pose" } },
});
checkCompare();
const folder = support.scratchFolder();
const jobs = await Promise.all(files.map(async (file) => ({ file: path.resolve(file), moments: await momentsOf(file) })));
for (const name of options.with.split(",")) {
    const program = programs.find((one) => one.name === name);
    if (!program) throw new Error(`no program ${name}: ${programs.map((one) => one.name).join(", ")}`);
    const missing = program.missing();
    if (missing) {
        console.log(`${name}: skipped: ${missing}`);
        continue;
    }
    const here = path.join(folder, name);
    mkdirSync(here);
    const results = await program.evaluate(jobs, here);
    results.forEach((result, n) => {
        const { file, moments } = jobs[n];
        const text = () => {
            if (result.error) return result.error;
            const { error, moment } = compare(oursAt(options.pose, file, moments), result, moments);
            return `${error.toExponential(2)} at ${moment[0] < 0 ? "rest" : `motion ${moment[0]}, ${moment[1].toFixed(4)} s`}`;
        };
        console.log(`${name}: ${path.basename(file)}: ${text()}`);
    });
}
