/** Pointer input on the canvas besides the camera: a click picks, dragging a joint rotates it. */
import { Quaternion, Vector3 } from "three";
import type { Stage } from "./scene";

export interface PointerActions {
    /** The joint under a position, or −1; only while joints can be picked. */
    joint(x: number, y: number, reach: number): number;
    canPose(): boolean;
    pick(x: number, y: number): void;
    /** A joint was dragged, rotated by a rotation in world space. */
    grab(joint: number): void;
    turn(joint: number, rotation: Quaternion): void;
    tool(): PointerTool | undefined;
}

/** Takes the pointer from the camera: a brush, a handle. */
export interface PointerTool {
    /** true: the pointer is its own until up(). */
    down(event: PointerEvent): boolean;
    move(event: PointerEvent): void;
    up(): void;
    /** Without a button pressed, for a brush that follows the pointer. */
    hover?(event: PointerEvent): void;
}

const CLICK_REACH = 4; // pixels that a pointer may move in a click
const RADIANS_PER_PIXEL = 0.008;

/** Converts a drag to a rotation about the axes of the camera. */
export function dragRotation(stage: Stage, dx: number, dy: number): Quaternion {
    const up = new Vector3(0, 1, 0).applyQuaternion(stage.camera.quaternion);
    const right = new Vector3(1, 0, 0).applyQuaternion(stage.camera.quaternion);
    const turn = new Quaternion().setFromAxisAngle(up, dx * RADIANS_PER_PIXEL);
    return turn.premultiply(new Quaternion().setFromAxisAngle(right, dy * RADIANS_PER_PIXEL));
}

export function listenToPointer(canvas: HTMLCanvasElement, stage: Stage, actions: PointerActions): void {
    let start: { x: number; y: number } | undefined;
    let grabbed = -1;
    let held: PointerTool | undefined;
    let last = { x: 0, y: 0 };
    // Before the camera's own listeners, so that a grabbed joint holds it still.
    canvas.addEventListener(
        "pointerdown",
        (event) => {
            start = last = { x: event.clientX, y: event.clientY };
            held = event.button === 0 && actions.tool()?.down(event) ? actions.tool() : undefined;
            if (held) {
                canvas.setPointerCapture(event.pointerId);
                return event.stopImmediatePropagation();
            }
            grabbed = actions.canPose() ? actions.joint(event.clientX, event.clientY, 16) : -1;
            if (grabbed < 0) return;
            actions.grab(grabbed);
            canvas.setPointerCapture(event.pointerId);
            event.stopImmediatePropagation();
        },
        { capture: true },
    );
    canvas.addEventListener("pointermove", (event) => {
        if (held) return held.move(event);
        if (event.buttons === 0) actions.tool()?.hover?.(event);
        if (grabbed < 0) return;
        actions.turn(grabbed, dragRotation(stage, event.clientX - last.x, event.clientY - last.y));
        last = { x: event.clientX, y: event.clientY };
    });
    const end = (event: PointerEvent): void => {
        if (held) {
            held.up();
            held = start = undefined;
            return;
        }
        const still = start && Math.hypot(event.clientX - start.x, event.clientY - start.y) < CLICK_REACH;
        if (still && grabbed < 0 && event.type === "pointerup") actions.pick(event.clientX, event.clientY);
        start = undefined;
        grabbed = -1;
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
}
