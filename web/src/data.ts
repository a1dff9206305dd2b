/** Data embedded in the page: base64 blocks and the JSON that describes them (docs/page.md). */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

interface ClipJson {
    name: string;
    motion?: number;
    points: number;
    times: number[];
    radius?: number;
    format: "f32" | "u16";
    boxes?: number[];
}

interface DataJson {
    title: string;
    fps: number;
    clips: ClipJson[];
    voxels?: { size: number };
    lattice_clips?: ClipJson[];
    report?: JsonObject;
}

/** Frames of the source: positions of points. */
export class Clip {
    readonly name: string;
    /** The animation of the GLB that plays the clip. */
    readonly motion: number | undefined;
    readonly pointCount: number;
    readonly times: number[];
    /** Of the smallest ball around the first frame, in object units. */
    readonly radius: number;

    constructor(
        json: ClipJson,
        private readonly numbers: Float32Array | Uint16Array,
        private readonly boxes: number[] | undefined,
    ) {
        this.name = json.name;
        this.motion = json.motion;
        this.pointCount = json.points;
        this.times = json.times;
        this.radius = json.radius ?? NaN;
    }

    /** Frames that the page holds. */
    get frameCount(): number {
        return this.pointCount > 0 ? this.numbers.length / (3 * this.pointCount) : 0;
    }

    /** Positions [point][3] of a frame, in `out` or in place. */
    read(frame: number, out: Float32Array): Float32Array {
        const size = 3 * this.pointCount;
        const numbers = this.numbers.subarray(frame * size, (frame + 1) * size);
        if (!this.boxes) return numbers as Float32Array;
        for (let c = 0; c < 3; c++) {
            const low = this.boxes[6 * frame + c];
            const step = this.boxes[6 * frame + 3 + c] / 65535;
            for (let e = c; e < size; e += 3) out[e] = low + step * numbers[e];
        }
        return out;
    }
}

export interface Voxels {
    centers: Float32Array;
    size: number;
    /** [3][3] directions of the sides; default: x, y, z. */
    axes?: ArrayLike<number>;
}

export interface Lattice {
    points: Float32Array;
    edges: Uint32Array;
    /** The points in the frames of the clips, by index. */
    clips: Clip[];
}

/** Everything the page shows. */
export interface PageData {
    title: string;
    fps: number;
    glb: ArrayBuffer;
    /** The point of every vertex; undefined: vertex i is point i. */
    points?: Uint32Array;
    clips: Clip[];
    voxels?: Voxels;
    lattice?: Lattice;
    report?: JsonObject;
}

function decode(text: string): Uint8Array {
    const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array }).fromBase64;
    if (native) return native(text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let b = 0; b < bytes.length; b++) bytes[b] = binary.charCodeAt(b);
    return bytes;
}

/** Decodes a block and removes it from the document. */
export function block(name: string): ArrayBuffer | undefined {
    const element = document.getElementById(`pelt-${name}`);
    if (!element) return undefined;
    const bytes = decode(element.textContent ?? "");
    element.remove();
    return bytes.buffer as ArrayBuffer;
}

function readClip(json: ClipJson, index: number, prefix = ""): Clip {
    const bytes = block(`${prefix}clip-${index}`) ?? new ArrayBuffer(0);
    return new Clip(json, json.format === "u16" ? new Uint16Array(bytes) : new Float32Array(bytes), json.boxes);
}

/** The data of this page; undefined if it has none. */
export function readPage(): PageData | undefined {
    const glb = block("model");
    const text = document.getElementById("pelt-data")?.textContent;
    if (!glb || !text) return undefined;
    const json = JSON.parse(text) as DataJson;
    const points = block("points");
    const centers = block("voxels");
    const [latticePoints, latticeEdges] = [block("lattice-points"), block("lattice-edges")];
    return {
        title: json.title,
        fps: json.fps,
        glb,
        points: points && new Uint32Array(points),
        clips: json.clips.map((clip, index) => readClip(clip, index)),
        voxels: centers && json.voxels && { centers: new Float32Array(centers), size: json.voxels.size },
        lattice: latticePoints &&
            latticeEdges && {
                points: new Float32Array(latticePoints),
                edges: new Uint32Array(latticeEdges),
                clips: (json.lattice_clips ?? []).map((clip, index) => readClip(clip, index, "lattice-")),
            },
        report: json.report,
    };
}

/** A dropped file as the data of a page. */
export async function readFile(file: File): Promise<PageData> {
    return { title: file.name, fps: 30, glb: await file.arrayBuffer(), clips: [] };
}
