/** Colours and colour maps, the same as those of the pictures (src/view/colors.c): straight lines in OKLab. Linear
 * RGB. */

export type Color = [number, number, number];
type Lab = [number, number, number];

function fromLab([lightness, a, b]: Lab): Color {
    const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
    return [
        Math.max(0, 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
        Math.max(0, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
        Math.max(0, -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
    ];
}

function fromHue(lightness: number, chroma: number, degrees: number): Lab {
    const angle = (degrees * Math.PI) / 180;
    return [lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)];
}

/** A colour map of the range 0 to 1, as a table of 256 entries. */
export class ColorMap {
    private readonly table = new Float32Array(256 * 3);

    constructor(stops: Lab[]) {
        for (let n = 0; n < 256; n++) {
            const at = (n / 255) * (stops.length - 1);
            const s = Math.min(Math.floor(at), stops.length - 2);
            const mix = (c: number) => stops[s][c] + (stops[s + 1][c] - stops[s][c]) * (at - s);
            this.table.set(fromLab([mix(0), mix(1), mix(2)]), 3 * n);
        }
    }

    /** Writes the colour of `value` to out[3·index …]. */
    put(value: number, out: Float32Array, index: number): void {
        const n = 3 * Math.round(255 * Math.min(Math.max(value, 0), 1));
        out[3 * index] = this.table[n];
        out[3 * index + 1] = this.table[n + 1];
        out[3 * index + 2] = this.table[n + 2];
    }

    /** A CSS gradient from left to right. */
    gradient(): string {
        const out = new Float32Array(3);
        const stops = Array.from({ length: 17 }, (_, n) => {
            this.put(n / 16, out, 0);
            return css([out[0], out[1], out[2]]);
        });
        return `linear-gradient(to right, ${stops.join(", ")})`;
    }
}

/** From pale over orange to deep plum: weights and distances. */
export const HEAT = new ColorMap([
    fromHue(0.9, 0.01, 250),
    fromHue(0.84, 0.12, 90),
    fromHue(0.72, 0.155, 58),
    fromHue(0.57, 0.185, 25),
    fromHue(0.38, 0.13, 350),
]);

/** From pale to deep blue: counts. */
export const COOL = new ColorMap([
    fromHue(0.91, 0.02, 120),
    fromHue(0.76, 0.09, 190),
    fromHue(0.58, 0.115, 240),
    fromHue(0.38, 0.13, 280),
]);

export const CLAY: Color = fromLab(fromHue(0.865, 0.022, 62));

/** Colours far apart in hue for neighbouring indices. */
export function category(index: number): Color {
    const lightness = [0.77, 0.69, 0.84][index % 3];
    const turn = (0.23606798 * (index % 4096)) % 1;
    return fromLab(fromHue(lightness, 0.13, 25 + 360 * turn));
}

export function css(color: Color): string {
    const byte = (linear: number) => {
        const s = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
        return Math.round(255 * Math.min(Math.max(s, 0), 1));
    };
    return `rgb(${byte(color[0])} ${byte(color[1])} ${byte(color[2])})`;
}
