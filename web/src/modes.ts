/** Colour modes. Every mode fills colours [vertex][3] and describes its legend. */
import { category, CLAY, COOL, type Color, type ColorMap, HEAT } from "./colors";
import type { Model } from "./model";

export type ModeName =
    | "shaded"
    | "material"
    | "colors"
    | "parts"
    | "bones"
    | "weights"
    | "influences"
    | "displacement"
    | "error"
    | "shading"
    | "light"
    | "values";

/** Degrees at the top of the scale of shading errors. */
const SHADING_SCALE = 30;

export interface Legend {
    title: string;
    map: ColorMap;
    /** Texts from left to right, evenly spread. */
    ticks: string[];
}

/** Values of vertices that a panel shows: what is painted, distances. */
export interface Values {
    title: string;
    /** [vertex] NaN: none. */
    data: ArrayLike<number>;
    /** Values at the ends of the colour scale. */
    low: number;
    high: number;
}

/** Inputs of the modes. */
export interface ModeInput {
    model: Model;
    joint: number;
    /** [vertex] distance from the rest pose and from the source in this frame, object units; empty if there is
     * none. */
    displacement: Float32Array;
    error: Float32Array;
    /** [vertex] degrees between the displayed normals and those of the source's triangles. */
    shading: Float32Array;
    /** The animation of the file and the time that are shown. */
    motion: number | undefined;
    time: number;
    /** The distances at the top of the colour scales. */
    displacementScale: number;
    errorScale: number;
    values: Values | undefined;
    format(value: number): string;
}

export interface Mode {
    name: ModeName;
    label: string;
    key: string;
    /** Changes with the frame, not only with settings. */
    moves?: boolean;
    paint(input: ModeInput, colors: Float32Array): void;
    legend?(input: ModeInput): Legend;
}

function paintEach(colors: Float32Array, color: (vertex: number) => Color): void {
    for (let i = 0; i < colors.length / 3; i++) colors.set(color(i), 3 * i);
}

function paintParts(colors: Float32Array, model: Model, color: (part: number) => Color): void {
    model.parts.forEach(({ firstVertex, vertexCount }, part) => {
        const of = color(part);
        for (let i = firstVertex; i < firstVertex + vertexCount; i++) colors.set(of, 3 * i);
    });
}

/** Colours of bones, blended by weights. */
function paintBones(colors: Float32Array, { bones, influences, boneIndices, weights, vertexCount }: Model): void {
    const palette = bones.map(({ joint }, bone) => category(joint < 0 ? bone : joint));
    colors.fill(0);
    for (let i = 0; i < vertexCount; i++)
        for (let k = i * influences; k < (i + 1) * influences; k++) {
            const color = palette[boneIndices[k]];
            for (let c = 0; c < 3; c++) colors[3 * i + c] += weights[k] * color[c];
        }
}

/** The colours of the file are the light of a bake, which changes with the motion. */
export function isLit({ parts, light }: Model): boolean {
    return light !== undefined || parts.some(({ object }) => object.geometry.morphAttributes.color);
}

/** Vertex colours of the file with the weights of its morphs in the current pose, times the colours of materials. */
function paintFile(colors: Float32Array, model: Model): void {
    if (model.colors) colors.set(model.colors);
    for (const { object, firstVertex, vertexCount, color } of model.parts) {
        const [targets, weights] = [object.geometry.morphAttributes.color ?? [], object.morphTargetInfluences ?? []];
        for (let i = 0; i < vertexCount; i++)
            for (let c = 0; c < 3; c++) {
                let sum = colors[3 * (firstVertex + i) + c];
                targets.forEach((target, t) => (sum += weights[t] * target.getComponent(i, c)));
                colors[3 * (firstVertex + i) + c] = color[c] * Math.min(Math.max(sum, 0), 1);
            }
    }
}

/** The weight of a joint at a vertex. */
export function weightOf({ bones, influences, boneIndices, weights }: Model, joint: number, vertex: number): number {
    let sum = 0;
    for (let k = vertex * influences; k < (vertex + 1) * influences; k++)
        if (weights[k] > 0 && bones[boneIndices[k]].joint === joint) sum += weights[k];
    return sum;
}

/** The joints that move a vertex, the strongest first. */
export function influencesOf(model: Model, vertex: number): { joint: number; name: string; weight: number }[] {
    const { influences, bones, boneIndices, weights, joints } = model;
    const bound = new Set<number>();
    for (let k = vertex * influences; k < (vertex + 1) * influences; k++)
        if (weights[k] > 0) bound.add(bones[boneIndices[k]].joint);
    bound.delete(-1);
    return [...bound]
        .map((joint) => ({ joint, name: joints[joint].name, weight: weightOf(model, joint, vertex) }))
        .sort((a, b) => b.weight - a.weight);
}

function influenceCount({ influences, weights }: Model, vertex: number): number {
    let count = 0;
    for (let k = vertex * influences; k < (vertex + 1) * influences; k++) count += weights[k] > 0 ? 1 : 0;
    return count;
}

function distanceLegend(title: string, map: ColorMap, scale: number, { format }: ModeInput): Legend {
    return { title, map, ticks: ["0", format(scale / 2), `≥ ${format(scale)}`] };
}

const paintScalar = (colors: Float32Array, map: ColorMap, value: (vertex: number) => number): void => {
    for (let i = 0; i < colors.length / 3; i++) map.put(value(i), colors, i);
};

export const MODES: Mode[] = [
    { name: "shaded", label: "Shaded", key: "s", paint: (_, colors) => paintEach(colors, () => CLAY) },
    {
        name: "material",
        label: "Material",
        key: "m",
        paint: ({ model }, colors) => paintParts(colors, model, (p) => model.parts[p].color),
    },
    {
        name: "colors",
        label: "Vertex colours",
        key: "y",
        moves: true,
        paint: ({ model }, colors) => paintFile(colors, model),
    },
    { name: "parts", label: "Parts", key: "a", paint: ({ model }, colors) => paintParts(colors, model, category) },
    { name: "bones", label: "Bones", key: "b", paint: ({ model }, colors) => paintBones(colors, model) },
    {
        name: "weights",
        label: "Weight of a bone",
        key: "w",
        paint: ({ model, joint }, colors) => paintScalar(colors, HEAT, (i) => weightOf(model, joint, i)),
        legend: ({ model, joint }) => ({
            title: `Weight of ${model.joints[joint]?.name ?? "no bone"}`,
            map: HEAT,
            ticks: ["0", "0.5", "1"],
        }),
    },
    {
        name: "influences",
        label: "Influences",
        key: "i",
        paint: ({ model }, colors) => paintScalar(colors, COOL, (i) => (influenceCount(model, i) - 1) / 7),
        legend: () => ({ title: "Bones per vertex", map: COOL, ticks: ["1", "2", "3", "4", "5", "6", "7", "8"] }),
    },
    {
        name: "displacement",
        label: "Displacement",
        key: "d",
        moves: true,
        paint: ({ displacement, displacementScale }, colors) =>
            paintScalar(colors, HEAT, (i) => displacement[i] / displacementScale || 0),
        legend: (input) =>
            distanceLegend("Distance from the rest pose, object units", HEAT, input.displacementScale, input),
    },
    {
        name: "error",
        label: "Error",
        key: "e",
        moves: true,
        paint: ({ error, errorScale }, colors) => paintScalar(colors, HEAT, (i) => error[i] / errorScale || 0),
        legend: (input) => distanceLegend("Distance from the source, object units", HEAT, input.errorScale, input),
    },
    {
        name: "shading",
        label: "Shading error",
        key: "g",
        moves: true,
        paint: ({ shading }, colors) => paintScalar(colors, HEAT, (i) => shading[i] / SHADING_SCALE || 0),
        legend: () => ({
            title: "Angle to the normals of the source",
            map: HEAT,
            ticks: ["0°", `${SHADING_SCALE / 2}°`, `≥ ${SHADING_SCALE}°`],
        }),
    },
    {
        name: "values",
        label: "Values",
        key: "j",
        paint: ({ values }, colors) => {
            const { data, low, high } = values ?? { data: [], low: 0, high: 1 };
            paintEach(colors, () => CLAY);
            for (let i = 0; i < data.length; i++) if (!Number.isNaN(data[i])) HEAT.put((data[i] - low) / (high - low), colors, i);
        },
        legend: ({ values, format }) => {
            const { title, low, high } = values ?? { title: "", low: 0, high: 1 };
            return { title, map: HEAT, ticks: [low, (low + high) / 2, high].map(format) };
        },
    },
    {
        name: "light",
        label: "Light",
        key: "h",
        moves: true,
        paint: ({ model, motion, time }, colors) => {
            model.light?.paint(motion, time, colors);
            for (const { firstVertex, vertexCount, color } of model.parts)
                for (let e = 3 * firstVertex; e < 3 * (firstVertex + vertexCount); e++) colors[e] *= color[e % 3];
        },
    },
];
