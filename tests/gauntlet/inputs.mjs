// What the gauntlet runs on: every character, clip and capture of the real data, and scenes of Pelt's own at random settings.
// An input is { name, files, kind, info }: kind is "rig", "clip" or "capture"; info is what `pelt info --json` says of it.
import { existsSync } from "node:fs";
import path from "node:path";
import * as support from "../node/support.mjs";

/** Skeletons of people: captures are put on these. */
const PEOPLE = /human|rocketbox|modular_|production/i;

/** Small files of different kinds that `--quick` takes. */
const QUICK = /RiggedFigure|webxr-generic-hand.left|Manta_ray|Male_Adult_12|wave-uniform|cylinder|09_06\.bvh/;

function describe(pelt, input) {
    const { inputs } = JSON.parse(support.run(pelt, ["info", ...input.files, "--json", "-"]));
    const [info] = inputs;
    return { ...input, info, person: PEOPLE.test(input.name), moves: info.motions.length + info.clips.length > 0 };
}

function namesBelow(folder, extensions) {
    const full = path.join(support.data, folder);
    return existsSync(full) ? support.filesBelow(full, extensions) : [];
}

function realFiles() {
    const named = (kind, files) => ({ name: path.relative(support.data, files.at(-1)), kind, files });
    const rigs = [...support.characterFiles(), ...namesBelow("face-arkit", [".glb"])].map((file) => named("rig", [file]));
    const caches = namesBelow("bench", [".pc2"]).map((file) => named("clip", [file.replace(/pc2$/, "obj"), file]));
    const alembic = [...namesBelow("anim-dembones", [".abc"]), ...namesBelow("abc-samples", [".abc"])]
        .filter((file) => !/changing-topology|points-curves/.test(file)) // refused: no fixed mesh in them
        .map((file) => named("clip", [file]));
    const poses = ["cheburashka", "cylinder"]
        .map((name) => path.join(support.data, "gt-skinned-poses", name))
        .filter((folder) => existsSync(folder))
        .map((folder) => ({ name: path.relative(support.data, folder), kind: "clip", files: [folder] }));
    const captures = namesBelow("mocap-cmu-bvh", [".bvh"]).map((file) => named("capture", [file]));
    const acclaim = namesBelow("mocap-cmu-asfamc", [".amc"]).map((file) => named("capture", [file]));
    return [...rigs, ...caches, ...alembic, ...poses, ...captures, ...acclaim];
}

/** The real inputs; none where the data is not at hand. */
export function realInputs(pelt, quick) {
    if (!existsSync(support.data)) return [];
    return realFiles()
        .filter(({ name }) => !quick || QUICK.test(name))
        .map((input) => describe(pelt, input));
}

/** Every scene at `settings` random settings, written to `folder`. */
export function sceneInputs(pelt, scenes, folder, settings, mostVertices) {
    const random = support.seededRandom(settings);
    const between = (low, high) => Math.round(low * (high / low) ** random());
    const names = support.run(scenes, ["list"]).toString().trim().split("\n").map((line) => line.split(" ")[0]);
    const inputs = [];
    for (const scene of names)
        for (let n = 0; n < settings; n++) {
            const [vertices, frames, seed] = [between(200, mostVertices), between(8, 60), between(1, 1000)];
            const clip = ["cloth", "softbody"].includes(scene);
            const stem = path.join(folder, `${scene}_${n}`);
            const files = clip ? [`${stem}.obj`, `${stem}.pc2`] : [`${stem}.glb`];
            support.run(scenes, [scene, "-o", files[0], "--vertices", `${vertices}`, "--frames", `${frames}`, "--seed", `${seed}`]);
            const name = `${scene}, ${vertices} vertices, ${frames} frames, seed ${seed}`;
            inputs.push(describe(pelt, { name, kind: clip ? "clip" : "rig", files }));
        }
    return inputs;
}
