/** Error of the result against its source per frame, measured in small steps so that the page stays responsive.
 * E_rms is that of docs/notation.md. */
import { type Animation, distances, type Subject } from "./subject";

export class ErrorCurve {
    /** [frame] E_rms; NaN where not measured yet. */
    readonly rms: Float64Array;
    /** [vertex] the largest distance in all frames, object units, and the frame where it is. */
    readonly largest: Float32Array;
    readonly largestFrame: Uint32Array;
    done = 0;
    private squares = 0;
    private stopped = false;
    /** The scale after this many measured frames. */
    private scaleThen = 0;
    private scaledAt = 0;

    constructor(
        private readonly subject: Subject,
        private readonly animation: Animation,
    ) {
        this.rms = new Float64Array(animation.times.length).fill(NaN);
        this.largest = new Float32Array(subject.model.vertexCount);
        this.largestFrame = new Uint32Array(subject.model.vertexCount);
    }

    /** E_rms of the frames that were measured. */
    get whole(): number {
        return this.scaled(this.squares, this.done);
    }

    /** The 99th percentile of the largest distances of vertices: the top of the colour scale. */
    get scale(): number {
        if (this.scaledAt === this.done) return this.scaleThen;
        const sorted = this.largest.slice().sort();
        this.scaledAt = this.done;
        this.scaleThen = sorted[Math.floor(0.99 * (sorted.length - 1))] || sorted.at(-1) || 0;
        return this.scaleThen;
    }

    /** Frame and vertex of the largest distance. */
    get worst(): { distance: number; frame: number; vertex: number } {
        let vertex = 0;
        for (let i = 1; i < this.largest.length; i++) if (this.largest[i] > this.largest[vertex]) vertex = i;
        return { distance: this.largest[vertex], frame: this.largestFrame[vertex], vertex };
    }

    private scaled(squares: number, frames: number): number {
        return (1000 * Math.sqrt(squares / (3 * this.subject.pointCount * frames))) / this.animation.clip!.radius;
    }

    /** Measures all frames; calls `progress` at intervals. */
    async run(progress: () => void): Promise<void> {
        const { subject, animation } = this;
        const count = subject.model.vertexCount;
        const [result, source] = [new Float32Array(3 * count), new Float32Array(3 * count)];
        const distance = new Float32Array(count);
        let pause = performance.now() + 12;
        for (let frame = 0; frame < animation.times.length && !this.stopped; frame++) {
            subject.result(animation, frame, result, true);
            subject.source(animation.clip!, frame, source);
            distances(result, source, distance);
            this.add(frame, distance);
            if (performance.now() < pause) continue;
            progress();
            await new Promise((resolve) => setTimeout(resolve));
            pause = performance.now() + 12;
        }
        if (!this.stopped) progress();
    }

    stop(): void {
        this.stopped = true;
    }

    private add(frame: number, distance: Float32Array): void {
        let squares = 0;
        for (const vertex of this.subject.pointVertices) squares += distance[vertex] ** 2;
        for (let i = 0; i < distance.length; i++)
            if (distance[i] > this.largest[i]) {
                this.largest[i] = distance[i];
                this.largestFrame[i] = frame;
            }
        this.rms[frame] = this.scaled(squares, 1);
        this.squares += squares;
        this.done++;
    }
}
