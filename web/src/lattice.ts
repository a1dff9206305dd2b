/** The lattice of a simulation: cells as lines, at rest or as the simulation moved them in the frames of a clip. */
import { BufferAttribute, BufferGeometry, LineBasicMaterial, LineSegments } from "three";
import type { Clip, Lattice } from "./data";

export class LatticeLines {
    readonly lines: LineSegments;
    private readonly positions: BufferAttribute;

    constructor(private readonly lattice: Lattice) {
        const geometry = new BufferGeometry();
        this.positions = new BufferAttribute(lattice.points.slice(), 3);
        geometry.setAttribute("position", this.positions);
        geometry.setIndex(new BufferAttribute(lattice.edges, 1));
        this.lines = new LineSegments(
            geometry,
            new LineBasicMaterial({ color: 0xd98f3f, transparent: true, opacity: 0.7 }),
        );
        this.lines.frustumCulled = false;
    }

    /** Whether there are frames: else the lattice belongs to the rest pose alone. */
    get moves(): boolean {
        return this.lattice.clips.some((clip) => clip.frameCount > 0);
    }

    /** Moves the points to a frame of a clip, by its index; −1: to the rest pose. */
    show(clip: number, frame: number): void {
        const frames: Clip | undefined = this.lattice.clips[clip];
        const to = this.positions.array as Float32Array;
        to.set(frames && frame < frames.frameCount ? frames.read(frame, new Float32Array(to.length)) : this.lattice.points);
        this.positions.needsUpdate = true;
    }
}
