// A simulation of soft tissue.
import type { Model } from "./engine";
import { Handle, indexOf, PeltError, Resource, shape, sized } from "./handle";
import type { Memory, Scope } from "./memory";
import { settingsText } from "./tables";
import type * as types from "./types";

const INHERITED = ["stiffness", "damping", "frequency", "delta", "pin", "strength", "width"] as const;
const TISSUE_VALUES = ["stiffness", "damping", "delta", "pin"];
const COLLIDERS = { sphere: 0, capsule: 1, plane: 2 };

function writeCollider(memory: Memory, place: number, collider: types.Collider): void {
    const { kind, joint, a, b = [0, 0, 0], radius = 0, friction = 0 } = collider;
    memory.setU32(place, COLLIDERS[kind]);
    memory.setU32(place + 4, indexOf(joint));
    [...a, ...b, radius, friction].forEach((value, n) => memory.setF32(place + 8 + 4 * n, value));
}

/** Rows of `size` bytes, written by a function each. */
function rows<T>(scope: Scope, items: readonly T[], size: number, write: (place: number, item: T) => void): number {
    const place = items.length ? scope.alloc(size * items.length) : 0;
    items.forEach((item, n) => write(place + size * n, item));
    return place;
}

export function jiggleSettings(model: Model, scope: Scope, options: types.JiggleOptions) {
    const { joints = [], parts = [], colliders = [], maps = {}, forces = {}, ...settings } = options;
    const { memory } = model.engine;
    const { vertexCount } = model.counts();
    const words = [
        rows(scope, joints, 32, (place, joint) => {
            memory.setU32(place, joint.joint);
            INHERITED.forEach((key, n) => memory.setF32(place + 4 + 4 * n, joint[key] ?? -1));
        }),
        joints.length,
        rows(scope, parts, 8, (place, part) => {
            memory.setU32(place, part.joint);
            memory.setU32(place + 4, indexOf(part.into));
        }),
        parts.length,
        rows(scope, colliders, 40, (place, collider) => writeCollider(memory, place, collider)),
        colliders.length,
        ...(["stiffness", "damping", "delta", "pin"] as const).map((key) =>
            scope.array(sized(maps[key], vertexCount, `maps.${key}`)),
        ),
    ];
    const extra = scope.alloc(68);
    words.forEach((word, n) => memory.setU32(extra + 4 * n, word));
    const { gravity = [0, 0, 0], wind = [0, 0, 0], drag = 0 } = forces;
    [...gravity, ...wind, drag].forEach((value, n) => memory.setF32(extra + 40 + 4 * n, value));
    return { text: scope.text(settingsText(settings)), extra, colliderCount: colliders.length };
}

export class Jiggle extends Handle {
    private readonly model: Model;

    /** @internal */
    constructor(
        model: Model,
        place: number,
        private readonly colliderCount: number,
    ) {
        const { engine } = model;
        super(engine, new Resource(place, (p) => engine.call._pw_jiggle_free(p), [model.held]));
        this.model = model.lent();
    }

    /** Sets the pose at the end of the next step: local transforms [joint][10], or a motion at a time. */
    setPose(pose: Float32Array | { motion: number | null; time: number }): void {
        const { locals, weights } = pose instanceof Float32Array ? { locals: pose } : this.model.sample(pose.motion, pose.time);
        this.engine.run({}, (scope) => {
            const { jointCount } = this.model.counts();
            this.engine.call._pw_jiggle_pose(this.place, scope.array(sized(locals, 10 * jointCount, "locals")));
            if (weights) this.engine.call._pw_jiggle_weights(this.place, scope.array(weights));
        });
    }

    /** Advances time by seconds, 0 to 1. */
    step(seconds: number): void {
        this.engine.run({}, () => this.engine.call._pw_jiggle_step(this.place, seconds));
    }

    /** The vertices now. */
    shape({ normals = false, into }: Pick<types.AdvanceOptions, "normals" | "into"> = {}): types.Shape {
        return this.engine.run({}, (scope) => {
            const size = 3 * this.model.counts().vertexCount;
            const [positions, directions] = [scope.room(4 * size), normals ? scope.room(4 * size) : 0];
            this.engine.call._pw_jiggle_positions(this.place, positions, directions);
            return shape(this.engine.memory, positions, directions, size, into);
        });
    }

    /** A pose, a step and the vertices in one call. */
    advance(options: types.AdvanceOptions): types.Shape {
        const { pose, seconds, ...output } = options;
        if (pose) this.setPose(pose);
        this.step(seconds);
        return this.shape(output);
    }

    /** Sets all particles to the pose, at rest. */
    reset(): void {
        this.engine.run({}, () => this.engine.call._pw_jiggle_reset(this.place));
    }

    /** Morph weights [morph]. */
    setWeights(weights: Float32Array): void {
        this.engine.run({}, (scope) => {
            const { morphCount } = this.model.counts();
            this.engine.call._pw_jiggle_weights(this.place, scope.array(sized(weights, morphCount, "weights")));
        });
    }

    setForces(forces: types.Forces): void {
        this.engine.run({}, (scope) =>
            this.engine.call._pw_jiggle_forces(this.place, jiggleSettings(this.model, scope, { forces }).extra),
        );
    }

    /** Replaces a collider of those given to jiggle(). */
    setCollider(index: number, collider: types.Collider): void {
        this.engine.run({}, (scope) => {
            if (!(index >= 0 && index < this.colliderCount))
                throw new PeltError(`there is no collider ${index}; there are ${this.colliderCount}`, "usage");
            const place = scope.alloc(40);
            writeCollider(this.engine.memory, place, collider);
            this.engine.call._pw_jiggle_collider(this.place, index, place);
        });
    }

    /** Replaces all settings of joints and maps: a brush stroke takes effect in the next step. */
    setValues({ joints, maps }: Pick<types.JiggleOptions, "joints" | "maps">): void {
        this.engine.run({}, (scope) =>
            this.engine.call._pw_jiggle_values(this.place, jiggleSettings(this.model, scope, { joints, maps }).extra),
        );
    }

    /** Pulls the tissue around a vertex to a place until the next call; null lets go. */
    grab(hold: types.Grab | null): void {
        this.engine.run({}, (scope) => {
            const place = hold ? scope.alloc(20) : 0;
            if (hold) {
                this.engine.memory.setU32(place, hold.vertex);
                [...hold.target, hold.radius ?? 0].forEach((value, n) => this.engine.memory.setF32(place + 4 + 4 * n, value));
            }
            this.engine.call._pw_jiggle_grab(this.place, place);
        });
    }

    /** The values [vertex] that the tissue has now, by settings, joints, maps and thickness. */
    values(of: types.TissueValue): Float32Array {
        return this.engine.run({}, (scope) => {
            const [kind, count] = [TISSUE_VALUES.indexOf(of), this.model.counts().vertexCount];
            if (kind < 0) throw new PeltError(`there is no value '${of}'; there are ${TISSUE_VALUES.join(", ")}`, "usage");
            const out = scope.room(4 * count);
            this.engine.call._pw_jiggle_get_values(this.place, kind, out);
            return this.engine.memory.copy("F", out, count) as Float32Array;
        });
    }

    /** Cells and particles as shown. */
    lattice(): types.Lattice {
        return this.engine.run({}, (scope) => {
            const out = scope.struct("lattice");
            this.engine.call._pw_jiggle_lattice(this.place, out);
            return this.engine.memory.read("lattice", out);
        });
    }

    report(): types.JiggleReport {
        return this.engine.run({}, (scope) => {
            const out = scope.struct("jiggle");
            this.engine.call._pw_jiggle_report(this.place, out);
            return this.engine.memory.read("jiggle", out);
        });
    }
}
