// jiggle.mjs PELT SCENES: what `pelt jiggle` writes, seen by others. The Khronos validator must find no error and no warning
// in bones and in morphs; three must play them as near to the cache of the same flesh as the report says, and much nearer than
// the rig without flesh.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { complaints, errorOf, readPc2 } from "./shown.mjs";
import * as support from "./support.mjs";

const [pelt, scenes] = process.argv.slice(2);
const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);
const flesh = ["--particles", "400", "--preroll", "0.2"];

const [rig, cache] = [inFolder("troll.glb"), inFolder("troll.pc2")];
support.run(scenes, ["troll", "-o", rig, "--vertices", "800", "--frames", "16"]);
support.run(pelt, ["jiggle", "-q", rig, "-o", cache, ...flesh]);
const { radius } = JSON.parse(support.run(pelt, ["compare", rig, cache, "--json", "-"])).ball;
const frames = readPc2(cache);
const plain = await errorOf(rig, frames, 30, radius);

for (const [options, most] of [
    [["--add", "8", "--iterations", "6"], 0.4],
    [["--add", "4", "--iterations", "4", "--corrections", "4", "--rounds", "0"], 0.3],
    [["--bones", "20", "--iterations", "6", "--target", "web"], 0.4],
    [["--as", "morphs", "--corrections", "6"], 0.2],
]) {
    const [file, reportFile] = [inFolder("out.glb"), inFolder("report.json")];
    support.run(pelt, ["jiggle", "-q", rig, "-o", file, "--json", reportFile, ...flesh, ...options]);
    assert.deepEqual(await complaints(file), [], `${options.join(" ")}: the validator`);
    const { skin } = JSON.parse(readFileSync(reportFile));
    const told = skin.result?.error_rms ?? skin.error_rms;
    const seen = await errorOf(file, frames, 30, radius);
    console.log(`${options.join(" ")}: ${plain.toFixed(3)} without, reported ${told.toFixed(4)}, three ${seen.toFixed(4)}`);
    assert.ok(Math.abs(seen - told) <= 0.01 * told + 1e-3, `three sees ${seen}, not ${told}`);
    assert.ok(seen < most * plain, `${seen} of ${plain} is left`);
}
