// The library in a worker: the methods of engine.ts, each with a promise of its result.
import type * as engine from "./engine";
import type { CancelToken, Reply, Request, Snapshot, Started } from "./protocol";
import type { OptionTable, TableName } from "./tables";
import type * as types from "./types";

export type * from "./types";
export type { JiggleBakeOptions, JiggleSimulateOptions, SaveOptions, SimplifyOptions } from "./options";
export type { Option, OptionKind, OptionTable, OptionValue, TableName } from "./tables";

/** A failure. `message` is the library's sentence: file, place, cause, remedy. */
export class PeltError extends Error {
    override readonly name = "PeltError";

    constructor(
        message: string,
        readonly code: types.ErrorCode,
    ) {
        super(message);
    }
}

/** What options of an operation may contain beside its settings. */
export interface CallOptions {
    /** A phase has done a fraction (0 to 1) of its work; about 30 times a second. */
    progress?: (phase: string, fraction: number) => void;
    /** Decompose: E_rms after an iteration. */
    iteration?: (error: number) => void;
    /** Aborting it cancels the call, which then fails with the code "cancelled" and leaves its model as it was. */
    signal?: AbortSignal;
}

/** Models among the options are handles of this side. */
type Arg<T> = T extends engine.Hooks
    ? { [K in keyof T as Exclude<K, keyof engine.Hooks>]: Exclude<T[K], undefined> extends engine.Model ? Model : T[K] } & CallOptions
    : T;
type Args<T extends unknown[]> = { [K in keyof T]: Arg<T[K]> };
type Result<T> = T extends engine.Model ? Model : T extends engine.Binding ? Binding : T extends engine.Jiggle ? Jiggle : T;
type Methods<T> = {
    [K in keyof T as T[K] extends (...args: any[]) => any ? (K extends "free" | "counts" | "lent" | symbol ? never : K) : never]: T[K] extends (
        ...args: infer A
    ) => infer R
        ? (...args: Args<A>) => Promise<Result<R>>
        : never;
};
interface Freed {
    /** Frees its memory in the worker. Objects that were made from it keep what they need. Further calls do nothing. */
    free(): void;
    [Symbol.dispose](): void;
}
export type Model = Methods<engine.Model> & Freed;
export type Binding = Methods<engine.Binding> & Freed;
export type Jiggle = Methods<engine.Jiggle> & Freed;

export interface StartOptions {
    /** pelt.wasm: its address, bytes or module. Default: the file beside this one. */
    wasm?: string | URL | BufferSource | WebAssembly.Module;
    /** worker.js: its address, or its text, for pages in one file. Default: the file beside this one. */
    worker?: URL | { source: string };
    /** Bytes that may be allocated at once; 0 (default): as many as the browser gives, at most 4 GB. */
    memoryLimit?: number;
    /** Receives messages. */
    log?: (level: types.LogLevel, text: string) => void;
}

// ---- Worker -----------------------------------------------------------------------------------------------------

const inNode = typeof process === "object" && !!process.versions?.node;

interface Thread {
    post(request: Request, transfer?: Transferable[]): void;
    terminate(): void;
    /** Node: whether the thread keeps the program running. */
    hold(busy: boolean): void;
}

async function openThread(
    worker: NonNullable<StartOptions["worker"]>,
    receive: (reply: Reply) => void,
    fail: (message: string) => void,
): Promise<Thread> {
    const source = "source" in worker ? worker.source : null;
    if (inNode) {
        const { Worker: NodeWorker } = await import("node:worker_threads");
        const thread = source === null ? new NodeWorker(worker as URL) : new NodeWorker(source, { eval: true });
        thread.on("message", receive);
        thread.on("error", (error: Error) => fail(error.message));
        return {
            post: (request, transfer) => thread.postMessage(request, transfer),
            terminate: () => void thread.terminate(),
            hold: (busy) => (busy ? thread.ref() : thread.unref()),
        };
    }
    const address = source === null ? (worker as URL) : URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const thread = new Worker(address);
    thread.onmessage = (event: MessageEvent<Reply>) => receive(event.data);
    thread.onerror = (event) => fail(event.message || "the worker cannot be loaded");
    return { post: (request, transfer = []) => thread.postMessage(request, transfer), terminate: () => thread.terminate(), hold: () => {} };
}

async function compile(wasm: NonNullable<StartOptions["wasm"]>): Promise<WebAssembly.Module> {
    if (wasm instanceof WebAssembly.Module) return wasm;
    if (typeof wasm !== "string" && !(wasm instanceof URL)) return WebAssembly.compile(wasm);
    if (inNode && new URL(wasm).protocol === "file:") {
        const { readFile } = await import("node:fs/promises");
        return WebAssembly.compile(await readFile(new URL(wasm)));
    }
    const reply = await fetch(wasm);
    if (!reply.ok) throw new PeltError(`${wasm} cannot be loaded: ${reply.status}`, "input");
    // Compiled while it arrives, and browsers keep the machine code for later visits. Only files of this type may be compiled so.
    if (reply.headers.get("content-type") === "application/wasm") return WebAssembly.compileStreaming(reply);
    return WebAssembly.compile(await reply.arrayBuffer());
}

// ---- Calls ------------------------------------------------------------------------------------------------------

/** Pages from file:// and in sandboxes have neither shared memory nor addresses that a worker may load: a call that can be cancelled runs in
 * a worker of its own, on a copy of the memory, and cancelling ends that worker. */
const mustFork = !inNode && !globalThis.crossOriginIsolated && globalThis.origin === "null";

interface Call extends CallOptions {
    thread: Thread;
    done(result: any): void;
    fail(error: PeltError): void;
}

/** A token that a call polls, and what cancels it. */
function cancelToken(): { token: CancelToken; cancel(): void; end(): void } {
    if (inNode || globalThis.crossOriginIsolated) {
        const shared = new Int32Array(new SharedArrayBuffer(4));
        return { token: { shared }, cancel: () => void Atomics.store(shared, 0, 1), end() {} };
    }
    const url = URL.createObjectURL(new Blob(["go on"]));
    const revoke = () => URL.revokeObjectURL(url);
    return { token: { url }, cancel: revoke, end: revoke };
}

/** Methods that make objects with state in JavaScript, which stays in its worker. */
const LIVE = ["binding", "jiggle"];

/** Handles that were forgotten without free(). */
const forgotten = new FinalizationRegistry<{ pelt: Pelt; handle: number }>(({ pelt, handle }) => pelt.release(handle));

class Remote {
    readonly #pelt: Pelt;

    constructor(
        pelt: Pelt,
        public $handle: number,
    ) {
        this.#pelt = pelt;
        forgotten.register(this, { pelt, handle: $handle }, this);
    }

    free(): void {
        forgotten.unregister(this);
        if (this.$handle) this.#pelt.release(this.$handle);
        this.$handle = 0;
    }
}

/** Pelt in a worker. */
export class Pelt {
    readonly version!: string;
    /** The option tables: from them come the keywords of every operation, and the controls of a page. */
    readonly options!: Record<TableName, OptionTable>;
    readonly formats!: types.Format[];
    readonly scenes!: types.SceneInfo[];
    private readonly calls = new Map<number, Call>();
    private readonly kinds: Record<string, new (pelt: Pelt, handle: number) => Remote> = {};
    private last = 0;
    private thread!: Thread;
    private dead: PeltError | null = null;
    /** Ends when a call that runs on a copy of the memory has ended: others wait for it. */
    private forked: Promise<unknown> | null = null;
    private wasm!: WebAssembly.Module;
    private startOptions!: StartOptions;

    private constructor(private readonly log: StartOptions["log"]) {}

    static async start(options: StartOptions = {}): Promise<Pelt> {
        const pelt = new Pelt(options.log);
        // Written out, so that bundlers find both files.
        const wasm = await compile(options.wasm ?? new URL("./pelt.wasm", import.meta.url));
        pelt.wasm = wasm;
        pelt.startOptions = options;
        const started: Started = await pelt.startThread((thread) => (pelt.thread = thread));
        const { version, formats, scenes } = started;
        Object.assign(pelt, { version, options: started.options, formats, scenes });
        for (const [kind, methods] of Object.entries(started.methods)) pelt.kinds[kind] = pelt.kindOf(kind, methods);
        return pelt;
    }

    /** A class whose methods send calls. */
    private kindOf(name: string, methods: string[]): new (pelt: Pelt, handle: number) => Remote {
        const kind = { [name]: class extends Remote {} }[name];
        for (const method of methods)
            (kind.prototype as any)[method] = function (this: Remote, ...args: unknown[]) {
                if (!this.$handle) return Promise.reject(new PeltError(`the ${name} was freed`, "usage"));
                return pelt.call(this.$handle, method, args);
            };
        const pelt = this;
        (kind.prototype as any)[Symbol.dispose ?? Symbol.for("Symbol.dispose")] = function (this: { free(): void }) {
            this.free();
        };
        return kind;
    }

    /** A worker with an engine. */
    private async startThread(made: (thread: Thread) => void): Promise<Started> {
        const { worker = new URL("./worker.js", import.meta.url), memoryLimit = 0 } = this.startOptions;
        const thread = await openThread(
            worker,
            (reply) => this.receive(reply),
            (message) => this.stop(new PeltError(`the worker stopped: ${message}`, "engine")),
        );
        made(thread);
        return this.send((id) => ({ kind: "start", id, wasm: this.wasm, memoryLimit }), {}, [], thread);
    }

    private send(
        request: (id: number) => Request,
        call: CallOptions,
        transfer: Transferable[] = [],
        thread: Thread = this.thread,
    ): Promise<any> {
        if (this.dead) return Promise.reject(this.dead);
        const id = ++this.last;
        return new Promise((done, fail) => {
            this.calls.set(id, { ...call, done, fail, thread });
            thread.hold(true);
            thread.post(request(id), transfer);
        });
    }

    /** Runs a call in a worker of its own. The memory that it leaves becomes that of this engine; after a failure this one's is as it was. */
    private async fork(handle: number, method: string, args: any[], hooks: CallOptions, moved: Transferable[]): Promise<any> {
        const used = [handle, ...args.flatMap((arg) => (arg && typeof arg === "object" ? Object.values(arg) : []).map((value: any) => value?.$handle ?? 0))];
        const handles = [...new Set(used.filter((one) => one > 0))];
        const signal = hooks.signal!;
        let thread: Thread | undefined;
        let abort = () => {};
        const cancelled = new Promise<never>((_, fail) => (abort = () => fail(new PeltError("cancelled", "cancelled"))));
        signal.addEventListener("abort", abort);
        const work = async () => {
            const { memory, models, last }: Snapshot = await this.send((id) => ({ kind: "snapshot", id, handles }), {});
            await this.startThread((made) => {
                thread = made;
                if (signal.aborted) made.terminate();
            });
            const ask = (request: (id: number) => Request, call: CallOptions = {}, transfer: Transferable[] = []) =>
                this.send(request, call, transfer, thread);
            await ask((id) => ({ kind: "restore", id, memory, models, last, owned: false }), {}, [memory.buffer]);
            const result = await ask((id) => ({ kind: "call", id, handle, method, args }), hooks, moved);
            signal.removeEventListener("abort", abort); // it is done
            const made: number[] = result instanceof Remote ? [result.$handle] : [];
            const after: Snapshot = await ask((id) => ({ kind: "snapshot", id, handles: made }));
            await this.send((id) => ({ kind: "restore", id, ...after, owned: true }), {}, [after.memory.buffer]);
            return result;
        };
        try {
            return await Promise.race([work(), cancelled]);
        } finally {
            signal.removeEventListener("abort", abort);
            thread?.terminate();
            for (const [id, call] of this.calls) if (call.thread === thread) this.calls.delete(id);
        }
    }

    private async call(handle: number, method: string, args: unknown[]): Promise<any> {
        let [hooks, end]: [CallOptions, () => void] = [{}, () => {}];
        const moved: Transferable[] = [];
        const packed = args.map((arg) => {
            if (arg === null || typeof arg !== "object" || ArrayBuffer.isView(arg) || Array.isArray(arg)) return arg;
            const { progress, iteration, signal, ...rest } = arg as CallOptions & Record<string, unknown>;
            if (rest.into instanceof Float32Array) moved.push(rest.into.buffer);
            for (const [key, value] of Object.entries(rest))
                if (value instanceof Remote) rest[key] = { $handle: value.$handle };
            if (!progress && !iteration && !signal) return rest;
            hooks = { progress, iteration, signal };
            const cancel = signal && !mustFork ? cancelToken() : undefined;
            if (signal && cancel) {
                if (signal.aborted) cancel.cancel();
                signal.addEventListener("abort", cancel.cancel);
                end = () => {
                    signal.removeEventListener("abort", cancel.cancel);
                    cancel.end();
                };
            }
            return { ...rest, $hooks: { progress: !!progress, iteration: !!iteration, cancel: cancel?.token } };
        });
        if (hooks.signal?.aborted) {
            end();
            throw new PeltError("cancelled", "cancelled");
        }
        while (this.forked) await this.forked.catch(() => undefined);
        try {
            if (mustFork && hooks.signal && !LIVE.includes(method)) return await this.forkAlone(handle, method, packed, hooks, moved);
            return await this.send((id) => ({ kind: "call", id, handle, method, args: packed }), hooks, moved);
        } finally {
            end();
        }
    }

    /** No other call runs meanwhile. */
    private async forkAlone(handle: number, method: string, args: any[], hooks: CallOptions, moved: Transferable[]): Promise<any> {
        this.forked = this.fork(handle, method, args, hooks, moved);
        try {
            return await this.forked;
        } finally {
            this.forked = null;
        }
    }

    private receive(reply: Reply): void {
        if (reply.kind === "log") return this.log?.(reply.level, reply.text);
        const call = this.calls.get(reply.id);
        if (!call) return; // of a worker that was ended
        if (reply.kind === "progress") return call.progress?.(reply.phase, reply.fraction);
        if (reply.kind === "iteration") return call.iteration?.(reply.error);
        this.calls.delete(reply.id);
        if (this.calls.size === 0) call.thread.hold(false);
        if (reply.kind === "failed") call.fail(new PeltError(reply.message, reply.code));
        else if (reply.kind === "started") call.done(reply);
        else call.done(reply.result?.$handle ? new this.kinds[reply.result.$kind](this, reply.result.$handle) : reply.result);
    }

    /** @internal */
    release(handle: number): void {
        if (this.dead) return;
        if (this.forked) void this.forked.catch(() => undefined).then(() => this.release(handle));
        else this.thread.post({ kind: "free", id: 0, handles: [handle] });
    }

    private stop(error: PeltError): void {
        this.dead = error;
        for (const call of this.calls.values()) call.fail(error);
        this.calls.clear();
        this.thread?.terminate();
    }

    /** Reads a model from files: one, a mesh and its caches, a skeleton and its motions, a .gltf with its files, or a sequence. */
    async load(files: FileLike | FileLike[], options: types.LoadOptions & CallOptions = {}): Promise<Model> {
        const list = await Promise.all((Array.isArray(files) ? files : [files]).map(readInput));
        return this.call(0, "load", [list, options]);
    }

    /** Makes a generated scene: samples, tests. */
    scene(name: string, options: { vertices?: number; frames?: number; seed?: number } = {}): Promise<Model> {
        return this.call(0, "scene", [name, options]);
    }

    /** Memory of the engine, bytes. */
    memoryInfo(): Promise<types.MemoryInfo> {
        return this.call(0, "memoryInfo", []);
    }

    /** Ends the worker at once. Calls that run fail, and all models are lost. */
    terminate(): void {
        this.stop(new PeltError("Pelt was terminated", "engine"));
    }

    [Symbol.dispose](): void {
        this.terminate();
    }
}

export type FileLike = types.InputFile | { name: string; data: Blob } | File;

async function readInput(file: FileLike): Promise<types.InputFile> {
    const data = "data" in file ? file.data : file;
    if (typeof Blob === "function" && data instanceof Blob)
        return { name: file.name, data: new Uint8Array(await data.arrayBuffer()) };
    return { name: file.name, data: data as Uint8Array | ArrayBuffer };
}
