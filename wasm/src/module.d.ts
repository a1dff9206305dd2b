// The file that emscripten makes of api.c; build.mjs says where it is.
declare module "pelt-module" {
    const create: (settings: Record<string, unknown>) => Promise<import("./memory").Module>;
    export default create;
}
// What is used of node, whose types are not installed.
declare const process: { versions?: { node?: string } };
declare module "node:worker_threads" {
    export class Worker {
        constructor(source: URL | string, options?: { eval?: boolean });
        postMessage(message: unknown, transfer?: Transferable[]): void;
        on(event: string, listener: (value: any) => void): void;
        terminate(): Promise<number>;
        ref(): void;
        unref(): void;
    }
    export const parentPort: {
        postMessage(message: unknown, transfer?: never): void;
        on(event: "message", listener: (value: any) => void): void;
    } | null;
}
declare module "node:fs/promises" {
    export function readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
}
