// The worker: an engine, and the objects that the page has handles of. index.ts sends requests, one at a time is run.
import { Binding, Engine, Handle, Jiggle, Model, PeltError } from "./engine";
import type { CancelToken, Reply, Request, Snapshot } from "./protocol";

interface Port {
    post(message: Reply, transfer?: Transferable[]): void;
    listen(receive: (request: Request) => void): void;
}

/** The page, from a worker of a browser or a thread of node. */
async function openPort(): Promise<Port> {
    if (typeof process === "object" && process.versions?.node) {
        const { parentPort } = await import("node:worker_threads");
        return {
            post: (message, transfer) => parentPort!.postMessage(message, transfer as never),
            listen: (receive) => parentPort!.on("message", receive),
        };
    }
    return {
        post: (message, transfer) => self.postMessage(message, { transfer }),
        listen: (receive) => self.addEventListener("message", (event: MessageEvent<Request>) => receive(event.data)),
    };
}

const POLL_MS = 40;

/** Whether the page asked to cancel. A running call cannot receive messages: shared memory tells where the page may have it, else a
 * blob's address, which the page revokes. */
function pollOf(token: CancelToken | undefined): (() => boolean) | undefined {
    if (!token) return undefined;
    if ("shared" in token) return () => Atomics.load(token.shared, 0) !== 0;
    let next = performance.now() + POLL_MS;
    let gone = false;
    return () => {
        if (gone || performance.now() < next) return gone;
        next = performance.now() + POLL_MS;
        try {
            const request = new XMLHttpRequest();
            request.open("GET", token.url, false);
            request.send();
        } catch {
            gone = true;
        }
        return gone;
    };
}

const PROGRESS_MS = 30;

class Server {
    private readonly objects = new Map<number, Handle>();
    private last = 0;

    constructor(
        private readonly engine: Engine,
        private readonly port: Port,
    ) {
        engine.log = (level, text) => port.post({ kind: "log", level, text });
    }

    run(request: Exclude<Request, { kind: "start" }>): void {
        const { id } = request;
        try {
            if (request.kind === "free") {
                for (const handle of request.handles) {
                    this.objects.get(handle)?.free();
                    this.objects.delete(handle);
                }
                return;
            }
            if (request.kind === "snapshot") {
                const models = request.handles.map((handle) => ({ handle, place: this.objects.get(handle)!.place }));
                const result: Snapshot = { memory: this.engine.snapshot(), models, last: this.last };
                return this.port.post({ kind: "done", id, result }, [result.memory.buffer]);
            }
            if (request.kind === "restore") {
                this.engine.restore(request.memory);
                this.last = request.last;
                for (const { handle, place } of request.models)
                    this.objects.set(handle, this.engine.adopt(place, request.owned));
                return this.port.post({ kind: "done", id, result: null });
            }
            const target: any = request.handle ? this.objects.get(request.handle) : this.engine;
            const result = target[request.method](...request.args.map((arg) => this.unpack(arg, request)));
            const transfer: Transferable[] = [];
            this.port.post({ kind: "done", id, result: this.pack(result, transfer) }, transfer);
        } catch (error) {
            const { message, code } = error as PeltError;
            this.port.post({ kind: "failed", id, message, code: code ?? "engine" });
        }
    }

    /** Handles become objects; hooks are added to the options. */
    private unpack(arg: any, request: Extract<Request, { kind: "call" }>): unknown {
        if (arg === null || typeof arg !== "object" || ArrayBuffer.isView(arg) || Array.isArray(arg)) return arg;
        if ("$handle" in arg) return this.objects.get(arg.$handle);
        const out: Record<string, unknown> = {};
        for (const [key, value] of Object.entries(arg)) {
            const isHandle = value !== null && typeof value === "object" && "$handle" in value;
            out[key] = isHandle ? this.objects.get((value as any).$handle) : value;
        }
        delete out.$hooks;
        if (!("$hooks" in arg)) return out;
        const { id } = request;
        let next = 0;
        if (arg.$hooks.progress)
            out.progress = (phase: string, fraction: number) => {
                if (performance.now() < next && fraction < 1) return;
                next = performance.now() + PROGRESS_MS;
                this.port.post({ kind: "progress", id, phase, fraction });
            };
        if (arg.$hooks.iteration) out.iteration = (error: number) => this.port.post({ kind: "iteration", id, error });
        const cancelled = pollOf(arg.$hooks.cancel);
        if (cancelled) out.cancelled = cancelled;
        return out;
    }

    /** Objects become handles; the memory of arrays is moved, not copied. */
    private pack(result: any, transfer: Transferable[]): unknown {
        if (result instanceof Handle) {
            this.objects.set(++this.last, result);
            return { $handle: this.last, $kind: kindOf(result) };
        }
        if (ArrayBuffer.isView(result)) transfer.push(result.buffer as ArrayBuffer);
        else if (result && typeof result === "object")
            for (const value of Object.values(result)) this.pack(value, transfer);
        return result;
    }
}

// Minified classes have other names.
const KINDS = { Model, Binding, Jiggle };

function kindOf(handle: Handle): string {
    return Object.entries(KINDS).find(([, kind]) => handle instanceof kind)![0];
}

function methodsOf(kind: Function): string[] {
    const hidden = ["constructor", "free", "clips", "counts", "lent"];
    return Object.entries(Object.getOwnPropertyDescriptors(kind.prototype))
        .filter(([name, { value }]) => typeof value === "function" && !hidden.includes(name))
        .map(([name]) => name);
}

async function serve(): Promise<void> {
    const port = await openPort();
    let server: Server | null = null;
    port.listen(async (request) => {
        if (request.kind !== "start") return server!.run(request);
        try {
            const engine = await Engine.start(request.wasm, { memoryLimit: request.memoryLimit });
            server = new Server(engine, port);
            const { version, options, formats, scenes } = engine;
            const methods = Object.fromEntries(Object.entries(KINDS).map(([name, kind]) => [name, methodsOf(kind)]));
            port.post({ kind: "started", id: request.id, version, options, formats, scenes, methods });
        } catch (error) {
            port.post({ kind: "failed", id: request.id, message: (error as Error).message, code: "engine" });
        }
    });
}

void serve();
