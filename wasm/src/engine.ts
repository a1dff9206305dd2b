// The library on the calling thread: every call returns when its work is done. index.ts runs the same in a worker.
import createModule from "pelt-module";
import { Binding, bindSettings } from "./binding";
import { Handle, indexOf, PeltError, Resource, shape, sized, type Hooks } from "./handle";
import { Jiggle, jiggleSettings } from "./jiggle";
import { Memory, OutOfMemory, type Module, type Scope } from "./memory";
import type * as given from "./options";
import { readTables, settingsText, type OptionTable, type OptionValue, type TableName } from "./tables";
import type * as types from "./types";

export { Binding, Handle, Jiggle, PeltError, type Hooks };

const RESULTS = ["ok", "usage", "input", "unsupported", "output", "memory", "cancelled"] as const;
const LEVELS = ["warning", "info", "debug"] as const;

// ---- Engine -----------------------------------------------------------------------------------------------------

export class Engine {
    /** @internal */ readonly memory: Memory;
    /** @internal */ readonly call: Module;
    readonly version: string;
    /** The option tables: from them come the keywords of every operation. */
    readonly options: Record<TableName, OptionTable>;
    readonly formats: types.Format[];
    readonly scenes: types.SceneInfo[];
    /** Messages; set it to receive them. */
    log: (level: types.LogLevel, text: string) => void = () => {};
    private hooks: Hooks = {};
    private folders = 0;
    private stopped = false;

    private constructor(module: Module, memoryLimit: number) {
        this.call = module;
        this.memory = new Memory(module);
        if (module._pw_start(memoryLimit) !== 0) throw new PeltError("out of memory", "memory");
        this.version = this.memory.text(module._pw_version())!;
        this.options = readTables(this.memory);
        this.formats = this.readFormats();
        this.scenes = this.readScenes();
        module.peltLog = (level: number, text: number) => this.log(LEVELS[level], sentence(this.memory.text(text)!));
        module.peltProgress = (phase: number, fraction: number) =>
            this.hooks.progress?.(this.memory.text(phase)!, fraction);
        module.peltCancelled = () => (this.hooks.cancelled?.() ? 1 : 0);
        module.peltIteration = (error: number) => this.hooks.iteration?.(error);
        module.FS.mkdir("/files");
    }

    /** Starts an engine from compiled WebAssembly (pelt.wasm). */
    static async start(wasm: WebAssembly.Module, settings: { memoryLimit?: number } = {}): Promise<Engine> {
        const module = await createModule({
            peltLog() {},
            peltProgress() {},
            peltCancelled: () => 0,
            peltIteration() {},
            instantiateWasm(imports: WebAssembly.Imports, done: (instance: WebAssembly.Instance) => void) {
                done(new WebAssembly.Instance(wasm, imports));
                return {};
            },
        });
        return new Engine(module, settings.memoryLimit ?? 0);
    }

    private readFormats(): types.Format[] {
        const out: types.Format[] = [];
        for (let n = 0, row; (row = this.call._pw_format_at(n)); n++) {
            const text = (offset: number) => this.memory.text(this.memory.u32(row + offset))!;
            const flags = this.memory.u32(row + 12);
            const [name, extensions, summary] = [text(0), text(4).split(" "), text(8)];
            out.push({ name, extensions, summary, reads: (flags & 1) !== 0, writes: (flags & 2) !== 0 });
        }
        return out;
    }

    private readScenes(): types.SceneInfo[] {
        const out: types.SceneInfo[] = [];
        for (let n = 0, name; (name = this.memory.text(this.call._pw_scene_text(n, 0))); n++)
            out.push({ name, summary: this.memory.text(this.call._pw_scene_text(n, 1))! });
        return out;
    }

    /** @internal Runs calls of the library with hooks. Their exceptions become sentences; after a trap the engine is unusable. */
    run<T>(hooks: Hooks, body: (scope: Scope) => T): T {
        if (this.stopped)
            throw new PeltError("the engine stopped after an internal error; start another one", "engine");
        this.hooks = hooks;
        try {
            return this.memory.scope(body);
        } catch (error) {
            if (error instanceof PeltError) throw error;
            if (error instanceof OutOfMemory || error instanceof RangeError)
                throw new PeltError("out of memory", "memory");
            if (!(error instanceof WebAssembly.RuntimeError)) throw error;
            this.stopped = true;
            throw new PeltError(`internal error: ${error.message}; start another engine`, "engine");
        } finally {
            this.hooks = {};
        }
    }

    /** @internal Throws the sentence of a result that is not OK. */
    check(result: number): void {
        if (result === 0) return;
        throw new PeltError(sentence(this.memory.text(this.call._pw_error()) || "out of memory"), RESULTS[result] as types.ErrorCode);
    }

    /** @internal Throws unless an object was made. */
    made(place: number): number {
        if (!place) this.check(this.call._pw_result());
        return place;
    }

    /** @internal All memory, for another engine of the same module. */
    snapshot(): Uint8Array<ArrayBuffer> {
        return this.call.HEAPU8.slice() as Uint8Array<ArrayBuffer>;
    }

    /** @internal Takes the memory of another engine of the same module. No call is running: the stack of both is empty. */
    restore(memory: Uint8Array): void {
        const { call } = this;
        // Allocations make it grow; they are forgotten with all else.
        for (let missing; (missing = memory.length - call.HEAPU8.length) > 0; )
            if (!call._malloc(missing)) throw new PeltError("out of memory", "memory");
        call.HEAPU8.set(memory);
        call.HEAPU8.fill(0, memory.length);
    }

    /** @internal A handle of a model in restored memory; `owned`: it is destroyed with the handle. */
    adopt(place: number, owned: boolean): Model {
        return owned ? Model.made(this, place) : new Model(this, new Resource(place, () => {}, []), false);
    }

    /** Memory of the engine, bytes. */
    memoryInfo(): types.MemoryInfo {
        return this.run({}, (scope) => {
            const info = scope.struct("memory");
            this.call._pw_memory(info);
            return { ...this.memory.read("memory", info), total: this.call.HEAPU8.length };
        });
    }

    /** Reads a model from files: one, a mesh and its caches, a skeleton and its motions, a .gltf with its files, or a sequence of meshes.
     * `open` names the files to give to the reader, when others (buffers, pictures) only lie beside them. */
    load(files: types.InputFile | types.InputFile[], options: types.LoadOptions & Hooks = {}): Model {
        const { open, progress, cancelled, ...settings } = options;
        const list = Array.isArray(files) ? files : [files];
        const folder = `/files/${++this.folders}`;
        const names = open ?? mainFiles(list.map((file) => file.name), this.formats);
        return this.run({ progress, cancelled }, (scope) => {
            const disk = this.call.FS;
            disk.mkdir(folder);
            let place: number;
            try {
                for (const file of list) writeFile(disk, folder, file);
                const paths = scope.alloc(4 * names.length);
                names.forEach((name, n) => this.memory.setU32(paths + 4 * n, scope.text(`${folder}/${name}`)));
                place = this.made(this.call._pw_load(paths, names.length, scope.text(settingsText(settings))));
            } finally {
                removeFolder(disk, folder);
            }
            return Model.made(this, place);
        });
    }

    /** Makes a generated scene: samples, tests. */
    scene(name: string, { vertices = 0, frames = 0, seed = 0 } = {}): Model {
        return this.run({}, (scope) => {
            if (!this.scenes.some((scene) => scene.name === name))
                throw new PeltError(`there is no scene '${name}'; there are ${this.scenes.map((s) => s.name).join(", ")}`, "usage");
            return Model.made(this, this.made(this.call._pw_scene(scope.text(name), vertices, frames, seed)));
        });
    }
}

// ---- Files ------------------------------------------------------------------------------------------------------

/** Of several files those that the reader is given: without pictures and buffers, and of rigs only these and caches. */
function mainFiles(names: string[], formats: types.Format[]): string[] {
    const readable = new Set(formats.filter(({ reads }) => reads).flatMap(({ extensions }) => extensions.map((e) => e.replace(/^\./, ""))));
    const rigs = names.filter((name) => /\.(gltf|glb|vrm|fbx|usd[acz]?)$/i.test(name));
    const caches = names.filter((name) => /\.(pc2|mdd)$/i.test(name));
    const models = names.filter((name) => readable.has(name.replace(/^.*\./, "").toLowerCase()));
    return rigs.length ? [...rigs, ...caches] : models.length ? models : names;
}

function writeFile(disk: Module["FS"], folder: string, { name, data }: types.InputFile): void {
    const parts = name.split("/");
    if (parts.some((part) => part === "" || part === "." || part === ".."))
        throw new PeltError(`'${name}' is no name of a file; use names such as "mesh.obj" or "textures/skin.png"`, "usage");
    parts.slice(0, -1).reduce((path, part) => {
        const next = `${path}/${part}`;
        if (!disk.readdir(path).includes(part)) disk.mkdir(next);
        return next;
    }, folder);
    disk.writeFile(`${folder}/${name}`, data instanceof Uint8Array ? data : new Uint8Array(data));
}

function removeFolder(disk: Module["FS"], folder: string): void {
    for (const name of disk.readdir(folder)) {
        if (name === "." || name === "..") continue;
        const path = `${folder}/${name}`;
        try {
            disk.unlink(path);
        } catch {
            removeFolder(disk, path);
        }
    }
    disk.rmdir(folder);
}

/** Messages name files as the caller does, without the folders that they lie in here. */
function sentence(text: string): string {
    return text.replace(/\/files\/[^/]+\//g, "");
}

// ---- Model ------------------------------------------------------------------------------------------------------

/** Floats that clipPoints() reads at a time. */
const BATCH_FLOATS = 2 ** 20;
const SKINNING = { linear: 0, dualQuaternion: 1 };

export class Model extends Handle {
    /** @internal */
    static made(engine: Engine, place: number, parents: Resource[] = []): Model {
        return new Model(engine, new Resource(place, (p) => engine.call._pw_model_free(p), parents));
    }

    /** @internal For an object whose resource has this one as a parent: usable as long as that object, also when this was freed. */
    lent(): Model {
        return new Model(this.engine, this.held, false);
    }

    /** Counts, names and durations; no arrays. */
    info(): types.ModelInfo {
        return this.engine.run({}, () => {
            const { memory, call } = this.engine;
            const mesh = call._pw_mesh(this.place);
            const skin = call._pw_skin(this.place);
            const count = (place: number, struct: string, name: string) => {
                const field = memory.structs.get(struct)!.fields.find((f) => f.name === name)!;
                return memory.u32(place + field.offset);
            };
            return {
                format: memory.text(call._pw_format(this.place))!,
                vertexCount: count(mesh, "mesh", "vertexCount"),
                triangleCount: count(mesh, "mesh", "triangleCount"),
                jointCount: count(call._pw_skeleton(this.place), "skeleton", "jointCount"),
                boneCount: count(skin, "skin", "boneCount"),
                influenceCount: count(skin, "skin", "influenceCount"),
                parts: memory.readAll("part", (n) => call._pw_parts(this.place, n)),
                motions: memory.readAll("motion", (n) => call._pw_motions(this.place, n)),
                clips: this.clips(),
                morphs: memory.readAll("morph", (n) => call._pw_morphs(this.place, n)),
                sliders: memory.readAll("slider", (n) => call._pw_sliders(this.place, n)),
            };
        });
    }

    private clips(): types.ClipInfo[] {
        return this.engine.memory.readAll("clip", (n) => this.engine.call._pw_clips(this.place, n));
    }

    /** Triangles and attributes of the rest pose. */
    mesh(): types.Mesh {
        return this.engine.run({}, () => this.engine.memory.read("mesh", this.engine.call._pw_mesh(this.place)));
    }

    skeleton(): types.Skeleton {
        return this.engine.run({}, () => this.engine.memory.read("skeleton", this.engine.call._pw_skeleton(this.place)));
    }

    /** Bones and weights; null: the model has no skin. */
    skin(): types.Skin | null {
        return this.engine.run({}, () => {
            const { memory, call } = this.engine;
            const skin = memory.read("skin", call._pw_skin(this.place));
            if (skin.boneCount === 0) return null;
            const { vertexCount } = this.counts();
            const count = vertexCount * skin.influenceCount;
            skin.bones = memory.copy("H", call._pw_skin_bones(this.place), count);
            skin.weights = memory.copy("F", call._pw_skin_weights(this.place), count);
            return skin;
        });
    }

    /** @internal */
    counts(): { vertexCount: number; jointCount: number; morphCount: number; sliderCount: number } {
        const { memory, call } = this.engine;
        return memory.scope((scope) => {
            const counts = scope.alloc(16);
            call._pw_counts(this.place, counts);
            const [vertexCount, jointCount, morphCount, sliderCount] = memory.copy("U", counts, 4);
            return { vertexCount, jointCount, morphCount, sliderCount };
        });
    }

    /** Positions [vertex][3] of a frame of a clip. */
    frame(clip: number, frame: number): Float32Array {
        return this.engine.run({}, (scope) => {
            const { call, memory } = this.engine;
            const { frameCount, pointCount } = this.clips()[clip] ?? { frameCount: 0, pointCount: 0 };
            if (!(frame >= 0 && frame < frameCount))
                throw new PeltError(`there is no frame ${frame} of clip ${clip}`, "usage");
            const [points, count] = [scope.room(12 * pointCount), 3 * this.counts().vertexCount];
            const out = scope.room(4 * count);
            this.engine.check(call._pw_clip_frame(this.place, clip, frame, points, out));
            return memory.copy("F", out, count) as Float32Array;
        });
    }

    /** Local transforms and morph weights of a motion (null: rest pose) at a time in seconds; drivers are run. */
    sample(motion: number | null = null, time = 0): types.Pose {
        return this.engine.run({}, (scope) => {
            const { call, memory } = this.engine;
            const { jointCount, morphCount } = this.counts();
            const [locals, weights] = [scope.room(40 * jointCount), scope.room(4 * morphCount)];
            call._pw_sample(this.place, indexOf(motion), time, locals, weights);
            return {
                locals: memory.copy("F", locals, 10 * jointCount) as Float32Array,
                weights: memory.copy("F", weights, morphCount) as Float32Array,
            };
        });
    }

    /** Skins the mesh: a motion at a time, a pose of local transforms and morph weights, or sliders. */
    pose(options: types.PoseOptions = {}): types.Shape {
        return this.engine.run({}, (scope) => {
            const { engine } = this;
            const { call, memory } = engine;
            const counts = this.counts();
            const size = 3 * counts.vertexCount;
            const [positions, normals] = [scope.room(4 * size), options.normals ? scope.room(4 * size) : 0];
            const skinning = SKINNING[options.skinning ?? "linear"];
            const locals = scope.array(sized(options.locals, 10 * counts.jointCount, "locals"));
            const given = options.weights ?? (options.locals && this.sample().weights);
            const weights = scope.array(sized(given, counts.morphCount, "weights"));
            const sliders = scope.array(sized(options.sliders, counts.sliderCount, "sliders"));
            if (sliders) engine.check(call._pw_pose_sliders(this.place, locals, sliders, skinning, positions, normals));
            else if (locals)
                engine.check(call._pw_pose_locals(this.place, locals, weights, skinning, positions, normals));
            else
                engine.check(
                    call._pw_pose(this.place, indexOf(options.motion), options.time ?? 0, skinning, positions, normals),
                );
            return shape(memory, positions, normals, size, options.into);
        });
    }

    /** Smooth normals [vertex][3] of positions [vertex][3]; without positions, of the rest pose. */
    normals(positions?: Float32Array): Float32Array {
        return this.engine.run({}, (scope) => {
            const count = 3 * this.counts().vertexCount;
            const out = scope.room(4 * count);
            this.engine.check(this.engine.call._pw_normals(this.place, scope.array(sized(positions, count, "positions")), out));
            return this.engine.memory.copy("F", out, count) as Float32Array;
        });
    }

    /** How far a motion (default 0) is from a clip (default 0). */
    compare({ motion = 0, clip = 0, progress, cancelled }: types.CompareOptions & Hooks = {}): types.Difference {
        return this.engine.run({ progress, cancelled }, (scope) => {
            if (!this.clips()[clip]) throw new PeltError(`there is no clip ${clip}`, "usage");
            const out = scope.struct("difference");
            this.engine.check(this.engine.call._pw_compare(this.place, indexOf(motion), clip, out));
            return this.engine.memory.read("difference", out);
        });
    }

    /** A model that shares the data of this one, to change and keep both: before and after. */
    borrow(): Model {
        return this.engine.run({}, () => {
            const place = this.engine.made(this.engine.call._pw_borrow(this.place));
            return Model.made(this.engine, place, [this.held]);
        });
    }

    /** Makes the motions clips, as decompose needs them, at frames per second. They are evaluated on the model itself, or on the one that it
     * was borrowed from (`source`), which then keeps its skeleton whatever becomes of this one. */
    motionsToClips({ fps = 30, source = this }: types.MotionsToClipsOptions & Hooks = {}): void {
        this.engine.run({}, () => this.engine.check(this.engine.call._pw_motions_to_clips(this.place, source.place, fps)));
    }

    /** All frames of a clip, for pages that show them. */
    clipPoints(clip: number, options: Hooks = {}): types.ClipPoints {
        return this.engine.run(options, (scope) => {
            const { call, memory } = this.engine;
            const { frameCount, pointCount } = this.clips()[clip] ?? { frameCount: 0, pointCount: 0 };
            if (frameCount === 0) throw new PeltError(`there is no clip ${clip}`, "usage");
            const size = 3 * pointCount;
            const positions = new Float32Array(size * frameCount);
            const batch = Math.max(1, Math.min(frameCount, Math.floor(BATCH_FLOATS / Math.max(size, 1))));
            const room = scope.room(4 * size * batch);
            let radius = NaN;
            for (let first = 0; first < frameCount; first += batch) {
                const count = Math.min(batch, frameCount - first);
                this.engine.check(call._pw_clip_points(this.place, clip, first, count, room));
                if (first === 0) radius = call._pw_radius(room, pointCount);
                positions.set(memory.floats(room, size * count), size * first);
                options.progress?.("frames", (first + count) / frameCount);
                if (options.cancelled?.()) throw new PeltError("cancelled", "cancelled");
            }
            return { positions, radius };
        });
    }

    /** [vertex] the point of every vertex of the mesh, which clips have; null: vertex i is point i. */
    points(): Uint32Array | null {
        return this.engine.run({}, () => {
            const place = this.engine.call._pw_points(this.place);
            return place ? (this.engine.memory.copy("U", place, this.counts().vertexCount) as Uint32Array) : null;
        });
    }

    /** Writes the model: the ending of the name is the format. Returns all files that were written. */
    save(name: string, options: given.SaveOptions & Hooks = {}): types.OutputFile[] {
        const { progress, cancelled, ...settings } = options;
        return this.engine.run({ progress, cancelled }, (scope) => {
            const { engine } = this;
            const disk = engine.call.FS;
            const folder = "/files/out";
            disk.mkdir(folder);
            try {
                if (name.includes("/")) throw new PeltError(`'${name}' should be a name without a folder`, "usage");
                const path = scope.text(`${folder}/${name}`);
                engine.check(engine.call._pw_save(this.place, path, scope.text(settingsText(settings))));
                const names = disk.readdir(folder).filter((file) => file !== "." && file !== "..");
                return names.map((file) => ({ name: file, data: disk.readFile(`${folder}/${file}`) }));
            } finally {
                removeFolder(disk, folder);
            }
        });
    }

    /** Turns the clips into bones and weights, in place. A model without clips: its motions, at 30 frames per second. */
    decompose(options: types.DecomposeOptions & Hooks = {}): types.DecomposeReport {
        const { rig, givenMotion, givenWeights, restPositions, progress, iteration, cancelled, ...settings } = options;
        return this.engine.run({ progress, iteration, cancelled }, (scope) => {
            const { engine } = this;
            const clips = this.clips();
            if (clips.length === 0) engine.check(engine.call._pw_motions_to_clips(this.place, this.place, 30));
            const points = clips[0]?.pointCount ?? this.counts().vertexCount;
            const [text, report] = [scope.text(settingsText(settings)), scope.struct("decompose")];
            const rest = scope.array(sized(restPositions, 3 * points, "restPositions"));
            const [source, motion, weights] = [rig?.place ?? 0, givenMotion ? 1 : 0, givenWeights ? 1 : 0];
            engine.check(
                engine.call._pw_decompose(this.place, text, source, motion, weights, rest, iteration ? 1 : 0, report),
            );
            return engine.memory.read("decompose", report);
        });
    }

    /** Adds morph targets for what the skin misses of clips. */
    correct(options: types.CorrectOptions & Hooks = {}): types.CorrectReport {
        const { pairs = [{ motion: 0, clip: 0 }], source = this, progress, cancelled, ...settings } = options;
        return this.engine.run({ progress, cancelled }, (scope) => {
            const { engine } = this;
            const list = scope.alloc(8 * pairs.length);
            const count = source.clips().length;
            const start = engine.memory.scope((inner) => engine.call._pw_clips(source.place, inner.alloc(4)));
            const { size } = engine.memory.structs.get("clip")!;
            pairs.forEach(({ motion, clip }, n) => {
                if (!(clip < count)) throw new PeltError(`there is no clip ${clip}`, "usage");
                engine.memory.setU32(list + 8 * n, indexOf(motion));
                engine.memory.setU32(list + 8 * n + 4, start + size * clip);
            });
            const [text, report] = [scope.text(settingsText(settings)), scope.struct("correct")];
            engine.check(engine.call._pw_correct(this.place, source.place, list, pairs.length, text, report));
            return engine.memory.read("correct", report);
        });
    }

    /** Adds morph targets that the pose drives, learned from the frames of a clip, each in the pose of a motion at its time. */
    eigenskin(options: types.EigenskinOptions & Hooks = {}): types.EigenskinReport {
        const { motion = 0, clip = 0, holdOut = 0, source = this, progress, cancelled, ...settings } = options;
        return this.engine.run({ progress, cancelled }, (scope) => {
            const { engine } = this;
            if (!source.clips()[clip]) throw new PeltError(`there is no clip ${clip}`, "usage");
            const [text, report] = [scope.text(settingsText(settings)), scope.struct("eigenskin")];
            engine.check(engine.call._pw_eigenskin(this.place, source.place, motion, clip, holdOut, text, report));
            return engine.memory.read("eigenskin", report);
        });
    }

    /** Adds a motion of another model. */
    retarget(options: types.RetargetOptions & Hooks): types.RetargetReport {
        const { source, motion = 0, map, name, progress, cancelled, ...settings } = options;
        return this.engine.run({ progress, cancelled }, (scope) => {
            const { engine } = this;
            if (!source.info().motions[motion]) throw new PeltError(`there is no motion ${motion} to retarget`, "usage");
            const [text, report] = [scope.text(settingsText(settings)), scope.struct("retarget")];
            const [pairs, called] = [map, name].map((given) => (given ? scope.text(given) : 0));
            engine.check(engine.call._pw_retarget(this.place, source.place, motion, text, pairs, called, report));
            return engine.memory.read("retarget", report);
        });
    }

    /** [joint] the joint of another model that each joint would follow; 0xffffffff: none. */
    matchJoints({ source, map }: { source: Model; map?: string } & Hooks): Uint32Array {
        return this.engine.run({}, (scope) => {
            const { jointCount } = this.counts();
            const out = scope.room(4 * jointCount);
            this.engine.check(this.engine.call._pw_match_joints(this.place, source.place, map ? scope.text(map) : 0, out));
            return this.engine.memory.copy("U", out, jointCount) as Uint32Array;
        });
    }

    /** Reduces triangles, in place. */
    simplify(options: given.SimplifyOptions & Hooks = {}): types.SimplifyReport {
        const { progress, cancelled, ...settings } = options;
        return this.engine.run({ progress, cancelled }, (scope) => {
            const [text, report] = [scope.text(settingsText(settings)), scope.struct("simplify")];
            this.engine.check(this.engine.call._pw_simplify(this.place, text, report));
            return this.engine.memory.read("simplify", report);
        });
    }

    /** Gives the mesh skin weights, in place. For settings that change, see binding(). */
    bind(options: types.BindOptions & Hooks = {}): types.BindReport {
        const { progress, cancelled, ...settings } = options;
        return this.engine.run({ progress, cancelled }, (scope) => {
            const { text, extra } = bindSettings(this, scope, settings);
            const report = scope.struct("bind");
            this.engine.check(this.engine.call._pw_bind(this.place, text, extra, report));
            return this.engine.memory.read("bind", report);
        });
    }

    /** Voxels and fields of the mesh, from which apply() computes weights in milliseconds. */
    binding(options: types.BindOptions & Hooks = {}): Binding {
        const { progress, cancelled, ...settings } = options;
        return this.engine.run({ progress, cancelled }, (scope) => {
            const { text, extra, parents } = bindSettings(this, scope, settings);
            const place = this.engine.made(this.engine.call._pw_binding_create(this.place, text, extra));
            return new Binding(this, place, settings, parents);
        });
    }

    /** A simulation of soft tissue, to be stepped. */
    jiggle(options: types.JiggleOptions & Hooks = {}): Jiggle {
        const { progress, cancelled, ...settings } = options;
        return this.engine.run({ progress, cancelled }, (scope) => {
            const { text, extra, colliderCount } = jiggleSettings(this, scope, settings);
            const place = this.engine.made(this.engine.call._pw_jiggle_create(this.place, text, extra));
            return new Jiggle(this, place, colliderCount);
        });
    }

    /** Simulates motions and replaces the clips by the results. */
    simulate(options: types.SimulateOptions & Hooks = {}): types.JiggleReport {
        const { motion, progress, cancelled, ...settings } = options;
        return this.engine.run({ progress, cancelled }, (scope) => {
            const { engine } = this;
            const part = (table: TableName) => {
                const chosen: Record<string, OptionValue> = {};
                for (const { key } of engine.options[table].options)
                    if (key in settings) {
                        chosen[key] = (settings as any)[key];
                        delete (settings as any)[key];
                    }
                return scope.text(settingsText(chosen));
            };
            const [simulate, bake, report] = [part("jiggleSimulate"), part("jiggleBake"), scope.struct("jiggle")];
            const { text, extra } = jiggleSettings(this, scope, settings);
            const count = motion === undefined ? 0 : 1;
            engine.check(
                engine.call._pw_jiggle_simulate(this.place, motion ?? 0, count, simulate, text, bake, extra, report),
            );
            return engine.memory.read("jiggle", report);
        });
    }

    /** Fits helper bones to the clips of simulate(). */
    addBones(options: given.DecomposeOptions & Hooks = {}): types.DecomposeReport {
        const { progress, cancelled, ...settings } = options;
        return this.engine.run({ progress, cancelled }, (scope) => {
            const [text, report] = [scope.text(settingsText(settings)), scope.struct("decompose")];
            this.engine.check(this.engine.call._pw_jiggle_bones(this.place, text, report));
            return this.engine.memory.read("decompose", report);
        });
    }

    /** Fits morph targets to the clips of simulate(). `motion`: the one that was simulated; default: all. */
    addMorphs(options: given.CorrectOptions & { motion?: number } & Hooks = {}): types.CorrectReport {
        const { motion = 0, progress, cancelled, ...settings } = options;
        return this.engine.run({ progress, cancelled }, (scope) => {
            const [text, report] = [scope.text(settingsText(settings)), scope.struct("correct")];
            this.engine.check(this.engine.call._pw_jiggle_morphs(this.place, motion, text, report));
            return this.engine.memory.read("correct", report);
        });
    }
}
