#!/usr/bin/env bash
# The main job from end to end on scenes of Pelt's own, into out/demo/, and the figures as a table.
#   rigs        glTF → bake to a cache → convert .glb → .gltf → .glb → compare that rig with the cache
#   animations  OBJ + PC2 → convert to MDD → compare
set -euo pipefail
cd "$(dirname "$0")/.."
bin=build/release/bin
out=out/demo
rm -rf "$out"
mkdir -p "$out"

pelt() { "$bin/pelt" "$@" -q; }
# number KEY FILE: the first value of a key in a JSON report.
number() { sed -n "s/^ *\"$1\": \([^,]*\),\{0,1\}$/\1/p" "$2" | head -n 1; }

row() { printf '%-12s %9s %7s %7s   %-30s %10s %10s\n' "$@"; }
table=$(mktemp)
report=$(mktemp)
trap 'rm -f "$table" "$report"' EXIT
# add NAME CHAIN A… -- B…: compares two inputs and adds a row.
add() {
    local name=$1 chain=$2 vertices joints
    shift 2
    pelt info "$out/$name".* --json "$report" 2>/dev/null || pelt info "$1" --json "$report"
    vertices=$(number vertices "$report") joints=$(number joints "$report")
    pelt compare "$@" --json "$report"
    row "$name" "$vertices" "$joints" "$(number frames "$report")" "$chain" "$(number error_rms "$report")" \
        "$(number error_max "$report")" >>"$table"
}

rig() {
    local name=$1
    "$bin/pelt-scenes" "$name" -o "$out/$name.glb"
    pelt bake "$out/$name.glb" -o "$out/$name.pc2" --mesh "$out/$name.obj"
    pelt convert "$out/$name.glb" "$out/$name.gltf"
    pelt convert "$out/$name.gltf" "$out/$name-back.glb"
    add "$name" 'glb → pc2; glb → gltf → glb' "$out/$name.obj" "$out/$name.pc2" "$out/$name-back.glb"
}

animation() {
    local name=$1
    pelt convert "$out/$name.obj" "$out/$name.pc2" "$out/$name.mdd"
    add "$name" 'obj + pc2 → mdd' "$out/$name.obj" "$out/$name.pc2" "$out/$name.mdd"
}

while read -r name summary; do
    echo "$name: $summary"
    # As OBJ, an animated scene brings a cache with it; a rig does not.
    "$bin/pelt-scenes" "$name" -o "$out/$name.obj"
    if [ -e "$out/$name.pc2" ]; then animation "$name"; else rig "$name"; fi
done < <("$bin/pelt-scenes" list)

echo
row scene vertices joints frames 'what was done' E_rms E_max
cat "$table"
echo
echo "E_rms is per thousand of the first frame's enclosing radius, E_max a fraction of its diameter. Written to $out/:"
(cd "$out" && ls -1sh) | sed '1d; s/^/  /'
echo
echo "Look inside:  $bin/pelt info $out/creature.glb      What else it does:  $bin/pelt --help"
