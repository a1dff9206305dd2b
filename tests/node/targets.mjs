// targets.mjs PELT SCENES: `pelt decompose --target`, seen by others: what each target limits, validated, and played by three.
// A file with more than 4 bones per vertex plays wrongly in three, and there is a warning; three's target mends it. Babylon, PlayCanvas
// and Blender play their own targets in tests/interop (kinds.mjs); Godot, Unity and Unreal are not measured.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { complaints, errorOf, readPc2, verticesOfPoints } from "./shown.mjs";
import * as support from "./support.mjs";

const [pelt, scenes] = process.argv.slice(2);
const folder = support.scratchFolder();
const inFolder = (name) => path.join(folder, name);
const [mesh, cache] = [inFolder("soft.obj"), inFolder("soft.pc2")];
const FLOAT = 5126;

const targets = {
    any: { sets: 2, shear: true, warns: true },
    three: { sets: 1, shear: true },
    babylon: { sets: 2, shear: true },
    playcanvas: { sets: 1, shear: true },
    web: { sets: 1, shear: true },
    blender: { sets: 2, shear: true },
    godot: { sets: 2, shear: true },
    godot3: { sets: 1, shear: true },
    unity: { sets: 1, shear: true },
    unreal: { sets: 2, shear: false },
};

support.run(scenes, ["softbody", "-o", mesh, "--vertices", "300", "--frames", "12"]);
const { radius } = JSON.parse(support.run(pelt, ["compare", mesh, cache, cache, "--json", "-"])).ball;
support.run(pelt, ["convert", "-q", mesh, inFolder("mesh.glb")]);
const vertices = verticesOfPoints(mesh, inFolder("mesh.glb"));
for (const [name, { sets, shear, warns = false }] of Object.entries(targets)) {
    const [file, json] = [inFolder(`${name}.glb`), inFolder(`${name}.json`)];
    support.run(pelt, ["decompose", "-q", mesh, cache, "-o", file, "--bones", "10", "--iterations", "4", "--influences", "8", "--target", name, "--json", json]);
    const { result, warnings } = JSON.parse(readFileSync(json));
    const { document } = support.readGltf(file);
    const { attributes } = document.meshes[0].primitives[0];
    assert.deepEqual(await complaints(file), [], `${name}: the validator`);
    assert.equal("JOINTS_1" in attributes, sets === 2, `${name}: sets of joints`);
    for (const key of Object.keys(attributes).filter((text) => text.startsWith("WEIGHTS")))
        assert.equal(document.accessors[attributes[key]].componentType, FLOAT, `${name}: weights are floats`);
    // Shear takes a second node in every bone.
    const nested = document.skins[0].joints.filter((joint) => !document.nodes.some(({ children, name: parent }) => children?.includes(joint) && parent === "bones"));
    assert.equal(nested.length > 0, shear, `${name}: bones with shear`);
    const warned = warnings.some((text) => /more than 4 bones; three\.js, PlayCanvas and Godot 3/.test(text));
    assert.equal(warned, warns, `${name}: ${warnings.join("; ")}`);
    const seen = await errorOf(file, readPc2(cache), 30, radius, vertices);
    const right = Math.abs(seen - result.error_rms) <= 0.01 * result.error_rms + 1e-3;
    console.log(`${name}: reported ${result.error_rms.toFixed(4)}, three ${seen.toFixed(4)}`);
    assert.equal(right, sets === 1, `${name}: three sees ${seen}, the report says ${result.error_rms}`);
}
