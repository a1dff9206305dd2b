# Missing, empty and deceptive inputs, odd file names, an output that is the input: every case ends in time, with its exit code and a
# message, and with a complete file or none. Links, pipes and full disks are in hostile.sh.
. "$(dirname "$0")/lib.sh"

quad >mesh.obj
quads q
strip
run 0 convert -q strip.gltf rig.glb
run 0 bake -q strip.gltf -o clip.pc2 --motion slide --fps 3 --mesh strip.obj

# The output is the input: read whole, then replaced.
run 0 convert -q rig.glb same.glb
cp same.glb before.glb
run 0 convert -q same.glb same.glb
same before.glb same.glb
run 0 weights -q smooth same.glb -o same.glb
run 0 info same.glb
cp clip.pc2 own.pc2
run 0 convert -q strip.obj own.pc2 own.pc2
same clip.pc2 own.pc2
run 0 convert -q 'q_%d.obj' 'q_%d.obj'
run 0 info 'q_%d.obj'
out "3 frames"

# Inputs that are missing or empty.
mkdir none
for gone in gone.glb gone.obj 'gone_%d.obj' 'gone_*.ply' no/such/folder/; do
    run 2 info "$gone"
    err "$gone"
    run 2 convert "$gone" none/a.glb
    [ -z "$(ls -A none)" ] || fail "left behind: $(ls -A none)"
done
mkdir empty
run 2 info empty
err "empty"
for name in empty.glb empty.gltf empty.ply empty.abc empty.pc2 empty.mdd empty.bvh empty.asf; do
    : >$name
    run 2 info $name
    err "$name"
done
run 0 convert -q rig.glb two.gltf
rm two.bin
run 2 info two.gltf
err "two.bin"

# Names with spaces, quotes, letters of all kinds and a leading dash; where they can be, with double quotes and bytes that are no text.
set -- 'a b.obj' "it's.obj" 'größe-猫.obj' './-o.obj'
! posix || node_program || set -- "$@" 'q"uote.obj' "$(printf 'b\377\376.obj')"
for name in "$@"; do
    cp mesh.obj "$name"
    run 0 info "$name"
    run 0 convert -q "$name" 'out put.glb'
    run 0 convert -q 'out put.glb' "$name"
    run 0 info "$name" --json -
    json log/out 'r.inputs[0].vertices === 4'
done
mkdir 'föl der'
run 0 convert -q strip.gltf 'föl der/ä b.gltf'
grep -q ' b.bin"' 'föl der/ä b.gltf' && fail "a space in a URI"
run 0 info 'föl der/ä b.gltf'

# ---- Small files that promise much ----

promise() {
    file=$1
    words=$2
    start=$(date +%s)
    run 2 info "$file" --max-memory 64M
    err "$words"
    [ $(($(date +%s) - start)) -lt 60 ] || fail "$file: takes too long"
}
le() { printf "$(printf '\\%03o\\%03o\\%03o\\%03o' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255)))"; }
{ printf glTF; le 2; le 4294967295; le 16; printf 'JSON{}              '; } >length.glb
promise length.glb "says 4294967295 bytes"
{ printf glTF; le 2; le 32; le 4294967280; printf 'JSON{}          '; } >chunk.glb
promise chunk.glb "chunk"
{ printf 'POINTCACHE2\0'; le 1; le 4294967295; le 0; le 0; le 4294967295; } >many.pc2
promise many.pc2 "many.pc2"
printf '\377\377\377\377\377\377\377\377' >many.mdd
promise many.mdd "many.mdd"
printf 'ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty float x\nproperty float y\nproperty float z\nend_header\n' >many.ply
promise many.ply "is cut off"
printf 'HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 3 Xrotation Yrotation Zrotation\n}\nMOTION\nFrames: 4000000000\nFrame Time: 0.1\n0 0 0\n' >many.bvh
promise many.bvh "many.bvh"
{ printf 'Ogawa\377\0\001'; le 16; le 0; le 4294967295; le 65535; } >many.abc
promise many.abc "many.abc"
printf 'v 0 0 0\nf 1 4294967296 18446744073709551616\n' >index.obj
promise index.obj "line 2"

# Accessors without data are zeros: a few bytes ask for 48 GB. With and without a sparse part.
primitive='"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"nodes":[{"mesh":0}],"scenes":[{"nodes":[0]}],"scene":0'
printf '{"asset":{"version":"2.0"},"accessors":[{"componentType":5126,"count":4000000000,"type":"VEC3"}],%s}' "$primitive" >zeros.gltf
promise zeros.gltf "zeros.gltf"
printf '{"asset":{"version":"2.0"},"buffers":[{"byteLength":16,"uri":"data:;base64,AAAAAAAAAAAAAAAAAAAAAA=="}],"bufferViews":[{"buffer":0,"byteLength":16}],"accessors":[{"componentType":5126,"count":400000000,"type":"VEC3","sparse":{"count":1,"indices":{"bufferView":0,"componentType":5125},"values":{"bufferView":0,"byteOffset":4}}}],%s}' "$primitive" >sparse.gltf
promise sparse.gltf "sparse.gltf"

# Nodes that are their own ancestors, and a tree too deep for recursion.
printf '{"asset":{"version":"2.0"},"nodes":[{"children":[1]},{"children":[0]}],"scenes":[{"nodes":[0]}],"scene":0}' >cycle.gltf
promise cycle.gltf "node"
node -e 'const n = 200000; console.log(JSON.stringify({asset: {version: "2.0"}, scenes: [{nodes: [0]}], scene: 0,
    nodes: Array.from({length: n}, (_, i) => i + 1 < n ? {children: [i + 1]} : {})}))' >deep.gltf
"$PELT" info deep.gltf >log/out 2>log/err
code=$?
case $code in 0 | 2) ;; *) fail "deep nodes: exit code $code" ;; esac
node -e 'process.stdout.write("[".repeat(1000000))' >brackets.gltf
promise brackets.gltf "brackets.gltf"
exit 0
