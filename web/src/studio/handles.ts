/** Points in the view that can be dragged, parallel to the picture. */
import { Mesh, MeshBasicMaterial, Plane, SphereGeometry, Vector3 } from "three";
import { rayThrough } from "../picking";
import type { PointerTool } from "../pointer";
import type { Viewer } from "../viewer";

/** Pixels around a handle that are its own. */
const REACH = 16;

export interface Handle {
    place: Vector3;
    /** It is dragged; `done`: for the last time. */
    drag(to: Vector3, done: boolean): void;
}

/** Follows the pointer on a plane through a point, parallel to the picture. */
export class Drag {
    private readonly plane: Plane;

    constructor(
        private readonly viewer: Viewer,
        from: Vector3,
    ) {
        const toward = viewer.stage.camera.getWorldDirection(new Vector3());
        this.plane = new Plane().setFromNormalAndCoplanarPoint(toward, from);
    }

    at(event: PointerEvent): Vector3 | undefined {
        const { stage } = this.viewer;
        const place = stage.locate(event.clientX, event.clientY);
        const { origin, direction } = rayThrough(stage.camera, place.x, place.y);
        const along = this.plane.normal.dot(direction);
        const distance = along === 0 ? -1 : -(this.plane.distanceToPoint(origin) / along);
        return distance > 0 ? origin.addScaledVector(direction, distance) : undefined;
    }
}

export class Handles implements PointerTool {
    private readonly dots: Mesh[] = [];
    private held: { handle: Handle; drag: Drag; last: Vector3 } | undefined;

    constructor(private readonly viewer: Viewer) {}

    private list: readonly Handle[] = [];

    /** Draws handles in the place of those before. */
    show(list: readonly Handle[], size: number): void {
        this.list = list;
        for (const dot of this.dots.splice(0)) {
            dot.removeFromParent();
            dot.geometry.dispose();
            (dot.material as MeshBasicMaterial).dispose();
        }
        for (const { place } of list) {
            const dot = new Mesh(new SphereGeometry(size, 16, 12), new MeshBasicMaterial({ color: 0xd9480f, depthTest: false, transparent: true }));
            dot.position.copy(place);
            dot.renderOrder = 25;
            dot.frustumCulled = false;
            this.viewer.stage.overlays.add(dot);
            this.dots.push(dot);
        }
        this.viewer.stage.invalidate();
    }

    /** The same handles at other places, while one is dragged. */
    follow(list: readonly Handle[], size: number): void {
        const { held } = this;
        const place = this.list.findIndex((handle) => handle === held?.handle);
        this.show(list, size);
        if (held && list[place]) this.held = { ...held, handle: list[place] };
    }

    private near(event: PointerEvent): Handle | undefined {
        const { stage } = this.viewer;
        const { x, y, width, height } = stage.locate(event.clientX, event.clientY);
        let [best, nearest] = [undefined as Handle | undefined, REACH];
        for (const handle of this.list) {
            const p = handle.place.clone().project(stage.camera);
            const distance = Math.hypot(((p.x - x) * width) / 2, ((p.y - y) * height) / 2);
            if (p.z < 1 && distance < nearest) [best, nearest] = [handle, distance];
        }
        return best;
    }

    down(event: PointerEvent): boolean {
        const handle = this.near(event);
        this.held = handle && { handle, drag: new Drag(this.viewer, handle.place), last: handle.place };
        return this.held !== undefined;
    }

    get active(): boolean {
        return this.held !== undefined;
    }

    move(event: PointerEvent): void {
        const to = this.held?.drag.at(event);
        if (!this.held || !to) return;
        this.held.last = to;
        this.held.handle.drag(to, false);
    }

    up(): void {
        const { held } = this;
        this.held = undefined;
        held?.handle.drag(held.last, true);
    }
}
