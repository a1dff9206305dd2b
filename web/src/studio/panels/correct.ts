/** Correct: morph targets for what bones miss of an animation, with weights by time or by pose (EigenSkin). */
import type { Option, OptionValue } from "pelt";
import type { JsonObject } from "../../data";
import { h } from "../../dom";
import type { Panel, Settings, Step } from "../panel";
import type { Studio } from "../studio";
import { errorsOf } from "./report";

/** Options of the verb that are in no table. */
const OWN: Option[] = [
    {
        key: "driver",
        name: "driver",
        letter: "",
        kind: "choice",
        initial: "time",
        min: null,
        max: null,
        choices: ["time", "pose"],
        value: null,
        help: "what gives targets their weights: an animation channel, or the pose itself, in poses never seen as well",
    },
    {
        key: "holdOut",
        name: "hold-out",
        letter: "",
        kind: "uint",
        initial: "0",
        min: 0,
        max: 1000000,
        choices: [],
        value: "N",
        help: "every Nth frame of the cache is not learned from; 0: none",
    },
];
const RANK_MAX = 100;

function byPose(settings: Settings): boolean {
    return settings.driver === "pose";
}

/** Settings of one table. */
function pick(studio: Studio, table: "correct" | "eigenskin", settings: Settings): Record<string, OptionValue> {
    const keys = new Set(studio.pelt.options[table].options.map(({ key }) => key));
    return Object.fromEntries(Object.entries(settings).filter(([key]) => keys.has(key) || (table === "eigenskin" && key === "preset")));
}

function steps(errors: ArrayLike<number> | null): number[][] {
    return Array.from(errors ?? [], (error, n) => [n, error]);
}

export const correct: Panel = {
    name: "correct",
    label: "Correct",
    summary: "Add morph targets for what the bones miss of the source; a tab beside the view has them as sliders.",
    tables: ["correct", "eigenskin"],
    own: OWN,
    main: ["driver", "rank", "error", "modes", "normals"],
    sliders: { rank: [0, 40, 1], modes: [0, 16, 1] },
    action: "Correct",
    unfit({ clips, boneCount, motions }) {
        if (boneCount === 0) return "This model has no bones to correct; decompose it first, or open a rig with a cache of its mesh.";
        if (clips.length === 0) return "There is no animation beside the rig's own; open the rig together with a cache (.pc2, .mdd) of its mesh.";
        return motions.length === 0 ? "This rig has no motion that plays the cache." : undefined;
    },
    applies(key, settings) {
        const pose = ["modes", "support", "maxPerVertex", "kernel", "radius", "split", "regularise", "exact", "interpolate", "coupled"];
        const more = ["refitWeights", "against", "centres", "holdOut", "preset"];
        const time = ["rank", "basis", "sweeps", "normalRank", "normalRule"];
        return !(byPose(settings) ? time : [...pose, ...more]).includes(key);
    },
    inputs(studio: Studio, base: Step) {
        // The rig, and the cache that it was made from.
        const { files } = studio.state.steps[0];
        return base.verb === "open" ? [...files] : [...base.files, ...files];
    },
    after: () => h("p", { class: "note" }, "Drag the sliders of the Morphs tab to see what each target does; Reset follows the animation again."),
    async run({ studio, model, settings, hooks }) {
        if (byPose(settings)) {
            const holdOut = Number(settings.holdOut ?? 0);
            const report = await model.eigenskin({ ...pick(studio, "eigenskin", settings), ...hooks, holdOut });
            const curves: JsonObject[] = [{ title: "error against modes", x: "modes", y: "relative error", points: steps(report.errors) }];
            const { morphCount, modeCount, poseCount, jointCount, leftOutError } = report;
            return {
                title: `${morphCount} morphs`,
                report: { morphs: morphCount, modes: modeCount, poses: poseCount, joints: jointCount, left_out_error: leftOutError, ...(await errorsOf(model, await model.info())), curves },
            };
        }
        const chosen: Record<string, OptionValue> = pick(studio, "correct", settings);
        if (Number(chosen.error ?? 0) > 0) chosen.rank ??= RANK_MAX;
        const report = await model.correct({ ...chosen, ...hooks });
        const curves: JsonObject[] = [{ title: "error against rank", x: "rank", y: "E_rms", points: steps(report.errors) }];
        return {
            title: `rank ${report.rank}`,
            report: { rank: report.rank, vertices: report.vertexCount, ...(await errorsOf(model, await model.info())), curves },
        };
    },
};
