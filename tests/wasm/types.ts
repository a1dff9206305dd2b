// Compiled, not run: what the types of the npm package accept, and what they reject.
import { Pelt, PeltError, type Binding, type DecomposeReport, type Jiggle, type Model } from "pelt";
import { Engine } from "pelt/engine";

export async function accepted(bytes: Uint8Array): Promise<number> {
    const pelt: Pelt = await Pelt.start({ memoryLimit: 1 << 30, log: (level, text) => void [level, text] });
    using model: Model = await pelt.load([{ name: "a.obj", data: bytes }, new File([], "a.pc2")], { fps: 24 });
    const rig = await pelt.scene("creature", { vertices: 100 });
    const report: DecomposeReport = await model.decompose({
        bones: 3,
        transforms: "rigid",
        preset: "fesam2010",
        rig,
        progress: (phase, fraction) => void [phase.length, fraction.toFixed()],
        signal: AbortSignal.timeout(1000),
    });
    const binding: Binding = await rig.binding({ resolution: 64, exclude: ["a", "b"], vertexFalloff: new Float32Array(3) });
    await binding.apply({ falloff: 0.3, influences: 2, smooth: 1 });
    const jiggle: Jiggle = await rig.jiggle({ particles: 100, forces: { gravity: [0, -9.8, 0] } });
    const { positions } = await jiggle.advance({ pose: { motion: 0, time: 0 }, seconds: 0.01 });
    const [file] = await model.save("a.glb", { weightsFormat: "u8" });
    const kinds: string[] = pelt.options.bind.options.map(({ key, kind, help }) => key + kind + help);
    await model.correct({ rank: 3, source: rig, pairs: [{ motion: null, clip: 0 }] });
    return report.errorFit + positions.length + file.data.byteLength + kinds.length;
}

export async function rejected(pelt: Pelt, model: Model, wasm: WebAssembly.Module): Promise<unknown> {
    // @ts-expect-error: an option that does not exist
    await model.decompose({ boness: 3 });
    // @ts-expect-error: a choice that does not exist
    await model.decompose({ transforms: "wobbly" });
    // @ts-expect-error: internals
    await model.counts();
    // @ts-expect-error: results come later
    model.info().vertexCount;
    // @ts-expect-error: a file has a name
    await pelt.load({ data: new Uint8Array() });
    const engine = await Engine.start(wasm);
    const code: "usage" | string = new PeltError("", "usage").code;
    return [engine.scene("cloth").info().vertexCount, code];
}
