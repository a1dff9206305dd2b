/** Precomputed radiance transfer (docs/light.md): colours of a rig in a light that the user turns. */
import type { BufferAttribute } from "three";
import type { GLTF } from "three/examples/jsm/loaders/GLTFLoader.js";
import type { Part } from "./model";

type Vector = [number, number, number];

interface LightJson {
    version: number;
    coefficients: number;
    rank: number;
    /** [coefficient][3] of the baked colours. */
    light: Vector[];
    /** The part of it that is the sun's. */
    sun: Vector;
    sunColor: Vector;
    motions: { animation?: number; times: number[]; weights: number[] }[];
}

/** Real spherical harmonics of a unit vector, l = 0, 1 …, m = −l … l. */
function harmonics([x, y, z]: Vector, count: number): number[] {
    const { PI, sqrt } = Math;
    const [a, b, c] = [sqrt(3 / (4 * PI)), sqrt(15 / PI) / 2, sqrt(5 / PI) / 4];
    const [e, f, g] = [sqrt(35 / (2 * PI)) / 4, sqrt(105 / PI) / 2, sqrt(21 / (2 * PI)) / 4];
    return [
        sqrt(1 / PI) / 2,
        ...[a * y, a * z, a * x],
        ...[b * x * y, b * y * z, c * (3 * z * z - 1), b * x * z, (b / 2) * (x * x - y * y)],
        ...[e * y * (3 * x * x - y * y), f * x * y * z, g * y * (5 * z * z - 1)],
        (sqrt(7 / PI) / 4) * z * (5 * z * z - 3),
        ...[g * x * (5 * z * z - 1), (f / 2) * z * (x * x - y * y), e * x * (x * x - 3 * y * y)],
    ].slice(0, count);
}

/** Coefficients of a sun that gives 1 to a surface that faces it, blurred by a Hann window. */
function sunLight(direction: Vector, count: number): number[] {
    const bands = Math.sqrt(count);
    const window = (l: number) => 0.5 * (1 + Math.cos((Math.PI * l) / (bands + 1)));
    const lobe = [1, 2 / 3, 1 / 4, 0];
    let scale = 0;
    for (let l = 0; l < bands; l++) scale += (lobe[l] * window(l) * (2 * l + 1)) / (4 * Math.PI);
    return harmonics(direction, count).map((value, n) => (value * window(Math.floor(Math.sqrt(n)))) / scale);
}

/** A unit vector from degrees about y, from z, and above the horizon. */
function toward(turn: number, height: number): Vector {
    const [a, b] = [turn, height].map((degrees) => (degrees * Math.PI) / 180);
    return [Math.sin(a) * Math.cos(b), Math.sin(b), Math.cos(a) * Math.cos(b)];
}

export class Relight {
    /** Direction of the sun in degrees: about y, and above the horizon. */
    readonly turn: number;
    readonly height: number;
    /** [coefficient][3] light without the sun. */
    private readonly sky: Vector[];
    /** [pattern][vertex][3] colours of the patterns in the present light. */
    private readonly lit: Float32Array;

    private constructor(
        private readonly json: LightJson,
        /** [vertex][pattern · coefficient] */
        private readonly patterns: Float32Array,
        private readonly vertexCount: number,
    ) {
        const [x, y, z] = json.sun;
        this.turn = (Math.atan2(x, z) * 180) / Math.PI;
        this.height = (Math.atan2(y, Math.hypot(x, z)) * 180) / Math.PI;
        const sun = sunLight(toward(this.turn, this.height), json.coefficients);
        this.sky = json.light.map((color, n) => color.map((value, c) => value - sun[n] * json.sunColor[c]) as Vector);
        this.lit = new Float32Array(3 * vertexCount * json.rank);
        this.setSun(this.turn, this.height);
    }

    /** The light of a file, if it has any that fits its vertices. */
    static find(gltf: GLTF, parts: Part[], vertexCount: number): Relight | undefined {
        const extras = (gltf.parser.json as { extras?: { pelt_light?: LightJson } }).extras;
        const json = extras?.pelt_light;
        if (json?.version !== 1 || !parts.length) return undefined;
        const width = json.rank * json.coefficients;
        const patterns = new Float32Array(width * vertexCount);
        for (const { object, firstVertex, vertexCount: count } of parts)
            for (let n = 0; n < width; n++) {
                const attribute = object.geometry.getAttribute(`_light_${n >> 2}`) as BufferAttribute | undefined;
                if (!attribute) return undefined;
                for (let i = 0; i < count; i++)
                    patterns[(firstVertex + i) * width + n] = attribute.getComponent(i, n & 3);
            }
        return new Relight(json, patterns, vertexCount);
    }

    /** Colours of all patterns: once per change of the light. */
    setSun(turn: number, height: number): void {
        const { rank, coefficients, sunColor } = this.json;
        const sun = sunLight(toward(turn, height), coefficients);
        const light = this.sky.map((color, n) => color.map((value, c) => value + sun[n] * sunColor[c]));
        for (let r = 0; r < rank; r++)
            for (let i = 0; i < this.vertexCount; i++) {
                const [from, to] = [(i * rank + r) * coefficients, 3 * (r * this.vertexCount + i)];
                for (let c = 0; c < 3; c++) {
                    let sum = 0;
                    for (let n = 0; n < coefficients; n++) sum += this.patterns[from + n] * light[n][c];
                    this.lit[to + c] = sum;
                }
            }
    }

    /** Weights of the patterns, interpolated; of an animation without light, those of the first frame. */
    private weights(animation: number | undefined, time: number): number[] {
        const { motions, rank } = this.json;
        const motion = motions.find((each) => each.animation === animation) ?? motions[0];
        const { times, weights } = motion;
        let k = 0;
        while (k + 1 < times.length && times[k + 1] <= time) k++;
        const next = Math.min(k + 1, times.length - 1);
        const part = next > k ? Math.min(Math.max((time - times[k]) / (times[next] - times[k]), 0), 1) : 0;
        return Array.from(
            { length: rank },
            (_, r) => weights[k * rank + r] * (1 - part) + weights[next * rank + r] * part,
        );
    }

    /** Linear colours [vertex][3] at a time of an animation of the file. */
    paint(animation: number | undefined, time: number, out: Float32Array): void {
        const weights = this.weights(animation, time);
        out.fill(0);
        weights.forEach((weight, r) => {
            const first = r * out.length;
            for (let e = 0; e < out.length; e++) out[e] += weight * this.lit[first + e];
        });
        for (let e = 0; e < out.length; e++) out[e] = Math.max(out[e], 0);
    }
}
