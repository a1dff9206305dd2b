// Types of arguments and results. Arrays are [vertex][component] and so on, slowest index first; 0xffffffff is "none".
import type { Model } from "./engine";
import type * as given from "./options";

export type ErrorCode = "usage" | "input" | "unsupported" | "output" | "memory" | "cancelled" | "engine";
export type LogLevel = "warning" | "info" | "debug";
export type Vector = readonly [number, number, number];

export interface InputFile {
    /** With its ending; a file that others refer to may have a folder: "textures/skin.png". */
    name: string;
    data: Uint8Array | ArrayBuffer;
}
export interface OutputFile {
    name: string;
    data: Uint8Array<ArrayBuffer>;
}
export interface Format {
    name: string;
    extensions: string[];
    summary: string;
    reads: boolean;
    writes: boolean;
}
export interface SceneInfo {
    name: string;
    summary: string;
}
export interface MemoryInfo {
    /** Bytes allocated now. */
    current: number;
    /** Most bytes allocated at once. */
    peak: number;
    /** Size of the instance's memory, which never shrinks. */
    total: number;
}

// ---- Models -----------------------------------------------------------------------------------------------------

export interface PartInfo {
    name: string;
    material: string | null;
    firstTriangle: number;
    triangleCount: number;
    firstVertex: number;
    vertexCount: number;
    joint: number;
    skinned: boolean;
}
export interface MotionInfo {
    name: string;
    /** Seconds. */
    start: number;
    end: number;
    trackCount: number;
}
export interface ClipInfo {
    name: string;
    frameCount: number;
    pointCount: number;
    /** [frame] seconds. */
    times: Float32Array;
}
export interface MorphInfo {
    name: string;
    joint: number;
    index: number;
    firstVertex: number;
    vertexCount: number;
    /** In the rest pose. */
    weight: number;
}
export interface SliderInfo {
    name: string;
    /** In the rest pose. */
    value: number;
}
export interface ModelInfo {
    /** Of the file: "glTF"; "": made, not read. */
    format: string;
    vertexCount: number;
    triangleCount: number;
    jointCount: number;
    boneCount: number;
    influenceCount: number;
    parts: PartInfo[];
    motions: MotionInfo[];
    clips: ClipInfo[];
    morphs: MorphInfo[];
    sliders: SliderInfo[];
}
export interface Mesh {
    vertexCount: number;
    triangleCount: number;
    polygonCount: number;
    partCount: number;
    /** [vertex][3] */
    positions: Float32Array | null;
    /** [vertex][3] */
    normals: Float32Array | null;
    /** [vertex][4] */
    tangents: Float32Array | null;
    /** [vertex][2], v upwards. */
    uvs: Float32Array | null;
    /** [vertex][3] */
    colors: Float32Array | null;
    /** [triangle][3] */
    triangles: Uint32Array | null;
    /** [triangle] */
    trianglePolygons: Uint32Array | null;
    /** [vertex] index in the file; null: the same. */
    origins: Uint32Array | null;
}
export interface Skeleton {
    jointCount: number;
    names: string[] | null;
    /** [joint]; 0xffffffff: a root. */
    parents: Uint32Array | null;
    /** [joint][10] translation xyz, rotation xyzw, scale xyz. */
    rest: Float32Array | null;
}
export interface Skin {
    boneCount: number;
    influenceCount: number;
    /** [bone] joint. */
    boneJoints: Uint32Array;
    /** [bone][3][4] */
    inverseBinds: Float32Array;
    /** [vertex][influence] */
    bones: Uint16Array;
    /** [vertex][influence] largest first, sum 1. */
    weights: Float32Array;
}
export interface Pose {
    /** [joint][10] translation xyz, rotation xyzw, scale xyz. */
    locals: Float32Array;
    /** [morph] */
    weights: Float32Array;
}
export interface PoseOptions {
    /** Index; null (default): the rest pose. */
    motion?: number | null;
    /** Seconds. */
    time?: number;
    /** [joint][10] instead of a motion. */
    locals?: Float32Array;
    /** [morph] with locals; default: rest weights. */
    weights?: Float32Array;
    /** [slider] instead of a motion; `locals` are of the other joints. */
    sliders?: Float32Array;
    skinning?: "linear" | "dualQuaternion";
    /** As in AdvanceOptions. */
    into?: Float32Array;
    /** Normals too; the mesh must have some. */
    normals?: boolean;
}
export interface Shape {
    /** [vertex][3] world space. */
    positions: Float32Array;
    normals: Float32Array | null;
}
export interface LoadOptions extends given.LoadOptions {
    /** Names of the files to read, of those given; default: models, caches and motions among them. */
    open?: string[];
}

// ---- Operations -------------------------------------------------------------------------------------------------

export interface CompareOptions {
    motion?: number | null;
    clip?: number;
}
export interface Difference {
    frameCount: number;
    pointCount: number;
    /** E_rms (FESAM). */
    errorRms: number;
    /** E_kg, percent (SMA). */
    errorKg: number;
    /** Largest distance as a fraction of the size, and in units. */
    errorMax: number;
    errorMaxUnits: number;
    maxFrame: number;
    maxPoint: number;
    normalRms: number;
    normalDegrees: number;
}
export interface DecomposeOptions extends given.DecomposeOptions {
    /** Gives motions, weights or, with `add`, bones to add to. May be the model itself. */
    rig?: Model;
    /** Use the motions of the rig. */
    givenMotion?: boolean;
    /** Use the weights of the rig. */
    givenWeights?: boolean;
    /** [point][3] */
    restPositions?: Float32Array;
}
export interface DecomposeReport {
    vertexCount: number;
    frameCount: number;
    boneCount: number;
    influenceCount: number;
    dimension: number;
    iterationCount: number;
    errorFit: number;
    secondsReduce: number;
    secondsSeed: number;
    secondsSolve: number;
    iterationErrors: Float32Array | null;
    keepsMorphs: boolean;
    searchBones: Uint32Array | null;
    searchErrors: Float32Array | null;
    nearRigid: number;
    coreFraction: number;
    negativeCount: number;
}
export interface BindOptions extends given.BindOptions {
    /** Model whose skeleton and motions are used; default: the model's own. */
    skeleton?: Model;
    /** [vertex] α, 0 to 1. */
    vertexFalloff?: Float32Array;
    /** [vertex] numbers by name, for regions "attribute(NAME)": selected from ½ on. */
    attributes?: Record<string, Float32Array>;
    /** For section(). */
    keepFields?: boolean;
}
export interface BindReport {
    grid: number[];
    cell: number[];
    interiorVoxelCount: number;
    boundaryVoxelCount: number;
    blockSize: number;
    solvedVoxelCount: number;
    vertexCount: number;
    bridgedCount: number;
    rigidCount: number;
    unmatchedCount: number;
    outsideCount: number;
    bridgedParts: Uint32Array | null;
    jointCount: number;
    /** [joint] 0: has weights; 1: excluded; 2: control joint; 3: far; 4: overshadowed; 5: unweighted. */
    idle: Uint8Array | null;
    touchingCount: number;
    touchingJoints: number[];
    secondsFit: number;
    secondsVoxelize: number;
    secondsSolve: number;
    secondsWeights: number;
}
export interface Voxels {
    count: number;
    /** In the space of `axes`: the centre of (x, y, z) is origin + (x + ½, y + ½, z + ½) · cell. */
    origin: number[];
    cell: number[];
    /** [axis][3] unit vectors along the axes of the grid; world space, bind pose. */
    axes: number[];
    /** [voxel][3] */
    cells: Uint16Array | null;
    /** [voxel] 1: touched by a triangle. */
    boundary: Uint8Array | null;
}
export interface SectionOptions {
    show?: "voxels" | "field" | "weights";
    axis?: "x" | "y" | "z";
    /** Along the axis; default: where most voxels are. */
    position?: number;
    /** Of a field. */
    joint?: number;
}
export interface Section {
    width: number;
    height: number;
    position: number;
    /** [height][width][4], upper row first. */
    pixels: Uint8Array;
}
export interface CorrectOptions extends given.CorrectOptions {
    /** Default: motion 0 and clip 0. Motion null: the skin stands still. */
    pairs?: { motion: number | null; clip: number }[];
    /** Model that the clips belong to; default: the model itself. */
    source?: Model;
}
export interface CorrectReport {
    rank: number;
    normalRank: number;
    frameCount: number;
    vertexCount: number;
    illConditioned: number;
    /** [rank + 1] E_rms. */
    errors: Float64Array | null;
    normalsBefore: number;
    normalsAfter: number;
}
export interface MotionsToClipsOptions {
    fps?: number;
    source?: Model;
}
export interface ClipPoints {
    /** [frame][point][3] */
    positions: Float32Array;
    /** Of the smallest ball around the first frame; NaN: it is not finite. */
    radius: number;
}
export interface EigenskinOptions extends given.EigenskinOptions {
    /** Model of the clip; default: the model itself. */
    source?: Model;
    motion?: number;
    clip?: number;
    /** Every Nth frame is not learned from; 0: none. */
    holdOut?: number;
}
export interface EigenskinReport {
    exampleCount: number;
    poseCount: number;
    restCount: number;
    oddCount: number;
    modeCount: number;
    morphCount: number;
    vertexCount: number;
    jointCount: number;
    /** [mode + 1] relative error with 0, 1 … modes per joint. */
    errors: Float64Array | null;
    leftOutError: number;
    turnDegrees: number;
    illConditioned: number;
    normalsBefore: number;
    normalsAfter: number;
}
export interface RetargetOptions extends given.RetargetOptions {
    /** Model of the motion. */
    source: Model;
    motion?: number;
    /** Lines "rig joint = motion joint". */
    map?: string;
    name?: string;
}
export interface RetargetReport {
    matched: number;
    frameCount: number;
    fps: number;
    scale: number;
    lift: number;
    stretch: number;
    torn: boolean;
}
export interface SimplifyReport {
    trianglesBefore: number;
    triangleCount: number;
    verticesBefore: number;
    vertexCount: number;
    wantedCount: number;
    poseCount: number;
    harm: number;
}

// ---- Soft tissue ------------------------------------------------------------------------------------------------

/** Settings of a joint; what is missing is inherited. */
export interface JiggleJoint {
    joint: number;
    stiffness?: number;
    damping?: number;
    frequency?: number;
    delta?: number;
    pin?: number;
    strength?: number;
    width?: number;
}
export interface Collider {
    kind: "sphere" | "capsule" | "plane";
    /** Joint whose space it is in; null (default): world space. */
    joint?: number | null;
    /** Sphere: centre; capsule: an end; plane: a point. */
    a: Vector;
    /** Capsule: the other end; plane: normal. */
    b?: Vector;
    radius?: number;
    friction?: number;
}
export interface Forces {
    /** Units / s². */
    gravity?: Vector;
    /** Units / s; needs drag. */
    wind?: Vector;
    /** 1 / s. */
    drag?: number;
}
export interface JiggleOptions extends given.JiggleOptions {
    joints?: JiggleJoint[];
    /** Joined parts; into null: split. */
    parts?: { joint: number; into: number | null }[];
    colliders?: Collider[];
    /** [vertex] each; negative or NaN: no value. */
    maps?: { stiffness?: Float32Array; damping?: Float32Array; delta?: Float32Array; pin?: Float32Array };
    forces?: Forces;
}
export interface SimulateOptions extends JiggleOptions, given.JiggleBakeOptions, given.JiggleSimulateOptions {
    /** Only this motion; default: all. */
    motion?: number;
}
export interface AdvanceOptions {
    /** Pose at the end of the step: local transforms [joint][10], or a motion at a time; default: the same as before. */
    pose?: Float32Array | { motion: number | null; time: number };
    seconds: number;
    normals?: boolean;
    /** [vertex][3] an array to write the positions to, such as those of the frame before: spares the allocation. With a worker its memory
     * is moved there and back: use the result. */
    into?: Float32Array;
}
export interface Grab {
    vertex: number;
    /** Where to pull it, world space. */
    target: Vector;
    /** Tissue nearer than this at rest is pulled too, units; default 0: that around the vertex. */
    radius?: number;
}
export type TissueValue = "stiffness" | "damping" | "delta" | "pin";
export interface JiggleReport {
    cellCount: number;
    particleCount: number;
    pinnedCount: number;
    cell: number;
    volumeCount: number;
    teleportCount: number;
}
export interface Lattice {
    cellCount: number;
    particleCount: number;
    /** [cell][8] particles. */
    cells: Uint32Array | null;
    /** [particle][4] */
    positions: Float32Array | null;
}
