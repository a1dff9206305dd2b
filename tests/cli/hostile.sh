# Full disks, links, pipes, a file that is cut while it is read: every case ends in time, with its exit code and a message, and with a complete
# file or none. What needs none of these is in hostile_inputs.sh.
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

# ---- Inputs ----

ln -s gone.obj dangling.obj
run 2 info dangling.obj
err "dangling.obj: cannot be opened: No such file or directory"
ln -s circle.obj circle.obj
run 2 info circle.obj
err "circle.obj: cannot be opened"

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
