# Full disks, pipes, odd file names, damaged and deceptive files: every case ends in time, with its exit code and a message, and
# with a complete file or none.
. "$(dirname "$0")/lib.sh"

quad >mesh.obj
quads q
strip
run 0 convert -q strip.gltf rig.glb
run 0 bake -q strip.gltf -o clip.pc2 --motion slide --fps 3 --mesh strip.obj

# nothing FOLDER: no file is in it, be it hidden.
nothing() { [ -z "$(ls -A "$1")" ] || fail "left behind: $(ls -A "$1")"; }

# ---- Outputs ----

# A full disk: a device that takes nothing, and a limit on the size of files. Every verb that writes.
mkdir disk poses
cp strip.obj poses/up.obj
echo '{"joints": {"tip": {"euler": [0, 0, 40]}}}' >poses/up.json
# limited FILE ARGS…, full FILE ARGS…: the verb's last argument is disk/FILE.
limited() {
    file=disk/$1
    shift
    # The log is a file too: what is said comes through a pipe.
    (ulimit -f 0; "$PELT" "$@" "$file" 2>&1; echo "exit $?") | cat >log/err
    err "exit 3"
    err "disk/a" # a .gltf fails with its .bin
    err "cannot be written: File too large"
    nothing disk
}
full() {
    file=disk/$1
    shift
    ln -s /dev/full "$file"
    run 3 "$@" "$file"
    err "$file: cannot be written: No space left on device"
    rm "$file"
    nothing disk
}
both() {
    [ ! -c /dev/full ] || full "$@"
    limited "$@"
}
both a.glb convert rig.glb
both a.gltf convert rig.glb
both a.obj convert mesh.obj
both a.ply convert mesh.obj
both a.pc2 convert 'q_%d.obj'
both a.mdd convert 'q_%d.obj'
both a.bvh convert rig.glb
both a.pc2 bake rig.glb -o
both a.glb decompose strip.obj clip.pc2 -b 1 -o
both a.glb weights smooth rig.glb -o
both a.glb bind rig.glb --resolution 8 -o
both a.glb correct rig.glb --driver pose --poses poses -o
both a.glb pose rig.glb --time 0 -o
both a.glb retarget rig.glb rig.glb -o
if pictures; then both a.png view rig.glb --size 16x16 --png; fi
both a.html view rig.glb -o
limited a_%d.obj convert 'q_%d.obj'

# A folder that takes no files from anybody.
if [ -d /proc/self ]; then
    run 3 convert mesh.obj /proc/a.obj
    err "/proc/a.obj: cannot be written"
fi

# A link where the file is written first: what it points at stays as it is.
echo precious >precious
(
    pid=$(sh -c 'echo $PPID')
    ln -s ../precious "disk/.a.obj.pelt-$pid"
    exec "$PELT" convert -q mesh.obj disk/a.obj
) || fail "a link in the way"
[ "$(cat precious)" = precious ] || fail "written through a link"
[ "$(ls -A disk)" = a.obj ] || fail "left behind: $(ls -A disk)"
rm disk/a.obj

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

# ---- Inputs ----

for gone in gone.glb gone.obj 'gone_%d.obj' 'gone_*.ply' no/such/folder/; do
    run 2 info "$gone"
    err "$gone"
    run 2 convert "$gone" disk/a.glb
    nothing disk
done
ln -s gone.obj dangling.obj
run 2 info dangling.obj
err "dangling.obj: cannot be opened: No such file or directory"
ln -s circle.obj circle.obj
run 2 info circle.obj
err "circle.obj: cannot be opened"
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

# A pipe as input and as output; one that nobody writes to can be interrupted.
cat rig.glb | "$PELT" info /dev/stdin >log/out 2>log/err || fail "a pipe as input"
out "glTF"
mkfifo pipe.obj
cat mesh.obj >pipe.obj &
run 0 info pipe.obj
out "OBJ"
ln -s /dev/fd/1 out.obj
"$PELT" convert -q mesh.obj out.obj 2>log/err | cat >through.obj
run 0 convert -q mesh.obj direct.obj
same direct.obj through.obj
for way in 'info pipe.obj' 'convert mesh.obj pipe.obj'; do
    # shellcheck disable=SC2086 # two or three words
    timeout -k 5 -s TERM 1 "$PELT" $way >log/out 2>log/err
    code=$?
    [ $code = 124 ] || fail "$way: a silent pipe: exit code $code"
    err "interrupted"
done

# Names with spaces, quotes, letters of all kinds, bytes that are no text, and a leading dash.
bytes=$(printf 'b\377\376.obj')
for name in 'a b.obj' "it's.obj" 'größe-猫.obj' 'q"uote.obj' "$bytes" './-o.obj'; do
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

# A file that another program makes shorter while it is read. Small ones are read at once; a large one is mapped, and
# the pipe that it is written to holds the program until it has been cut.
node -e '
const points = 2000, frames = 1000, b = Buffer.alloc(32 + 12 * points * frames);
b.write("POINTCACHE2"); b.writeUInt32LE(1, 12); b.writeUInt32LE(points, 16); b.writeFloatLE(1, 24);
b.writeUInt32LE(frames, 28); require("fs").writeFileSync("large.pc2", b);' || fail "large.pc2"
mkfifo pipe.mdd
"$PELT" convert -q large.pc2 pipe.mdd >log/out 2>log/err &
pid=$!
{
    dd if=/dev/null of=large.pc2 bs=1 seek=4096 2>log/dd
    cat >log/half
} <pipe.mdd
wait $pid
code=$?
[ $code = 2 ] || fail "a file cut while it is read: exit code $code"
err "became shorter while it was read"

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
