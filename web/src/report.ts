/** The report of a verb as rows and charts. docs/page.md lists the members that are known
 * here. */
import type { Curve } from "./charts";
import type { Json, JsonObject } from "./data";
import { figure } from "./dom";

export interface Row {
    name: string;
    value: string;
    /** What the name means. */
    hint?: string;
}

const bytes = (value: number): string =>
    value >= 1e6 ? `${figure(value / 1e6, 3)} MB` : value >= 1e3 ? `${figure(value / 1e3, 3)} kB` : `${value} B`;
const degrees = (value: number): string => `${figure(value, 3)}°`;
const percent = (value: number): string => `${figure(100 * value, 3)} %`;

/** Members in the order of the table, with what they are called, how they are written, and what they mean. */
const KNOWN: Record<string, [label: string, write?: (value: number) => string, hint?: string]> = {
    error_rms: [
        "E_rms",
        undefined,
        "Root mean square error in thousandths of the radius of the first frame's enclosing ball",
    ],
    error_kg: ["E_kg", (value) => `${figure(value, 4)} %`, "Error relative to the motion"],
    error_max: ["E_max", percent, "Largest distance of a vertex, relative to the diameter of the first frame's enclosing ball"],
    error_max_units: ["E_max, object units"],
    max_frame: ["worst frame"],
    max_point: ["worst vertex"],
    normal_rms: ["normals", undefined, "RMS difference of unit normals of the posed triangles"],
    normal_degrees: ["normals, angle", degrees],
    skinned_normal_rms: ["skinned normals", undefined, "RMS difference of normals transformed by the blended matrix"],
    skinned_normal_degrees: ["skinned normals, angle", degrees, "As three.js, Babylon.js and Godot skin them"],
    inverse_normal_rms: ["by the inverse transpose", undefined, "RMS difference of normals transformed by the inverse transpose"],
    inverse_normal_degrees: ["by the inverse transpose, angle", degrees],
    accurate_normal_rms: ["accurate", undefined, "RMS difference of normals that follow the gradient of the weights too"],
    accurate_normal_degrees: ["accurate, angle", degrees],
    bones: ["bones"],
    influences: ["influences"],
    dimension: ["dimension"],
    vertices: ["vertices"],
    points: ["points"],
    triangles: ["triangles"],
    frames: ["frames"],
    bytes_in: ["size before", bytes],
    bytes_out: ["size after", bytes],
    peak_memory_bytes: ["memory", bytes],
};
/** Errors of `light` are those of colours. */
const OF_LIGHT: typeof KNOWN = {
    error_rms: ["E_rms of colours", undefined, "Root mean square error of linear colours, 0 to 1"],
    error_max: ["largest error of a colour", undefined, "Linear, 0 to 1"],
};
const SHOWN_ELSEWHERE = new Set([
    "pelt",
    "verb",
    "settings",
    "warnings",
    "frame_rms",
    "clips",
    "curves",
    "iterations",
    "validator",
]);

function isObject(json: Json | undefined): json is JsonObject {
    return typeof json === "object" && json !== null && !Array.isArray(json);
}

function text(value: Json, write: (value: number) => string = figure): string | undefined {
    if (typeof value === "number") return write(value);
    if (typeof value === "boolean") return value ? "yes" : "no";
    return typeof value === "string" ? value : undefined;
}

const words = (key: string): string => key.replaceAll("_", " ");

export interface Group {
    title: string;
    rows: Row[];
}

function rowsOf(object: JsonObject, names = KNOWN, write?: (value: number) => string): [string, Row][] {
    return Object.entries(object).flatMap(([key, value]) => {
        const [label, known, hint] = names[key] ?? [];
        const shown = text(value, write ?? known);
        return shown === undefined ? [] : [[key, { name: label ?? words(key), value: shown, hint }]];
    });
}

/** All scalars of the report: those at its top and of `result` together, what is known first; other objects apart. */
export function figures(report: JsonObject): Group[] {
    const own = Object.entries(report).filter(([key]) => !SHOWN_ELSEWHERE.has(key));
    const names = report.verb === "light" ? { ...KNOWN, ...OF_LIGHT } : KNOWN;
    const all = { ...Object.fromEntries(own), ...(isObject(report.result) ? report.result : {}) };
    const first = new Map(rowsOf(all, names));
    const order = Object.keys(KNOWN);
    const place = (key: string): number => (order.includes(key) ? order.indexOf(key) : order.length);
    const rows = [...first].sort(([a], [b]) => place(a) - place(b)).map(([, row]) => row);
    const others = own.flatMap(([key, value]) => {
        if (!isObject(value) || key === "result") return [];
        const write = key === "seconds" ? (seconds: number) => `${figure(seconds, 3)} s` : undefined;
        return [{ title: words(key), rows: rowsOf(value, names, write).map(([, row]) => row) }];
    });
    return [{ title: "figures", rows }, ...others].filter((group) => group.rows.length > 0);
}

export function settings(report: JsonObject): Row[] {
    if (!isObject(report.settings)) return [];
    return Object.entries(report.settings).flatMap(([key, value]) => {
        const shown = text(value);
        return shown === undefined ? [] : [{ name: words(key), value: shown }];
    });
}

export function warnings(report: JsonObject): string[] {
    return Array.isArray(report.warnings) ? report.warnings.filter((line) => typeof line === "string") : [];
}

/** What the glTF validator said, as a sentence. */
export function validator(report: JsonObject): string | undefined {
    if (!isObject(report.validator)) return undefined;
    const { errors = 0, warnings: lesser = 0 } = report.validator;
    return errors || lesser
        ? `glTF validator: ${errors} errors, ${lesser} warnings`
        : "glTF validator: no errors, no warnings";
}

/** One number of the report, at its top or in `result`. */
export function number(report: JsonObject | undefined, key: string): number {
    const value = report?.[key] ?? (isObject(report?.result) ? report.result[key] : undefined);
    return typeof value === "number" ? value : NaN;
}

/** E_rms of every frame of a clip. */
export function frameErrors(report: JsonObject | undefined, clip: string, only: boolean): number[] | undefined {
    const clips = Array.isArray(report?.clips) ? report.clips.filter(isObject) : [];
    const list = clips.find(({ name }) => name === clip)?.frame_rms ?? (only ? report?.frame_rms : undefined);
    return Array.isArray(list) ? list.map(Number) : undefined;
}

export function curves(report: JsonObject): Curve[] {
    const list = Array.isArray(report.curves) ? report.curves.filter(isObject) : [];
    const made = list
        .map((curve) => curve as unknown as Curve)
        .filter(({ points }) => Array.isArray(points) && points.length > 1);
    if (Array.isArray(report.iterations) && report.iterations.length > 1)
        made.push({
            title: "Error by iteration",
            x: "iteration",
            y: "E_rms",
            points: report.iterations.map((value, n) => [n + 1, Number(value)]),
        });
    return made;
}

/** Rows of the clips of a report that has several. */
export function clipRows(report: JsonObject): Row[] {
    if (!Array.isArray(report.clips)) return [];
    return report.clips.filter(isObject).map(({ name, frames, error_rms: error }) => ({
        name: String(name ?? ""),
        value: `${frames ?? "?"} frames${typeof error === "number" ? `, E_rms ${figure(error)}` : ""}`,
    }));
}
