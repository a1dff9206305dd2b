/** Controls made from the rows of option tables. */
import type { Option, OptionTable, OptionValue } from "pelt";
import { h } from "../dom";
import type { Panel, Settings } from "./panel";

/** "keyTolerance" → "Key tolerance". */
export function labelOf({ name }: Option): string {
    const text = name.replaceAll("-", " ");
    return text[0].toUpperCase() + text.slice(1);
}

/** The default as a value. */
export function initialOf({ kind, initial, choices }: Option): OptionValue {
    if (kind === "flag") return initial === "true";
    if (kind === "choice") return initial ?? choices[0];
    if (kind === "uint" || kind === "real") return Number(initial ?? 0);
    return initial ?? "";
}

/** What a control says, as a setting: undefined for the default. */
function settingOf(option: Option, value: OptionValue): OptionValue {
    if (value === "" || value === null) return undefined;
    const initial = initialOf(option);
    return value === initial || (option.kind === "text" && value === (option.initial ?? "")) ? undefined : value;
}

/** A value of a settings file; undefined: the default. Throws a sentence for what the row does not take. */
export function parseSetting(option: Option, value: unknown): OptionValue {
    const { name, kind, choices, min, max } = option;
    const wrong = (wanted: string) => new Error(`${name}: ${JSON.stringify(value)} is no ${wanted}`);
    if (value === null || value === undefined) return undefined;
    if (kind === "flag") {
        if (typeof value !== "boolean") throw wrong("flag (true or false)");
    } else if (kind === "uint" || kind === "real") {
        if (typeof value !== "number" || !Number.isFinite(value)) throw wrong("number");
        if (min !== null && max !== null && (value < min || value > max)) throw wrong(`number from ${min} to ${max}`);
    } else if (kind === "choice") {
        if (typeof value !== "string" || !choices.includes(value)) throw wrong(`choice; there are ${choices.join(", ")}`);
    } else if (kind === "vector") {
        if (!Array.isArray(value) || value.length !== 3 || !value.every(Number.isFinite)) throw wrong("list of three numbers");
        return value as number[];
    } else if (Array.isArray(value)) return value.join(",");
    else if (typeof value !== "string" && typeof value !== "number") throw wrong("text");
    return settingOf(option, value as OptionValue);
}

export interface Form {
    element: HTMLElement;
    /** Shows settings, and only the rows that apply. */
    show(settings: Settings): void;
}

interface Row {
    option: Option;
    element: HTMLElement;
    show(value: OptionValue): void;
}

type Change = (key: string, value: OptionValue, merge?: string) => void;

function idOf(panel: Panel, { name }: Option): string {
    return `set-${panel.name}-${name}`;
}

/** A number, and a slider of its usual range where the panel names one. */
function numberControl(panel: Panel, option: Option, change: Change): { elements: HTMLElement[]; show: Row["show"] } {
    const { key, kind, min, max } = option;
    const id = idOf(panel, option);
    const input = h("input", { type: "number", id, min: min ?? undefined, max: max ?? undefined, step: kind === "uint" ? 1 : "any" });
    input.addEventListener("change", () => {
        if (!input.checkValidity()) return void input.reportValidity();
        change(key, settingOf(option, input.value === "" ? "" : input.valueAsNumber));
    });
    const range = panel.sliders?.[key];
    const slider =
        range && h("input", { type: "range", min: range[0], max: range[1], step: range[2], "aria-label": `${labelOf(option)}, slider` });
    slider?.addEventListener("input", () => change(key, settingOf(option, slider.valueAsNumber), `${panel.name} ${key}`));
    const show = (value: OptionValue) => {
        const number = (value ?? initialOf(option)) as number;
        if (document.activeElement !== input || !Object.is(input.valueAsNumber, number)) input.value = String(number);
        if (slider) slider.value = String(number);
    };
    return { elements: slider ? [slider, input] : [input], show };
}

function control(panel: Panel, option: Option, change: Change): { elements: HTMLElement[]; show: Row["show"] } {
    const { key, kind, choices, value: called, initial } = option;
    const id = idOf(panel, option);
    if (kind === "uint" || kind === "real") return numberControl(panel, option, change);
    if (kind === "flag") {
        const input = h("input", { type: "checkbox", id });
        input.addEventListener("change", () => change(key, settingOf(option, input.checked)));
        return { elements: [input], show: (value) => (input.checked = Boolean(value ?? initialOf(option))) };
    }
    if (kind === "choice") {
        const select = h("select", { id }, ...choices.map((choice) => h("option", { value: choice }, choice)));
        select.addEventListener("change", () => change(key, settingOf(option, select.value)));
        return { elements: [select], show: (value) => (select.value = String(value ?? initialOf(option))) };
    }
    const input = h("input", { type: "text", id, placeholder: initial ?? called ?? "", spellcheck: "false" });
    input.addEventListener("change", () => {
        const numbers = input.value.split(",").map(Number);
        change(key, settingOf(option, kind === "vector" && input.value && numbers.every(Number.isFinite) ? (numbers as never) : input.value));
    });
    return { elements: [input], show: (value) => (input.value = Array.isArray(value) ? value.join(",") : String(value ?? "")) };
}

function makeRow(panel: Panel, option: Option, change: Change): Row {
    const { elements, show } = control(panel, option, change);
    const reset = h("button", { type: "button", class: "reset", title: "Back to the default", "aria-label": `${labelOf(option)}: back to the default` }, "↺");
    reset.addEventListener("click", () => change(option.key, undefined));
    const help = h("small", { id: `${idOf(panel, option)}-help` }, option.help);
    elements.at(-1)!.setAttribute("aria-describedby", help.id);
    const label = h("label", { for: idOf(panel, option) }, labelOf(option));
    const element = h("div", { class: `setting ${option.kind}`, "data-key": option.key }, label, h("span", { class: "value" }, ...elements, reset), help);
    return {
        option,
        element,
        show(value) {
            element.classList.toggle("changed", value !== undefined);
            reset.disabled = value === undefined;
            show(value);
        },
    };
}

/** All rows of the tables of a panel, each name once: the first table that has it counts. */
export function optionsOf(panel: Panel, tables: Record<string, OptionTable>): Option[] {
    const found = new Map<string, Option>((panel.own ?? []).map((option) => [option.key, option]));
    for (const table of panel.tables)
        for (const option of tables[table].options)
            if (!found.has(option.key) && !panel.hidden?.includes(option.key)) found.set(option.key, option);
    return [...found.values()];
}

function presetRow(panel: Panel, names: string[], change: Change): Row {
    const option: Option = {
        key: "preset",
        name: "preset",
        letter: "",
        kind: "choice",
        initial: "none",
        min: null,
        max: null,
        choices: ["none", ...names],
        value: null,
        help: "settings of a published method; others take precedence",
    };
    return makeRow(panel, option, change);
}

export function makeForm(panel: Panel, tables: Record<string, OptionTable>, change: Change): Form {
    const options = optionsOf(panel, tables);
    const rows = options.map((option) => makeRow(panel, option, change));
    const presets = panel.tables.flatMap((table) => Object.keys(tables[table].presets));
    if (presets.length > 0) rows.push(presetRow(panel, presets, change));
    const isMain = ({ option }: Row) => panel.main.includes(option.key);
    const main = rows.filter(isMain).sort((a, b) => panel.main.indexOf(a.option.key) - panel.main.indexOf(b.option.key));
    const others = rows.filter((row) => !isMain(row));
    const more = h("details", { class: "more" }, h("summary", {}, "More settings"), ...others.map(({ element }) => element));
    const element = h("div", { class: "form" }, ...main.map((row) => row.element), others.length > 0 && more);
    return {
        element,
        show(settings) {
            for (const row of rows) {
                row.element.hidden = panel.applies?.(row.option.key, settings) === false;
                row.show(settings[row.option.key]);
            }
        },
    };
}
