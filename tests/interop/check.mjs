// The tests of these tests: each judge gets files that it must reject, one vertex moved by 1 % of the size among them, and
// results that are not numbers, and crashes. A judge that accepts one of them ends the run.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { diagonal } from "../node/positions.mjs";
import { readPc2 } from "../node/shown.mjs";
import * as support from "../node/support.mjs";
import { judgePlay, judgeRead } from "./back.mjs";
import { judgeCache } from "./cache.mjs";
import { layout } from "./compare.mjs";
import { LARGEST, cutInfluences } from "./influences.mjs";
import { cellOf, forget, judge, withinLimit } from "./judge.mjs";

const MOVED = 0.01; // of the size

const must = (right, words) => {
    if (!right) throw new Error(`the check of the checks: ${words}`);
};

/** Writes a GLB of Pelt's with one vertex that triangles use moved by 1 % of the size. */
function moveVertex(file, out) {
    const { document, buffer } = support.readGltf(file);
    const [{ position, used }] = layout(file);
    const { bufferView, byteOffset = 0, max } = document.accessors[position];
    const view = document.bufferViews[bufferView];
    const bytes = Buffer.from(buffer(0));
    const at = (view.byteOffset ?? 0) + byteOffset + used[used.length >> 1] * (view.byteStride ?? 12);
    const x = bytes.readFloatLE(at) + MOVED * diagonal(support.positionsOf(file));
    bytes.writeFloatLE(x, at);
    max[0] = Math.max(max[0], Math.fround(x));
    writeFileSync(out, support.makeGlb(document, bytes));
}

/** Judges of results, without any program. */
export async function checkJudges() {
    const moments = [[-1, 0], [0, 1]];
    const pose = (...x) => Float32Array.from([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, ...x]);
    const [whole, fewer] = [pose(1), pose(0.8)];
    const truth = { moments, poses: [whole, whole], play: (poses) => poses };
    const cut = { ...truth, poses: [fewer, fewer], full: [whole, whole] };
    const program = { influences: LARGEST };
    const ok = async (one, result, of) => (await cellOf(one, result, of)).ok;
    must(await ok({}, { poses: [whole, whole] }, truth), "a right result is rejected");
    must(await ok(program, { poses: [fewer, fewer] }, cut), "a right result with fewer influences is rejected");
    for (const [words, result] of [
        ["a vertex moved by 1 %", { poses: [pose(1), pose(1 + MOVED * Math.sqrt(3))] }],
        ["what is not a number", { poses: [whole, pose(NaN)] }],
        ["what is infinite", { poses: [whole, pose(Infinity)] }],
        ["a crash", { error: "ends with SIGSEGV", crashed: true }],
    ]) {
        must(!(await ok({}, result, truth)), `${words} is accepted`);
        must(!(await ok(program, result, cut)), `${words} is accepted where a program plays fewer influences`);
    }
    must(!(await ok(program, { poses: [whole, whole] }, cut)), "all influences are accepted of a program that plays fewer");
    const limit = { why: "reason", bound: 1e-3 };
    const refusal = { why: "reason", refuses: /no such extension/ };
    const covers = (one, cell) => withinLimit({ ok: false, ...cell }, one).ok;
    must(covers(limit, { judged: 9e-4 }) && covers(refusal, { refused: true, text: "Error: no such extension" }), "a limit does not cover its own case");
    for (const cell of [{ judged: 1.1e-3 }, { judged: NaN }, { judged: Infinity }, { text: "ends with SIGSEGV" }, { refused: true, text: "unreadable" }])
        must(!covers(limit, cell), `a limit of 1e-3 covers ${JSON.stringify(cell)}, ${cell.judged}`);
    for (const cell of [{ judged: 1e-9, text: "no such extension" }, { refused: false, text: "no such extension" }, { refused: true, text: "unreadable" }])
        must(!covers(refusal, cell), `a refusal covers ${JSON.stringify(cell)}`);
}

/** The file that programs are checked with, of 8 influences, and that with a moved vertex. */
export function makeFixtures({ pelt, scenes, folder }) {
    const inFolder = (name) => path.join(folder, `check_${name}`);
    const [mesh, cache, right, moved] = ["soft.obj", "soft.pc2", "right.glb", "moved.glb"].map(inFolder);
    support.run(scenes, ["softbody", "-o", mesh, "--vertices", "300", "--frames", "12"]);
    support.run(pelt, ["decompose", mesh, cache, "-k", "8", "--bones", "12", "--iterations", "4", "-o", right, "-q"]);
    moveVertex(right, moved);
    return { right, moved };
}

/** Whether a program's cell turns red when it is shown the moved vertex. */
export async function checkProgram(program, { right, moved }, { toolPose, folder }) {
    if (program.missing()) return;
    const [good, bad] = await judge(program, [right, right], toolPose, folder, [right, moved]);
    must(good.ok, `${program.name} plays the file of the check wrongly: ${good.text}`);
    must(!bad.ok, `${program.name}: a vertex moved by 1 % is accepted: ${bad.text}`);
}

/** Both judges of the way back; with the largest influences alone too. */
export async function checkWays({ right, moved }, t) {
    const [cut, movedCut] = [`${right}-four.glb`, `${moved}-four.glb`];
    cutInfluences(right, cut, LARGEST);
    cutInfluences(moved, movedCut, LARGEST);
    must((await judgeRead(t.toolPose, right, 1e-5)).ok, "a right file is read wrongly");
    must(!(await judgeRead(t.toolPose, right, 1e-5, moved)).ok, "a vertex moved by 1 % is accepted of a reader");
    for (const [good, bad] of [[right, moved], [cut, movedCut]]) {
        must((await judgePlay(t, right, good, 1e-3)).ok, "a right file plays wrongly");
        must(!(await judgePlay(t, right, bad, 1e-3)).ok, "a vertex moved by 1 % still plays");
    }
    forget();
}

/** A cache of which Blender gets another one: a vertex of its first frame is moved. */
export function checkCache(program, [mesh, cache], { folder }) {
    if (program.name !== "blender" || program.missing()) return;
    const moved = path.join(folder, "check_moved.pc2");
    const bytes = readFileSync(cache);
    const first = 32; // bytes of the header
    bytes.writeFloatLE(bytes.readFloatLE(first) + MOVED * diagonal(readPc2(cache)[0]), first);
    writeFileSync(moved, bytes);
    const { ok, text } = judgeCache(program, [mesh, cache], folder, [mesh, moved]);
    must(!ok, `${program.name}: a vertex of a cache moved by 1 % is accepted: ${text}`);
}
