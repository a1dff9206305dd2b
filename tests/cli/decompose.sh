# pelt decompose: inputs, the report, targets, exit codes, odd inputs, the same bytes for every number of threads.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" cloth -o flag.obj --vertices 300 --frames 12 >/dev/null || fail "no scene"
"$PELT_SCENES" cloth -o gust.obj --vertices 300 --frames 8 --seed 5 >/dev/null || fail "no scene"
fast="--bones 6 --iterations 5"

# Everything in the report, measured on the file.
run 0 decompose flag.obj flag.pc2 -o flag.glb $fast --json report.json
no_err
out "E_rms"
json report.json 'r.verb === "decompose" && r.input.frames === 12 && r.input.vertices > 200 && r.input.triangles > 300'
json report.json 'r.result.bones === 6 && r.result.influences === 4 && r.result.dimension > 0'
json report.json '["error_rms", "error_kg", "error_max"].every((k) => r.result[k] > 0)'
json report.json '["normal_rms", "normal_degrees", "skinned_normal_rms", "skinned_normal_degrees", "inverse_normal_rms", "inverse_normal_degrees"].every((k) => r.result[k] > 0)'
out "skinned by the blended matrix, as three.js"
json report.json '["load", "reduce", "seed", "solve", "write"].every((k) => r.seconds[k] >= 0 && r.seconds[k] <= r.seconds.total)'
json report.json 'r.peak_memory_bytes > 1e5 && r.warnings.length === 0 && r.iterations.length > 0'
json report.json 'r.iterations.every((e, n) => n === 0 || e <= r.iterations[n - 1])'
json report.json 'r.result.bytes_out === require("fs").statSync("flag.glb").size'
json report.json 'r.result.bytes_in === ["flag.obj", "flag.pc2"].reduce((s, f) => s + require("fs").statSync(f).size, 0)'
error=$(node -p 'JSON.parse(require("fs").readFileSync("report.json")).result.error_rms')
run 0 compare flag.obj flag.pc2 flag.glb --json again.json
json again.json "Math.abs(r.error_rms - $error) < 1e-3 * $error"

# The same bytes, whatever the threads.
run 0 decompose -q flag.obj flag.pc2 -o one.glb $fast --threads 1
run 0 decompose -q flag.obj flag.pc2 -o two.glb $fast --threads 2
no_out
same one.glb two.glb

# Several clips: one skin, a motion for each, an error for each.
run 0 decompose flag.obj flag.pc2 gust.pc2 -o both.glb $fast --json report.json
json report.json 'r.input.frames === 20 && r.clips.length === 2 && r.clips[1].frames === 8'
json report.json 'Math.min(r.clips[0].error_rms, r.clips[1].error_rms) < 2 * r.result.error_rms'
out "in 'gust'"
run 0 info both.glb --json -
json log/out 'r.inputs[0].motions.length === 2 && r.inputs[0].motions[1].name === "gust"'
run 0 decompose -q flag.obj flag.pc2 gust.pc2 -o gust.glb $fast --motion gust --json report.json
json report.json 'r.input.frames === 8 && r.clips === undefined'

# A cache alone, a sequence, a rig with motions.
run 0 decompose -q flag.pc2 -o points.glb $fast
run 0 convert -q flag.obj flag.pc2 'f_%02d.obj'
run 0 decompose -q 'f_%02d.obj' -o sequence.glb $fast --json report.json
json report.json 'r.input.frames === 12 && r.result.bytes_in === r.input.vertices * 12 * 12'
strip
run 0 decompose -q strip.gltf -o strip.glb --bones 3 --fps 10 --json report.json
json report.json 'r.clips.length === 2 && r.clips[0].name === "bend" && r.input.frames === 11 + 1001'
run 0 decompose -q strip.gltf -o strip.glb --bones 3 --motion bend
run 0 compare -q strip.gltf strip.glb --max-error 1
# Over its own input.
run 0 decompose -q strip.glb -o strip.glb --bones 3
run 0 compare -q strip.gltf strip.glb --motion bend --max-error 2

# Weights as any of the three, each within its rounding.
for format in f32 u16 u8; do
    run 0 decompose -q flag.obj flag.pc2 -o $format.glb $fast --weights-format $format --json $format.json
done
json u8.json 'r.result.error_rms < 1.5 * JSON.parse(require("fs").readFileSync("f32.json")).result.error_rms + 1'
json u16.json 'Math.abs(r.result.error_rms - JSON.parse(require("fs").readFileSync("f32.json")).result.error_rms) < 0.02'
json u16.json 'r.result.bytes_out < JSON.parse(require("fs").readFileSync("f32.json")).result.bytes_out'
json u8.json 'r.result.bytes_out < JSON.parse(require("fs").readFileSync("u16.json")).result.bytes_out'
# Floats are the default: assimp 5.2 reads nothing else.
run 0 decompose -q flag.obj flag.pc2 -o default.glb $fast
same default.glb f32.glb

# Targets say why.
run 0 decompose -v flag.obj flag.pc2 -o unreal.glb $fast --target unreal
err "target unreal: --transforms trs: its bones are translation, rotation and scale"
run 0 decompose flag.obj flag.pc2 -o web.glb $fast --target web --influences 8 --json report.json
err "4 bones per vertex"
json report.json 'r.result.influences === 4'
run 0 decompose flag.obj flag.pc2 -o unreal.glb $fast --target unreal --transforms affine --json report.json
err "may look wrong"
json report.json 'r.warnings.length === 1'
run 1 decompose flag.obj flag.pc2 -o x.glb --target quake
# Bones with one scale for all axes: Unreal plays them, and every key of a scale is uniform.
run 0 decompose flag.obj flag.pc2 -o similar.gltf $fast --target unreal --transforms similarity --json report.json
no_err
json report.json 'r.settings.transforms === "similarity" && r.result.error_rms > 0'
node -e '
const g = JSON.parse(require("fs").readFileSync("similar.gltf"));
const scales = g.animations[0].channels.filter((c) => c.target.path === "scale");
const keys = (c) => {
    const a = g.accessors[g.animations[0].samplers[c.sampler].output], v = g.bufferViews[a.bufferView], u = g.buffers[v.buffer].uri;
    const b = u.startsWith("data:") ? Buffer.from(u.split(",")[1], "base64") : require("fs").readFileSync(u);
    return Array.from({ length: 3 * a.count }, (_, n) => b.readFloatLE((v.byteOffset ?? 0) + (a.byteOffset ?? 0) + 4 * n));
};
const all = scales.flatMap(keys);
process.exit(scales.length === 6 && all.every((s, n) => s > 0 && s === all[n - n % 3]) && all.some((s) => Math.abs(s - 1) > 1e-3) ? 0 : 1);
' || fail "scales are not uniform"
run 0 decompose -v flag.obj flag.pc2 -o blender.glb $fast --target blender
! grep -q "target blender" "$work/log/err" || fail "blender plays all kinds of bones"
# More bones than some play: named, once.
run 0 decompose flag.obj flag.pc2 -o eight.glb $fast --influences 8 --corrections 1 --json report.json
err "vertices have more than 4 bones; three.js, PlayCanvas and Godot 3 play only the first 4 of them"
json report.json 'r.warnings.filter((w) => /more than 4 bones/.test(w)).length === 1'
run 0 decompose flag.obj flag.pc2 -o eight.glb $fast --influences 8 --target babylon
! grep -q "more than 4 bones" "$work/log/err" || fail "Babylon.js plays 8 bones"
run 0 convert eight.glb copy.glb # a skin that does not change plays no better
err "vertices have more than 4 bones; three.js, PlayCanvas and Godot 3 play only the first 4 of them"

# An error that was asked for and missed.
run 4 decompose flag.obj flag.pc2 -o flag.glb --bones 2 --error 0.001 --iterations 2
err "was asked for"

# Odd inputs: one frame, one triangle, nothing moves, more bones than vertices, vertices without triangles.
node -e 'const b = require("fs").readFileSync("flag.pc2"), n = b.readUInt32LE(16); b.writeUInt32LE(1, 28); require("fs").writeFileSync("one.pc2", b.subarray(0, 32 + 12 * n))'
run 0 decompose -q flag.obj one.pc2 -o one.glb --bones 3 --json report.json
json report.json 'r.input.frames === 1 && r.result.error_rms < 0.1'
triangle() { printf 'v 0 0 %s\nv 1 0 0\nv 0 1 %s\n%sf 1 2 3\n' "$1" "$1" "$2"; }
for k in 0 1 2; do
    triangle $k '' >t_$k.obj
    triangle 0 '' >s_$k.obj
    triangle $k 'v 5 5 5
' >u_$k.obj
done
for input in t s u; do
    run 0 decompose -q "${input}_%d.obj" -o $input.glb --bones 10 --json report.json
    json report.json 'r.result.error_rms < 0.1 && r.result.bones <= r.input.vertices && r.result.bones > 0'
    run 0 info $input.glb --json -
    json log/out 'Math.abs(r.inputs[0].motions[0].duration - 2 / 30) < 1e-3' # a still clip keeps its length
done
run 0 compare -q 'u_%d.obj' u.glb --max-error 0.1

# What cannot be decomposed.
run 1 decompose
err "needs an animation"
run 1 decompose flag.obj flag.pc2
err "-o FILE"
run 1 decompose flag.obj flag.pc2 -o out.pc2
err "holds no skin"
run 2 decompose flag.obj -o out.glb
err "no animation"
missing out.glb
triangle nan '' >t_1.obj
run 2 decompose 't_%d.obj' -o nan.glb --bones 2
err "t_1.obj"
missing nan.glb
node -e 'const b = require("fs").readFileSync("flag.pc2"); b.writeFloatLE(NaN, b.length - 24); require("fs").writeFileSync("bad.pc2", b)'
run 2 decompose flag.obj bad.pc2 -o nan.glb --bones 2
err "frame 11, point"
missing nan.glb

# Bones of thin surfaces are held near rotations, so that engines shade them right; --free-bones and --error leave them free,
# and a warning says what that does (17 and 82 degrees measured).
"$PELT_SCENES" cloth -o thin.obj --vertices 600 --frames 20 >/dev/null || fail "no scene"
run 0 decompose thin.obj thin.pc2 -o thin.glb --bones 16 --json thin.json
no_err
json thin.json 'r.result.skinned_normal_degrees < 25'
run 0 decompose thin.obj thin.pc2 -o free.glb --bones 16 --free-bones --json free.json
err "shade this wrongly"
json free.json 'r.result.skinned_normal_degrees > 60 && r.warnings.length === 1'
json free.json 'r.result.error_rms < JSON.parse(require("fs").readFileSync("thin.json")).result.error_rms'
run 1 decompose thin.obj thin.pc2 -o free.glb --bones 4 --free-bones --transforms rigid
err "--free-bones means nothing"

# Budgets: limits are kept by the file itself, and the report has what was tried.
"$PELT_SCENES" cloth -o budget.obj --vertices 300 --frames 10 >/dev/null || fail "no scene"
if compression; then # sizes are those of compressed files
    run 0 decompose budget.obj budget.pc2 -o budget.glb --iterations 6 --max-error 2% --json budget.json
    out "chosen"
    json budget.json "r.budget.met && r.result.error_max <= 0.02 && r.budget.trials.length > 2 && r.result.bytes_out === $(wc -c <budget.glb)"
    run 0 decompose budget.obj budget.pc2 -o smallest.glb --iterations 6 --max-error 2% --smallest --json smallest.json
    json smallest.json "r.budget.met && r.result.error_max <= 0.02 && r.result.bytes_out < $(wc -c <budget.glb)"
    run 0 decompose budget.obj budget.pc2 -o budget.glb --iterations 6 --budget 'bones 6, influences 2, morphs 1, bytes 9K' --json budget.json
    json budget.json 'r.budget.met && r.result.bytes_out <= 9 * 1024 && r.result.bones <= 6 && r.result.influences <= 2 && r.budget.morphs <= 1'
    run 4 decompose budget.obj budget.pc2 -o budget.glb --iterations 2 --budget 'bones 2, bytes 1K'
    err "comes closest"
fi
run 1 decompose budget.obj budget.pc2 -o budget.glb --smallest
run 1 decompose budget.obj budget.pc2 -o budget.glb --budget 'bones many'
err "bones many"
run 1 decompose budget.obj budget.pc2 -o budget.glb --max-error 1inch
run 1 decompose budget.obj budget.pc2 -o budget.glb --max-error 1% --budget 'bytes 2M'
run 1 decompose budget.obj budget.pc2 -o budget.glb --max-error 1% --bones 4

# FBX: corrections of a mesh in two parts move both.
awk '/^f / { if (++n == 1) print "g one"; if (n == 200) print "g two" } { print }' budget.obj >two.obj
for name in two.glb two.fbx; do
    run 0 decompose two.obj budget.pc2 -o $name --bones 4 --iterations 6 --corrections 2 --transforms rigid --json $name.json
done
json two.fbx.json 'Math.abs(r.result.error_rms / JSON.parse(require("fs").readFileSync("two.glb.json")).result.error_rms - 1) < 1e-4'
exit 0
