#!/usr/bin/env bash
# Runs the whole chain on generated scenes, into out/demo/, and prints the figures as a table.
#   rigs        glTF, baked into a cache; converted .glb -> .gltf -> .glb and compared with that cache;
#               and dual quaternion skinning compared with linear
#   animations  OBJ + PC2, converted to MDD and compared
# Then animations are decomposed into bones and weights, rigs are bound again, a rig gets soft tissue, a skin is corrected by poses.
# Each result is read back from its file and compared, with a picture of each.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=build/release/bin
out=out/demo
rm -rf "$out"
mkdir -p "$out"

# number KEY JSON: the first value of a key in a report.
number() { sed -n "s/^ *\"$1\": \([^,]*\),\{0,1\}$/\1/p" <<<"$2" | head -n 1; }
# figure X: at most four digits.
figure() { LC_ALL=C printf '%.4g' "$1"; }

row() { printf '%-11s %8s %6s %6s  %-34s %10s %10s\n' "$@"; }
table=$(row scene vertices joints frames 'compared' E_rms E_max)

# describe INPUT…: what every row of a scene begins with.
describe() {
    local json
    json=$("$bin/pelt" info "$@" --json -)
    vertices=$(number vertices "$json") joints=$(number joints "$json")
}
# compare NAME WHAT A… B: adds a row.
compare() {
    local name=$1 what=$2 json
    shift 2
    json=$("$bin/pelt" compare "$@" --json -)
    table+=$'\n'$(row "$name" "$vertices" "$joints" "$(number frames "$json")" "$what" \
        "$(figure "$(number error_rms "$json")")" "$(figure "$(number error_max "$json")")")
}

rig() {
    local name=$1 file=$out/$1
    "$bin/pelt-scenes" "$name" -o "$file.glb"
    "$bin/pelt" bake -q "$file.glb" -o "$file.pc2" --mesh "$file.obj"
    "$bin/pelt" bake -q "$file.glb" -o "$file-dq.pc2" --skinning dual-quaternion
    "$bin/pelt" convert -q "$file.glb" "$file.gltf"
    "$bin/pelt" convert -q "$file.gltf" "$file-back.glb"
    describe "$file.glb"
    compare "$name" 'baked cache, .glb > .gltf > .glb' "$file.obj" "$file.pc2" "$file-back.glb"
    compare "$name" 'linear, dual quaternion skinning' "$file.obj" "$file.pc2" "$file-dq.pc2"
    "$bin/pelt" view -q "$file.glb" --png "$file.png" --mode bones --columns 4 --size 1600x400
}

animation() {
    local name=$1 file=$out/$1
    "$bin/pelt" convert -q "$file.obj" "$file.pc2" "$file.mdd"
    describe "$file.obj" "$file.pc2"
    compare "$name" '.pc2, .mdd' "$file.obj" "$file.pc2" "$file.mdd"
    "$bin/pelt" view -q "$file.obj" "$file.pc2" --png "$file.png" --columns 4 --size 1600x400
}

# decompose NAME WHAT INPUT…: a vertex animation becomes a skin, and a page shows both.
decompose() {
    local name=$1 what=$2 json
    shift 2
    json=$("$bin/pelt" decompose "$@" -o "$out/$name-skin.glb" --report "$out/$name-skin.html" --json -)
    table+=$'\n'$(row "$name" "$(number vertices "$json")" "$(number bones "$json")" "$(number frames "$json")" "$what" \
        "$(figure "$(number error_rms "$json")")" "$(figure "$(number error_max "$json")")")
    "$bin/pelt" view -q "$out/$name-skin.glb" --png "$out/$name-skin.png" --mode bones --columns 4 --size 1600x400
}

while read -r name summary; do
    echo "$name: $summary"
    # As OBJ, an animated scene brings a cache with it; a rig does not.
    "$bin/pelt-scenes" "$name" -o "$out/$name.obj"
    if [ -e "$out/$name.pc2" ]; then animation "$name"; else rig "$name"; fi
done < <("$bin/pelt-scenes" list)

echo 'decompose: vertex animations become bones and weights'
decompose cloth 'decomposed, 32 affine bones' "$out/cloth.obj" "$out/cloth.pc2" --bones 32
decompose creature 'decomposed, 24 rigid bones' "$out/creature.obj" "$out/creature.pc2" --bones 24 --transforms rigid

# bind NAME WHAT OPTIONS…: weights from the mesh and the skeleton of a rig alone, compared with the true ones.
bind() {
    local name=$1 what=$2
    shift 2
    "$bin/pelt" bind -q "$out/$name.glb" -o "$out/$name-bound.glb" "$@"
    describe "$out/$name.glb"
    compare "$name" "$what" "$out/$name.glb" "$out/$name-bound.glb"
    "$bin/pelt" view -q "$out/$name-bound.glb" --png "$out/$name-bound.png" --mode bones --columns 4 --size 1600x400
}

echo 'bind: a mesh and a skeleton become weights'
bind creature 'bound again, true weights'
bind production 'bound again, true weights'

echo 'jiggle: a rig gets soft tissue, and bones that play it'
soft=(--loop --soft 'belly=0.95,ear*=0.97' --frequency 8 --damping 4)
"$bin/pelt" jiggle -q "$out/troll.glb" -o "$out/troll-soft.pc2" "${soft[@]}"
"$bin/pelt" jiggle -q "$out/troll.glb" -o "$out/troll-soft.glb" "${soft[@]}" --report "$out/troll-soft.html"
describe "$out/troll-soft.glb"
compare troll 'soft tissue, skinned alone' "$out/troll.obj" "$out/troll-soft.pc2" "$out/troll.glb"
compare troll 'soft tissue, 16 helper bones' "$out/troll.obj" "$out/troll-soft.pc2" "$out/troll-soft.glb"
"$bin/pelt" view -q "$out/troll.obj" "$out/troll-soft.pc2" --png "$out/troll-soft.png" --columns 4 --size 1600x400

echo 'correct: a skin learns from 18 poses, and is compared in a motion that is not among them'
"$bin/pelt-scenes" arm -o "$out/arm.glb" --poses "$out/arm-poses"
"$bin/pelt" correct -q "$out/arm.glb" --driver pose --poses "$out/arm-poses" -o "$out/arm-poses.glb" \
    --report "$out/arm-poses.html"
describe "$out/arm.glb"
compare arm 'true shape, skinned alone' "$out/arm.obj" "$out/arm.pc2" "$out/arm.glb"
compare arm 'true shape, corrected by pose' "$out/arm.obj" "$out/arm.pc2" "$out/arm-poses.glb"

printf '\n%s\n\n' "$table"
echo "E_rms: root mean square distance in thousandths of the radius of the first frame's enclosing ball."
echo "E_max: largest distance as a fraction of its diameter."
printf '\nWritten:\n'
du -h "$out"/* | sed 's/^/  /'
printf '\nLook inside with  %s/pelt info %s/creature.glb\n' "$bin" "$out"
printf 'Look around in   %s/cloth-skin.html and troll-soft.html, in any browser\n' "$out"
