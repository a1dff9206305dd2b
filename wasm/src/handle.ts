// Handles of the library's objects, and what Model, Binding and Jiggle share.
import type { Engine } from "./engine";
import type { Memory } from "./memory";
import type * as types from "./types";

const NONE = 0xffffffff;

/** A failure. `message` is the library's sentence: file, place, cause, remedy. */
export class PeltError extends Error {
    override readonly name = "PeltError";

    constructor(
        message: string,
        /** usage: an argument is wrong; input, unsupported, output: a file is; memory: out of memory, or over the limit; cancelled;
         * engine: the engine stopped after an internal error, and all that it held is lost. */
        readonly code: types.ErrorCode,
    ) {
        super(message);
    }
}

/** Called while an operation runs. */
export interface Hooks {
    /** A phase has done a fraction (0 to 1) of its work. */
    progress?: (phase: string, fraction: number) => void;
    /** Decompose: E_rms after an iteration. */
    iteration?: (error: number) => void;
    /** Asked now and then: true stops the operation, which leaves its model as it was. */
    cancelled?: () => boolean;
}

// ---- Ownership --------------------------------------------------------------------------------------------------

/** An object of the library. It is destroyed when nothing refers to it: its handle in JavaScript, and objects made from it. */
export class Resource {
    private uses = 1;

    constructor(
        readonly place: number,
        private readonly destroy: (place: number) => void,
        private readonly parents: Resource[],
    ) {
        for (const parent of parents) parent.uses++;
    }

    release(): void {
        if (--this.uses > 0) return;
        this.destroy(this.place);
        for (const parent of this.parents) parent.release();
    }
}

// A handle that was forgotten without free() is released some time after it was collected.
const forgotten = new FinalizationRegistry<Resource>((resource) => resource.release());

/** A handle with explicit lifetime: call free(), or declare it with `using`. */
export abstract class Handle {
    private resource: Resource | null;

    /** @internal */
    constructor(
        /** @internal */ readonly engine: Engine,
        resource: Resource,
        owned = true,
    ) {
        this.resource = resource;
        if (owned) forgotten.register(this, resource, this);
    }

    /** @internal */
    get held(): Resource {
        if (!this.resource) throw new PeltError(`the ${this.constructor.name} was freed`, "usage");
        return this.resource;
    }

    /** @internal */
    get place(): number {
        return this.held.place;
    }

    /** Frees the memory. Objects that were made from this one keep what they need of it. Further calls do nothing. */
    free(): void {
        forgotten.unregister(this);
        this.resource?.release();
        this.resource = null;
    }

    [Symbol.dispose](): void {
        this.free();
    }
}

// ---- Arguments and results --------------------------------------------------------------------------------------

export function indexOf(value: number | null | undefined): number {
    return value ?? NONE;
}

/** Numbers of an array that the library reads must be as many as it expects. */
export function sized(data: Float32Array | undefined, count: number, what: string): Float32Array | undefined {
    if (data && data.length !== count)
        throw new PeltError(`${what} has ${data.length} numbers, should have ${count}`, "usage");
    return data;
}

export function shape(memory: Memory, positions: number, normals: number, size: number, into?: Float32Array): types.Shape {
    sized(into, size, "into")?.set(memory.floats(positions, size));
    return {
        positions: into ?? (memory.copy("F", positions, size) as Float32Array),
        normals: normals ? (memory.copy("F", normals, size) as Float32Array) : null,
    };
}
