// The option tables of the library: names, ranges, defaults and help texts, from which settings are written and a page can make its controls.
import { camel, kebab, type Memory } from "./memory";

export type OptionKind = "flag" | "uint" | "real" | "size" | "text" | "choice" | "vector";

/** One row of an option table. */
export interface Option {
    /** Name in JavaScript: "keyTolerance". */
    key: string;
    /** Name on the command line, without dashes: "key-tolerance". */
    name: string;
    /** One-letter form on the command line; "": none. */
    letter: string;
    kind: OptionKind;
    /** Text in the form a user would type; null: 0, false or no text. */
    initial: string | null;
    /** Inclusive range of uint, real and each number of a vector; null: any. */
    min: number | null;
    max: number | null;
    /** Of a choice. */
    choices: string[];
    /** What the help calls the value: "FILE", "N"; null for flags and choices. */
    value: string | null;
    /** One line, no full stop. */
    help: string;
}

export interface OptionTable {
    options: Option[];
    /** Named sets of values: {fesam2010: {smooth: "0", …}, …}; null: a flag. */
    presets: Record<string, Record<string, string | null>>;
}

export type TableName =
    | "load"
    | "save"
    | "decompose"
    | "bind"
    | "correct"
    | "eigenskin"
    | "simplify"
    | "retarget"
    | "jiggle"
    | "jiggleBake"
    | "jiggleSimulate";

const KINDS: OptionKind[] = ["flag", "uint", "real", "size", "text", "choice", "vector"];

function readOption(memory: Memory, row: number): Option {
    const text = (offset: number) => memory.text(memory.u32(row + offset));
    const [min, max] = [memory.f64(row + 24), memory.f64(row + 32)];
    const letter = memory.module.HEAPU8[row + 4];
    return {
        key: camel(text(0)!),
        name: text(0)!,
        letter: letter ? String.fromCharCode(letter) : "",
        kind: KINDS[memory.u32(row + 8)],
        initial: text(20),
        min: min === 0 && max === 0 ? null : min,
        max: min === 0 && max === 0 ? null : max,
        choices: text(40)?.split("|") ?? [],
        value: text(44),
        help: text(48)!,
    };
}

export function readTables(memory: Memory): Record<TableName, OptionTable> {
    const out: Record<string, OptionTable> = {};
    for (let row = memory.module._pw_tables(); memory.u32(row); row += 8) {
        const table = memory.u32(row + 4);
        const options = Array.from({ length: memory.u32(table + 8) }, (_, n) => readOption(memory, memory.u32(table + 4) + 56 * n));
        const presets: OptionTable["presets"] = {};
        for (let n = 0; n < memory.u32(table + 16); n++) {
            const [preset, option, value] = [0, 4, 8].map((offset) =>
                memory.text(memory.u32(memory.u32(table + 12) + 12 * n + offset)),
            );
            (presets[preset!] ??= {})[camel(option!)] = value;
        }
        out[memory.text(memory.u32(row))!] = { options, presets };
    }
    return out as Record<TableName, OptionTable>;
}

export type OptionValue = boolean | number | string | readonly string[] | readonly number[] | undefined | null;

/** A value as the library reads it. Lists of names have commas between them. */
function valueText(value: NonNullable<OptionValue>): string {
    return Array.isArray(value) ? value.join(",") : String(value);
}

/** Settings as api.c takes them. Keys that are undefined or null keep their default; a preset goes first, so that others override it.
 * The library names what it does not know. */
export function settingsText(options: object): string {
    const given = Object.entries(options as Record<string, OptionValue>).filter(([, value]) => value !== undefined && value !== null);
    given.sort(([a], [b]) => Number(b === "preset") - Number(a === "preset"));
    return given.map(([key, value]) => `${kebab(key)}\0${valueText(value!)}\0`).join("");
}
