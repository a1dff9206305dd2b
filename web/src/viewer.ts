/** Shows a subject and updates colours, overlays and panels when the state changes. */
import { type BufferAttribute, type Object3D, Quaternion } from "three";
import { strip } from "./charts";
import { Crowd, CROWDS } from "./crowd";
import type { PageData, Voxels } from "./data";
import { announce, byId, figure, h } from "./dom";
import { ErrorCurve } from "./errors";
import { lookAround } from "./extent";
import { HandRig, trackedHand } from "./hands";
import { influencesOf, isLit, type Mode, type ModeInput, MODES, type ModeName, type Values } from "./modes";
import { type Motions, motionsFor } from "./motions";
import { Overlays } from "./overlays";
import { Panels, type VertexFacts } from "./panels";
import { hitOnRay, jointNear, rayThrough, type SurfaceHit, vertexOnRay } from "./picking";
import { nodeName } from "./model";
import type { Morph } from "./pose";
import { listenToPointer, type PointerTool } from "./pointer";
import * as reports from "./report";
import { type Shape, Stage } from "./scene";
import { Shading } from "./shading";
import { INITIAL, type Overlay, type State, Store, type View } from "./state";
import { angles, type Animation, distances, isCompared, Subject } from "./subject";
import { Timeline } from "./timeline";
import { fillTools, modesOf, overlaysOf, showLegend, showTools, viewsOf } from "./tools";

/** Results computed for the current animation. */
interface Measures {
    curve: ErrorCurve | undefined;
    /** [frame] E_rms, by the report or as measured. */
    frameErrors: ArrayLike<number>;
    displacementScale: number;
}

/** Bones and weights as the library has them: [vertex][influence]. */
export interface SkinArrays {
    boneJoints: Uint32Array;
    influenceCount: number;
    bones: Uint16Array;
    weights: Float32Array;
}

export class Viewer {
    readonly store = new Store();
    readonly stage = new Stage(byId<HTMLCanvasElement>("canvas"));
    readonly timeline = new Timeline(this.store);
    readonly panels = new Panels();
    subject!: Subject;
    private shading!: Shading;
    private overlays!: Overlays;
    private colors!: BufferAttribute;
    private restPose = new Float32Array(0);
    private displacement = new Float32Array(0);
    private error = new Float32Array(0);
    /** The positions and normals of the result shape are those of an earlier frame. */
    private stale = true;
    /** Displacements and errors are those of an earlier frame. */
    private unmeasured = true;
    private shadingError = new Float32Array(0);
    /** The animation shown before the rest pose. */
    private before: Pick<State, "animation" | "frame" | "playing"> | undefined;
    crowd: Crowd | undefined;
    /** Gets the pointer before the camera. */
    pointerTool: PointerTool | undefined;
    /** Shown in the place of the pose, [vertex][3]. */
    private vertices: { positions: Float32Array; normals?: Float32Array } | undefined;
    /** The hand among the joints. */
    hand: HandRig | undefined;
    private measures: Measures = { curve: undefined, frameErrors: [], displacementScale: 1 };

    constructor() {
        const { store, stage, panels } = this;
        store.on(["frame"], () => this.showFrame());
        store.on(["animation"], () => this.showAnimation());
        store.on(["mode", "joint"], () => this.paint());
        store.on(["mode"], () => showTools(store.state));
        store.on(["view"], () => this.showView());
        store.on(["crowd", "animation"], () => this.showCrowd());
        store.on(["joint"], () => this.showJoint());
        store.on(["vertex"], () => this.showVertex());
        store.on(["skeleton", "wireframe", "triangles", "voxels", "lattice", "pose"], () => this.showOverlays());
        store.on(["triangles"], () => this.showFrame());
        panels.onJoint = (joint) => {
            store.set({ joint });
            this.setMode("weights");
        };
        panels.onMorph = (morph, value) => this.setMorph(morph, value);
        panels.onSlider = (slider, value) => this.setSlider(slider, value);
        panels.onReset = () => this.resetPose();
        panels.onTurn = (degrees) => this.setAngles(degrees);
        this.timeline.error = (frame) => this.measures.frameErrors[frame] ?? NaN;
        listenToPointer(byId<HTMLCanvasElement>("canvas"), stage, {
            joint: (x, y, reach) => this.jointAt(x, y, reach),
            canPose: () => store.state.pose,
            pick: (x, y) => this.pick(x, y),
            grab: (joint) => store.set({ joint, playing: false }),
            turn: (joint, rotation) => this.turnJoint(joint, rotation),
            tool: () => this.pointerTool,
        });
        byId("crowd").replaceChildren(...CROWDS.map((count) => h("option", { value: String(count) }, figure(count))));
        byId("crowd").addEventListener("change", (event) =>
            store.set({ crowd: Number((event.target as HTMLSelectElement).value) }),
        );
        byId<HTMLSelectElement>("mode").addEventListener("change", (event) =>
            this.setMode((event.target as HTMLSelectElement).value as ModeName),
        );
        for (const id of ["sun-turn", "sun-height"]) byId(id).addEventListener("input", () => this.turnSun());
    }

    /** Replaces the displayed data; `keep`: camera, time, colours and overlays stay as far as the new data has them. */
    async open(data: PageData, { keep = false } = {}): Promise<void> {
        const subject = await Subject.load(data);
        const kept = keep && this.subject ? this.keptState(subject) : undefined;
        this.measures.curve?.stop();
        this.subject = subject;
        this.vertices = undefined;
        const { model } = subject;
        this.shading = new Shading(model);
        this.colors = this.stage.setModel(model, subject.poser, new Float32Array(3 * model.vertexCount));
        this.displacement = new Float32Array(model.vertexCount);
        this.error = new Float32Array(model.vertexCount);
        this.shadingError = new Float32Array(model.vertexCount);
        this.restPose = new Float32Array(3 * model.vertexCount);
        subject.poser.pose(undefined, this.restPose);
        this.hand = HandRig.find(model);
        this.before = undefined;
        // Files may begin with a motion of a frame or two.
        const long = subject.animations.findIndex(({ times }) => times.length > 2);
        const first = subject.animations[Math.max(long, 0)];
        const bare = model.vertexCount === 0; // then the skeleton is all there is
        const view = viewsOf(subject, first)[0];
        const mode = model.light ? "light" : model.colors ? "colors" : "shaded";
        this.store.state = { ...INITIAL, animation: Math.max(long, 0), view, mode, skeleton: bare, ...kept };
        const extent = lookAround(subject, first, this.restPose);
        const size = extent.high.distanceTo(extent.low);
        this.overlays = new Overlays(this.stage.overlays, model, size, data.voxels, data.lattice);
        if (!kept) this.stage.frame(extent);
        this.panels.setSubject(subject);
        byId<HTMLInputElement>("sun-turn").value = String(model.light?.turn ?? 0);
        byId<HTMLInputElement>("sun-height").value = String(model.light?.height ?? 0);
        this.timeline.setAnimations(subject.animations);
        this.title();
        this.showAnimation();
        this.showCrowd();
        this.showJoint();
        this.showOverlays();
        this.stage.resize();
    }

    /** The view state as far as it applies to another subject. */
    private keptState(next: Subject): Partial<State> {
        const { animation, frame, view, mode, speed, playing, wireframe, skeleton, triangles, joint } = this.store.state;
        const { name } = this.subject.animations[animation];
        const [same, long] = [
            next.animations.findIndex((other) => other.name === name),
            next.animations.findIndex(({ times }) => times.length > 2),
        ];
        const place = Math.max(same >= 0 ? same : long, 0);
        const shown = next.animations[place];
        const views = viewsOf(next, shown);
        // What was the only view says nothing about which one is wanted of several.
        const chosen = this.views().length > 1 && views.includes(view) ? view : views.at(-1)!;
        return {
            animation: place,
            frame: Math.min(frame, shown.times.length - 1),
            view: chosen,
            mode: modesOf(next, shown).some((other) => other.name === mode) ? mode : "shaded",
            joint: joint < next.model.joints.length ? joint : -1,
            skeleton: skeleton || next.model.vertexCount === 0,
            speed,
            playing,
            wireframe,
            triangles,
        };
    }

    /** Plays the motions of another file on the joints with the same names. */
    addMotions(motions: Motions): void {
        const { subject } = this;
        subject.poser.place(undefined, true);
        const animation = subject.add(motionsFor(subject.model, motions));
        this.timeline.setAnimations(subject.animations);
        this.store.set({ animation, frame: 0, playing: true });
    }

    private title(): void {
        const { data } = this.subject;
        byId("title").textContent = data.title;
        document.title = `${data.title} – Pelt`;
        const verb = typeof data.report?.verb === "string" ? data.report.verb : undefined;
        const error = reports.number(data.report, "error_rms");
        const bones = reports.number(data.report, "bones");
        const words = [
            verb,
            Number.isFinite(bones) && `${figure(bones)} bones`,
            Number.isFinite(error) && `E_rms ${figure(error)}${verb === "light" ? " of colours" : ""}`,
        ];
        byId("headline").textContent = words.filter(Boolean).join(" · ");
    }

    // ---- What can be shown ----

    get animation(): Animation {
        return this.timeline.current;
    }

    views(): View[] {
        return viewsOf(this.subject, this.animation);
    }

    modes(): Mode[] {
        return modesOf(this.subject, this.animation);
    }

    setMode(mode: ModeName): void {
        if (!this.modes().some(({ name }) => name === mode)) return;
        const { joint } = this.store.state;
        this.store.set({ mode, joint: mode === "weights" ? Math.max(joint, 0) : joint });
    }

    /** Turns the sun of the light mode to where its sliders are. */
    private turnSun(): void {
        const [turn, height] = ["sun-turn", "sun-height"].map((id) => Number(byId<HTMLInputElement>(id).value));
        this.subject.model.light?.setSun(turn, height);
        this.paint();
        this.stage.invalidate();
    }

    setView(view: View): void {
        if (this.views().includes(view)) this.store.set({ view });
    }

    toggle(overlay: Overlay): void {
        if (!overlaysOf(this.subject).includes(overlay) && !this.store.state[overlay]) return;
        this.store.set({ [overlay]: !this.store.state[overlay] });
        const still = this.store.state.lattice && !this.overlays.lattice?.moves;
        if (overlay === "voxels" || overlay === "lattice") this.showRestPose(this.store.state.voxels || still);
    }

    /** Voxels, and lattices without frames, are those of the rest pose: it is shown with them, and the previous animation is restored afterwards. */
    showRestPose(shown: boolean): void {
        const { animation, frame, playing } = this.store.state;
        const rest = this.subject.animations.length - 1;
        if (shown && !this.before) {
            this.before = { animation, frame, playing };
            this.store.set({ animation: rest, frame: 0, playing: false });
        } else if (!shown && this.before) {
            if (animation === rest) this.store.set(this.before);
            this.before = undefined;
        }
    }

    useTheme(dark: boolean): void {
        this.stage.useTheme(dark);
        if (!this.subject) return;
        this.showJoint();
        this.showVertex();
    }

    // ---- Frames ----

    private showAnimation(): void {
        const { store, subject, animation } = this;
        this.measures.curve?.stop();
        const only = subject.data.clips.length === 1;
        const known = animation.clip && reports.frameErrors(subject.data.report, animation.clip.name, only);
        const curve = isCompared(animation) ? new ErrorCurve(subject, animation) : undefined;
        const displacementScale = lookAround(subject, animation, this.restPose).farthest || 1;
        this.measures = { curve, frameErrors: known ?? curve?.rms ?? [], displacementScale };
        if (!this.views().includes(store.state.view)) store.set({ view: this.views()[0] });
        if (!this.modes().some(({ name }) => name === store.state.mode)) store.set({ mode: "shaded" });
        fillTools(subject, animation, store.state, this);
        this.showView();
        this.drawCurve();
        void curve?.run(() => this.measured(curve));
    }

    /** More frames were measured. */
    private measured(curve: ErrorCurve): void {
        if (curve !== this.measures.curve) return;
        this.drawCurve();
        this.timeline.show();
        if (curve.done < curve.rms.length) return;
        this.showFrame(); // the scale is known only now
        const reported = Number.isFinite(reports.number(this.subject.data.report, "error_rms"));
        this.panels.showMeasured(curve, reported, (frame, vertex) => this.store.set({ playing: false, frame, vertex }));
        if (!byId("headline").textContent) byId("headline").textContent = `E_rms ${figure(curve.whole)}`;
    }

    private drawCurve(): void {
        const { frameErrors } = this.measures;
        const highest = Math.max(...Array.from(frameErrors, (error) => error || 0));
        const label = h("span", {}, `E_rms per frame, up to ${figure(highest, 3)}`);
        byId("curve").replaceChildren(...(frameErrors.length > 1 ? [strip(frameErrors), label] : []));
    }

    /** The shape that colours and vertex facts refer to. */
    private get shown(): Shape {
        return this.store.state.view === "source" ? this.stage.source! : this.current();
    }

    /** The result is shaded with the normals of its file, as in engines, unless the user chose triangle normals. */
    private get ownNormals(): boolean {
        return this.subject.poser.hasNormals && !this.store.state.triangles;
    }

    /** The result with the vertices and normals of this frame, evaluated here even if the GPU draws it. */
    private current(): Shape {
        const result = this.stage.result!;
        if (!this.stale) return result;
        this.stale = false;
        if (this.vertices) {
            const { positions, normals } = this.vertices;
            result.positions.set(positions);
            if (normals) result.normals.set(normals);
            else this.shading.normals(result.positions, result.normals);
            return result;
        }
        this.subject.result(this.animation, this.store.state.frame, result.positions, false, result.normals);
        if (!this.ownNormals) this.shading.normals(result.positions, result.normals);
        return result;
    }

    // ---- Crowds ----

    /** Crowds need bones; those of a large motion are sampled. */
    private showCrowd(): void {
        const { subject, stage, animation, store } = this;
        const { model, poser } = subject;
        const possible = model.vertexCount > 0 && model.bones.length <= 1000 && subject.hasResult(animation);
        const count = possible ? Math.min(Math.max(Math.round(store.state.crowd), 1), 100000) : 1;
        byId("crowd-pick").hidden = !possible;
        byId<HTMLSelectElement>("crowd").value = String(count);
        byId("crowd-figures").hidden = count < 2;
        if (count < 2) {
            if (this.crowd) stage.setCrowd((this.crowd = undefined));
            return;
        }
        const samples = Math.min(animation.times.length, 60);
        const palettes = new Float32Array(12 * model.bones.length * samples);
        for (let s = 0; s < samples; s++) {
            const frame = Math.floor((s * animation.times.length) / samples);
            poser.prepare(subject.moment(animation, frame), true);
            palettes.set(poser.palette, 12 * model.bones.length * s);
        }
        const { low, high } = stage.bounds;
        const size = Math.max(high.x - low.x, high.y - low.y, high.z - low.z);
        const middle = low.clone().add(high).multiplyScalar(0.5);
        this.crowd = new Crowd(model, { samples, palettes }, this.colors, count, size, middle);
        stage.setCrowd(this.crowd);
        this.showFrame();
    }

    /** How many animals there are, how much is drawn, and how long a frame takes while it plays. */
    showCrowdFigures(): void {
        if (!this.crowd) return;
        const { animals, levels, triangles, milliseconds } = this.crowd.figures();
        const time = this.store.state.playing && milliseconds > 0 ? ` · ${milliseconds.toFixed(1)} ms per frame` : "";
        const text = `${figure(animals)} animals, ${triangles.toLocaleString("en")} triangles, by level ${levels.join(", ")}${time}`;
        if (byId("crowd-figures").textContent !== text) byId("crowd-figures").textContent = text;
    }

    showFrame(): void {
        const { subject, stage, animation, overlays, store } = this;
        const { frame, view, vertex } = store.state;
        if (this.crowd) this.crowd.time = frame / Math.max(animation.times.length, 1);
        subject.poser.prepare(subject.moment(animation, frame));
        this.stale = this.unmeasured = true;
        overlays.skeleton.update();
        if (store.state.lattice) this.placeLattice();
        if (view !== "source") this.placeResult();
        if (animation.clip) subject.source(animation.clip, frame, stage.source!.positions);
        if (animation.clip && view !== "result") this.placeSource();
        this.panels.showMorphs((morph) => subject.poser.morphValue(morph));
        if (this.mode.moves) this.paint();
        this.showTurn();
        if (vertex >= 0) this.showVertex();
        stage.invalidate();
    }

    private placeLattice(): void {
        const { clip } = this.animation;
        this.overlays.lattice?.show(clip ? this.subject.data.clips.indexOf(clip) : -1, this.store.state.frame);
    }

    /** The GPU moves the vertices. Normals of triangles need the vertices here. */
    private placeResult(): void {
        const { skin } = this.stage;
        if (skin) skin.on = this.ownNormals && !this.vertices;
        if (skin?.on) skin.update();
        else this.current().update();
    }

    private placeSource(): void {
        const source = this.stage.source!;
        this.shading.normals(source.positions, source.normals);
        source.update();
    }

    /** Distances of this frame from the rest pose and from the source. */
    private measure(): void {
        if (!this.unmeasured) return;
        this.unmeasured = false;
        distances(this.shown.positions, this.restPose, this.displacement);
        if (isCompared(this.animation)) distances(this.current().positions, this.stage.source!.positions, this.error);
    }

    private measureShading(): void {
        const result = this.current();
        this.placeSource();
        angles(result.normals, this.stage.source!.normals, this.shadingError);
    }

    /** Draws vertices [vertex][3], and normals where given, in the place of the pose; undefined: the pose again. */
    setVertices(positions: Float32Array | undefined, normals?: Float32Array): void {
        if (!positions && !this.vertices) return;
        this.vertices = positions && { positions, normals };
        this.showFrame();
    }

    /** The nodes of joints of the library; undefined where the file has none of the name. */
    private nodesOf(names: readonly string[]): (Object3D | undefined)[] {
        const { nodes } = this.subject.model;
        return names.map((name, joint) =>
            nodes[joint] && nodeName(nodes[joint]) === name ? nodes[joint] : nodes.find((node) => nodeName(node) === name),
        );
    }

    /** Gives the shown model other weights. `names`: of the library's joints. False: it lacks a bone of them, and stays as it was. */
    setSkin({ boneJoints, influenceCount, bones, weights }: SkinArrays, names: readonly string[]): boolean {
        const { model } = this.subject;
        const nodes = this.nodesOf(names);
        const places = new Map(model.bones.map(({ node }, bone) => [node, bone]));
        const own = Array.from(boneJoints, (joint) => (nodes[joint] ? (places.get(nodes[joint]) ?? -1) : -1));
        const count = bones.length / influenceCount;
        if (weights.some((weight, n) => weight > 0 && own[bones[n]] < 0)) return false;
        if (model.influences !== influenceCount) {
            model.influences = influenceCount;
            model.boneIndices = new Uint16Array(influenceCount * model.vertexCount);
            model.weights = new Float32Array(influenceCount * model.vertexCount);
        }
        // Parts that share vertices have a copy each.
        for (let n = 0; n < model.weights.length; n++) {
            const from = n % (count * influenceCount);
            model.boneIndices[n] = Math.max(own[bones[from]], 0);
            model.weights[n] = weights[from];
        }
        this.stage.skin?.updateSkin();
        this.showFrame();
        this.paint();
        return true;
    }

    /** The pose that is shown, with what the user turned: local transforms [joint][10] of the library's joints. */
    locals(names: readonly string[]): Float32Array {
        this.subject.poser.place(this.subject.moment(this.animation, this.store.state.frame));
        const out = new Float32Array(10 * names.length);
        this.nodesOf(names).forEach((node, joint) => {
            if (!node) return out.set([0, 0, 0, 0, 0, 0, 1, 1, 1, 1], 10 * joint);
            node.position.toArray(out, 10 * joint);
            node.quaternion.toArray(out, 10 * joint + 3);
            node.scale.toArray(out, 10 * joint + 7);
        });
        return out;
    }

    /** Positions and normals of the result as they are drawn. */
    drawn(): { positions: Float32Array; normals: Float32Array } {
        return this.stage.readSkin() ?? this.current();
    }

    private showView(): void {
        showTools(this.store.state);
        this.stage.setView(this.store.state.view);
        this.showFrame();
        this.paint();
    }

    // ---- Colours ----

    get mode(): Mode {
        return MODES.find(({ name }) => name === this.store.state.mode)!;
    }

    private modeInput(): ModeInput {
        if (this.mode.moves) this.measure();
        return {
            model: this.subject.model,
            joint: this.store.state.joint,
            displacement: this.displacement,
            error: this.error,
            shading: this.shadingError,
            displacementScale: this.measures.displacementScale,
            errorScale: this.measures.curve?.scale || 1,
            values: this.subject.values,
            motion: this.animation.motion,
            time: this.animation.times[this.store.state.frame] + this.animation.offset,
            format: (value) => figure(value, 3),
        };
    }

    private paint(): void {
        // Frames measured in the background leave the weights of others behind.
        if (this.mode.name === "colors") this.subject.poser.prepare(this.subject.moment(this.animation, this.store.state.frame));
        const input = this.modeInput();
        if (this.mode.name === "shading") this.measureShading();
        this.mode.paint(input, this.colors.array as Float32Array);
        this.colors.needsUpdate = true;
        const { name } = this.mode;
        const lit = name === "light" || (name === "colors" && isLit(this.subject.model));
        const surface = name === "material" ? "materials" : lit ? "light" : "colors";
        // Beside the errors of the result, the source shows its own shape.
        const compares = this.mode.name === "error" || this.mode.name === "shading";
        this.stage.use(surface, compares && this.store.state.view === "side" ? "plain" : surface);
        showLegend(this.mode.legend?.(input));
    }

    // ---- Joints and vertices ----

    private showOverlays(): void {
        const { state } = this.store;
        const { skeleton, voxels, lattice } = this.overlays;
        skeleton.group.visible = state.skeleton || state.pose;
        if (voxels) voxels.visible = state.voxels;
        if (lattice) lattice.lines.visible = state.lattice;
        if (state.lattice) this.placeLattice();
        this.stage.showWireframe(state.wireframe);
        showTools(state);
        this.stage.invalidate();
    }

    private showJoint(): void {
        const { joint } = this.store.state;
        this.overlays.skeleton.color(joint, this.stage.marked);
        this.panels.showJoint(joint);
        this.showTurn();
        this.stage.invalidate();
    }

    private jointAt(x: number, y: number, reach: number): number {
        const place = this.stage.locate(x, y);
        if (!this.overlays.skeleton.group.visible || (place.shape === "source" && this.store.state.view === "side"))
            return -1;
        return jointNear(this.stage.camera, this.overlays.skeleton.positions, place, reach);
    }

    /** Where a position of the window is on the result, as it is shown. */
    hitAt(x: number, y: number): SurfaceHit | undefined {
        const place = this.stage.locate(x, y);
        if (place.shape === "source") return undefined;
        const { origin, direction } = rayThrough(this.stage.camera, place.x, place.y);
        return hitOnRay(origin, direction, this.current().positions, this.subject.model.triangles);
    }

    /** Vertices of the result as they are shown, [vertex][3]. */
    get positions(): Float32Array {
        return this.current().positions;
    }

    /** Values of vertices for the colour mode of this name; undefined: none. */
    setValues(values: Values | undefined): void {
        const { subject, store } = this;
        const other = !values !== !subject.values;
        subject.values = values;
        if (other) fillTools(subject, this.animation, store.state, this);
        if (!values && store.state.mode === "values") return store.set({ mode: "shaded" });
        if (store.state.mode !== "values") return;
        this.paint();
        this.stage.invalidate();
    }

    /** Draws voxels as an overlay of the rest pose; undefined: none. */
    setVoxels(voxels: Voxels | undefined): void {
        this.subject.data.voxels = voxels;
        if (!voxels && this.store.state.voxels) this.toggle("voxels");
        this.overlays.setVoxels(voxels);
        fillTools(this.subject, this.animation, this.store.state, this);
        this.showOverlays();
    }

    /** The vertex under a position of the window, or −1. */
    vertexAt(x: number, y: number): number {
        const place = this.stage.locate(x, y);
        const { origin, direction } = rayThrough(this.stage.camera, place.x, place.y);
        const shape = place.shape === "source" ? this.stage.source! : this.current();
        return vertexOnRay(origin, direction, shape.positions, this.subject.model.triangles);
    }

    pick(x: number, y: number): void {
        const joint = this.jointAt(x, y, 9);
        if (joint >= 0) {
            this.store.set({ joint });
            this.panels.open("Bones");
            return announce(`bone ${this.subject.model.joints[joint].name}`);
        }
        const vertex = this.vertexAt(x, y);
        this.store.set({ vertex });
        if (vertex < 0) return;
        this.panels.open("Vertex");
        announce(`vertex ${vertex}`);
    }

    /** Facts of a vertex in this frame. */
    facts(vertex: number): VertexFacts {
        const { model } = this.subject;
        const { curve } = this.measures;
        this.measure();
        const [x, y, z] = this.shown.positions.subarray(3 * vertex, 3 * vertex + 3);
        return {
            vertex,
            point: this.subject.point(vertex),
            part: model.parts.find(({ firstVertex, vertexCount }) => vertex < firstVertex + vertexCount)?.name ?? "",
            position: [x, y, z],
            influences: influencesOf(model, vertex),
            displacement: this.displacement[vertex],
            error: isCompared(this.animation) ? this.error[vertex] : NaN,
            largest: curve ? curve.largest[vertex] : NaN,
            largestFrame: curve ? curve.largestFrame[vertex] : 0,
        };
    }

    private showVertex(): void {
        const { vertex } = this.store.state;
        const valid = vertex >= 0 && vertex < this.subject.model.vertexCount;
        this.overlays.markVertex(valid ? vertex : -1, this.shown.positions, this.stage.marked);
        this.panels.showVertex(valid ? this.facts(vertex) : undefined);
        this.stage.invalidate();
    }

    /** Selects the next bone of the list. */
    walkJoints(by: number): void {
        const count = this.subject.model.joints.length;
        if (count > 0) this.store.set({ joint: (this.store.state.joint + by + count) % count });
    }

    // ---- Posing ----

    /** Rotates a joint in world space. */
    turnJoint(joint: number, rotation: Quaternion): void {
        const node = this.subject.model.joints[joint]?.node;
        if (!node) return;
        this.subject.poser.place(this.subject.moment(this.animation, this.store.state.frame));
        const world = node.getWorldQuaternion(new Quaternion());
        this.subject.poser.turn(node, world.clone().invert().multiply(rotation).multiply(world));
        this.showFrame();
    }

    /** Rotates the selected joint, relative to the animation. */
    private setAngles(degrees: number[]): void {
        const joint = this.subject.model.joints[this.store.state.joint];
        if (!joint) return;
        this.subject.poser.setAngles(joint.node, degrees);
        this.showFrame();
    }

    private showTurn(): void {
        const joint = this.subject.model.joints[this.store.state.joint];
        this.panels.showTurn(joint && this.subject.poser.angles(joint.node));
    }

    setMorph(morph: Morph, value: number): void {
        this.subject.poser.setMorph(morph, value);
        this.showFrame();
    }

    /** Poses the hand of the rig as a headset tracks one, until its session ends. */
    async followHand(session: XRSession): Promise<void> {
        const { subject, store, stage } = this;
        store.set({ animation: subject.animations.length - 1, frame: 0, playing: false, crowd: 1, view: "result" });
        await stage.present(session, (frame, space) => {
            const tracked = this.hand && trackedHand(frame, space, this.hand.side);
            if (!tracked) return;
            for (const [node, turn] of this.hand!.pose(tracked.points, tracked.side)) subject.poser.setTurn(node, turn);
            this.showFrame();
        });
    }

    setSlider(slider: number, value: number): void {
        this.subject.model.controls?.setValue(slider, value);
        this.showFrame();
    }

    resetPose(): void {
        this.subject.poser.reset();
        this.panels.showControls();
        this.showFrame();
        announce("pose reset");
    }
}
