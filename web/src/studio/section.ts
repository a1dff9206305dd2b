/** A section through the voxels of a binding: its controls, and the picture in the view, in the rest pose. */
import type { Binding } from "pelt";
import { BufferAttribute, BufferGeometry, DataTexture, DoubleSide, Mesh, MeshBasicMaterial, NearestFilter, RGBAFormat, SRGBColorSpace } from "three";
import { h } from "../dom";
import type { Studio } from "./studio";

type Show = "voxels" | "field" | "weights";
const AXES = "xyz";

export class SectionPlane {
    readonly element: HTMLElement;
    private readonly toggle = h("button", { type: "button", id: "bind-section", "aria-pressed": "false", title: "A cut through the voxels, in the rest pose" }, "Section");
    private readonly axis = h("select", { id: "bind-section-axis", "aria-label": "Axis of the section" }, ...[..."zxy"].map((name) => h("option", { value: name }, `along ${name}`)));
    private readonly what = h(
        "select",
        { id: "bind-section-show", "aria-label": "What the section shows" },
        ...([["weights", "weights"], ["field", "field of the bone"], ["voxels", "voxels"]] as [Show, string][]).map(([value, text]) => h("option", { value }, text)),
    );
    private readonly place = h("input", { type: "range", id: "bind-section-place", min: 0, max: 1, step: 0.005, value: 0.5, "aria-label": "Place of the section" });
    private mesh: Mesh | undefined;
    private on = false;
    /** Sections that are drawn one after another; only the last counts. */
    private order = 0;

    constructor(
        private readonly studio: Studio,
        changed: () => void,
    ) {
        this.toggle.addEventListener("click", () => {
            this.use(!this.on);
            changed();
        });
        for (const input of [this.axis, this.what]) input.addEventListener("change", changed);
        this.place.addEventListener("input", changed);
        this.element = h("div", { class: "section" }, h("div", { class: "row" }, this.toggle, this.what, this.axis), this.place);
        this.showControls();
    }

    private showControls(): void {
        for (const input of [this.axis, this.what, this.place]) input.hidden = !this.on;
    }

    private use(on: boolean): void {
        if (on === this.on) return;
        this.on = on;
        this.toggle.setAttribute("aria-pressed", String(on));
        this.showControls();
        this.studio.viewer.showRestPose(on);
        if (!on) this.clear();
    }

    hide(): void {
        this.use(false);
    }

    private clear(): void {
        this.order++;
        if (!this.mesh) return;
        this.mesh.removeFromParent();
        this.mesh.geometry.dispose();
        const material = this.mesh.material as MeshBasicMaterial;
        material.map?.dispose();
        material.dispose();
        this.mesh = undefined;
        this.studio.viewer.stage.invalidate();
    }

    /** Draws the section of a binding; `joint`: of its field, −1: none is selected. */
    async show(binding: Binding, joint: number): Promise<void> {
        if (!this.on) return;
        const order = ++this.order;
        const axis = AXES.indexOf(this.axis.value);
        const show = this.what.value as Show;
        const [{ origin, cell, axes }, { grid }] = [await binding.voxels(), await binding.report()];
        const position = origin[axis] + this.place.valueAsNumber * grid[axis] * cell[axis];
        const given = show === "field" && joint < 0 ? "voxels" : show;
        const section = await binding.section({ show: given, axis: this.axis.value as "x" | "y" | "z", position, joint: Math.max(joint, 0) });
        if (order !== this.order || !this.on) return;
        this.clear();
        this.order = order;
        const { width, height, pixels } = section;
        // What is outside of the voxels is black: it is left out.
        const flipped = new Uint8Array(pixels.length);
        for (let row = 0; row < height; row++)
            for (let n = 0; n < 4 * width; n += 4) {
                const from = 4 * width * row + n;
                const [r, g, b] = pixels.subarray(from, from + 3);
                flipped.set([r, g, b, r + g + b > 0 ? 255 : 0], 4 * width * (height - 1 - row) + n);
            }
        const texture = new DataTexture(flipped, width, height, RGBAFormat);
        texture.magFilter = texture.minFilter = NearestFilter;
        texture.colorSpace = SRGBColorSpace;
        texture.needsUpdate = true;
        const [across, up] = [axis === 0 ? 2 : 0, axis === 1 ? 2 : 1];
        const corners: number[] = [];
        for (const [u, v] of [[0, 0], [1, 0], [1, 1], [0, 1]]) {
            const at = [0, 0, 0];
            at[axis] = section.position;
            at[across] = origin[across] + u * width * cell[across];
            at[up] = origin[up] + v * height * cell[up];
            for (let c = 0; c < 3; c++) corners.push(at[0] * axes[c] + at[1] * axes[3 + c] + at[2] * axes[6 + c]);
        }
        const geometry = new BufferGeometry();
        geometry.setAttribute("position", new BufferAttribute(Float32Array.from(corners), 3));
        geometry.setAttribute("uv", new BufferAttribute(Float32Array.from([0, 0, 1, 0, 1, 1, 0, 1]), 2));
        geometry.setIndex([0, 1, 2, 0, 2, 3]);
        this.mesh = new Mesh(geometry, new MeshBasicMaterial({ map: texture, side: DoubleSide, alphaTest: 0.5, depthTest: false, transparent: true }));
        this.mesh.renderOrder = 5;
        this.mesh.frustumCulled = false;
        this.studio.viewer.stage.overlays.add(this.mesh);
        this.studio.viewer.stage.invalidate();
    }
}
