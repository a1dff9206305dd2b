/** Reads BVH files: a skeleton without rotations at rest, one or more roots, and the rotations of its joints. */
import { AnimationClip, MathUtils, Object3D, Quaternion, QuaternionKeyframeTrack, Vector3 } from "three";

interface Channels {
    node: Object3D;
    names: string[];
    /** [frame][4] */
    rotations: number[];
}

const AXES = { x: new Vector3(1, 0, 0), y: new Vector3(0, 1, 0), z: new Vector3(0, 0, 1) };

export function readBvh(text: string): { root: Object3D; clip: AnimationClip } {
    const lines = text.split(/[\r\n]+/).map((line) => line.trim());
    const start = lines.findIndex((line) => /^MOTION$/i.test(line));
    if (!/^HIERARCHY$/i.test(lines.find(Boolean) ?? "") || start < 0) throw new Error("it is not a BVH file");
    const root = new Object3D();
    const joints: Channels[] = [];
    let node = root;
    for (const line of lines.slice(0, start)) {
        const [word, ...rest] = line.split(/\s+/);
        if (/^(ROOT|JOINT|End)$/i.test(word)) {
            const child = new Object3D();
            child.name = /^End$/i.test(word) ? "" : rest.join(" ");
            node.add(child);
            node = child;
        } else if (/^OFFSET$/i.test(word)) node.position.fromArray(rest.map(Number));
        else if (/^CHANNELS$/i.test(word)) joints.push({ node, names: rest.slice(1), rotations: [] });
        else if (word === "}") node = node.parent ?? root;
    }
    const step = Number(/[\d.eE+-]+$/.exec(lines[start + 2])?.[0]);
    const width = joints.reduce((sum, { names }) => sum + names.length, 0);
    const numbers = lines.slice(start + 3).join(" ").split(/\s+/).filter(Boolean).map(Number);
    const frames = Math.floor(numbers.length / width);
    if (!(step > 0) || !(frames > 0) || numbers.some(Number.isNaN)) throw new Error("its motion cannot be read");
    let at = 0;
    for (let k = 0; k < frames; k++)
        for (const { names, rotations } of joints) {
            const whole = new Quaternion();
            for (const name of names) {
                const [, axis] = /^(\w)rotation$/i.exec(name) ?? [];
                const angle = MathUtils.degToRad(numbers[at++]);
                if (axis) whole.multiply(new Quaternion().setFromAxisAngle(AXES[axis.toLowerCase() as "x"], angle));
            }
            rotations.push(...whole.toArray());
        }
    const times = Array.from({ length: frames }, (_, k) => k * step);
    const tracks = joints.map((joint) => new QuaternionKeyframeTrack(`${joint.node.uuid}.quaternion`, times, joint.rotations));
    return { root, clip: new AnimationClip("", -1, tracks) };
}
