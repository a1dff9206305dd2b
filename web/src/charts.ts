/** Charts as SVG. Colours and fonts come from the style sheet. */
import { figure, h, svg } from "./dom";

export interface Curve {
    title: string;
    x: string;
    y: string;
    points: [number, number][];
    /** Both axes are logarithmic. */
    log?: boolean;
}

const WIDTH = 288;
const HEIGHT = 132;
const EDGE = { left: 40, right: 10, top: 8, bottom: 30 };

/** One to three round numbers from low to high. */
function ticks(low: number, high: number, log: boolean): number[] {
    if (log) return [low, Math.sqrt(low * high), high].map((value) => Number(value.toPrecision(2)));
    const step = 10 ** Math.floor(Math.log10((high - low) / 2 || 1));
    const wide = [1, 2, 5, 10].map((times) => times * step).find((size) => (high - low) / size <= 4) ?? step;
    const list: number[] = [];
    for (let value = Math.ceil(low / wide) * wide; value <= high + 1e-9 * wide; value += wide)
        list.push(Number(value.toPrecision(6)));
    return list;
}

class Axis {
    private readonly low: number;
    private readonly high: number;
    private readonly log: boolean;

    constructor(
        values: number[],
        private readonly from: number,
        private readonly to: number,
        log: boolean,
        fromZero: boolean,
    ) {
        this.log = log && values.every((value) => value > 0);
        this.low = fromZero && !this.log ? Math.min(0, ...values) : Math.min(...values);
        this.high = Math.max(...values);
        if (this.high === this.low) this.high = this.low + (Math.abs(this.low) || 1);
    }

    place(value: number): number {
        const scale = this.log ? Math.log : (x: number) => x;
        return (
            this.from +
            ((scale(value) - scale(this.low)) / (scale(this.high) - scale(this.low))) * (this.to - this.from)
        );
    }

    ticks(): number[] {
        return ticks(this.low, this.high, this.log);
    }
}

/** A chart with axes, for the panel. */
export function chart({ title, x, y, points, log }: Curve): HTMLElement {
    const finite = points.filter(([px, py]) => Number.isFinite(px) && Number.isFinite(py));
    const across = new Axis(
        finite.map(([px]) => px),
        EDGE.left,
        WIDTH - EDGE.right,
        !!log,
        false,
    );
    const upward = new Axis(
        finite.map(([, py]) => py),
        HEIGHT - EDGE.bottom,
        EDGE.top,
        !!log,
        true,
    );
    const places = finite.map(([px, py]) => [across.place(px), upward.place(py)]);
    const path = places.map(([px, py], n) => `${n ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
    const picture = svg("svg", {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        class: "chart",
        role: "img",
        "aria-label": `${title}: ${y} against ${x}`,
    });
    for (const value of upward.ticks()) {
        const at = upward.place(value);
        picture.append(svg("line", { x1: EDGE.left, x2: WIDTH - EDGE.right, y1: at, y2: at, class: "rule" }));
        picture.append(svg("text", { x: EDGE.left - 5, y: at + 3.5, "text-anchor": "end" }, figure(value, 3)));
    }
    for (const value of across.ticks())
        picture.append(
            svg(
                "text",
                { x: across.place(value), y: HEIGHT - EDGE.bottom + 13, "text-anchor": "middle" },
                figure(value, 3),
            ),
        );
    picture.append(svg("text", { x: WIDTH - EDGE.right, y: HEIGHT - 4, "text-anchor": "end", class: "axis" }, x));
    picture.append(svg("path", { d: path, class: "line" }));
    if (places.length <= 24)
        places.forEach(([cx, cy], n) =>
            picture.append(
                svg("circle", { cx, cy, r: 2.5 }, svg("title", {}, `${figure(finite[n][0])}: ${figure(finite[n][1])}`)),
            ),
        );
    return h("figure", {}, h("figcaption", {}, `${title} `, h("span", {}, y)), picture);
}

/** The curve behind the scrubber: one value per frame, as an area from edge to edge. */
export function strip(values: ArrayLike<number>): SVGElement {
    const list = Array.from(values, (value) => (Number.isFinite(value) ? value : 0));
    const high = Math.max(...list) || 1;
    const last = Math.max(1, list.length - 1);
    const line = list
        .map((value, frame) => `${((100 * frame) / last).toFixed(3)} ${(100 - (62 * value) / high).toFixed(2)}`)
        .join("L");
    return svg(
        "svg",
        { viewBox: "0 0 100 100", preserveAspectRatio: "none" },
        svg("path", { d: `M0 100L${line}L100 100Z`, class: "area" }),
        svg("path", { d: `M${line}`, class: "line", "vector-effect": "non-scaling-stroke" }),
    );
}
