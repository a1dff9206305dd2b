/** A model of the engine as the data that the viewer shows. */
import type { Model, ModelInfo } from "pelt";
import { Clip, type PageData } from "../data";
import type { Step, WorkHooks } from "./panel";

/** Frames of all clips that a page holds; more are left out. */
const MOST_BYTES = 1 << 30;

/** The motion that plays a clip: that of the same name, else the one at the same place. */
function motionOf({ motions }: ModelInfo, name: string, clip: number): number | undefined {
    const same = motions.findIndex((motion) => motion.name === name);
    return same >= 0 ? same : clip < motions.length ? clip : undefined;
}

async function readClips(model: Model, info: ModelInfo, hooks: Partial<WorkHooks>): Promise<Clip[]> {
    const clips: Clip[] = [];
    let bytes = 0;
    for (const [index, { name, frameCount, pointCount, times }] of info.clips.entries()) {
        bytes += 12 * frameCount * pointCount;
        if (bytes > MOST_BYTES) break;
        const { positions, radius } = await model.clipPoints(index, hooks);
        const motion = motionOf(info, name, index);
        const json = { name, motion, points: pointCount, times: Array.from(times), radius, format: "f32" as const };
        clips.push(new Clip(json, positions, undefined));
    }
    return clips;
}

/** The point of every vertex of the GLB. Parts that share vertices have a copy of all of them each. */
async function readPoints(model: Model, info: ModelInfo): Promise<Uint32Array | undefined> {
    const shared = info.parts.length > 1 && info.parts[0].vertexCount === 0;
    const points = await model.points();
    if (!points && !shared) return undefined;
    const count = info.vertexCount * (shared ? info.parts.length : 1);
    return Uint32Array.from({ length: count }, (_, v) => points?.[v % info.vertexCount] ?? v % info.vertexCount);
}

export async function pageData({ model, info, report }: Step, title: string, hooks: Partial<WorkHooks> = {}): Promise<PageData> {
    const [{ data }] = await model.save("model.glb", { skipClips: true, playerInfluences: 8 });
    const clips = await readClips(model, info, hooks);
    return {
        title,
        fps: 30,
        glb: data.buffer,
        points: clips.length > 0 ? await readPoints(model, info) : undefined,
        clips,
        report,
    };
}
