#!/usr/bin/env bash
# same_bytes.sh PELT PELT-SCENES [RUNNER…]: results of generated scenes have the bytes of tests/same_bytes.sha256, whatever the compiler,
# the CPU and the number of threads. RUNNER starts the programs on another kind of machine, for example
#   tests/same_bytes.sh build/release/bin/pelt build/release/bin/pelt-scenes qemu-x86_64-static -cpu Nehalem
# After a deliberate change of results, write the table anew: same_bytes.sh --write PELT PELT-SCENES
set -euo pipefail
table=$(realpath "$(dirname "$0")")/same_bytes.sha256
write=
[ "$1" != --write ] || { write=1; shift; }
pelt=$(realpath "$1") scenes=$(realpath "$2")
shift 2
runner=("$@")
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
cd "$temp"

scene() { "${runner[@]}" "$scenes" "$@"; }
run() { "${runner[@]}" "$pelt" "$@" -q; }

scene cloth --vertices 600 --frames 24 -o cloth.obj
scene creature --vertices 1500 -o creature.glb
scene arm --vertices 800 -o arm.glb
scene face --vertices 700 --sliders 12 -o face.glb
run decompose cloth.obj cloth.pc2 --bones 8 -o affine.glb --threads 1
run decompose cloth.obj cloth.pc2 --bones 8 -o affine-2.glb --threads 2
run decompose cloth.obj cloth.pc2 --bones 8 --transforms rigid -o rigid.glb
run decompose cloth.obj cloth.pc2 --bones 8 --transforms trs -o trs.glb
run decompose cloth.obj cloth.pc2 --method sma -o sma.glb
run decompose face.glb --sliders --bones 8 -o sliders.glb
run correct affine.glb cloth.obj cloth.pc2 --rank 4 -o corrected.glb
run bind creature.glb --resolution 64 -o bound.glb
run jiggle creature.glb -o jiggled.glb
run simplify creature.glb --ratio 0.3 -o simple.glb
cmp affine.glb affine-2.glb
rm affine-2.glb

if [ -n "$write" ]; then
    sha256sum -- * >"$table"
    exit
fi
sha256sum --check --quiet --strict "$table"
# Nothing may be missing in the table.
[ "$(wc -l <"$table")" -eq "$(find . -type f | wc -l)" ] || { echo "same_bytes: files that the table does not list" >&2; exit 1; }
# A changed byte must be found.
printf x >>simple.glb
if sha256sum --check --status "$table"; then echo "same_bytes: the check finds nothing" >&2; exit 1; fi
