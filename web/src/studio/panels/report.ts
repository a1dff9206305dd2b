/** Parts of reports that panels share. */
import type { Model, ModelInfo } from "pelt";
import type { JsonObject } from "../../data";
import type { Job, WorkHooks } from "../panel";

/** A model whose motions are its only animation gets them as clips, evaluated on the model that it was borrowed from. */
export async function clipsForWork({ model, base }: Pick<Job, "model" | "base">): Promise<void> {
    if (base.info.clips.length === 0) await model.motionsToClips({ source: base.model });
}

/** Errors of every clip against the motion of the same place. */
export async function errorsOf(model: Model, { clips, motions }: ModelInfo, hooks: Partial<WorkHooks> = {}): Promise<JsonObject> {
    const count = Math.min(clips.length, motions.length);
    const rows: JsonObject[] = [];
    for (let n = 0; n < count; n++) {
        const { errorRms, errorKg, errorMax, normalDegrees } = await model.compare({ motion: n, clip: n, ...hooks });
        rows.push({ name: clips[n].name, frames: clips[n].frameCount, error_rms: errorRms, error_kg: errorKg, error_max: errorMax, normal_degrees: normalDegrees });
    }
    if (rows.length === 0) return {};
    if (rows.length > 1) return { clips: rows };
    const { name: _, frames, ...errors } = rows[0];
    return { frames, ...errors };
}
