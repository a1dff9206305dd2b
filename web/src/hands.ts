/** Poses a rig by a hand that a headset tracks (WebXR). Only the places of its joints are used: a bone of the rig points where
 * the tracked one does, seen from the palm. The palm itself stays at rest, so that the hand stays in view. */
import { Matrix4, type Object3D, Quaternion, Vector3 } from "three";
import type { Model } from "./model";

const SEGMENTS = ["metacarpal", "phalanx-proximal", "phalanx-intermediate", "phalanx-distal", "tip"];
const FINGERS: Record<string, string> = {
    thumb: "thumb",
    index: "index-finger",
    middle: "middle-finger",
    ring: "ring-finger",
    pinky: "pinky-finger",
    little: "pinky-finger",
};

/** The WebXR joint that a name means: its own name, or a finger with a segment or its number ("LeftHandIndex1"). */
export function handJoint(name: string): string | undefined {
    const text = name.toLowerCase();
    const word = /thumb|index|middle|ring|pinky|little/.exec(text)?.[0];
    if (!word) return /wrist|hand$|hand[._-]?[lr]$/.test(text) ? "wrist" : undefined;
    const segments = word === "thumb" ? SEGMENTS.filter((segment) => segment !== "phalanx-intermediate") : SEGMENTS;
    const number = Number(/(\d)\D*$/.exec(text)?.[1] ?? NaN) - (word === "thumb" ? 1 : 0);
    const segment = segments.find((each) => text.includes(each.replace("phalanx-", ""))) ?? segments[number];
    return segment && `${FINGERS[word]}-${segment}`;
}

/** Where the joints of a hand are, by WebXR name. */
export type HandPoints = Map<string, Vector3>;

/** Axes of the palm: to the thumb's side, along the fingers, and across both: out of the palm of a right hand, out of the back of a
 * left one. Mirrored, one hand has the axes of the other. */
function palm(points: HandPoints, mirrored = false): Matrix4 {
    const [wrist, index, pinky] = PALM.map((name) => points.get(name)!);
    const [a, b] = [index.clone().sub(wrist), pinky.clone().sub(wrist)];
    const along = a.clone().add(b).normalize();
    const normal = a.cross(b).normalize();
    return new Matrix4().makeBasis(along.clone().cross(normal), along, mirrored ? normal.negate() : normal);
}

const PALM = ["wrist", "index-finger-phalanx-proximal", "pinky-finger-phalanx-proximal"];

interface Finger {
    node: Object3D;
    /** WebXR names of the joint and of the next one. */
    name: string;
    next: string;
    /** At rest: rotation in the world, and direction to the next joint. */
    rest: Quaternion;
    direction: Vector3;
    /** The finger joint above. */
    above: Finger | undefined;
}

export class HandRig {
    readonly side: "left" | "right";
    private readonly axes: Matrix4;

    private constructor(
        private readonly fingers: Finger[],
        points: HandPoints,
    ) {
        this.axes = palm(points);
        // The thumb lies before the palm.
        const normal = new Vector3().setFromMatrixColumn(this.axes, 2);
        const thumb = points.get("thumb-phalanx-distal")!.clone().sub(points.get("wrist")!);
        this.side = normal.dot(thumb) > 0 ? "right" : "left";
    }

    /** The hand among the joints of a model, which is at rest; undefined: there is none. */
    static find({ joints }: Model): HandRig | undefined {
        const points: HandPoints = new Map();
        const named = joints.flatMap(({ name, node }) => {
            const joint = handJoint(name);
            if (!joint || points.has(joint)) return [];
            points.set(joint, node.getWorldPosition(new Vector3()));
            return [{ node, joint }];
        });
        if (![...PALM, "thumb-phalanx-distal"].every((name) => points.has(name))) return undefined;
        const fingers: Finger[] = [];
        // Finger by finger, outwards. Metacarpals of the palm do not move.
        for (const finger of new Set(Object.values(FINGERS)))
            for (const [n, segment] of SEGMENTS.slice(0, -1).entries()) {
                const name = `${finger}-${segment}`;
                const node = named.find(({ joint }) => joint === name)?.node;
                if (!node || (n === 0 && finger !== "thumb")) continue;
                const next = SEGMENTS.slice(n + 1).map((each) => `${finger}-${each}`);
                const above = fingers.find((other) => other.next === name);
                const rest = node.getWorldQuaternion(new Quaternion());
                const place = points.get(name)!;
                const end = next.find((each) => points.has(each));
                // Rigs often have no tip: the last bone continues along the axis of the one before.
                const direction = end
                    ? points.get(end)!.clone().sub(place)
                    : above!.direction.clone().applyQuaternion(above!.rest.clone().invert()).applyQuaternion(rest);
                fingers.push({ node, name, next: end ?? next.at(-1)!, rest, direction: direction.normalize(), above });
            }
        return new HandRig(fingers, points);
    }

    /** Rotations of the joints relative to rest, in their own spaces, for a tracked hand. */
    pose(points: HandPoints, side: "left" | "right"): Map<Object3D, Quaternion> {
        const turns = new Map<Object3D, Quaternion>();
        const toRig = this.axes.clone().multiply(palm(points, side !== this.side).transpose());
        const moved = new Map<Finger | undefined, Quaternion>([[undefined, new Quaternion()]]);
        for (const finger of this.fingers) {
            const [from, to] = [finger.name, finger.next].map((name) => points.get(name));
            if (!from || !to) continue;
            const toward = to.clone().sub(from).transformDirection(toRig);
            const above = moved.get(finger.above) ?? new Quaternion();
            const now = finger.direction.clone().applyQuaternion(above);
            const world = new Quaternion().setFromUnitVectors(now, toward).multiply(above);
            moved.set(finger, world);
            const turn = above.clone().invert().multiply(world);
            turns.set(finger.node, finger.rest.clone().invert().multiply(turn).multiply(finger.rest));
        }
        return turns;
    }
}

// ---- Headsets ----

/** The kind of session with hands that the browser offers. */
export async function handSession(): Promise<XRSessionMode | undefined> {
    for (const kind of ["immersive-ar", "immersive-vr"] as const)
        if (typeof XRHand !== "undefined" && (await navigator.xr?.isSessionSupported(kind).catch(() => false))) return kind;
    return undefined;
}

/** The tracked hand, preferably of one side, in this frame. */
export function trackedHand(
    frame: XRFrame,
    space: XRReferenceSpace,
    prefer: "left" | "right",
): { points: HandPoints; side: "left" | "right" } | undefined {
    const sources = [...frame.session.inputSources].filter(({ hand }) => hand);
    const source = sources.find(({ handedness }) => handedness === prefer) ?? sources[0];
    if (!source) return undefined;
    const points: HandPoints = new Map();
    for (const [name, joint] of source.hand!.entries()) {
        const pose = frame.getJointPose!(joint, space);
        if (!pose) return undefined; // all joints of a hand are tracked, or none
        const { x, y, z } = pose.transform.position;
        points.set(name, new Vector3(x, y, z));
    }
    return { points, side: source.handedness === "left" ? "left" : "right" };
}
