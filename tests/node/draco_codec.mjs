// Draco in node, by Google's own encoder and decoder: files compressed with KHR_draco_mesh_compression, and a DRACOLoader for
// three, whose own needs a browser.
import * as support from "./support.mjs";

const { createDecoderModule, createEncoderModule } = (await support.need("draco3dgltf")).default;
const encoding = await createEncoderModule();
const decoding = await createDecoderModule();

const EXTENSION = "KHR_draco_mesh_compression";
/** What the codec calls a kind of typed array. */
const NAMES = new Map([
    [Int8Array, "Int8"],
    [Uint8Array, "UInt8"],
    [Int16Array, "Int16"],
    [Uint16Array, "UInt16"],
    [Uint32Array, "UInt32"],
    [Float32Array, "Float"],
]);
const ARRAYS = { 5120: Int8Array, 5121: Uint8Array, 5122: Int16Array, 5123: Uint16Array, 5125: Uint32Array, 5126: Float32Array };
const WIDTHS = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT4: 16 };
/** Bits of quantised attributes, as common tools have them; what is not a float stays exact. */
export const BITS = { POSITION: 14, NORMAL: 10, COLOR: 8, TEX_COORD: 12, GENERIC: 12 };

/** Draco's kind of an attribute. */
export function kindOf(name) {
    if (name === "POSITION" || name === "NORMAL") return name;
    return name.startsWith("COLOR_") ? "COLOR" : name.startsWith("TEXCOORD_") ? "TEX_COORD" : "GENERIC";
}

/** The elements of an accessor as a typed array; nothing where they are sparse, compressed or missing. */
export function readAccessor({ document, buffer }, index) {
    const { bufferView, byteOffset = 0, componentType, count, type, sparse } = document.accessors[index];
    const view = document.bufferViews[bufferView];
    if (sparse || !view || view.extensions) return undefined;
    const Type = ARRAYS[componentType];
    const width = WIDTHS[type];
    const size = width * Type.BYTES_PER_ELEMENT;
    const bytes = buffer(view.buffer);
    const out = new Type(count * width);
    const target = Buffer.from(out.buffer);
    for (let e = 0; e < count; e++) {
        const from = (view.byteOffset ?? 0) + byteOffset + e * (view.byteStride ?? size);
        bytes.copy(target, e * size, from, from + size);
    }
    return out;
}

/** A Draco stream of arrays: its bytes, the ids of attributes, and how many vertices and indices it holds. */
function encode(indices, attributes, sequential) {
    const builder = new encoding.MeshBuilder();
    const mesh = new encoding.Mesh();
    const ids = {};
    builder.AddFacesToMesh(mesh, indices.length / 3, Uint32Array.from(indices));
    for (const [name, { array, width }] of Object.entries(attributes)) {
        const add = `Add${NAMES.get(array.constructor)}Attribute`;
        ids[name] = builder[add](mesh, encoding[kindOf(name)], array.length / width, width, array);
    }
    const encoder = new encoding.ExpertEncoder(mesh);
    encoder.SetTrackEncodedProperties(true);
    encoder.SetEncodingMethod(sequential ? encoding.MESH_SEQUENTIAL_ENCODING : encoding.MESH_EDGEBREAKER_ENCODING);
    for (const [name, { array }] of Object.entries(attributes))
        if (array instanceof Float32Array) encoder.SetAttributeQuantization(ids[name], BITS[kindOf(name)]);
    const out = new encoding.DracoInt8Array();
    const size = encoder.EncodeToDracoBuffer(!sequential, out);
    if (size <= 0) throw new Error("the Draco encoder failed");
    const bytes = Buffer.alloc(size);
    for (let i = 0; i < size; i++) bytes.writeInt8(out.GetValue(i), i);
    const result = { bytes, ids, vertexCount: encoder.GetNumberOfEncodedPoints(), indexCount: 3 * encoder.GetNumberOfEncodedFaces() };
    for (const object of [out, encoder, mesh, builder]) encoding.destroy(object);
    return result;
}

/** A GLB of a file with its indexed triangles compressed, and how many primitives that were. `sequential` keeps the order of
 * vertices, which morph targets need anyway. */
export function compress(file, sequential) {
    const source = support.readGltf(file);
    const { document } = source;
    const parts = (document.buffers ?? []).map((_, index) => source.buffer(index));
    const starts = [];
    let size = 0;
    const place = (bytes) => {
        const start = size;
        size += (bytes.length + 3) & ~3;
        return start;
    };
    for (const part of parts) starts.push(place(part));
    const views = [];
    const accessors = [];
    let count = 0;
    for (const primitive of (document.meshes ?? []).flatMap(({ primitives }) => primitives)) {
        if (primitive.indices === undefined || (primitive.mode ?? 4) !== 4) continue;
        const attributes = {};
        for (const [name, index] of Object.entries(primitive.attributes)) {
            const array = readAccessor(source, index);
            if (array) attributes[name] = { array, width: WIDTHS[document.accessors[index].type] };
        }
        const indices = readAccessor(source, primitive.indices);
        if (!indices || Object.keys(attributes).length < Object.keys(primitive.attributes).length) continue;
        const stream = encode(indices, attributes, sequential || primitive.targets !== undefined);
        views.push({ buffer: 0, byteOffset: place(stream.bytes), byteLength: stream.bytes.length });
        parts.push(stream.bytes);
        const describe = (index, count) => {
            const { bufferView, byteOffset, ...accessor } = document.accessors[index];
            accessors.push({ ...accessor, count });
            return document.accessors.length + accessors.length - 1;
        };
        for (const name of Object.keys(attributes))
            primitive.attributes[name] = describe(primitive.attributes[name], stream.vertexCount);
        primitive.indices = describe(primitive.indices, stream.indexCount);
        primitive.extensions = {
            ...primitive.extensions,
            [EXTENSION]: { bufferView: document.bufferViews.length + views.length - 1, attributes: stream.ids },
        };
        count++;
    }
    for (const view of document.bufferViews ?? [])
        for (const at of [view, view.extensions?.EXT_meshopt_compression])
            if (at) {
                at.byteOffset = (at.byteOffset ?? 0) + starts[at.buffer];
                at.buffer = 0;
            }
    document.bufferViews = [...(document.bufferViews ?? []), ...views];
    document.accessors = [...(document.accessors ?? []), ...accessors];
    document.buffers = [{ byteLength: size }];
    if (count > 0)
        for (const key of ["extensionsUsed", "extensionsRequired"]) document[key] = [...(document[key] ?? []), EXTENSION];
    for (const image of document.images ?? [])
        if (image.uri && !image.uri.startsWith("data:"))
            image.uri = `data:${image.mimeType ?? "image/png"};base64,${support.readUri(file, image.uri).toString("base64")}`;
    return { glb: support.makeGlb(document, Buffer.concat(parts.flatMap((part) => [part, Buffer.alloc(-part.length & 3)]))), count };
}

/** The arrays of a stream: { indices, attributes: { NAME: { array, width } } }; types { NAME: a kind of typed array }. */
export function decode(bytes, ids, types) {
    const decoder = new decoding.Decoder();
    const buffer = new decoding.DecoderBuffer();
    const mesh = new decoding.Mesh();
    buffer.Init(new Int8Array(bytes), bytes.byteLength);
    if (!decoder.DecodeBufferToMesh(buffer, mesh).ok()) throw new Error("the Draco decoder failed");
    const take = (Type, count, fill) => {
        const size = count * Type.BYTES_PER_ELEMENT;
        const pointer = decoding._malloc(size);
        fill(size, pointer);
        const array = new Type(decoding.HEAPU8.buffer.slice(pointer, pointer + size));
        decoding._free(pointer);
        return array;
    };
    const attributes = {};
    for (const [name, id] of Object.entries(ids)) {
        const attribute = decoder.GetAttributeByUniqueId(mesh, id);
        const width = attribute.num_components();
        const type = types[name] === Float32Array ? "DT_FLOAT32" : `DT_${NAMES.get(types[name]).toUpperCase()}`;
        const array = take(types[name], mesh.num_points() * width, (size, pointer) =>
            decoder.GetAttributeDataArrayForAllPoints(mesh, attribute, decoding[type], size, pointer),
        );
        attributes[name] = { array, width };
    }
    const indices = take(Uint32Array, mesh.num_faces() * 3, (size, pointer) =>
        decoder.GetTrianglesUInt32Array(mesh, size, pointer),
    );
    for (const object of [mesh, buffer, decoder]) decoding.destroy(object);
    return { indices, attributes };
}

/** What the decoder makes of a compressed file: for each primitive its arrays, or nothing where it is not compressed. */
export function decodeFile(file) {
    const { document, buffer } = support.readGltf(file);
    return document.meshes
        .flatMap(({ primitives }) => primitives)
        .map((primitive) => {
            const packed = primitive.extensions?.[EXTENSION];
            if (!packed) return undefined;
            const { byteOffset, byteLength } = document.bufferViews[packed.bufferView];
            const types = Object.fromEntries(
                Object.keys(packed.attributes).map((name) => [name, ARRAYS[document.accessors[primitive.attributes[name]].componentType]]),
            );
            return decode(buffer(0).subarray(byteOffset, byteOffset + byteLength), packed.attributes, types);
        });
}

/** What GLTFLoader wants of a DRACOLoader. */
export function dracoLoader(THREE) {
    const names = { Int8Array, Uint8Array, Int16Array, Uint16Array, Uint32Array, Float32Array };
    return {
        preload() {},
        decodeDracoFile(bytes, done, ids, types) {
            const kinds = Object.fromEntries(Object.entries(types).map(([name, type]) => [name, names[type]]));
            const { indices, attributes } = decode(new Uint8Array(bytes), ids, kinds);
            const geometry = new THREE.BufferGeometry();
            geometry.setIndex(new THREE.BufferAttribute(indices, 1));
            for (const [name, { array, width }] of Object.entries(attributes))
                geometry.setAttribute(name, new THREE.BufferAttribute(array, width));
            done(geometry);
        },
    };
}
