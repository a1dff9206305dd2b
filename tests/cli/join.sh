# Motions of bones and of morphs that a program exported as two animations play together in every verb.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" softbody -o hare.obj --vertices 300 --frames 8 >/dev/null || fail "no scene"
run 0 decompose -q hare.obj hare.pc2 -o whole.gltf --bones 4 --iterations 2 --corrections 3
cat >split.mjs <<'END'
import { readFileSync, writeFileSync } from "node:fs";
const document = JSON.parse(readFileSync("whole.gltf"));
const [{ channels, samplers }] = document.animations;
const weights = ({ target }) => target.path === "weights";
const others = (channel) => !weights(channel);
document.animations = [
    { name: "KeyAction", samplers, channels: channels.filter(weights) },
    { name: "ArmatureAction", samplers, channels: channels.filter(others) },
];
if (document.animations.some(({ channels }) => channels.length === 0)) throw new Error("nothing to split");
writeFileSync("split.gltf", JSON.stringify(document));
END
node split.mjs || fail "no file"
yes 0 | head -286 >heights.txt

run 0 info split.gltf --json info.json
out "the motions 'KeyAction' and 'ArmatureAction' play together as 'ArmatureAction'"
json info.json 'r.inputs[0].motions.length === 1 && r.warnings.length === 1'
run 0 compare whole.gltf split.gltf --json compare.json
json compare.json 'r.error_max === 0'
run 0 compare -q whole.gltf split.gltf --join KeyAction+ArmatureAction --json compare.json
no_err
json compare.json 'r.error_max === 0'
run 0 compare whole.gltf split.gltf --join none --json compare.json
json compare.json 'r.error_max > 1e-4'
for verb in "bake -o out.pc2" "convert -o out.glb" "simplify -o out.glb --ratio 0.9 --frames 2" "retarget whole.gltf -o out.glb --replace"; do
    run 0 ${verb%% *} split.gltf ${verb#* }
    err "play together"
done
run 0 bake -q split.gltf -o out.pc2
run 0 compare whole.gltf out.pc2 --json compare.json
json compare.json 'r.error_max < 1e-6'
# What no verb changes stays as it was; motions that are made anew are joined ones, which others play.
run 0 convert -q split.gltf out.glb
run 0 info out.glb --join none --json info.json
json info.json 'r.inputs[0].motions.length === 2'
run 0 compare whole.gltf out.glb --json compare.json
json compare.json 'r.error_max === 0'
# What is joined by names is written joined.
run 0 convert -q split.gltf out.glb --join KeyAction+ArmatureAction
run 0 info out.glb --join none --json info.json
json info.json 'r.inputs[0].motions.length === 1'
run 0 compare whole.gltf out.glb --json compare.json
json compare.json 'r.error_max === 0'
run 0 convert -q split.gltf out.glb --scale 2
run 0 info out.glb --join none --json info.json
json info.json 'r.inputs[0].motions.length === 1'
run 0 compare whole.gltf out.glb --scale out.glb=0.5 --json compare.json
json compare.json 'r.error_max < 1e-6'
# Files are read back to be measured: the same motions, joined or not.
for join in auto none; do
    run 0 edit -q split.gltf --displace heights.txt --motion ArmatureAction -o edited.glb --join $join --json edit.json
    json edit.json 'r.change.frames === 8 && r.change.error_max === 0'
    run 0 correct -q split.gltf hare.obj hare.pc2 --motion ArmatureAction -o better.glb --join $join
done

run 1 bake split.gltf -o no.pc2 --join KeyAction
err "give 'auto', 'none' or names"
run 1 bake split.gltf -o no.pc2 --join KeyAction+Armature
err "there is no motion 'Armature'"
missing no.pc2
