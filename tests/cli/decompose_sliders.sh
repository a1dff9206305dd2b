# pelt decompose --sliders: budgets, report, files that stay as they were, pose --slider, messages.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" face -o face.glb --vertices 900 --sliders 12 --frames 8 >/dev/null || fail "no scene"
run 0 decompose face.glb --sliders -o bones.glb --json bones.json
no_err
out "times as fast"
out "jaw_open"
json bones.json 'r.result.sliders === 12 && r.result.bones <= 40 && r.result.moves <= 12 * 19 && r.result.influences <= 4'
json bones.json 'r.result.mean_percent < 0.05 && r.result.largest_percent < 1 && r.sliders.length === 12'
json bones.json 'r.sliders.every((s) => s.mean <= s.rms && s.rms <= s.largest && !s.morph)'
json bones.json 'r.motions.length === 1 && r.motions[0].mean_percent < 0.2 && r.cost.morph_seconds > 0 && r.cost.bone_seconds > 0'
run 0 info bones.glb --json info.json
json info.json 'r.inputs[0].sliders.length === 12 && r.inputs[0].morphs.length === 0 && r.inputs[0].motions.length === 13'

# Compressed: a fraction of the bytes, the same errors.
if "$PELT" convert -q face.glb --compress small.glb 2>/dev/null; then
    run 0 decompose -q face.glb --sliders -o small.glb --compress --json small.json
    json small.json 'r.result.mean_percent < 0.06 && r.result.largest_percent < 1'
    [ "$(wc -c <small.glb)" -lt "$(($(wc -c <bones.glb) * 8 / 10))" ] || fail "compressed sliders are not smaller"
    run 0 info small.glb --json info.json
    json info.json 'r.inputs[0].sliders.length === 12 && r.inputs[0].motions.length === 13'
fi
run 1 decompose face.glb -o small.glb --compress
err "without --sliders"

# A budget of bones, transforms and morph targets.
run 0 decompose -q face.glb --sliders -o few.glb --bones 12 --moves 40 --morphs 2 --keep jaw_left --no-clips --json few.json
json few.json 'r.result.bones <= 12 && r.result.moves <= 40 && r.sliders.filter((s) => s.morph).length === 3'
json few.json 'r.sliders.find((s) => s.name === "jaw_left").morph && r.sliders.filter((s) => s.morph).every((s) => s.largest < 1e-6)'
run 0 info few.glb --json info.json
json info.json 'r.inputs[0].morphs.length === 3 && r.inputs[0].motions.length === 1'

# The same shape from the sliders of both files, and from the animation of the slider.
run 0 pose -q face.glb --slider jaw_open=1 -o wanted.glb
run 0 pose -q bones.glb --slider jaw_open=1 -o got.glb
run 0 pose -q bones.glb --motion jaw_open --time 1 -o played.glb
run 0 compare wanted.glb got.glb --max-error 2
run 0 compare got.glb played.glb --max-error 0.2
run 0 pose -q face.glb --slider jaw_open=0 -o closed.glb
run 4 compare wanted.glb closed.glb --max-error 2

# Combinations count: the pose is nearer with it than without.
run 0 pose -q face.glb -s jaw_open=1 -s jaw_left=1 -s jaw_forward=1 -o wanted.glb
run 0 decompose -q face.glb --sliders -o plain.glb --bones 8 --moves 30
run 0 decompose -q face.glb --sliders -o both.glb --bones 8 --moves 30 --combination jaw_open=1,jaw_left=1,jaw_forward=1 \
    --combination jaw_open=1,jaw_left=1,jaw_forward=1
for rig in plain both; do
    run 0 pose -q $rig.glb -s jaw_open=1 -s jaw_left=1 -s jaw_forward=1 -o $rig.pose.glb
    run 0 compare -q wanted.glb $rig.pose.glb --json $rig.json
done
node -e 'const r = (f) => JSON.parse(require("fs").readFileSync(f)).error_rms ?? JSON.parse(require("fs").readFileSync(f)).result.error_rms;
    if (!(r("both.json") < r("plain.json"))) { console.error(r("both.json"), r("plain.json")); process.exit(1); }' || fail "combinations do not count"

# Messages.
run 2 decompose face.glb --sliders -o no.glb --keep nose
err "there is no slider 'nose'"
run 2 decompose face.glb --sliders -o no.glb --combination jaw_opn=1
err "did you mean 'jaw_open'?"
run 1 decompose face.glb --sliders -o no.glb --combination jaw_open
err "NAME=VALUE"
run 2 decompose face.glb --sliders -o no.glb --bones 1
err "too few"
run 1 decompose face.glb -o no.glb --moves 3
err "--moves means nothing without --sliders"
run 1 decompose face.glb --sliders -o no.glb --transforms rigid
err "--transforms means nothing with --sliders"
run 2 pose face.glb --slider nose=1 -o no.obj
err "has no slider 'nose'"
run 1 pose face.glb --slider jaw_open -o no.obj
err "jawOpen=0.5"
"$PELT_SCENES" tube -o tube.glb --vertices 100 --frames 2 >/dev/null || fail "no scene"
run 2 decompose tube.glb --sliders -o no.glb
err "no morph targets"
[ ! -e no.glb ] || fail "a failed run wrote a file"
