/** Bounds of an animation, from a sample of its frames and vertices. */
import { Vector3 } from "three";
import { type Animation, distances, type Subject } from "./subject";

export interface Extent {
    low: Vector3;
    high: Vector3;
    /** Points to keep in view, [point][3]. */
    points: Float32Array;
    /** Largest displacement of a vertex from rest. */
    farthest: number;
}

const FRAMES = 12;
const VERTICES = 4000;

/** `restPose` [vertex][3]. Non-finite positions are skipped. */
export function lookAround(subject: Subject, animation: Animation, restPose: Float32Array): Extent {
    const { vertexCount } = subject.model;
    const positions = new Float32Array(restPose.length);
    const moved = new Float32Array(vertexCount);
    const count = Math.min(FRAMES, animation.times.length);
    const stride = Math.ceil(vertexCount / VERTICES) || 1;
    const points: number[] = [];
    let farthest = 0;
    for (let n = 0; n < count; n++) {
        const frame = Math.round((n * (animation.times.length - 1)) / Math.max(1, count - 1));
        if (subject.hasResult(animation)) subject.result(animation, frame, positions);
        else subject.source(animation.clip!, frame, positions);
        distances(positions, restPose, moved);
        for (let i = 0; i < vertexCount; i += stride) {
            if (!Number.isFinite(positions[3 * i] + positions[3 * i + 1] + positions[3 * i + 2])) continue;
            points.push(positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]);
            farthest = Math.max(farthest, moved[i]);
        }
        if (vertexCount === 0)
            for (const { node } of subject.model.joints) points.push(...node.matrixWorld.elements.slice(12, 15));
    }
    return { ...boxOf(points), farthest };
}

function boxOf(points: number[]): Omit<Extent, "farthest"> {
    if (points.length === 0) points = [-1, -1, -1, 1, 1, 1];
    const low = new Vector3(Infinity, Infinity, Infinity);
    const high = new Vector3(-Infinity, -Infinity, -Infinity);
    const p = new Vector3();
    for (let i = 0; i < points.length; i += 3) {
        low.min(p.fromArray(points, i));
        high.max(p);
    }
    return { low, high, points: new Float32Array(points) };
}
