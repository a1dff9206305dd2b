/** Motions of other files, played by the joints of a model that have the same names. */
import { AnimationClip, type KeyframeTrack, type Object3D, Quaternion } from "three";
import { MeshoptDecoder } from "three/examples/jsm/libs/meshopt_decoder.module.js";
import { GLTFLoader } from "three/examples/jsm/loaders/GLTFLoader.js";
import { readBvh } from "./bvh";
import type { Joint, Model } from "./model";

export interface Motions {
    /** Nodes at rest. */
    root: Object3D;
    clips: AnimationClip[];
    hasSurface: boolean;
}

export async function readMotions(file: File): Promise<Motions> {
    if (/\.bvh$/i.test(file.name)) {
        const { root, clip } = readBvh(await file.text());
        clip.name = file.name;
        return { root, clips: [clip], hasSurface: false };
    }
    const loader = new GLTFLoader().setMeshoptDecoder(MeshoptDecoder);
    const { scene, animations, parser } = await loader.parseAsync(await file.arrayBuffer(), "");
    return { root: scene, clips: animations, hasSurface: (parser.json.meshes ?? []).length > 0 };
}

/** Without namespace, case and separators: "mixamorig:LeftArm" is "left_arm". */
const plain = (name: string): string => name.replace(/^.*[:|]/, "").replace(/[^\p{L}\p{N}]/gu, "").toLowerCase();

function jointNamed(joints: Joint[], name: string): Joint | undefined {
    return joints.find((joint) => joint.name === name) ?? joints.find((joint) => plain(joint.name) === plain(name));
}

/** Keys of a joint from those of a node. Both turn alike from their rest poses, about the axes of the world: L'(t) = (P'⁻¹ P) L(t)
 * (L⁻¹ P⁻¹ P' L') with rotations L of the nodes at rest and P of their parents in the world. */
function retarget(track: KeyframeTrack, from: Object3D, to: Object3D): KeyframeTrack {
    const world = (node: Object3D | null) => node?.getWorldQuaternion(new Quaternion()) ?? new Quaternion();
    const before = world(to.parent).invert().multiply(world(from.parent));
    const after = from.quaternion.clone().invert().multiply(before.clone().invert()).multiply(to.quaternion);
    const made = track.clone();
    made.name = `${to.uuid}.quaternion`;
    const key = new Quaternion();
    // The map is linear: interpolated values and tangents of splines are mapped with the keys.
    for (let e = 0; e < made.values.length; e += 4)
        key.fromArray(made.values, e).premultiply(before).multiply(after).toArray(made.values, e);
    return made;
}

/** The motions for the joints of a model, which is at rest: rotations only. Throws if no joint has a name in common. */
export function motionsFor(model: Model, { root, clips }: Motions): AnimationClip[] {
    const nodes = new Map<string, Object3D>();
    root.traverse((node) => nodes.set(node.uuid, node).set(node.name, nodes.get(node.name) ?? node));
    const nameOf = (node: Object3D): string => (node.userData.name as string) ?? node.name;
    const made = clips.flatMap((clip) => {
        const tracks = clip.tracks.flatMap((track) => {
            const [, name, property] = /^(.*)\.(\w+)$/.exec(track.name) ?? [];
            const from = nodes.get(name);
            const to = from && property === "quaternion" && jointNamed(model.joints, nameOf(from))?.node;
            return to ? [retarget(track, from, to)] : [];
        });
        return tracks.length > 0 ? [new AnimationClip(clip.name, -1, tracks)] : [];
    });
    if (made.length > 0) return made;
    const some = (names: string[]) => names.slice(0, 3).join(", ") + (names.length > 3 ? ` … (${names.length})` : "");
    if (clips.length === 0) throw new Error("it has no motion");
    const theirs = [...new Set(nodes.values())].map(nameOf).filter(Boolean);
    const ours = model.joints.map(({ name }) => name);
    throw new Error(`none of its joints, ${some(theirs)}, has the name of a joint here: ${some(ours)}`);
}
