// Vertex positions as Babylon evaluates a glTF file, without a picture (NullEngine).
import { readFileSync } from "node:fs";
import { Logger } from "@babylonjs/core/Misc/logger.js";
import { NullEngine } from "@babylonjs/core/Engines/nullEngine.js";
import { Vector3 } from "@babylonjs/core/Maths/math.vector.js";
import { ImportMeshAsync } from "@babylonjs/core/Loading/sceneLoader.js";
import { Scene } from "@babylonjs/core/scene.js";
import "@babylonjs/core/Animations/animatable.js";
import "@babylonjs/loaders/glTF/2.0/index.js";
import { GLTFLoaderAnimationStartMode } from "@babylonjs/loaders/glTF/glTFFileLoader.js";
import { bareGlb } from "../node/three_positions.mjs";

export const version = JSON.parse(readFileSync(new URL("node_modules/@babylonjs/core/package.json", import.meta.url))).version;

Logger.LogLevels = Logger.NoneLogLevel;

function worldPositions(scene, meshes) {
    const update = (node) => {
        node.computeWorldMatrix(true);
        node.getChildren().forEach(update);
    };
    scene.rootNodes.forEach(update); // parents first
    scene.skeletons.forEach((skeleton) => skeleton.prepare(true));
    const out = [];
    const v = new Vector3();
    for (const mesh of meshes) {
        const local = mesh.getPositionData(true, true);
        const world = mesh.computeWorldMatrix(true);
        for (let i = 0; i < local.length; i += 3) {
            Vector3.TransformCoordinatesFromFloatsToRef(local[i], local[i + 1], local[i + 2], world, v);
            out.push(v.x, v.y, v.z);
        }
    }
    return out;
}

/** A function that puts nodes and morph targets back to where they are now: animations leave them where they were last. */
function restorer(scene) {
    const nodes = [...scene.transformNodes, ...scene.meshes].map((node) => [node, node.position.clone(), node.rotationQuaternion?.clone(), node.scaling.clone()]);
    const targets = scene.morphTargetManagers.flatMap((manager) => Array.from({ length: manager.numTargets }, (_, t) => manager.getTarget(t)));
    const influences = targets.map(({ influence }) => influence);
    return () => {
        for (const [node, position, rotation, scaling] of nodes) {
            node.position.copyFrom(position);
            if (rotation) node.rotationQuaternion = rotation.clone();
            node.scaling.copyFrom(scaling);
        }
        targets.forEach((target, t) => (target.influence = influences[t]));
    };
}

/** Poses at moments, vertices in Babylon's order. */
export async function evaluate({ file, moments }) {
    const engine = new NullEngine();
    const scene = new Scene(engine);
    scene.useRightHandedSystem = true; // else Babylon mirrors the file
    try {
        const { meshes, animationGroups } = await ImportMeshAsync(new Uint8Array(bareGlb(file)), scene, {
            pluginExtension: ".glb",
            pluginOptions: { gltf: { animationStartMode: GLTFLoaderAnimationStartMode.NONE } },
        });
        const drawn = meshes.filter((mesh) => mesh.getTotalVertices() > 0 && mesh.isVisible && mesh.isEnabled());
        const rest = worldPositions(scene, drawn);
        const restore = restorer(scene);
        const poses = moments.map(([motion, time]) => {
            if (motion < 0) return rest;
            const group = animationGroups[motion];
            const fps = group.targetedAnimations[0].animation.framePerSecond;
            group.start(false, 1, group.from, group.to);
            group.goToFrame(time * fps);
            const pose = worldPositions(scene, drawn);
            group.stop();
            restore();
            return pose;
        });
        return { poses, unordered: true };
    } finally {
        scene.dispose();
        engine.dispose();
    }
}
