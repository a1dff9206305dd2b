/** Files: what is opened, what is dropped, what is saved. */
import type { Format, InputFile, Model, OutputFile, Pelt } from "pelt";
import { h } from "../dom";
import { quoted, stem } from "./command";
import type { Step } from "./panel";

/** Files that only tell a motion. */
const MOTION_FILES = /\.(bvh|asf|amc)$/i;

export async function readFiles(files: readonly File[]): Promise<InputFile[]> {
    return Promise.all(files.map(async (file) => ({ name: file.name, data: await file.arrayBuffer() })));
}

export function areMotions(files: readonly { name: string }[]): boolean {
    return files.length > 0 && files.every(({ name }) => MOTION_FILES.test(name));
}

/** What a list of files is called: its model, not its pictures and buffers. */
export function titleOf(files: readonly { name: string }[]): string {
    const model = files.find(({ name }) => /\.(gltf|glb|vrm|fbx|usd[acz]?|abc|obj|ply|bvh|asf)$/i.test(name));
    return (model ?? files[0]).name;
}

/** Endings that the engine reads, for the file dialog. */
export function readable(formats: readonly Format[]): string {
    const endings = formats.filter(({ reads }) => reads).flatMap(({ extensions }) => extensions);
    return [...new Set(endings), "bin", "mtl", "png", "jpg", "json"].map((ending) => `.${ending.replace(/^\./, "")}`).join(",");
}

export function download({ name, data }: { name: string; data: BlobPart }): void {
    const link = h("a", { href: URL.createObjectURL(new Blob([data])), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// ---- Export ----

/** An ending that results are written to. */
export interface Target {
    ending: string;
    label: string;
    /** The vertices of every frame, not bones. */
    frames: boolean;
}

const TARGETS: Target[] = [
    { ending: "glb", label: "glTF binary (.glb)", frames: false },
    { ending: "fbx", label: "FBX (.fbx)", frames: false },
    { ending: "usdz", label: "USD package (.usdz)", frames: false },
    { ending: "usda", label: "USD text (.usda)", frames: false },
    { ending: "gltf", label: "glTF text and its buffer (.gltf)", frames: false },
    { ending: "bvh", label: "Skeleton and motion (.bvh)", frames: false },
    { ending: "abc", label: "Alembic (.abc)", frames: true },
    { ending: "pc2", label: "Point cache (.pc2)", frames: true },
    { ending: "mdd", label: "Point cache (.mdd)", frames: true },
    { ending: "obj", label: "Mesh at rest (.obj)", frames: false },
    { ending: "ply", label: "Mesh at rest (.ply)", frames: false },
];

/** Endings that the engine writes. */
export function targets(formats: readonly Format[]): Target[] {
    const written = new Set(formats.filter(({ writes }) => writes).flatMap(({ extensions }) => extensions.map((e) => e.replace(/^\./, ""))));
    return TARGETS.filter(({ ending }) => written.has(ending));
}

/** A simulation that was baked as the vertices of its frames. */
function isCache({ verb, settings }: Step): boolean {
    return verb === "jiggle" && settings.as === "cache";
}

/** A rig as frames: its motions, evaluated. */
async function frames(step: Step): Promise<Model> {
    const { model, info } = step;
    const copy = await model.borrow();
    if (info.motions.length > 0 && !isCache(step)) await copy.motionsToClips({ source: model });
    return copy;
}

export async function exportStep(step: Step, target: Target, name: string): Promise<OutputFile[]> {
    if (!target.frames) return step.model.save(name, { skipClips: true });
    const model = await frames(step);
    try {
        return await model.save(name);
    } finally {
        model.free();
    }
}

/** The name that an export gets. */
export function exportName(step: Step, target: Target): string {
    return `${stem(step.files[0])}.${target.ending}`;
}

/** What writes the same from the files of a step. */
export function exportCommand(step: Step, target: Target): string | undefined {
    const name = exportName(step, target);
    if (step.files.includes(name)) return undefined;
    const verb = target.frames && step.info.motions.length > 0 ? "bake" : "convert";
    return ["pelt", verb, ...step.files, "-o", name].map(quoted).join(" ");
}

// ---- Samples ----

export interface Sample {
    /** Scene of the library. */
    scene: string;
    name: string;
    label: string;
    text: string;
    /** Files that `pelt-scenes` writes: a rig, a mesh with its cache, or a rig and the cache alone. */
    endings: string[];
    options: { vertices?: number; frames?: number };
    /** Panel that it is for. */
    panel: string;
    settings: Record<string, number | string>;
    /** Run the panel at once. */
    run?: boolean;
}

export const SAMPLES: Sample[] = [
    { scene: "cloth", name: "flag", label: "Flag", text: "Simulated cloth, turned into bones", endings: ["obj", "pc2"], options: { frames: 60 }, panel: "decompose", settings: { bones: 16, effort: "fast" }, run: true },
    { scene: "creature", name: "creature", label: "Creature", text: "A rig with motions, to simplify", endings: ["glb"], options: {}, panel: "simplify", settings: {} },
    { scene: "troll", name: "troll", label: "Troll", text: "A heavy body whose flesh swings", endings: ["glb"], options: {}, panel: "jiggle", settings: {} },
    { scene: "arm", name: "arm", label: "Arm", text: "Muscles that bulge, learned from a cache", endings: ["glb", "pc2"], options: {}, panel: "correct", settings: { driver: "pose" } },
    { scene: "production", name: "production", label: "Character", text: "Many parts, to bind to a skeleton", endings: ["glb"], options: {}, panel: "bind", settings: {} },
];

/** A sample as the files that `pelt-scenes` writes, and its command lines. */
export async function sampleFiles(pelt: Pelt, { scene, name, endings, options }: Sample): Promise<{ files: InputFile[]; commands: string[] }> {
    const model = await pelt.scene(scene, options);
    const files: InputFile[] = [];
    for (const ending of endings) files.push(...(await model.save(`${name}.${ending}`)));
    model.free();
    const sizes = Object.entries(options).flatMap(([key, value]) => [`--${key}`, String(value)]);
    // The program writes caches beside a mesh.
    const written = endings.filter((ending) => ending !== "pc2");
    if (endings.includes("pc2") && !written.includes("obj")) written.push("obj");
    return { files, commands: written.map((ending) => ["pelt-scenes", scene, "-o", `${name}.${ending}`, ...sizes].map(quoted).join(" ")) };
}
