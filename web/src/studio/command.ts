/** Command lines that do what the studio did, and settings files that both read. */
import type { Option, OptionTable, OptionValue } from "pelt";
import type { JsonObject } from "../data";
import { optionsOf, parseSetting } from "./form";
import type { Panel, Settings, Step } from "./panel";

type Tables = Record<string, OptionTable>;

/** An argument as a shell reads it. */
export function quoted(text: string): string {
    return /^[\w./:=,%+@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function valueText(value: OptionValue): string {
    return Array.isArray(value) ? value.join(",") : String(value);
}

/** --bones 32 --hierarchy; in the order of the tables. */
export function settingArguments(panel: Panel, tables: Tables, settings: Settings): string[] {
    const args: string[] = [];
    const add = (name: string, value: OptionValue, kind: string) => {
        if (value === undefined || value === null) return;
        if (kind !== "flag") args.push(`--${name}`, valueText(value));
        else args.push(value ? `--${name}` : `--${name}=false`);
    };
    add("preset", settings.preset, "choice");
    for (const { key, name, kind } of optionsOf(panel, tables))
        if (panel.applies?.(key, settings) !== false) add(name, settings[key], kind);
    return args;
}

/** "flag.obj" → "flag". */
export function stem(name: string): string {
    return name.replace(/^.*\//, "").replace(/\.[^.]*$/, "");
}

/** One line per step; a step reads what the one before it wrote. */
export function commandLines(steps: readonly Step[], panels: readonly Panel[], tables: Tables): string[] {
    return steps.flatMap((step) => {
        const panel = panels.find(({ name }) => name === step.verb);
        if (!panel) return [...step.extra]; // what made the files
        const args = [...step.extra, "-o", step.files[0], ...settingArguments(panel, tables, step.settings)];
        return [["pelt", panel.name, ...args].map(quoted).join(" ")];
    });
}

/** What `pelt VERB --settings FILE` reads. */
export function settingsFile(panel: Panel, tables: Tables, settings: Settings, more: JsonObject = {}): string {
    const named: JsonObject = {};
    if (settings.preset !== undefined) named.preset = settings.preset as string;
    for (const { key, name } of optionsOf(panel, tables))
        if (settings[key] !== undefined && panel.applies?.(key, settings) !== false) named[name] = settings[key] as JsonObject[string];
    return `${JSON.stringify({ verb: panel.name, settings: named, ...more }, null, 1)}\n`;
}

export interface OpenedSettings {
    panel: Panel;
    settings: Settings;
    /** Members that the panel has no control for. */
    ignored: string[];
    object: JsonObject;
}

/** Reads a settings file, or the report of --json. Throws a sentence. */
export function readSettings(name: string, text: string, panels: readonly Panel[], open: Panel, tables: Tables): OpenedSettings {
    let object: JsonObject;
    try {
        object = JSON.parse(text) as JsonObject;
    } catch (error) {
        throw new Error(`${name}: ${(error as Error).message}; give a file that Save settings or --json wrote`);
    }
    const verb = object?.verb ?? open.name;
    const panel = panels.find((other) => other.name === verb);
    if (!panel) throw new Error(`${name}: there is no panel for the verb '${String(verb)}'`);
    const given = (object.settings ?? object) as JsonObject;
    if (typeof given !== "object" || given === null || Array.isArray(given)) throw new Error(`${name}: settings should be an object`);
    const options = new Map<string, Option>(optionsOf(panel, tables).map((option) => [option.name, option]));
    const settings: Record<string, OptionValue> = {};
    const ignored: string[] = [];
    for (const [key, value] of Object.entries(given)) {
        const option = options.get(key);
        if (key === "preset") settings.preset = value === "none" || value === null ? undefined : (value as string);
        else if (!option) ignored.push(key);
        else
            try {
                settings[option.key] = parseSetting(option, value);
            } catch (error) {
                throw new Error(`${name}: ${(error as Error).message}`);
            }
    }
    for (const key of Object.keys(settings)) if (settings[key] === undefined) delete settings[key];
    return { panel, settings, ignored, object };
}
