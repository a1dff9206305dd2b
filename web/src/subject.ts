/** The displayed model, its source, and the positions of both in a frame. */
import type { AnimationClip } from "three";
import type { Clip, PageData } from "./data";
import { loadModel, type Model } from "./model";
import type { Values } from "./modes";
import { type Moment, Poser } from "./pose";

/** Something to play: a clip of the source, a motion of the model, or both together. */
export interface Animation {
    name: string;
    clip?: Clip;
    motion?: number;
    times: number[];
    /** Seconds from a time of the clip to that of the motion: both begin together. */
    offset: number;
}

/** Both a result and a source. */
export function isCompared({ clip, motion }: Animation): boolean {
    return clip !== undefined && motion !== undefined;
}

function motionStart(model: Model, motion: number): number {
    return Math.min(...model.animations[motion].tracks.map(({ times }) => times[0]));
}

/** Frames of a motion that belongs to no clip: from its first key to the last key or just after it. */
function motionTimes(model: Model, motion: number, fps: number): number[] {
    const start = motionStart(model, motion);
    const end = Math.max(...model.animations[motion].tracks.map(({ times }) => times[times.length - 1]));
    if (!(end > start)) return [0];
    const count = Math.ceil((end - start) * fps - 1e-4) + 1;
    return Array.from({ length: count }, (_, k) => Math.min(start + k / fps, end));
}

function listAnimations(data: PageData, model: Model): Animation[] {
    const played = new Set(data.clips.map(({ motion }) => motion));
    const clips = data.clips.map((clip): Animation => {
        const offset = clip.motion === undefined ? 0 : motionStart(model, clip.motion) - clip.times[0];
        // No more than a rounding error, or a motion without keys: none.
        const apart = Number.isFinite(offset) && Math.abs(offset) > 1e-4;
        return { name: clip.name, clip, motion: clip.motion, times: clip.times, offset: apart ? offset : 0 };
    });
    const motions = model.animations.flatMap(({ name, tracks }, motion): Animation[] =>
        played.has(motion) || tracks.length === 0
            ? []
            : [{ name, motion, times: motionTimes(model, motion, data.fps), offset: 0 }],
    );
    return [...clips, ...motions, { name: "rest pose", times: [0], offset: 0 }].filter(({ times }) => times.length > 0);
}

export class Subject {
    readonly poser: Poser;
    readonly animations: Animation[];
    readonly pointCount: number;
    /** Shown by the colour mode of the same name. */
    values: Values | undefined;
    /** [point] one of its vertices. */
    readonly pointVertices: Uint32Array;
    private readonly scratch: Float32Array;

    private constructor(
        readonly data: PageData,
        readonly model: Model,
    ) {
        this.poser = new Poser(model);
        this.animations = listAnimations(data, model);
        this.pointCount = data.clips[0]?.pointCount ?? model.vertexCount;
        this.pointVertices = new Uint32Array(this.pointCount);
        for (let i = model.vertexCount; i-- > 0;) this.pointVertices[this.point(i)] = i;
        this.scratch = new Float32Array(3 * this.pointCount);
    }

    static async load(data: PageData): Promise<Subject> {
        return new Subject(data, await loadModel(data.glb));
    }

    /** Adds motions of another file, before the rest pose; returns the place of the first. */
    add(clips: AnimationClip[]): number {
        const place = this.animations.length - 1;
        const made = clips.map(({ name }, n): Animation => {
            const motion = this.model.animations.push(clips[n]) - 1;
            return { name, motion, times: motionTimes(this.model, motion, this.data.fps), offset: 0 };
        });
        this.animations.splice(place, 0, ...made);
        return place;
    }

    point(vertex: number): number {
        return this.data.points ? this.data.points[vertex] : vertex;
    }

    /** The model has its own animation: there is a result to show. */
    hasResult(animation: Animation): boolean {
        return animation.motion !== undefined || !animation.clip;
    }

    moment(animation: Animation, frame: number): Moment | undefined {
        return animation.motion === undefined
            ? undefined
            : { motion: animation.motion, time: animation.times[frame] + animation.offset };
    }

    /** Vertices of the result, and its normals where the file has any; `untouched`: without user changes of the pose. */
    result(animation: Animation, frame: number, out: Float32Array, untouched = false, normals?: Float32Array): void {
        this.poser.pose(this.moment(animation, frame), out, untouched, normals);
    }

    /** Vertices of the source; its points are copied to their vertices. */
    source(clip: Clip, frame: number, out: Float32Array): void {
        const points = clip.read(frame, this.scratch);
        if (!this.data.points) return out.set(points);
        for (let i = 0; i < this.model.vertexCount; i++) {
            const p = 3 * this.data.points[i];
            out[3 * i] = points[p];
            out[3 * i + 1] = points[p + 1];
            out[3 * i + 2] = points[p + 2];
        }
    }
}

/** Angles between unit normals of two shapes in degrees, [vertex]. */
export function angles(a: Float32Array, b: Float32Array, out: Float32Array): void {
    distances(a, b, out);
    for (let i = 0; i < out.length; i++) out[i] = (360 / Math.PI) * Math.asin(Math.min(out[i] / 2, 1));
}

/** Distances of two shapes, [vertex]. */
export function distances(a: Float32Array, b: Float32Array, out: Float32Array): void {
    for (let i = 0; i < out.length; i++) {
        const x = a[3 * i] - b[3 * i];
        const y = a[3 * i + 1] - b[3 * i + 1];
        const z = a[3 * i + 2] - b[3 * i + 2];
        out[i] = Math.sqrt(x * x + y * y + z * z); // Math.hypot takes many times as long
    }
}
