// Messages between the page and its worker.
import type { OptionTable, TableName } from "./tables";
import type { ErrorCode, Format, LogLevel, SceneInfo } from "./types";

/** How a running call learns that it is cancelled: a number in shared memory, or the address of a blob that is revoked. */
export type CancelToken = { shared: Int32Array } | { url: string };

/** A model in the memory of an engine. */
export interface Place {
    handle: number;
    place: number;
}

export type Request =
    | { kind: "start"; id: number; wasm: WebAssembly.Module; memoryLimit: number }
    /** handle 0: the engine. */
    | { kind: "call"; id: number; handle: number; method: string; args: unknown[] }
    | { kind: "free"; id: number; handles: number[] }
    /** The memory of the engine, and where models are in it. */
    | { kind: "snapshot"; id: number; handles: number[] }
    /** Takes the memory of another engine; `models` become handles, which own them or not. */
    | { kind: "restore"; id: number; memory: Uint8Array<ArrayBuffer>; models: Place[]; last: number; owned: boolean };

export interface Snapshot {
    memory: Uint8Array<ArrayBuffer>;
    models: Place[];
    /** The last handle that was made. */
    last: number;
}

export interface Started {
    version: string;
    options: Record<TableName, OptionTable>;
    formats: Format[];
    scenes: SceneInfo[];
    /** Methods of Model, Binding and Jiggle. */
    methods: Record<string, string[]>;
}

export type Reply =
    | ({ kind: "started"; id: number } & Started)
    | { kind: "done"; id: number; result: any }
    | { kind: "failed"; id: number; message: string; code: ErrorCode }
    | { kind: "progress"; id: number; phase: string; fraction: number }
    | { kind: "iteration"; id: number; error: number }
    | { kind: "log"; level: LogLevel; text: string };
