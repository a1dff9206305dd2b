// The memory of a WebAssembly instance: text, arrays, and structs that the tables of api.c describe.

/** What emscripten's module offers, and the functions of api.c, each with a `_` before its name. */
export interface Module {
    HEAPU8: Uint8Array;
    FS: FileSystem;
    [name: string]: any;
}

export interface FileSystem {
    mkdir(path: string): void;
    rmdir(path: string): void;
    readdir(path: string): string[];
    writeFile(path: string, data: Uint8Array): void;
    readFile(path: string): Uint8Array<ArrayBuffer>;
    unlink(path: string): void;
}

export type Numbers = Float32Array | Float64Array | Uint32Array | Uint16Array | Uint8Array;
type Constructor = { BYTES_PER_ELEMENT: number; new (buffer: ArrayBufferLike, offset: number, count: number): Numbers };

const ARRAYS: Record<string, Constructor> = { U: Uint32Array, D: Float64Array, F: Float32Array, H: Uint16Array, C: Uint8Array };

interface Field {
    name: string;
    kind: string;
    offset: number;
    countOffset: number;
    extra: number;
    width: number;
}

export interface Struct {
    size: number;
    fields: Field[];
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** "key-tolerance" and "key_tolerance" are keyTolerance in JavaScript. */
export function camel(name: string): string {
    return name.replace(/[-_]([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

export function kebab(name: string): string {
    return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export class OutOfMemory extends Error {}

export class Memory {
    readonly structs = new Map<string, Struct>();

    constructor(readonly module: Module) {
        for (let row = module._pw_structs(); this.u32(row); row += 16) {
            const fields: Field[] = [];
            for (let n = 0, field = this.u32(row + 12); n < this.u32(row + 8); n++, field += 24)
                fields.push({
                    name: camel(this.text(this.u32(field))!),
                    kind: String.fromCharCode(this.u32(field + 4)),
                    offset: this.u32(field + 8),
                    countOffset: this.u32(field + 12),
                    extra: this.u32(field + 16),
                    width: this.u32(field + 20),
                });
            this.structs.set(this.text(this.u32(row))!, { size: this.u32(row + 4), fields });
        }
    }

    /** The buffer is another one after memory has grown. */
    private get view(): DataView {
        const { buffer } = this.module.HEAPU8;
        return new DataView(buffer);
    }

    u32(place: number): number {
        return this.view.getUint32(place, true);
    }

    setU32(place: number, value: number): void {
        this.view.setUint32(place, value, true);
    }

    setF32(place: number, value: number): void {
        this.view.setFloat32(place, value, true);
    }

    f64(place: number): number {
        return this.view.getFloat64(place, true);
    }

    /** A text that ends with a 0; null at 0. */
    text(place: number): string | null {
        if (!place) return null;
        const bytes = this.module.HEAPU8;
        return decoder.decode(bytes.slice(place, bytes.indexOf(0, place)));
    }

    /** A copy of `count` elements of a kind in ARRAYS. */
    copy(kind: string, place: number, count: number): Numbers {
        return new ARRAYS[kind](this.module.HEAPU8.buffer, place, count).slice();
    }

    /** Floats of the memory, until it grows. */
    floats(place: number, count: number): Float32Array {
        return new Float32Array(this.module.HEAPU8.buffer, place, count);
    }

    /** Reads a struct; its arrays are copied. Pointers that are NULL become null. */
    read(name: string, place: number): any {
        const out: Record<string, unknown> = {};
        for (const field of this.structs.get(name)!.fields) out[field.name] = this.readField(place, field);
        return out;
    }

    private readField(place: number, field: Field): unknown {
        const at = place + field.offset;
        const one = (n: number): unknown => {
            switch (field.kind) {
                case "u":
                    return this.u32(at + 4 * n);
                case "d":
                    return this.f64(at + 8 * n);
                case "f":
                    return this.view.getFloat32(at + 4 * n, true);
                case "b":
                    return this.module.HEAPU8[at + n] !== 0;
                default:
                    return this.text(this.u32(at + 4 * n));
            }
        };
        if (field.kind >= "a") return field.width === 1 ? one(0) : Array.from({ length: field.width }, (_, n) => one(n));
        const start = this.u32(at);
        if (!start) return null;
        const count = (this.u32(place + field.countOffset) + field.extra) * field.width;
        if (field.kind === "S") return Array.from({ length: count }, (_, n) => this.text(this.u32(start + 4 * n)));
        return this.copy(field.kind, start, count);
    }

    /** Reads an array of structs from a function of api.c that takes a pointer to its count. */
    readAll(name: string, list: (count: number) => number): any[] {
        return this.scope((scope) => {
            const count = scope.alloc(4);
            const start = list(count);
            const { size } = this.structs.get(name)!;
            return Array.from({ length: this.u32(count) }, (_, n) => this.read(name, start + n * size));
        });
    }

    /** Runs a function with memory that is freed at its end. */
    scope<T>(run: (scope: Scope) => T): T {
        const scope = new Scope(this);
        try {
            return run(scope);
        } finally {
            scope.free();
        }
    }
}

/** Allocations that are freed together. */
export class Scope {
    private readonly blocks: number[] = [];

    constructor(readonly memory: Memory) {}

    /** Bytes of any content. */
    room(size: number): number {
        const place = this.memory.module._malloc(Math.max(size, 8));
        if (!place) throw new OutOfMemory("out of memory");
        this.blocks.push(place);
        return place;
    }

    /** Zeroed bytes. */
    alloc(size: number): number {
        const place = this.room(size);
        this.memory.module.HEAPU8.fill(0, place, place + size);
        return place;
    }

    bytes(data: Uint8Array): number {
        const place = this.room(data.length);
        this.memory.module.HEAPU8.set(data, place);
        return place;
    }

    /** The place of a copy of an array; 0 for none. */
    array(data: Float32Array | Uint32Array | null | undefined): number {
        return data ? this.bytes(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)) : 0;
    }

    text(text: string): number {
        return this.bytes(encoder.encode(`${text}\0`));
    }

    struct(name: string): number {
        return this.alloc(this.memory.structs.get(name)!.size);
    }

    free(): void {
        for (const place of this.blocks.splice(0)) this.memory.module._free(place);
    }
}
