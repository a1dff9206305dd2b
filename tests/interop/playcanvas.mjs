// Vertex positions as PlayCanvas evaluates a glTF file, without a picture (NullGraphicsDevice). The engine moves nodes, morph
// weights and bone matrices; its shader's arithmetic, of four influences, is repeated here.
import { readFileSync } from "node:fs";
import * as pc from "playcanvas";
import { bareGlb } from "../node/three_positions.mjs";

export const version = JSON.parse(readFileSync(new URL("node_modules/playcanvas/package.json", import.meta.url))).version;

/** The little of a canvas that an application asks for. */
const canvas = () => ({
    id: "canvas",
    width: 1,
    height: 1,
    style: {},
    addEventListener() {},
    removeEventListener() {},
    getBoundingClientRect: () => ({ x: 0, y: 0, width: 1, height: 1 }),
});

function makeApplication() {
    const element = canvas();
    const options = new pc.AppOptions();
    options.graphicsDevice = new pc.NullGraphicsDevice(element);
    options.componentSystems = [pc.RenderComponentSystem, pc.AnimComponentSystem];
    options.resourceHandlers = [pc.ContainerHandler, pc.AnimClipHandler, pc.AnimStateGraphHandler];
    const application = new pc.AppBase(element);
    application.init(options);
    return application;
}

const loadContainer = (application, file) =>
    new Promise((resolve, reject) => {
        const glb = bareGlb(file);
        const contents = glb.buffer.slice(glb.byteOffset, glb.byteOffset + glb.byteLength);
        const asset = new pc.Asset("file", "container", { url: "file.glb", filename: "file.glb", contents }, null, { morphPreserveData: true });
        asset.once("load", () => resolve(asset.resource));
        asset.once("error", (message) => reject(new Error(`${message}`)));
        application.assets.add(asset);
        application.assets.load(asset);
    });

/** A vertex attribute as the shader gets it: integers that are normalised become shares. */
function streamOf(mesh, semantic) {
    const values = [];
    mesh.getVertexStream(semantic, values);
    const { normalize, dataType } = mesh.vertexBuffer.format.elements.find(({ name }) => name === semantic);
    const largest = { [pc.TYPE_UINT8]: 255, [pc.TYPE_UINT16]: 65535 }[dataType];
    return normalize && largest ? values.map((value) => value / largest) : values;
}

/** Positions of one mesh instance in world space, appended to `out`. */
function addPositions({ mesh, node, skinInstance, morphInstance }, out) {
    const positions = [];
    mesh.getPositions(positions);
    morphInstance?.morph.targets.forEach(({ deltaPositions }, t) => {
        const weight = morphInstance.getWeight(t);
        if (deltaPositions && weight) deltaPositions.forEach((delta, i) => (positions[i] += weight * delta));
    });
    const indices = skinInstance && streamOf(mesh, pc.SEMANTIC_BLENDINDICES);
    const weights = skinInstance && streamOf(mesh, pc.SEMANTIC_BLENDWEIGHT);
    skinInstance?.updateMatrices(node, NaN); // a number that no earlier update had
    const [v, sum] = [new pc.Vec3(), new pc.Vec3()];
    const world = node.getWorldTransform();
    for (let i = 0; i < positions.length / 3; i++) {
        v.set(positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]);
        if (skinInstance) {
            sum.set(0, 0, 0);
            for (let c = 4 * i; c < 4 * i + 4; c++)
                if (weights[c] !== 0) sum.add(skinInstance.matrices[indices[c]].transformPoint(v).mulScalar(weights[c]));
            v.copy(sum);
        }
        world.transformPoint(v, v);
        out.push(v.x, v.y, v.z);
    }
}

function worldPositions(entity) {
    entity.syncHierarchy();
    const out = [];
    for (const render of entity.findComponents("render")) for (const instance of render.meshInstances) addPositions(instance, out);
    return out;
}

/** A fresh copy of the file's nodes at this moment. */
function poseAt(application, container, [motion, time]) {
    const entity = container.instantiateRenderEntity();
    application.root.addChild(entity);
    if (motion >= 0) {
        entity.addComponent("anim", { activate: true });
        entity.anim.assignAnimation("motion", container.animations[motion].resource, undefined, 1, false);
        entity.anim.baseLayer.play("motion");
        application.systems.anim.onAnimationUpdate?.(0);
        entity.anim.baseLayer.activeStateCurrentTime = time;
        entity.anim.update(0);
    }
    const positions = worldPositions(entity);
    entity.destroy();
    return positions;
}

/** Poses at moments, vertices in PlayCanvas's order. */
export async function evaluate({ file, moments }) {
    const application = makeApplication();
    try {
        const container = await loadContainer(application, file);
        return { poses: moments.map((moment) => poseAt(application, container, moment)), unordered: true };
    } finally {
        application.destroy();
    }
}
