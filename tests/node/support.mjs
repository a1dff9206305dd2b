// What the node tests share: where things are, skipping, running pelt, taking glTF files apart.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const data = process.env.PELT_DATA ?? path.join(root, "../shared/data");

/** Ends a test that cannot run here; CTest knows 77. */
export function skip(reason) {
    console.log(`skipped: ${reason}`);
    process.exit(77);
}

/** An npm package, or a skip that says how to get it. */
export async function need(name) {
    try {
        return await import(name);
    } catch (error) {
        if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
        return skip(`npm package ${name} is not installed (scripts/setup installs it)`);
    }
}

/** All files below a folder with one of these extensions, sorted. */
export function filesBelow(folder, extensions) {
    return readdirSync(folder, { withFileTypes: true })
        .flatMap((entry) => {
            const full = path.join(folder, entry.name);
            if (entry.isDirectory()) return filesBelow(full, extensions);
            return extensions.includes(path.extname(entry.name).toLowerCase()) ? [full] : [];
        })
        .sort();
}

/** The glTF files of the real characters; skips when the data is not here. */
export function characterFiles() {
    const files = existsSync(data)
        ? readdirSync(data)
              .filter((name) => name.startsWith("char-"))
              .flatMap((name) => filesBelow(path.join(data, name), [".glb", ".gltf"]))
              .sort()
        : [];
    return files.length > 0 ? files : skip(`no characters at ${data} (PELT_DATA says where)`);
}

/** A folder for the time of the test. */
export function scratchFolder() {
    const folder = mkdtempSync(path.join(tmpdir(), "pelt-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    return folder;
}

/** Runs a program that must succeed; its stdout as bytes. */
export function run(program, args) {
    const { status, signal, stdout, stderr, error } = spawnSync(program, args, { maxBuffer: 1 << 30 });
    if (error) throw error;
    if (status !== 0) throw new Error(`${path.basename(program)} ${args.join(" ")}: ${signal ?? `exit ${status}`}: ${stderr}`);
    return stdout;
}

/** Numbers in [0, 1), the same for the same seed (splitmix32). */
export function seededRandom(seed) {
    return () => {
        seed = (seed + 0x9e3779b9) | 0;
        let z = seed;
        z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
        z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
        return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
    };
}

/** A glTF file: its document, and a function that gives the bytes of a buffer (by index). */
export function readGltf(file) {
    const bytes = readFileSync(file);
    const binary = bytes.subarray(0, 4).toString("latin1") === "glTF";
    let text = bytes;
    let blob;
    for (let at = 12; binary && at + 8 <= bytes.length; ) {
        const size = bytes.readUInt32LE(at);
        const chunk = bytes.subarray(at + 8, at + 8 + size);
        if (bytes.readUInt32LE(at + 4) === 0x4e4f534a) text = chunk;
        if (bytes.readUInt32LE(at + 4) === 0x004e4942) blob = chunk;
        at += 8 + size;
    }
    const document = JSON.parse(text.toString("utf8"));
    const buffer = (index) => {
        const { uri } = document.buffers[index];
        return uri === undefined ? (blob ?? Buffer.alloc(0)) : readUri(file, uri);
    };
    return { document, buffer };
}

/** The bytes of a data: URI or of a file beside `file`. */
export function readUri(file, uri) {
    const match = /^data:[^,]*?(;base64)?,(.*)$/s.exec(uri);
    if (match) return Buffer.from(decodeURIComponent(match[2]), match[1] ? "base64" : "latin1");
    return readFileSync(path.join(path.dirname(file), decodeURIComponent(uri)));
}

/** Positions of a GLB that Pelt wrote, as floats without gaps: mesh by mesh, primitive by primitive. */
export function positionsOf(file) {
    const { document, buffer } = readGltf(file);
    const bytes = buffer(0);
    const lists = document.meshes
        .flatMap(({ primitives }) => primitives)
        .map(({ attributes }) => {
            const { bufferView, count } = document.accessors[attributes.POSITION];
            const at = bytes.byteOffset + (document.bufferViews[bufferView].byteOffset ?? 0);
            return [...new Float32Array(bytes.buffer.slice(at, at + 12 * count))];
        });
    return Float32Array.from(lists.flat());
}

/** A GLB file from a document and the bytes of its one buffer. */
export function makeGlb(document, blob) {
    const padded = (bytes, fill) => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3, fill)]);
    const chunk = (type, bytes) => {
        const head = Buffer.alloc(8);
        head.writeUInt32LE(bytes.length, 0);
        head.writeUInt32LE(type, 4);
        return Buffer.concat([head, bytes]);
    };
    const body = Buffer.concat([
        chunk(0x4e4f534a, padded(Buffer.from(JSON.stringify(document)), 0x20)),
        chunk(0x004e4942, padded(blob, 0)),
    ]);
    const head = Buffer.from("glTF\x02\0\0\0\0\0\0\0", "latin1");
    head.writeUInt32LE(body.length + 12, 8);
    return Buffer.concat([head, body]);
}

