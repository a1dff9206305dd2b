/** The engine of the page: pelt.wasm and its worker, which the page contains compressed. */
import { Pelt, type LogLevel } from "pelt";
import { block } from "../data";

let parts: Promise<{ wasm: WebAssembly.Module; source: string }> | undefined;

function unpack(name: string): ReadableStream<Uint8Array> {
    const bytes = block(name);
    if (!bytes) throw new Error(`the page has no #pelt-${name}`);
    return new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")) as ReadableStream<Uint8Array>;
}

async function readParts() {
    const [wasm, source] = await Promise.all([
        new Response(unpack("wasm")).arrayBuffer().then((bytes) => WebAssembly.compile(bytes)),
        new Response(unpack("worker")).text(),
    ]);
    return { wasm, source };
}

/** Starts an engine in a worker of its own. `memoryLimit`: bytes; 0: as many as the browser gives. */
export async function startEngine(log: (level: LogLevel, text: string) => void, memoryLimit = 0): Promise<Pelt> {
    parts ??= readParts();
    const { wasm, source } = await parts;
    return Pelt.start({ wasm, worker: { source }, log, memoryLimit });
}

type Log = (level: LogLevel, text: string) => void;
let firstLog: Log = () => {};
/** Starts while the page builds its view. */
const early = startEngine((level, text) => firstLog(level, text));
early.catch(() => undefined); // told by whom it is for

/** The engine that the page began to start when it was opened. */
export function firstEngine(log: Log): Promise<Pelt> {
    firstLog = log;
    return early;
}

/** A file that the page contains. */
export interface EmbeddedFile {
    name: string;
    data: Uint8Array;
}

/** Files that `pelt studio` embedded. */
export function embeddedFiles(): EmbeddedFile[] {
    const count = document.querySelectorAll("script[data-file]").length;
    return Array.from({ length: count }, (_, n) => {
        const name = document.getElementById(`pelt-file-${n}`)?.dataset.file ?? `file-${n}`;
        return { name, data: new Uint8Array(block(`file-${n}`)!) };
    });
}
