/** A GLB file as one mesh and what moves it, as Pelt's own model has it: every vertex of every primitive of every
 * node, in Pelt's order, moved by Σ weight · world(joint) · inverse bind · (rest + morphs). A part
 * without a skin has its node as its only bone. */
import {
    type AnimationClip,
    type BufferAttribute,
    type BufferGeometry,
    Matrix4,
    type Mesh,
    type Object3D,
    type Texture,
} from "three";
import { type GLTF, GLTFLoader, type GLTFParser } from "three/examples/jsm/loaders/GLTFLoader.js";
import { MeshoptDecoder } from "three/examples/jsm/libs/meshopt_decoder.module.js";
import { Controls } from "./controls";
import { Driven } from "./driven";
import { Relight } from "./relight";

export interface Part {
    name: string;
    firstVertex: number;
    vertexCount: number;
    firstIndex: number;
    indexCount: number;
    /** The mesh of the loader: its morph weights are those of the part. */
    object: Mesh;
    /** Its node in the file. */
    node: number;
    color: [number, number, number];
    map: Texture | null;
    /** An earlier part with the same vertices, as in OBJ files: they are skinned only once. */
    twin?: Part;
}

export interface Bone {
    node: Object3D;
    inverseBind: Matrix4;
    /** Index into `joints`, or −1 for parts without a skin. */
    joint: number;
}

/** A node that a skin refers to; in a file without a surface, any node. */
export interface Joint {
    name: string;
    node: Object3D;
    /** The nearest ancestor that is a joint, or −1. */
    parent: number;
    /** Sum of its weights over all vertices, duplicates excluded. */
    weight: number;
}

export interface Model {
    root: Object3D;
    animations: AnimationClip[];
    vertexCount: number;
    /** [vertex][3] as in the file. */
    rest: Float32Array;
    /** [vertex][3] as in the file, or undefined. */
    normals?: Float32Array;
    uvs?: Float32Array;
    /** [vertex][3] linear vertex colours, or undefined. */
    colors?: Float32Array;
    triangles: Uint32Array;
    parts: Part[];
    bones: Bone[];
    joints: Joint[];
    /** Nodes of the file in Pelt's order: parents before their children. */
    nodes: Object3D[];
    /** Pose drivers. */
    driven?: Driven;
    /** Sliders that move joints. */
    controls?: Controls;
    /** Radiance transfer. */
    light?: Relight;
    /** Influences per vertex, K. */
    influences: number;
    /** [vertex][K]. */
    boneIndices: Uint16Array;
    weights: Float32Array;
}

interface GltfJson {
    nodes?: { children?: number[]; skin?: number }[];
    skins?: { joints: number[]; inverseBindMatrices?: number }[];
}

/** three would read four influences and normalise them; without skins it returns the attributes unchanged. */
async function parse(glb: ArrayBuffer): Promise<{ gltf: GLTF; skins: Map<number, number> }> {
    const skins = new Map<number, number>();
    const loader = new GLTFLoader().setMeshoptDecoder(MeshoptDecoder);
    loader.register((parser: GLTFParser) => {
        (parser.json as GltfJson).nodes?.forEach((node, index) => {
            if (node.skin !== undefined) skins.set(index, node.skin);
            delete node.skin;
        });
        return { name: "PELT_skins" };
    });
    const gltf = await loader.parseAsync(glb, "");
    return { gltf, skins };
}

/** The place of every node in Pelt's order: as in the file, but parents before their children. */
function nodePlaces(nodes: { children?: number[] }[]): Map<number, number> {
    const parents = new Map<number, number>();
    nodes.forEach(({ children }, node) => children?.forEach((child) => parents.set(child, node)));
    const places = new Map<number, number>();
    const visit = (node: number | undefined): void => {
        if (node === undefined || places.has(node)) return;
        visit(parents.get(node));
        places.set(node, places.size);
    };
    nodes.forEach((_, node) => visit(node));
    return places;
}

async function listNodes(parser: GLTFParser): Promise<Object3D[]> {
    const places = nodePlaces((parser.json as GltfJson).nodes ?? []);
    return Promise.all([...places.keys()].map((node) => parser.getDependency("node", node) as Promise<Object3D>));
}

/** The name that a node has in the file; three changes names for its own use. */
export function nodeName(node: Object3D): string {
    return (node.userData.name as string) ?? node.name;
}

interface Drawn {
    object: Mesh;
    node: number;
    primitive: number;
}

function listDrawn(gltf: GLTF): Drawn[] {
    const { associations, json } = gltf.parser;
    const places = nodePlaces((json as GltfJson).nodes ?? []);
    const list: Drawn[] = [];
    gltf.scene.traverse((object) => {
        if (!(object as Mesh).geometry) return;
        // A mesh of several primitives is a group: that is the node then.
        const own = associations.get(object);
        const node = own?.nodes ?? (object.parent && associations.get(object.parent)?.nodes) ?? 0;
        list.push({ object: object as Mesh, node, primitive: own?.primitives ?? 0 });
    });
    const place = (drawn: Drawn) => places.get(drawn.node) ?? 0;
    return list.sort((a, b) => place(a) - place(b) || a.primitive - b.primitive);
}

/** Collects the bones and joints that parts use. */
class Rig {
    readonly bones: Bone[] = [];
    readonly joints: Joint[] = [];
    private readonly jointOf = new Map<Object3D, number>();
    private readonly skinBones = new Map<number, Promise<number[]>>();

    constructor(private readonly parser: GLTFParser) {}

    /** The bones of a skin, in its order. */
    ofSkin(skin: number): Promise<number[]> {
        const known = this.skinBones.get(skin);
        if (known) return known;
        const made = this.addSkin(skin);
        this.skinBones.set(skin, made);
        return made;
    }

    private async addSkin(skin: number): Promise<number[]> {
        const { joints, inverseBindMatrices } = (this.parser.json as GltfJson).skins![skin];
        const nodes = (await Promise.all(joints.map((node) => this.parser.getDependency("node", node)))) as Object3D[];
        const binds =
            inverseBindMatrices === undefined
                ? undefined
                : ((await this.parser.getDependency("accessor", inverseBindMatrices)) as BufferAttribute);
        return nodes.map((node, index) => {
            const inverseBind = new Matrix4();
            if (binds) inverseBind.fromArray(binds.array, 16 * index);
            return this.bones.push({ node, inverseBind, joint: this.joint(node) }) - 1;
        });
    }

    private joint(node: Object3D): number {
        const known = this.jointOf.get(node);
        if (known !== undefined) return known;
        const index =
            this.joints.push({ name: nodeName(node), node, parent: -1, weight: 0 }) - 1;
        this.jointOf.set(node, index);
        return index;
    }

    ofNode(node: Object3D): number {
        return this.bones.push({ node, inverseBind: new Matrix4(), joint: -1 }) - 1;
    }

    /** Every node of a file without a surface is a joint. */
    ofTree(root: Object3D): void {
        root.traverse((node) => node !== root && this.joint(node));
    }

    findParents(): void {
        for (const joint of this.joints)
            for (let node = joint.node.parent; node && joint.parent < 0; node = node.parent)
                joint.parent = this.jointOf.get(node) ?? -1;
    }
}

/** Attributes with joints and weights, four at a time: JOINTS_0, JOINTS_1 … */
function influenceSets(geometry: BufferGeometry): [BufferAttribute, BufferAttribute][] {
    const sets: [BufferAttribute, BufferAttribute][] = [];
    for (let n = 0; ; n++) {
        const joints = geometry.getAttribute(n ? `joints_${n}` : "skinIndex");
        const weights = geometry.getAttribute(n ? `weights_${n}` : "skinWeight");
        if (!joints || !weights) return sets;
        sets.push([joints as BufferAttribute, weights as BufferAttribute]);
    }
}

function copy(attribute: BufferAttribute, width: number, out: Float32Array, first: number): void {
    for (let i = 0; i < attribute.count; i++)
        for (let c = 0; c < width; c++) out[(first + i) * width + c] = attribute.getComponent(i, c);
}

/** Weights of a part, made to sum to one. */
function copyInfluences(model: Model, part: Part, bones: number[], joints: Joint[]): void {
    const sets = influenceSets(part.object.geometry);
    const { influences: count, boneIndices, weights } = model;
    for (let i = 0; i < part.vertexCount; i++) {
        const at = (part.firstVertex + i) * count;
        let sum = 0;
        for (const [, attribute] of sets) for (let c = 0; c < 4; c++) sum += attribute.getComponent(i, c);
        sets.forEach(([indices, values], set) => {
            for (let c = 0; c < 4; c++) {
                const bone = bones[indices.getComponent(i, c)] ?? bones[0];
                const weight = sum > 0 ? values.getComponent(i, c) / sum : set + c === 0 ? 1 : 0;
                boneIndices[at + 4 * set + c] = bone;
                weights[at + 4 * set + c] = weight;
                const { joint } = model.bones[bone];
                if (joint >= 0) joints[joint].weight += weight;
            }
        });
    }
}

function indicesOf(object: Mesh): ArrayLike<number> {
    if (!(object as { isMesh?: boolean }).isMesh) return [];
    const { index, attributes } = object.geometry;
    return index
        ? index.array
        : Array.from({ length: attributes.position.count - (attributes.position.count % 3) }, (_, i) => i);
}

function makeParts(drawn: Drawn[]): Part[] {
    let firstVertex = 0;
    let firstIndex = 0;
    return drawn.map(({ object, node }) => {
        const vertexCount = object.geometry.attributes.position.count;
        const indexCount = indicesOf(object).length;
        const look = object.material as { color?: { toArray(): number[] }; map?: Texture | null };
        const part: Part = {
            name: (object.geometry.userData.name as string) || (object.userData.name as string) || object.name,
            firstVertex,
            vertexCount,
            firstIndex,
            indexCount,
            object,
            node,
            color: (look.color?.toArray() ?? [1, 1, 1]) as [number, number, number],
            map: look.map ?? null,
        };
        firstVertex += vertexCount;
        firstIndex += indexCount;
        return part;
    });
}

function makeModel(gltf: GLTF, parts: Part[], rig: Rig): Model {
    const end = parts.at(-1);
    const vertexCount = end ? end.firstVertex + end.vertexCount : 0;
    const influences = Math.max(1, ...parts.map(({ object }) => 4 * influenceSets(object.geometry).length));
    const has = (name: string) => parts.some(({ object }) => object.geometry.hasAttribute(name));
    return {
        root: gltf.scene,
        animations: gltf.animations,
        vertexCount,
        rest: new Float32Array(3 * vertexCount),
        normals: has("normal") ? new Float32Array(3 * vertexCount) : undefined,
        uvs: has("uv") ? new Float32Array(2 * vertexCount) : undefined,
        colors: has("color") ? new Float32Array(3 * vertexCount).fill(1) : undefined,
        triangles: new Uint32Array(end ? end.firstIndex + end.indexCount : 0),
        parts,
        bones: rig.bones,
        joints: rig.joints,
        nodes: [],
        influences,
        boneIndices: new Uint16Array(influences * vertexCount),
        weights: new Float32Array(influences * vertexCount),
    };
}

function shareVertices({ object: a }: Part, { object: b }: Part): boolean {
    const names = ["position", "normal", "uv", "color", "skinIndex", "skinWeight"];
    return (
        !a.morphTargetInfluences && names.every((name) => a.geometry.attributes[name] === b.geometry.attributes[name])
    );
}

function copyTwin(model: Model, part: Part, twin: Part): void {
    const { rest, normals, uvs, colors, boneIndices, weights, influences } = model;
    const copyRows = (array: Float32Array | Uint16Array | undefined, width: number) =>
        array?.copyWithin(
            width * part.firstVertex,
            width * twin.firstVertex,
            width * (twin.firstVertex + twin.vertexCount),
        );
    copyRows(rest, 3);
    copyRows(normals, 3);
    copyRows(uvs, 2);
    copyRows(colors, 3);
    copyRows(boneIndices, influences);
    copyRows(weights, influences);
}

function copyTriangles(model: Model, part: Part): void {
    const indices = indicesOf(part.object);
    for (let n = 0; n < indices.length; n++) model.triangles[part.firstIndex + n] = indices[n] + part.firstVertex;
}

function copyVertices(model: Model, part: Part): void {
    const { position, normal, uv, color } = part.object.geometry.attributes;
    copy(position as BufferAttribute, 3, model.rest, part.firstVertex);
    if (model.normals && normal) copy(normal as BufferAttribute, 3, model.normals, part.firstVertex);
    if (model.colors && color) copy(color as BufferAttribute, 3, model.colors, part.firstVertex);
    if (model.uvs && uv) copy(uv as BufferAttribute, 2, model.uvs, part.firstVertex);
}

/** Reads a GLB file. */
export async function loadModel(glb: ArrayBuffer): Promise<Model> {
    const { gltf, skins } = await parse(glb);
    const drawn = listDrawn(gltf);
    const rig = new Rig(gltf.parser);
    const bones: number[][] = [];
    for (const { object, node } of drawn) {
        const skin = skins.get(node);
        const skinned = skin !== undefined && influenceSets(object.geometry).length > 0;
        bones.push(skinned ? await rig.ofSkin(skin) : [rig.ofNode(object)]);
    }
    if (drawn.length === 0) rig.ofTree(gltf.scene);
    rig.findParents();
    const model = makeModel(gltf, makeParts(drawn), rig);
    model.nodes = await listNodes(gltf.parser);
    model.driven = await Driven.find(gltf, model.parts);
    model.controls = await Controls.find(gltf);
    model.light = Relight.find(gltf, model.parts, model.vertexCount);
    model.parts.forEach((part, p) => {
        part.twin = model.parts.find((other, o) => o < p && bones[o] === bones[p] && shareVertices(other, part));
        copyTriangles(model, part);
        if (part.twin) return copyTwin(model, part, part.twin);
        copyVertices(model, part);
        if (rig.bones[bones[p][0]].joint >= 0) copyInfluences(model, part, bones[p], rig.joints);
        else
            for (let i = part.firstVertex; i < part.firstVertex + part.vertexCount; i++) {
                model.boneIndices[i * model.influences] = bones[p][0];
                model.weights[i * model.influences] = 1;
            }
    });
    return model;
}
