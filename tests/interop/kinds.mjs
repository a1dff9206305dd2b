// The kinds of file that Pelt writes: a row for each, made from Pelt's own scenes.
//
//   name   as the table has it
//   quick  whether `make test` has it too
//   args   the command line; `t` has scene(name) → its files, truth(name) → a cache of its flesh, out, and pelt(args)
//   limits { program: { why, bound } } where the program itself cannot: its own bound for this kind, a little above what was measured
//   target the program that the file is made for: it must play all influences of it
//   cache  the kind is a mesh with a cache, [mesh, cache], which programs other than Blender do not read
import path from "node:path";
import * as support from "../node/support.mjs";

export const kinds = [
    { name: "decompose", quick: true, args: (t) => ["decompose", ...t.scene("cloth"), "-o", t.out] },
    { name: "decompose --transforms trs", args: (t) => ["decompose", ...t.scene("cloth"), "-t", "trs", "-o", t.out] },
    { name: "decompose --transforms rigid", args: (t) => ["decompose", ...t.scene("softbody"), "-t", "rigid", "-o", t.out] },
    { name: "decompose --hierarchy", quick: true, args: (t) => ["decompose", ...t.scene("creature"), "-t", "rigid", "--hierarchy", "--bones", "8", "-o", t.out] },
    { name: "decompose --influences 8", quick: true, args: (t) => ["decompose", ...t.scene("softbody"), "-k", "8", "--bones", "12", "-o", t.out] },
    { name: "decompose --corrections 4", args: (t) => ["decompose", ...t.scene("softbody"), "--corrections", "4", "--bones", "6", "-o", t.out] },
    { name: "decompose --add 4", args: (t) => ["decompose", ...t.scene("troll"), t.truth("troll"), "--add", "4", "-o", t.out] },
    ...["three", "babylon", "playcanvas", "blender"].map((target) => ({
        name: `decompose --target ${target} -k 8`,
        target,
        args: (t) => ["decompose", ...t.scene("softbody"), "--target", target, "-k", "8", "--bones", "12", "-o", t.out],
    })),
    { name: "bind", quick: true, args: (t) => ["bind", ...t.scene("creature"), "-o", t.out] },
    {
        name: "bind --weights-format u8",
        args: (t) => ["bind", ...t.scene("creature"), "--weights-format", "u8", "-o", t.out],
        limits: { assimp: { bound: Infinity, why: "5.2 reads whole-number weights as if they were floats: any place at all" } },
    },
    { name: "correct", quick: true, args: (t) => ["correct", ...t.scene("troll"), t.truth("troll"), "-o", t.out] },
    { name: "correct --normals --normal-rank 4", args: (t) => ["correct", ...t.scene("troll"), t.truth("troll"), "--normals", "--normal-rank", "4", "-o", t.out] },
    { name: "correct --driver pose", args: (t) => ["correct", ...t.scene("troll"), t.truth("troll"), "--driver", "pose", "-o", t.out] },
    { name: "jiggle", quick: true, args: (t) => ["jiggle", ...t.scene("troll"), "-o", t.out] },
    { name: "jiggle --to 0.5", args: (t) => ["jiggle", ...t.scene("troll"), "--to", "0.5", "-o", t.out] },
    { name: "jiggle --as morphs", args: (t) => ["jiggle", ...t.scene("troll"), "--as", "morphs", "--corrections", "6", "-o", t.out] },
    { name: "jiggle, a cache", quick: true, cache: true, args: (t) => ["jiggle", ...t.scene("production"), "-o", t.files[1], "--mesh", t.files[0]] },
    { name: "bake --mesh, a cache", cache: true, args: (t) => ["bake", ...t.scene("production"), "-o", t.files[1], "--mesh", t.files[0]] },
    { name: "simplify", quick: true, args: (t) => ["simplify", ...t.scene("creature"), "-o", t.out] },
    { name: "simplify --lods 3", quick: true, args: (t) => ["simplify", ...t.scene("creature"), "--lods", "3", "-o", t.out] },
    { name: "retarget", args: (t) => ["retarget", ...t.scene("troll"), t.bvh("troll"), "-o", t.out] },
    { name: "light", quick: true, args: (t) => ["light", ...t.scene("creature"), "-o", t.out] },
    {
        name: "convert, morph targets",
        quick: true,
        args: (t) => ["convert", ...t.scene("morph"), t.out],
        limits: {
            playcanvas: { bound: 0.28, why: "plays cubic splines of morph weights wrongly, at keys too (0.25 measured)" },
            blender: { bound: 8e-3, why: "does not import tangents of cubic splines: exact at keys, 7e-3 between them" },
            assimp: { bound: 0.1, why: "plays cubic splines of morph weights wrongly, at keys too (0.091 measured)" },
            gltfpack: { bound: 1e-2, why: "samples cubic splines at their keys: 2e-4 there, 8.4e-3 between them" },
        },
    },
];

/** Vertices of the scenes: small, for none of this depends on their number. */
const VERTICES = 600;

/** Writes a kind to a folder and returns its files. */
export function makeKind(kind, number, { pelt, scenes, folder }) {
    const once = (file, args, program = pelt) => {
        if (!made.has(file)) support.run(program, args);
        made.add(file);
        return file;
    };
    const scene = (name) => {
        const stem = path.join(folder, name);
        const files = ["cloth", "softbody"].includes(name) ? [`${stem}.obj`, `${stem}.pc2`] : [`${stem}.glb`];
        once(files[0], [name, "-o", files[0], "--vertices", `${VERTICES}`, "--frames", "24"], scenes);
        return files;
    };
    const stem = path.join(folder, `kind_${number}`);
    const t = {
        scene,
        out: `${stem}.glb`,
        files: kind.cache ? [`${stem}.obj`, `${stem}.pc2`] : [`${stem}.glb`],
        truth: (name) => once(path.join(folder, `${name}_flesh.pc2`), ["jiggle", ...scene(name), "-o", path.join(folder, `${name}_flesh.pc2`), "-q"]),
        bvh: (name) => once(path.join(folder, `${name}.bvh`), ["convert", ...scene(name), path.join(folder, `${name}.bvh`), "-q"]),
    };
    support.run(pelt, [...kind.args(t), "-q"]);
    return t.files;
}
const made = new Set();
