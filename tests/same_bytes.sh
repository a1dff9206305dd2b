#!/usr/bin/env bash
# same_bytes.sh PELT PELT-SCENES [RUNNER…]: results of generated scenes have the bytes of tests/same_bytes.sha256, whatever the compiler,
# the CPU and the number of threads. RUNNER starts the programs on another kind of machine, for example
#   tests/same_bytes.sh build/release/bin/pelt build/release/bin/pelt-scenes qemu-x86_64-static -cpu Nehalem
# After a deliberate change of results, write the table anew: same_bytes.sh --write PELT PELT-SCENES
# same_bytes.sh --quick …: a few of the files, for emulated machines: readers, writers, decompose and bind.
set -euo pipefail
table=$(realpath "$(dirname "$0")")/same_bytes.sha256
write='' quick=''
case $1 in
--write) write=1; shift ;;
--quick) quick=1; shift ;;
esac
pelt=$(realpath "$1") scenes=$(realpath "$2")
shift 2
runner=("$@")
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
cd "$temp"

scene() { "${runner[@]}" "$scenes" "$@"; }
run() { "${runner[@]}" "$pelt" "$@" -q; }
# check OPTIONS…: the files are those of the table.
check() { sha256sum --check --strict "$@" "$table"; }
# must_find FILE OPTIONS…: a changed byte of FILE must be found.
must_find() {
    printf x >>"$1"
    shift
    if check --status "$@"; then echo "same_bytes: the check finds nothing" >&2; exit 1; fi
}
# converted: a file of every format.
converted() {
    run convert production.glb production.bvh
    run convert production.glb production.gltf
    run convert production.glb production.fbx
    run convert face.glb face.usdz
    run convert soft.obj soft.ply
    run convert soft.obj soft.pc2 soft.abc
}

if [ -n "$quick" ]; then
    scene softbody --vertices 500 --frames 12 -o soft.obj
    scene production --vertices 2000 -o production.glb
    scene face --vertices 700 --sliders 12 -o face.glb
    run decompose soft.obj soft.pc2 --bones 10 --transforms rigid --hierarchy -o hierarchy.glb
    run bind production.glb --resolution 64 -o bound.glb
    converted
    # Readers of what was written
    run convert production.fbx again.glb
    run convert face.usdz again.glb
    run convert soft.abc again.obj
    rm again.*
    check --ignore-missing --quiet
    [ "$(check --ignore-missing | wc -l)" -eq "$(find . -type f | wc -l)" ] || { echo "same_bytes: files that the table does not list" >&2; exit 1; }
    must_find bound.glb --ignore-missing
    exit
fi

scene cloth --vertices 600 --frames 24 -o cloth.obj
scene softbody --vertices 500 --frames 12 -o soft.obj
scene creature --vertices 1500 -o creature.glb
scene troll --vertices 800 -o troll.glb
scene production --vertices 2000 -o production.glb
scene arm --vertices 800 -o arm.glb --poses poses
scene face --vertices 700 --sliders 12 -o face.glb
scene tube -o tube.glb

# Kinds of bones, methods, reductions, joint fits, helper bones. Not --budget, --max-error and --compress: bytes of
# meshoptimizer, which not every build has.
run decompose cloth.obj cloth.pc2 --bones 8 -o affine.glb --threads 1
run decompose cloth.obj cloth.pc2 --bones 8 -o affine-2.glb --threads 2
cmp affine.glb affine-2.glb
rm affine-2.glb
run decompose cloth.obj cloth.pc2 --bones 8 --transforms rigid -o rigid.glb
run decompose cloth.obj cloth.pc2 --bones 8 --transforms trs -o trs.glb
run decompose cloth.obj cloth.pc2 --bones 8 --transforms similarity -o similarity.glb
run decompose cloth.obj cloth.pc2 --bones 8 --reduce power1 --key-tolerance 0.05 -o keys.glb
run decompose cloth.obj cloth.pc2 --error 2 -o error.glb
run decompose cloth.obj cloth.pc2 --method sma -o sma.glb
run decompose soft.obj soft.pc2 --bones 10 --transforms rigid --hierarchy -o hierarchy.glb
run decompose soft.obj soft.pc2 --bones 6 --corrections 4 -o both.glb
run decompose creature.glb --add 4 -o helpers.glb
run decompose face.glb --sliders --bones 8 -o sliders.glb
run correct affine.glb cloth.obj cloth.pc2 --rank 4 -o corrected.glb
run correct arm.glb --poses poses --driver pose -o eigenskin.glb
for method in heat geodesic surface closest hierarchy; do
    run bind creature.glb --method $method --resolution 64 -o bound-$method.glb
done
run bind production.glb --resolution 64 -o bound.glb
run jiggle creature.glb -o jiggled.glb
run jiggle troll.glb --to 0.5 -o jiggled.pc2
run jiggle troll.glb --to 0.5 --as morphs -o jiggled-morphs.glb
run simplify creature.glb --ratio 0.3 -o simple.glb
run simplify production.glb --lods 2 -o lods.glb
run bake creature.glb --skinning dual-quaternion -o baked.glb
run bake creature.glb --skinning dual-quaternion -o baked.mdd
run bake creature.glb --skinning delta-mush --add 4 -o mush.glb
run bake creature.glb --skinning delta-mush -o mush.pc2
run light tube.glb --kind sky --directions 64 -o light.glb
run retarget troll.glb creature.glb -o retargeted.glb
run weights smooth creature.glb -o smooth.glb
run weights transfer creature.glb troll.glb -o transferred.glb
converted
run bake creature.glb -o texture.exr
rm -r poses

if [ -n "$write" ]; then
    find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum -- >"$table"
    exit
fi
check --quiet
# Nothing may be missing in the table.
[ "$(wc -l <"$table")" -eq "$(find . -type f | wc -l)" ] || { echo "same_bytes: files that the table does not list" >&2; exit 1; }
must_find simple.glb
