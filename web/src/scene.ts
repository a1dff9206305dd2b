/** The three-dimensional view: two shapes of one model, camera, light, ground. Draws only when something changed. */
import {
    BufferAttribute,
    BufferGeometry,
    Color as ThreeColor,
    DirectionalLight,
    DoubleSide,
    DynamicDrawUsage,
    Group,
    HemisphereLight,
    LineBasicMaterial,
    LineSegments,
    Mesh,
    MeshBasicMaterial,
    MeshLambertMaterial,
    PerspectiveCamera,
    Scene,
    Vector3,
    WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { CLAY } from "./colors";
import type { Crowd } from "./crowd";
import type { Extent } from "./extent";
import { GpuSkin } from "./gpu";
import type { Model } from "./model";
import type { Poser } from "./pose";
import type { View } from "./state";

function dynamic(array: Float32Array, width = 3): BufferAttribute {
    return new BufferAttribute(array, width).setUsage(DynamicDrawUsage);
}

export type Surface = "colors" | "materials" | "plain" | "light";

interface Materials {
    painted: MeshLambertMaterial;
    plain: MeshLambertMaterial;
    /** Vertex colours are the light that leaves the surface. */
    light: MeshBasicMaterial;
    /** One per part. */
    looks: MeshLambertMaterial[];
    wire: LineBasicMaterial;
}

/** Materials of a shape; `skin` moves its vertices in their shaders. */
function makeMaterials(model: Model, skin?: GpuSkin): Materials {
    const surface = {
        vertexColors: true,
        side: DoubleSide,
        polygonOffset: true,
        polygonOffsetFactor: 1,
        polygonOffsetUnits: 1,
    };
    const painted = new MeshLambertMaterial(surface);
    const plain = new MeshLambertMaterial({ ...surface, vertexColors: false, color: new ThreeColor(...CLAY) });
    const looks = model.parts.map(({ map }) => new MeshLambertMaterial({ ...surface, map, alphaTest: map ? 0.5 : 0 }));
    const wire = new LineBasicMaterial({ transparent: true, opacity: 0.35 });
    const light = new MeshBasicMaterial(surface);
    if (skin) for (const material of [painted, plain, light, wire, ...looks]) skin.patch(material);
    return { painted, plain, light, looks, wire };
}

/** One displayed copy of the model: result or source. */
export class Shape {
    readonly positions: Float32Array;
    readonly normals: Float32Array;
    readonly mesh: Mesh;
    private wire: LineSegments | undefined;

    constructor(
        private readonly model: Model,
        colors: BufferAttribute,
        private readonly materials: Materials,
    ) {
        this.positions = new Float32Array(3 * model.vertexCount);
        this.normals = new Float32Array(3 * model.vertexCount);
        const geometry = new BufferGeometry();
        geometry.setIndex(new BufferAttribute(model.triangles, 1));
        geometry.setAttribute("position", dynamic(this.positions));
        geometry.setAttribute("normal", dynamic(this.normals));
        geometry.setAttribute("color", colors);
        if (model.uvs) geometry.setAttribute("uv", new BufferAttribute(model.uvs, 2));
        model.parts.forEach(({ firstIndex, indexCount }, part) => geometry.addGroup(firstIndex, indexCount, part));
        this.mesh = new Mesh(geometry, materials.painted);
        this.mesh.frustumCulled = false;
    }

    /** Positions and normals changed. */
    update(): void {
        this.mesh.geometry.attributes.position.needsUpdate = true;
        this.mesh.geometry.attributes.normal.needsUpdate = true;
    }

    /** Vertex colours alone, the file's own materials, or neither. */
    use(surface: Surface): void {
        const { looks, painted, plain, light } = this.materials;
        this.mesh.material = { materials: looks, colors: painted, plain, light }[surface];
    }

    showWireframe(shown: boolean): void {
        if (shown && !this.wire) {
            const lines = new BufferGeometry();
            lines.setIndex(new BufferAttribute(edgesOf(this.model.triangles), 1));
            lines.setAttribute("position", this.mesh.geometry.attributes.position);
            this.wire = new LineSegments(lines, this.materials.wire);
            this.wire.frustumCulled = false;
            this.mesh.add(this.wire);
        }
        if (this.wire) this.wire.visible = shown;
    }

    dispose(): void {
        this.mesh.geometry.dispose();
        this.wire?.geometry.dispose();
    }
}

/** Every edge once. */
function edgesOf(triangles: Uint32Array): Uint32Array {
    const seen = new Set<number>();
    for (let t = 0; t < triangles.length; t++) {
        const a = triangles[t];
        const b = triangles[t % 3 === 2 ? t - 2 : t + 1];
        seen.add(Math.min(a, b) * 2 ** 26 + Math.max(a, b));
    }
    const edges = new Uint32Array(2 * seen.size);
    let at = 0;
    for (const key of seen) {
        edges[at++] = Math.floor(key / 2 ** 26);
        edges[at++] = key % 2 ** 26;
    }
    return edges;
}

/** Themes: background, ground lines, wireframe, picked vertex. */
const THEMES = {
    dark: { background: 0x17191c, ground: 0x33373d, wire: 0x0b0c0e, marked: 0xffffff },
    light: { background: 0xf3f2ef, ground: 0xd2d0ca, wire: 0x2a2c30, marked: 0x17191c },
};

export class Stage {
    readonly camera = new PerspectiveCamera(30, 1, 0.01, 100);
    readonly controls: OrbitControls;
    /** Overlays of the result. */
    readonly overlays = new Group();
    /** Colour of the picked vertex. */
    marked = 0xffffff;
    result: Shape | undefined;
    source: Shape | undefined;
    /** Moves the vertices of the result; undefined: its tables are too large, or it has no vertices. */
    skin: GpuSkin | undefined;
    view: View = "result";
    /** Drawn in the place of the result. */
    private crowd: Crowd | undefined;
    /** The user has moved the camera. */
    moved = false;
    private readonly renderer: WebGLRenderer;
    private readonly scene = new Scene();
    private readonly ground = new LineSegments(new BufferGeometry(), new LineBasicMaterial());
    /** Of the result and of the source. */
    private materials: Materials[] = [];
    private wireColor = 0;
    private extent: Extent = {
        low: new Vector3(-1, -1, -1),
        high: new Vector3(1, 1, 1),
        points: new Float32Array(3),
        farthest: 0,
    };
    private dirty = true;

    constructor(private readonly canvas: HTMLCanvasElement) {
        this.renderer = new WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
        this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
        this.renderer.autoClear = false;
        this.controls = new OrbitControls(this.camera, canvas);
        this.controls.addEventListener("change", () => this.invalidate());
        this.controls.addEventListener("start", () => (this.moved = true));
        const key = new DirectionalLight(0xffffff, 2.1);
        key.position.set(-0.5, 0.8, 1);
        this.camera.add(key, key.target);
        key.target.position.set(0, 0, -1);
        this.scene.add(this.camera, new HemisphereLight(0xffffff, 0x8d8880, 1.5), this.ground, this.overlays);
        new ResizeObserver(() => this.resize()).observe(canvas.parentElement!);
        this.useTheme(true);
    }

    /** Replaces the shapes by those of a model. */
    setModel(model: Model, poser: Poser, colors: Float32Array): BufferAttribute {
        for (const shape of [this.result, this.source]) {
            if (shape) this.scene.remove(shape.mesh);
            shape?.dispose();
        }
        for (const { painted, plain, light, looks, wire } of this.materials)
            for (const material of [painted, plain, light, wire, ...looks]) material.dispose();
        this.skin?.dispose();
        const fits = GpuSkin.fits(model, poser, this.renderer.capabilities.maxTextureSize);
        this.skin = fits ? new GpuSkin(model, poser) : undefined;
        const attribute = dynamic(colors);
        this.materials = [makeMaterials(model, this.skin), makeMaterials(model)];
        this.colorWires();
        [this.result, this.source] = this.materials.map((materials) => new Shape(model, attribute, materials));
        this.scene.add(this.result.mesh, this.source.mesh);
        return attribute;
    }

    /** Draws a crowd in the place of the result; undefined: the result. */
    setCrowd(crowd: Crowd | undefined): void {
        if (this.crowd) this.scene.remove(this.crowd.group);
        this.crowd?.dispose();
        this.crowd = crowd;
        this.ground.visible = !crowd;
        if (crowd) {
            this.scene.add(crowd.group);
            this.camera.far = Math.max(this.camera.far, 6 * crowd.reach);
            this.controls.maxDistance = Math.max(this.controls.maxDistance, 3 * crowd.reach);
        }
        this.reframe();
    }

    /** Positions and normals of the result as drawn; undefined: they are those of the shape. */
    readSkin(): { positions: Float32Array; normals: Float32Array } | undefined {
        const { xr } = this.renderer;
        const { enabled } = xr; // a headset's cameras would draw instead
        xr.enabled = false;
        const read = this.skin?.on ? this.skin.read(this.renderer) : undefined;
        xr.enabled = enabled;
        return read;
    }

    private colorWires(): void {
        for (const { wire } of this.materials) wire.color.set(this.wireColor);
    }

    useTheme(dark: boolean): void {
        const theme = THEMES[dark ? "dark" : "light"];
        this.renderer.setClearColor(new ThreeColor(theme.background));
        (this.ground.material as LineBasicMaterial).color.set(theme.ground);
        this.wireColor = theme.wire;
        this.colorWires();
        this.marked = theme.marked;
        this.invalidate();
    }

    use(result: Surface, source: Surface): void {
        this.result?.use(result);
        this.source?.use(source);
        this.invalidate();
    }

    showWireframe(shown: boolean): void {
        for (const shape of [this.result, this.source]) shape?.showWireframe(shown);
        this.invalidate();
    }

    // ---- Camera ----

    /** Frames everything, seen from the front right and slightly above. */
    frame(extent: Extent): void {
        this.extent = extent;
        this.drawGround();
        const size = extent.high.distanceTo(extent.low) || 1;
        this.camera.near = size / 200;
        this.camera.far = size * 50;
        this.controls.minDistance = size / 50;
        this.controls.maxDistance = size * 12;
        this.reframe();
    }

    /** Before the first row and above it: near and far animals are seen. */
    private frameCrowd({ reach, size }: Crowd): void {
        this.controls.target.set(0, 0.3 * size, 0.6 * reach);
        this.camera.position.set(0.04 * reach, 1.1 * size + 0.035 * reach, reach + 2.4 * size);
    }

    /** What the camera frames. */
    get bounds(): Extent {
        return this.extent;
    }

    reframe(): void {
        const [yaw, pitch] = [30, 12].map((degrees) => (degrees * Math.PI) / 180);
        const toward = new Vector3(Math.sin(yaw) * Math.cos(pitch), Math.sin(pitch), Math.cos(yaw) * Math.cos(pitch));
        const right = new Vector3(0, 1, 0).cross(toward).normalize();
        const up = toward.clone().cross(right);
        const target = this.extent.low.clone().add(this.extent.high).multiplyScalar(0.5);
        const vertical = Math.tan((this.camera.fov * Math.PI) / 360) * 0.86;
        const across = this.fit(target, toward, right, vertical * this.camera.aspect);
        const along = this.fit(target, toward, up, vertical);
        target.addScaledVector(right, across.center).addScaledVector(up, along.center);
        this.controls.target.copy(target);
        this.camera.position.copy(target).addScaledVector(toward, Math.max(across.distance, along.distance) || 1);
        if (this.crowd) this.frameCrowd(this.crowd);
        this.moved = false;
        this.camera.updateProjectionMatrix();
        this.controls.update();
        this.invalidate();
    }

    /** Along one axis of the picture: the middle, and how far a camera with this slope must be to see all points. A
     * point at height h and depth d is in view when |h − center| ≤ slope · (distance − d). */
    private fit(target: Vector3, toward: Vector3, axis: Vector3, slope: number): { center: number; distance: number } {
        const { points } = this.extent;
        const p = new Vector3();
        let [low, high] = [Infinity, -Infinity];
        for (let i = 0; i < points.length; i += 3) {
            p.fromArray(points, i).sub(target);
            const [height, depth] = [p.dot(axis), slope * p.dot(toward)];
            low = Math.min(low, height - depth);
            high = Math.max(high, height + depth);
        }
        return { center: (low + high) / 2, distance: (high - low) / 2 / slope };
    }

    /** Orbits the camera about its target, in fractions of a full turn. */
    orbit(right: number, up: number): void {
        const offset = this.camera.position.clone().sub(this.controls.target);
        const distance = offset.length();
        const pitch = Math.min(Math.max(Math.asin(offset.y / distance) + 2 * Math.PI * up, -1.5), 1.5);
        const yaw = Math.atan2(offset.x, offset.z) + 2 * Math.PI * right;
        offset
            .set(Math.sin(yaw) * Math.cos(pitch), Math.sin(pitch), Math.cos(yaw) * Math.cos(pitch))
            .multiplyScalar(distance);
        this.moveTo(this.controls.target.clone().add(offset), this.controls.target);
    }

    zoom(factor: number): void {
        const offset = this.camera.position.clone().sub(this.controls.target).multiplyScalar(factor);
        this.moveTo(this.controls.target.clone().add(offset), this.controls.target);
    }

    moveTo(position: Vector3, target: Vector3): void {
        this.camera.position.copy(position);
        this.controls.target.copy(target);
        this.moved = true;
        this.controls.update();
        this.invalidate();
    }

    private drawGround(): void {
        const { low, high } = this.extent;
        const reach = Math.max(high.x - low.x, high.z - low.z, (high.y - low.y) / 3) || 1;
        const step = 10 ** Math.round(Math.log10(reach / 6));
        const count = Math.ceil((0.75 * reach) / step) + 1;
        const [x, z] = [low.x + high.x, low.z + high.z].map((sum) => Math.round(sum / 2 / step) * step);
        const lines: number[] = [];
        for (let n = -count; n <= count; n++) {
            lines.push(x + n * step, low.y, z - count * step, x + n * step, low.y, z + count * step);
            lines.push(x - count * step, low.y, z + n * step, x + count * step, low.y, z + n * step);
        }
        this.ground.geometry.setAttribute("position", new BufferAttribute(new Float32Array(lines), 3));
        this.ground.frustumCulled = false;
    }

    // ---- Drawing ----

    invalidate(): void {
        this.dirty = true;
    }

    resize(): void {
        const { clientWidth: width, clientHeight: height } = this.canvas.parentElement!;
        if (width === 0 || height === 0 || this.renderer.xr.isPresenting) return;
        this.renderer.setSize(width, height, false);
        this.setView(this.view);
    }

    setView(view: View): void {
        this.view = view;
        const { clientWidth: width, clientHeight: height } = this.canvas.parentElement!;
        this.camera.aspect = width / (view === "side" ? 2 : 1) / (height || 1);
        this.camera.updateProjectionMatrix();
        if (!this.moved) this.reframe();
        this.invalidate();
    }

    /** Draws in a headset until the session ends, the model half a metre before the eyes and 40 cm large. `each` is called
     * before every picture. */
    async present(session: XRSession, each: (frame: XRFrame, space: XRReferenceSpace) => void): Promise<void> {
        const { renderer, camera, scene } = this;
        const { low, high } = this.extent;
        const before = new PerspectiveCamera().copy(camera, false);
        const viewer = new Group();
        viewer.scale.setScalar((high.distanceTo(low) || 1) / 0.4);
        viewer.position.set(0, 0.15, 0.5).multiply(viewer.scale).addScaledVector(low, 0.5).addScaledVector(high, 0.5);
        scene.add(viewer.add(camera));
        [camera.near, camera.far] = [0.05, 50];
        const leave = (): void => {
            renderer.xr.removeEventListener("sessionend", leave);
            renderer.setAnimationLoop(null);
            renderer.xr.enabled = false;
            scene.remove(viewer).add(camera.copy(before, false));
            this.resize();
        };
        renderer.xr.addEventListener("sessionend", leave);
        renderer.xr.enabled = true;
        renderer.xr.setReferenceSpaceType("local");
        await renderer.xr.setSession(session);
        renderer.setAnimationLoop((_, frame) => {
            if (frame) each(frame, renderer.xr.getReferenceSpace()!);
            renderer.clear();
            renderer.render(scene, camera);
        });
    }

    /** Draws if something changed since the last time. */
    draw(): void {
        if (!this.dirty || this.renderer.xr.isPresenting || !this.result || !this.source) return;
        this.dirty = false;
        const { clientWidth: width, clientHeight: height } = this.canvas;
        this.crowd?.update(this.camera);
        const pass = (shown: "result" | "source", left: number, right: number): void => {
            this.result!.mesh.visible = shown === "result" && !this.crowd;
            if (this.crowd) this.crowd.group.visible = shown === "result";
            this.source!.mesh.visible = shown === "source";
            this.overlays.visible = shown === "result" || this.view === "source";
            this.renderer.setViewport(left, 0, right - left, height);
            this.renderer.setScissor(left, 0, right - left, height);
            this.renderer.render(this.scene, this.camera);
        };
        this.renderer.setScissorTest(false);
        this.renderer.clear();
        this.renderer.setScissorTest(this.view === "side");
        if (this.view === "side") {
            pass("source", 0, Math.floor(width / 2));
            pass("result", Math.floor(width / 2), width);
        } else pass(this.view, 0, width);
        this.crowd?.drawn(performance.now());
    }

    /** A point of the window as a ray: which shape it is over, and where in its half, −1 to 1. */
    locate(x: number, y: number): { shape: "result" | "source"; x: number; y: number; width: number; height: number } {
        const rectangle = this.canvas.getBoundingClientRect();
        const side = this.view === "side";
        const width = side ? Math.floor(rectangle.width / 2) : rectangle.width;
        let left = x - rectangle.left;
        const right = side && left >= width;
        if (right) left -= width;
        const shape = this.view === "source" || (side && !right) ? "source" : "result";
        return {
            shape,
            x: (2 * left) / width - 1,
            y: 1 - (2 * (y - rectangle.top)) / rectangle.height,
            width,
            height: rectangle.height,
        };
    }

    /** The picture as PNG. */
    picture(): Promise<Blob | null> {
        this.invalidate();
        this.draw();
        return new Promise((resolve) => this.canvas.toBlob(resolve, "image/png"));
    }
}
