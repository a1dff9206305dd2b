/** Simplify: fewer triangles, by what the animation does. */
import type { OptionValue } from "pelt";
import { figure } from "../../dom";
import type { Panel } from "../panel";

/** Part of the size that the surface may move by, unless a ratio or an error is given. */
const DEFAULT_ERROR = 0.02;

export const simplify: Panel = {
    name: "simplify",
    label: "Simplify",
    summary: "Reduce triangles where the animation shows it least; skin, morphs and materials stay.",
    tables: ["simplify"],
    main: ["ratio", "error", "poses"],
    sliders: { ratio: [0.02, 1, 0.01] },
    action: "Simplify",
    unfit: ({ triangleCount }) => (triangleCount === 0 ? "This model has no triangles." : undefined),
    async run({ model, settings, hooks }) {
        // As the verb: --error alone goes on as far as it allows; without either, half the triangles, but no visible change.
        const chosen: Record<string, OptionValue> = { ...settings };
        if (settings.ratio === undefined && settings.error !== undefined) chosen.ratio = 0;
        if (settings.ratio === undefined && settings.error === undefined) chosen.error = DEFAULT_ERROR;
        const report = await model.simplify({ ...chosen, ...hooks });
        return {
            title: `${figure(report.triangleCount)} triangles`,
            report: {
                triangles_before: report.trianglesBefore,
                triangles: report.triangleCount,
                vertices_before: report.verticesBefore,
                vertices: report.vertexCount,
                poses: report.poseCount,
            },
        };
    },
};
