/** A herd of the result on the GPU, as the stampede of "Skinning Mesh Animations" (James and Twigg 2005, figure 1): each animal
 * with its own time, place and colour. Animals of a level of detail are one instanced draw call; bone matrices of the whole
 * motion are in a texture, so that per frame only the time is sent, and who is drawn at which level. Morphs do not play. */
import {
    BufferAttribute,
    DataTexture,
    DoubleSide,
    DynamicDrawUsage,
    FloatType,
    Frustum,
    Group,
    type IUniform,
    InstancedBufferGeometry,
    InstancedInterleavedBuffer,
    InterleavedBufferAttribute,
    Matrix4,
    Mesh,
    MeshLambertMaterial,
    type PerspectiveCamera,
    RGBAFormat,
    Sphere,
    Vector3,
} from "three";
import type { Model } from "./model";

export const CROWDS = [1, 100, 1000, 10000];

/** Poses of a motion: [sample][bone][3][4]. */
export interface Poses {
    samples: number;
    palettes: Float32Array;
}

/** Sides of the cells in which a level keeps one vertex, as parts of the size; a level for each doubling of the distance. */
const CELLS = [0, 1 / 40, 1 / 20, 1 / 10];
/** The first level ends at this distance, in sizes. */
const NEAR = 6;
/** Between neighbours, in sizes. */
const SPACING = 0.75;
/** place x, place z, heading, scale; time of its own, red, green, blue. */
const FLOATS = 8;

const SHADER = /* glsl */ `
uniform highp sampler2D crowdPoses;
uniform float crowdTime, crowdSamples;
attribute vec4 crowdBones, crowdWeights, crowdPlace, crowdLook;
void crowdVertex(inout vec3 place, inout vec3 turned) {
    float at = fract(crowdTime + crowdLook.x) * crowdSamples, part = fract(at);
    int before = int(at), after = (before + 1) % int(crowdSamples);
    vec4 rows[3] = vec4[3](vec4(0.0), vec4(0.0), vec4(0.0));
    for (int k = 0; k < 4; k++)
        for (int row = 0; row < 3; row++) {
            int column = 3 * int(crowdBones[k]) + row;
            vec4 a = texelFetch(crowdPoses, ivec2(column, before), 0), b = texelFetch(crowdPoses, ivec2(column, after), 0);
            rows[row] += crowdWeights[k] * mix(a, b, part);
        }
    vec4 p = vec4(place, 1.0);
    place = vec3(dot(rows[0], p), dot(rows[1], p), dot(rows[2], p));
    turned = vec3(dot(rows[0].xyz, turned), dot(rows[1].xyz, turned), dot(rows[2].xyz, turned));
    float c = cos(crowdPlace.z), s = sin(crowdPlace.z);
    mat3 heading = mat3(c, 0.0, -s, 0.0, 1.0, 0.0, s, 0.0, c);
    place = crowdPlace.w * (heading * place) + vec3(crowdPlace.x, 0.0, crowdPlace.y);
    turned = normalize(heading * turned);
}
`;

/** Triangles of a level: vertices in one cell become the first of them, triangles without an area are dropped. */
export function coarsen(triangles: Uint32Array, rest: Float32Array, cell: number): Uint32Array {
    if (cell === 0) return triangles;
    const kept = new Map<string, number>();
    const stand = Uint32Array.from({ length: rest.length / 3 }, (_, i) => {
        const key = [0, 1, 2].map((c) => Math.floor(rest[3 * i + c] / cell)).join();
        if (!kept.has(key)) kept.set(key, i);
        return kept.get(key)!;
    });
    const out: number[] = [];
    for (let t = 0; t < triangles.length; t += 3) {
        const [a, b, c] = [0, 1, 2].map((e) => stand[triangles[t + e]]);
        if (a !== b && b !== c && c !== a) out.push(a, b, c);
    }
    return Uint32Array.from(out);
}

/** The four largest weights of every vertex, with sum 1: [vertex][4]. */
function fourInfluences({ vertexCount, influences, boneIndices, weights }: Model): [Float32Array, Float32Array] {
    const [bones, shares] = [new Float32Array(4 * vertexCount), new Float32Array(4 * vertexCount)];
    for (let i = 0; i < vertexCount; i++) {
        const order = Array.from({ length: influences }, (_, k) => influences * i + k)
            .sort((a, b) => weights[b] - weights[a])
            .slice(0, 4);
        const sum = order.reduce((total, at) => total + weights[at], 0) || 1;
        order.forEach((at, k) => {
            bones[4 * i + k] = boneIndices[at];
            shares[4 * i + k] = weights[at] / sum;
        });
    }
    return [bones, shares];
}

/** Numbers from 0 to 1, the same in every browser. */
function randoms(seed: number): () => number {
    let state = seed;
    return () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state / 2 ** 32;
    };
}

/** Rows of animals, [count][FLOATS]: each a little off its place, in its own coat. */
function placeAnimals(count: number, size: number): Float32Array {
    const random = randoms(7);
    const side = Math.ceil(Math.sqrt(count));
    const out = new Float32Array(FLOATS * count);
    for (let i = 0; i < count; i++) {
        const [column, row] = [i % side, Math.floor(i / side)].map((n) => n - (side - 1) / 2);
        const off = count > 1 ? 1 : 0;
        const jitter = (reach: number) => off * reach * (2 * random() - 1);
        const coat = 0.3 + 0.85 * random();
        const warm = 0.3 * random();
        const one = count > 1 ? [coat, coat * (1 - warm), coat * (1 - 2 * warm)] : [1, 1, 1];
        const place = [size * (SPACING * column + jitter(0.33)), size * (1.4 * SPACING * row + jitter(0.45))];
        out.set([...place, jitter(0.3), 1 + jitter(0.15), off * random(), ...one], FLOATS * i);
    }
    return out;
}

interface Level {
    geometry: InstancedBufferGeometry;
    instances: InstancedInterleavedBuffer;
    triangles: number;
}

export class Crowd {
    readonly group = new Group();
    /** Half the side of the herd, in object units. */
    readonly reach: number;
    private readonly levels: Level[];
    private readonly animals: Float32Array;
    private readonly uniforms: Record<string, IUniform>;
    private readonly material: MeshLambertMaterial;
    private readonly texture: DataTexture;
    private readonly times: number[] = [];

    /** `colors` are those of the viewer; `size`, `middle`: the largest side of the model and its centre. */
    constructor(
        model: Model,
        poses: Poses,
        colors: BufferAttribute,
        readonly count: number,
        readonly size: number,
        private readonly middle: Vector3,
    ) {
        this.animals = placeAnimals(count, size);
        this.reach = 0.7 * SPACING * size * Math.ceil(Math.sqrt(count));
        const columns = 3 * model.bones.length;
        this.texture = new DataTexture(poses.palettes, columns, poses.samples, RGBAFormat, FloatType);
        this.texture.needsUpdate = true;
        this.uniforms = {
            crowdPoses: { value: this.texture },
            crowdTime: { value: 0 },
            crowdSamples: { value: poses.samples },
        };
        this.material = new MeshLambertMaterial({ vertexColors: true, side: DoubleSide });
        this.material.onBeforeCompile = (shader) => {
            Object.assign(shader.uniforms, this.uniforms);
            shader.vertexShader = shader.vertexShader
                .replace("void main() {", `${SHADER}\nvoid main() { vec3 crowdP = position, crowdN = normal; crowdVertex(crowdP, crowdN);`)
                .replace("#include <color_vertex>", "$&\nvColor.rgb *= crowdLook.yzw;")
                .replace("#include <beginnormal_vertex>", "$&\nobjectNormal = crowdN;")
                .replace("#include <begin_vertex>", "$&\ntransformed = crowdP;");
        };
        this.material.customProgramCacheKey = () => "pelt-crowd";
        const [bones, weights] = fourInfluences(model);
        const shared: [string, BufferAttribute][] = [
            ["position", new BufferAttribute(model.rest, 3)],
            ["normal", new BufferAttribute(model.normals ?? new Float32Array(3 * model.vertexCount).fill(0.577), 3)],
            ["color", colors],
            ["crowdBones", new BufferAttribute(bones, 4)],
            ["crowdWeights", new BufferAttribute(weights, 4)],
        ];
        this.levels = CELLS.map((cell) => {
            const geometry = new InstancedBufferGeometry();
            const triangles = coarsen(model.triangles, model.rest, cell * size);
            geometry.setIndex(new BufferAttribute(triangles, 1));
            for (const [name, attribute] of shared) geometry.setAttribute(name, attribute);
            const instances = new InstancedInterleavedBuffer(new Float32Array(FLOATS * count), FLOATS);
            instances.setUsage(DynamicDrawUsage);
            geometry.setAttribute("crowdPlace", new InterleavedBufferAttribute(instances, 4, 0));
            geometry.setAttribute("crowdLook", new InterleavedBufferAttribute(instances, 4, 4));
            geometry.instanceCount = 0;
            const mesh = new Mesh(geometry, this.material);
            mesh.frustumCulled = false;
            this.group.add(mesh);
            return { geometry, instances, triangles: triangles.length / 3 };
        });
    }

    /** The time of the motion, as a part of it. */
    set time(part: number) {
        this.uniforms.crowdTime.value = part;
    }

    /** Sorts the animals that the camera sees by level. */
    update(camera: PerspectiveCamera): void {
        const { animals, levels, size, middle } = this;
        camera.updateMatrixWorld();
        const view = new Matrix4().multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse);
        const frustum = new Frustum().setFromProjectionMatrix(view);
        const ball = new Sphere(new Vector3(), 1.2 * size);
        for (const { geometry } of levels) geometry.instanceCount = 0;
        for (let at = 0; at < animals.length; at += FLOATS) {
            ball.center.set(animals[at] + middle.x, middle.y, animals[at + 1] + middle.z);
            if (!frustum.intersectsSphere(ball)) continue;
            const distance = ball.center.distanceTo(camera.position) / (NEAR * size);
            const { geometry, instances } = levels[Math.min(Math.max(Math.ceil(Math.log2(distance)), 0), levels.length - 1)];
            const array = instances.array as Float32Array;
            const to = FLOATS * geometry.instanceCount++;
            for (let e = 0; e < FLOATS; e++) array[to + e] = animals[at + e];
        }
        for (const { geometry, instances } of levels) {
            instances.clearUpdateRanges();
            instances.addUpdateRange(0, FLOATS * geometry.instanceCount);
            instances.needsUpdate = true;
        }
    }

    /** A frame is drawn at this time, in milliseconds. */
    drawn(now: number): void {
        this.times.push(now);
        if (this.times.length > 31) this.times.shift();
    }

    figures(): { animals: number; levels: number[]; triangles: number; milliseconds: number } {
        const levels = this.levels.map(({ geometry }) => geometry.instanceCount);
        const { times } = this;
        return {
            animals: this.count,
            levels,
            triangles: levels.reduce((sum, count, level) => sum + count * this.levels[level].triangles, 0),
            milliseconds: times.length > 1 ? (times.at(-1)! - times[0]) / (times.length - 1) : NaN,
        };
    }

    dispose(): void {
        for (const { geometry } of this.levels) geometry.dispose();
        this.material.dispose();
        this.texture.dispose();
    }
}
