/** Finds elements of page.html and creates others. */

type Child = Node | string | number | null | undefined | false;

/** The element of page.html with this id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
    const element = document.getElementById(id);
    if (!element) throw new Error(`page.html has no #${id}`);
    return element as T;
}

function fill<T extends Element>(element: T, attributes: Record<string, unknown>, children: Child[]): T {
    for (const [name, value] of Object.entries(attributes)) {
        if (value === undefined || value === false) continue;
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
        else element.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children)
        if (child !== null && child !== undefined && child !== false)
            element.append(typeof child === "object" ? child : String(child));
    return element;
}

/** A new element; attributes that begin with "on" are listeners. */
export function h<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    attributes: Record<string, unknown> = {},
    ...children: Child[]
) {
    return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag: string, attributes: Record<string, unknown> = {}, ...children: Child[]): SVGElement {
    return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** Announces a text to screen readers. */
export function announce(text: string): void {
    byId("status").textContent = text;
}

/** Formats a number with at most `digits` significant digits. */
export function figure(value: number, digits = 4): string {
    if (!Number.isFinite(value)) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e6 || size < 1e-4) return value.toExponential(digits - 2).replace("e+", "e");
    if (Number.isInteger(value)) return value.toLocaleString("en");
    return String(Number(value.toPrecision(digits)));
}
