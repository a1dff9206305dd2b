# pelt decompose --add and jiggle on a rig as programs export it: an armature node, a part that hangs from a joint, morphs.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" creature -o plain.glb --vertices 400 --frames 12 >/dev/null || fail "no scene"
cat >make.js <<'END'
const fs = require("fs"), [from, to] = process.argv.slice(2), b = fs.readFileSync(from), size = b.readUInt32LE(12);
const g = JSON.parse(b.subarray(20, 20 + size)), bin = b.subarray(28 + size);
const shown = g.nodes.findIndex((n) => n.mesh !== undefined), roots = g.scenes[0].nodes.filter((n) => n !== shown);
const head = g.nodes.findIndex((n) => n.name === "head");
const primitive = g.meshes[0].primitives[0], position = primitive.attributes.POSITION;
primitive.targets = [{ POSITION: position }];
Object.assign(g.meshes[0], { name: "Body", extras: { targetNames: ["larger"] } });
g.meshes.push({ name: "Hat", primitives: [{ attributes: { POSITION: position }, indices: primitive.indices }] });
g.nodes[shown].name = "Body";
g.nodes.push({ name: "Hat", mesh: 1, scale: [0.1, 0.1, 0.1], translation: [0, 0.1, 0] });
(g.nodes[head].children ||= []).push(g.nodes.length - 1);
g.nodes.push({ name: "Armature", children: roots });
g.nodes.push({ name: "RootNode", children: [g.nodes.length - 1, shown] });
g.scenes[0].nodes = [g.nodes.length - 1];
g.skins[0].skeleton = g.skins[0].joints[0];
const times = g.animations[0].samplers[0].input, keys = g.accessors[times].count, weights = Buffer.alloc(4 * keys);
for (let k = 0; k < keys; k++) weights.writeFloatLE(0.05 * Math.sin(k), 4 * k);
g.bufferViews.push({ buffer: 0, byteOffset: bin.length, byteLength: weights.length });
g.accessors.push({ bufferView: g.bufferViews.length - 1, componentType: 5126, count: keys, type: "SCALAR" });
g.animations[0].samplers.push({ input: times, output: g.accessors.length - 1 });
g.animations[0].channels.push({ sampler: g.animations[0].samplers.length - 1, target: { node: shown, path: "weights" } });
const data = Buffer.concat([bin, weights]);
g.buffers = [{ byteLength: data.length, uri: "data:application/octet-stream;base64," + data.toString("base64") }];
fs.writeFileSync(to, JSON.stringify(g));
END
node make.js plain.glb rig.gltf || fail "no rig"

# Nodes of the file stay in their order; new ones come behind, below joints of the skin; none is left without a use.
nodes() { # nodes FILE.glb
    node -e 'const fs = require("fs"), b = fs.readFileSync(process.argv[1]), g = JSON.parse(b.subarray(20, 20 + b.readUInt32LE(12)));
        const old = JSON.parse(fs.readFileSync("rig.gltf")), joints = new Set(g.skins.flatMap((s) => s.joints)), parents = [];
        const must = (right, what) => { if (!right) { console.error(what); process.exit(1); } };
        g.nodes.forEach((n, i) => (n.children || []).forEach((c) => (parents[c] = i)));
        must(old.nodes.every((n, i) => n.name === g.nodes[i].name), "order");
        must(new Set(g.nodes.map((n) => n.name)).size === g.nodes.length, "a name twice");
        must(g.nodes.every((n, i) => n.children || n.mesh !== undefined || joints.has(i) || i < old.nodes.length && old.nodes[i].mesh === undefined), "empty");
        must(g.skins.length === 1 && g.skins[0].skeleton === old.skins[0].skeleton, "skeleton");
        for (let i = old.nodes.length; i < g.nodes.length; i++) {
            let up = i;
            while (up >= old.nodes.length) up = parents[up];
            must(old.skins[0].joints.includes(up), "node " + i + " is not below a joint");
        }
        const mesh = g.meshes.find((m) => m.name === "Body"), channels = g.animations[0].channels;
        must(mesh.extras.targetNames[0] === "larger" && mesh.primitives[0].targets.length === 1, "targets");
        const weights = channels.filter((c) => c.target.path === "weights");
        must(weights.length === 1 && g.nodes[weights[0].target.node].name === "Body", "weights");' "$1" ||
        fail "$1: not the rig's nodes and morph targets"
}
run 0 bake -q rig.gltf -o walk.pc2 --mesh walk.obj
run 0 decompose rig.gltf walk.pc2 -o added.glb --add 2 --influences 6 --iterations 3 --json added.json
no_err
json added.json 'r.result.error_rms < 0.5 && r.warnings.length === 0'
nodes added.glb
run 0 compare -q rig.gltf added.glb --max-error 0.5
run 0 jiggle -q rig.gltf -o soft.glb --particles 300 --preroll 0.2 --add 3 --iterations 2 --json soft.json
json soft.json 'r.warnings.every((w) => !w.includes("morph"))'
nodes soft.glb

# Bones that replace the rig cannot keep them: the warning has their names.
run 0 jiggle -q rig.gltf -o free.glb --particles 300 --preroll 0.2 --bones 6 --iterations 2 --json free.json
json free.json 'r.warnings.some((w) => w.includes("1 morph target is not in the result") && w.includes("larger"))'
run 0 decompose rig.gltf -o free.glb --bones 6 --iterations 2 --json free.json
err "helper bones (--add) keep them: larger"
run 0 bake -q rig.gltf -o walked.pc2 --mesh walked.obj
run 0 decompose walked.obj walked.pc2 --skeleton rig.gltf --add 2 --iterations 2 -o free.glb
err "give the rig as the input to keep them: larger"
