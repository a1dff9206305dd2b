/** Keyboard shortcuts, and the panel that lists them. */
import { byId, h } from "./dom";

export interface Shortcut {
    /** As KeyboardEvent.key, with the prefix "Shift+" or "Alt+" if needed. */
    keys: string[];
    text: string;
    run(): void;
}

const NAMES: Record<string, string> = { " ": "Space", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };
const named = (key: string): string =>
    (key === "+" ? [key] : key.split("+"))
        .map((part) => NAMES[part] ?? (part.length === 1 ? part.toUpperCase() : part))
        .join(" ");

/** Whether the focused element handles the key itself. */
function isTaken(target: EventTarget | null, key: string): boolean {
    if (!(target instanceof HTMLElement)) return false;
    if (target instanceof HTMLInputElement && ["search", "text", "number"].includes(target.type)) return key !== "Escape";
    if (target instanceof HTMLSelectElement) return key !== "?" && key !== "Escape";
    const arrows = key.startsWith("Arrow") || key === "Home" || key === "End" || key === "PageUp" || key === "PageDown";
    if (target instanceof HTMLInputElement) return arrows;
    if (key === "Enter" && target instanceof HTMLElement && target.tagName === "SUMMARY") return true;
    return (key === " " || key === "Enter") && (target instanceof HTMLButtonElement || target.getAttribute("role") === "tab");
}

export function listen(shortcuts: Shortcut[]): void {
    const table = new Map(shortcuts.flatMap((shortcut) => shortcut.keys.map((key) => [key, shortcut])));
    document.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || isTaken(event.target, event.key)) return;
        const prefix = event.altKey ? "Alt+" : event.shiftKey && event.key.length > 1 ? "Shift+" : "";
        const shortcut = table.get(prefix + (event.key.length === 1 ? event.key.toLowerCase() : event.key));
        if (!shortcut) return;
        event.preventDefault();
        shortcut.run();
    });
    const rows = shortcuts.map(({ keys, text }) =>
        h("tr", {}, h("td", {}, ...keys.map((key) => h("kbd", {}, named(key)))), h("td", {}, text)),
    );
    byId("keys").replaceChildren(h("table", {}, h("tbody", {}, ...rows)));
}
