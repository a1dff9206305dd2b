/** Retarget: a motion of another skeleton on this one. */
import type { InputFile, Model, ModelInfo } from "pelt";
import { h } from "../../dom";
import type { Panel } from "../panel";
import type { Studio } from "../studio";

const NONE = 0xffffffff;

/** The motion that was opened, in the engine until another one takes its place. */
let motion: { model: Model; info: ModelInfo; names: string[]; joints: string[]; files: InputFile[] } | undefined;
let chosen = 0;
let box: HTMLElement;

/** Opens a motion to retarget. False: the files have none; told. */
export async function openMotion(studio: Studio, files: InputFile[]): Promise<boolean> {
    const names = files.map(({ name }) => name);
    const opened = await studio.work(`Opening ${names.join(", ")}`, async () => {
        const model = await studio.pelt.load(files);
        const [info, skeleton] = [await model.info(), await model.skeleton()];
        if (info.motions.length === 0) {
            model.free();
            throw new Error(`${names[0]}: there is no motion in it`);
        }
        return { model, info, names, joints: skeleton.names ?? [], files };
    });
    if (!opened) return false;
    motion?.model.free();
    motion = opened;
    chosen = 0;
    await showMotion(studio);
    return true;
}

async function showMotion(studio: Studio): Promise<void> {
    if (!box) return;
    if (!motion) return box.replaceChildren(h("p", { class: "empty" }, "No motion yet: open or drop a .bvh, .asf with .amc, .fbx or .glb file."));
    const { info, names } = motion;
    const select = h("select", { id: "retarget-motion" }, ...info.motions.map(({ name }, n) => h("option", { value: n }, name || `motion ${n}`)));
    select.value = String(chosen);
    select.addEventListener("change", () => (chosen = Number(select.value)));
    const rows = [h("div", { class: "setting" }, h("label", { for: "retarget-motion" }, "Motion"), h("span", { class: "value" }, select), h("small", {}, names.join(", ")))];
    box.replaceChildren(...rows);
    const joints = h("details", { class: "more", id: "matches" });
    if (!studio.hasModel || studio.baseOf(retarget).info.jointCount === 0) return;
    try {
        const rig = studio.baseOf(retarget).model;
        const [skeleton, partners] = [await rig.skeleton(), await rig.matchJoints({ source: motion.model })];
        const pairs = Array.from(partners, (partner, joint) => ({ joint: skeleton.names?.[joint] ?? "", partner }));
        const matched = pairs.filter(({ partner }) => partner !== NONE);
        joints.append(
            h("summary", {}, `${matched.length} of ${pairs.length} joints have a partner`),
            h("table", {}, h("tbody", {}, ...pairs.map(({ joint, partner }) => h("tr", {}, h("th", { scope: "row" }, joint || "(no name)"), h("td", {}, partner === NONE ? "–" : motion!.joints[partner]))))),
        );
        box.append(joints);
    } catch (error) {
        studio.tell((error as Error).message, "error");
    }
}

export const retarget: Panel = {
    name: "retarget",
    label: "Retarget",
    summary: "Play a motion of another skeleton on this rig: BVH, ASF and AMC, or another rig.",
    tables: ["retarget"],
    main: ["align", "motionRest", "ground", "replace"],
    action: "Retarget",
    unfit({ jointCount }) {
        if (jointCount === 0) return "This model has no skeleton; open a rig.";
        return motion ? undefined : "Open a motion first: a .bvh file, an .asf with its .amc, or another rig.";
    },
    before(studio) {
        const input = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Motion to open" });
        const button = h("button", { type: "button", id: "open-motion", onclick: () => input.click() }, "Open a motion…");
        input.addEventListener("change", async () => {
            const files = await Promise.all([...(input.files ?? [])].map(async (file) => ({ name: file.name, data: await file.arrayBuffer() })));
            input.value = "";
            if (files.length > 0) await openMotion(studio, files);
        });
        box = h("div");
        return h("div", {}, h("div", { class: "row" }, button), input, box);
    },
    enter: (studio) => void showMotion(studio),
    inputs: (_, base) => [...base.files, ...(motion?.names ?? [])],
    command: () => (chosen > 0 ? ["--motion", String(chosen)] : []),
    async run({ model, settings, hooks }) {
        const { info, names } = motion!;
        const report = await model.retarget({ source: motion!.model, motion: chosen, ...settings, ...hooks });
        return {
            title: info.motions[chosen].name || names[0],
            report: { matched: report.matched, frames: report.frameCount, fps: report.fps, scale: report.scale, lift: report.lift, stretch: report.stretch },
        };
    },
};
