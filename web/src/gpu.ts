/** Morphs and skins in the vertex shader, as in the EigenSkin paper (§2.5, eq. 2): displacements, weights and rest shape
 * stay in textures; per pose, only morph weights and bone matrices are sent. The same sums as Poser, in floats. */
import {
    BufferAttribute,
    BufferGeometry,
    Camera,
    DataTexture,
    FloatType,
    GLSL3,
    type IUniform,
    type Material,
    NoBlending,
    Points,
    RGBAFormat,
    ShaderMaterial,
    WebGLRenderTarget,
    type WebGLRenderer,
} from "three";
import type { Model } from "./model";
import type { Poser } from "./pose";

/** Texels per row of a texture, 2^11. */
const WIDTH = 2048;
/** Entries are counted in floats. */
const MOST_ENTRIES = 2 ** 24;

/* peltRest, two texels per vertex: rest position and first entry, rest normal and number of entries. peltMorphs, one or
 * two texels per entry: displacement and target, displacement of the normal. peltSkin: bone, weight, bone, weight.
 * peltPose: three rows of every bone's matrix, three of the matrix for normals, then morph weights, four per texel. */
const SHADER = /* glsl */ `
uniform bool peltOn;
uniform highp sampler2D peltRest, peltMorphs, peltSkin, peltPose;
uniform int peltPairs, peltStride, peltBones;
vec4 peltAt(highp sampler2D table, int n) { return texelFetch(table, ivec2(n & ${WIDTH - 1}, n >> 11), 0); }
void peltVertex(out vec3 position, out vec3 normal) {
    vec4 p = peltAt(peltRest, 2 * gl_VertexID), n = peltAt(peltRest, 2 * gl_VertexID + 1);
    int first = int(p.w), end = first + int(n.w);
    for (int e = first; e < end; e++) {
        vec4 d = peltAt(peltMorphs, peltStride * e);
        int target = int(d.w);
        float weight = peltAt(peltPose, 6 * peltBones + (target >> 2))[target & 3];
        p.xyz += weight * d.xyz;
        if (peltStride == 2) n.xyz += weight * peltAt(peltMorphs, 2 * e + 1).xyz;
    }
    p.w = 1.0;
    position = normal = vec3(0.0);
    for (int k = 0; k < peltPairs; k++) {
        vec4 pair = peltAt(peltSkin, peltPairs * gl_VertexID + k);
        for (int side = 0; side < 4; side += 2) {
            int bone = 3 * int(pair[side]);
            vec3 moved, turned;
            for (int row = 0; row < 3; row++) {
                moved[row] = dot(peltAt(peltPose, bone + row), p);
                turned[row] = dot(peltAt(peltPose, 3 * peltBones + bone + row).xyz, n.xyz);
            }
            position += pair[side + 1] * moved;
            normal += pair[side + 1] * turned;
        }
    }
    normal /= max(length(normal), 1e-30);
}
`;

const READER = /* glsl */ `
uniform ivec2 peltSize;
out vec3 peltP, peltN;
${SHADER}
void main() {
    peltVertex(peltP, peltN);
    vec2 pixel = vec2(gl_VertexID % peltSize.x, gl_VertexID / peltSize.x) + 0.5;
    gl_Position = vec4(2.0 * pixel / vec2(peltSize) - 1.0, 0.0, 1.0);
    gl_PointSize = 1.0;
}
`;

const WRITER = /* glsl */ `
in highp vec3 peltP, peltN;
layout(location = 0) out highp vec4 first;
layout(location = 1) out highp vec4 second;
void main() {
    first = vec4(peltP, 1.0);
    second = vec4(peltN, 1.0);
}
`;

function table(texels: number): { array: Float32Array; texture: DataTexture } {
    const rows = Math.max(1, Math.ceil(texels / WIDTH));
    const array = new Float32Array(4 * WIDTH * rows);
    const texture = new DataTexture(array, WIDTH, rows, RGBAFormat, FloatType);
    texture.needsUpdate = true;
    return { array, texture };
}

export class GpuSkin {
    private readonly uniforms: Record<string, IUniform>;
    private readonly textures: DataTexture[];
    private readonly pose: Float32Array;

    /** Whether the tables of a model fit into textures. */
    static fits({ vertexCount, influences }: Model, { table }: Poser, largest: number): boolean {
        const texels = Math.max(2 * vertexCount, (vertexCount * Math.max(influences, 2)) / 2, 2 * table.targets.length);
        return vertexCount > 0 && largest >= WIDTH && table.targets.length < MOST_ENTRIES && texels <= WIDTH * largest;
    }

    constructor(
        private readonly model: Model,
        private readonly poser: Poser,
    ) {
        const { vertexCount } = model;
        const morphs = poser.table;
        const stride = morphs.normals ? 2 : 1;
        const rest = table(2 * vertexCount);
        const entries = table(stride * morphs.targets.length);
        const pose = table(6 * model.bones.length + Math.ceil(morphs.weights.length / 4));
        for (let i = 0; i < vertexCount; i++) {
            for (let c = 0; c < 3; c++) {
                rest.array[8 * i + c] = model.rest[3 * i + c];
                rest.array[8 * i + 4 + c] = model.normals?.[3 * i + c] ?? 0;
            }
            rest.array[8 * i + 3] = morphs.first[i];
            rest.array[8 * i + 7] = morphs.first[i + 1] - morphs.first[i];
        }
        morphs.targets.forEach((target, e) => {
            const at = 4 * stride * e;
            for (let c = 0; c < 3; c++) {
                entries.array[at + c] = morphs.positions[3 * e + c];
                if (morphs.normals) entries.array[at + 4 + c] = morphs.normals[3 * e + c];
            }
            entries.array[at + 3] = target;
        });
        this.pose = pose.array;
        this.textures = [rest, entries, pose].map(({ texture }) => texture);
        this.uniforms = {
            peltOn: { value: true },
            peltRest: { value: rest.texture },
            peltSkin: { value: null },
            peltMorphs: { value: entries.texture },
            peltPose: { value: pose.texture },
            peltPairs: { value: 0 },
            peltStride: { value: stride },
            peltBones: { value: model.bones.length },
        };
        this.updateSkin();
    }

    /** Takes the influences of the model. */
    updateSkin(): void {
        const { vertexCount, influences, boneIndices, weights } = this.model;
        const pairs = Math.ceil(influences / 2);
        const { peltPairs, peltSkin } = this.uniforms;
        if (pairs !== peltPairs.value) {
            (peltSkin.value as DataTexture | null)?.dispose();
            peltPairs.value = pairs;
            peltSkin.value = table(pairs * vertexCount).texture;
        }
        const texture = peltSkin.value as DataTexture;
        const array = texture.image.data as unknown as Float32Array;
        for (let i = 0; i < vertexCount; i++)
            for (let k = 0; k < influences; k++) {
                array[4 * pairs * i + 2 * k] = boneIndices[influences * i + k];
                array[4 * pairs * i + 2 * k + 1] = weights[influences * i + k];
            }
        texture.needsUpdate = true;
    }

    /** Draws by the textures; false: by the position and normal attributes. */
    set on(on: boolean) {
        this.uniforms.peltOn.value = on;
    }

    get on(): boolean {
        return this.uniforms.peltOn.value as boolean;
    }

    /** Takes the pose of the poser. */
    update(): void {
        const { pose } = this;
        const { palette, directions, table } = this.poser;
        const bones = this.model.bones.length;
        pose.set(palette);
        for (let n = 0; n < 3 * bones; n++)
            for (let c = 0; c < 3; c++) pose[12 * bones + 4 * n + c] = directions[3 * n + c];
        pose.set(table.weights, 24 * bones);
        this.uniforms.peltPose.value.needsUpdate = true;
    }

    /** Makes a built-in material move its vertices. */
    patch(material: Material): void {
        material.onBeforeCompile = (shader) => {
            Object.assign(shader.uniforms, this.uniforms);
            shader.vertexShader = shader.vertexShader
                .replace(
                    "void main() {",
                    `${SHADER}\nvoid main() { vec3 peltP, peltN; if (peltOn) peltVertex(peltP, peltN);`,
                )
                .replace("#include <beginnormal_vertex>", "$&\nif (peltOn) objectNormal = peltN;")
                .replace("#include <begin_vertex>", "$&\nif (peltOn) transformed = peltP;");
        };
        material.customProgramCacheKey = () => "pelt-skin";
    }

    /** Positions and normals [vertex][3] as the vertex shader computes them. */
    read(renderer: WebGLRenderer): { positions: Float32Array; normals: Float32Array } {
        const count = this.model.vertexCount;
        const [width, height] = [WIDTH, Math.ceil(count / WIDTH)];
        const target = new WebGLRenderTarget(width, height, { count: 2, type: FloatType, depthBuffer: false });
        const material = new ShaderMaterial({
            uniforms: { ...this.uniforms, peltSize: { value: [width, height] } },
            vertexShader: READER,
            fragmentShader: WRITER,
            glslVersion: GLSL3,
            blending: NoBlending,
            depthTest: false,
        });
        const geometry = new BufferGeometry().setAttribute(
            "position",
            new BufferAttribute(new Float32Array(3 * count), 3),
        );
        const points = new Points(geometry, material);
        points.frustumCulled = false;
        renderer.setRenderTarget(target);
        renderer.render(points, new Camera());
        const [positions, normals] = [0, 1].map((index) => {
            const texels = new Float32Array(4 * width * height);
            renderer.readRenderTargetPixels(target, 0, 0, width, height, texels, undefined, index);
            return Float32Array.from({ length: 3 * count }, (_, n) => texels[4 * Math.floor(n / 3) + (n % 3)]);
        });
        renderer.setRenderTarget(null);
        for (const used of [target, material, geometry]) used.dispose();
        return { positions, normals };
    }

    dispose(): void {
        for (const texture of [...this.textures, this.uniforms.peltSkin.value as DataTexture]) texture.dispose();
    }
}
