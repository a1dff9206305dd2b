// What is wrong with a glTF file that was made from another: by the Khronos validator, and by comparing documents.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import * as support from "./support.mjs";

const validator = (await support.need("gltf-validator")).default;

/** How often the validator says what: { errors: {CODE: n}, warnings: {CODE: n} }. */
export async function validate(file) {
    const report = await validator.validateBytes(new Uint8Array(readFileSync(file)), {
        maxIssues: 0,
        uri: path.basename(file),
        externalResourceFunction: async (uri) => new Uint8Array(support.readUri(file, uri)),
    });
    const counts = { errors: {}, warnings: {} };
    for (const { severity, code } of report.issues.messages) {
        const kind = [counts.errors, counts.warnings][severity];
        if (kind) kind[code] = (kind[code] ?? 0) + 1;
    }
    return counts;
}

/** What `result` has that `source` had less often, as sentences. Errors are always too many. */
export function complaints(source, result) {
    const list = [];
    for (const [code, count] of Object.entries(result.errors)) list.push(`${count} × error ${code}`);
    for (const [code, count] of Object.entries(result.warnings))
        if (count > (source.warnings[code] ?? 0))
            list.push(`${count} × warning ${code}, the source had ${source.warnings[code] ?? 0}`);
    return list;
}

/** The document without what a writer may lay out anew: buffers, views, and which accessor holds what. Images are
 * replaced by their bytes. */
export function essence(file) {
    const { document, buffer } = support.readGltf(file);
    const images = (document.images ?? []).map(({ uri, bufferView, ...image }) => {
        let bytes;
        if (uri !== undefined) bytes = support.readUri(file, uri);
        else {
            const view = document.bufferViews[bufferView];
            bytes = buffer(view.buffer).subarray(view.byteOffset ?? 0, (view.byteOffset ?? 0) + view.byteLength);
        }
        // A file beside the document need not say its type; one inside must.
        const { mimeType, ...rest } = image;
        return { ...rest, bytes: createHash("sha256").update(bytes).digest("hex") };
    });
    const primitive = ({ attributes, indices, targets, ...rest }) => ({
        ...rest,
        attributes: Object.keys(attributes).sort(),
        indexed: indices !== undefined,
        targets: targets?.map((target) => Object.keys(target).sort()),
    });
    const { buffers, bufferViews, accessors, ...rest } = document;
    return {
        ...rest,
        asset: { ...document.asset, generator: undefined },
        images,
        meshes: document.meshes?.map((mesh) => ({ ...mesh, primitives: mesh.primitives.map(primitive) })),
        skins: document.skins?.map(({ inverseBindMatrices, ...skin }) => skin),
        animations: document.animations?.map((animation) => ({
            ...animation,
            samplers: animation.samplers.map(({ input, output, ...sampler }) => sampler),
        })),
    };
}

/** The essence without skins and where they are used. */
export function withoutSkins(file) {
    const { skins, ...rest } = essence(file);
    for (const node of rest.nodes) delete node.skin;
    for (const mesh of rest.meshes)
        for (const primitive of mesh.primitives)
            primitive.attributes = primitive.attributes.filter((name) => !/^(JOINTS|WEIGHTS)_/.test(name));
    return rest;
}

/** The first place where two values differ, as a path, or nothing. Absent and undefined are the same. */
export function difference(a, b, place = "") {
    if (Object.is(a, b)) return undefined;
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || Array.isArray(a) !== Array.isArray(b))
        return place || "/";
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
        const found = difference(a[key], b[key], `${place}/${key}`);
        if (found) return found;
    }
    return undefined;
}

/** Everything wrong with `result`, made from `source`. */
export async function check(source, result) {
    const before = await validate(source);
    const list = complaints(before, await validate(result));
    const [from, to] = [essence(source), essence(result)];
    // A skin whose skeleton root is wrong can only become valid by losing that (optional) entry.
    if (before.errors.SKIN_SKELETON_INVALID)
        for (const skin of [...from.skins, ...to.skins]) delete skin.skeleton;
    const place = difference(from, to);
    if (place) list.push(`differs from the source at ${place}`);
    return list;
}
