#!/bin/sh
# Names in other languages, long paths, files of more than 4 GB, folders that may only be read, files replaced while they are in use, no HOME,
# no terminal.
. "$(dirname "$0")/lib.sh"

# ---- Names of two, three and four bytes of UTF-8 per letter ----
name='Häst 馬 🐎'
mkdir "$name"
quads "$name/f"
run 0 convert "$name/f_%d.obj" "$name/$name.pc2"
run 0 convert "$name/f_*.obj" glob.pc2
same "$name/$name.pc2" glob.pc2
run 0 convert "$name"'*/[e-g]_?.obj' sets.pc2
same sets.pc2 glob.pc2
run 0 info "$name" --json "$name/info.json"
out "$name"
json "$name/info.json" 'JSON.stringify(r).includes("馬")'
strip
run 0 convert strip.gltf "$name/$name.gltf"
[ -f "$name/$name.bin" ] || fail "no buffer beside $name.gltf"
run 0 info "$name/$name.gltf"
run 2 info "$name/fehlt-ñ.glb"
err 'fehlt-ñ.glb: cannot be opened: No such file or directory'

# ---- A path of more than 260 characters, the most that old programs of Windows take ----
deep=$name
for _ in 1 2 3 4 5 6; do deep=$deep/a-folder-whose-name-has-more-than-forty-six-characters; done
mkdir -p "$deep"
run 0 convert "$name/f_0.obj" "$deep/deep.ply"
run 0 convert "$deep/deep.ply" up.ply
same "$deep/deep.ply" up.ply

# ---- A cache of 5 GB, of which little is stored ----
"$PELT_SCENES" cloth --vertices 20000 --frames 2 -o m.obj || fail "no scene"
node -e '
    const fs = require("fs"), [small, path, size] = process.argv.slice(1), bytes = fs.readFileSync(small);
    const points = bytes.readUInt32LE(16), frames = Math.floor(size / (12 * points)), file = fs.openSync(path, "w");
    bytes.writeUInt32LE(frames, 28);
    fs.writeSync(file, bytes, 0, 32 + 12 * points, 0);
    fs.writeSync(file, bytes, 32 + 12 * points, 12 * points, 32 + 12 * points * (frames - 1));' m.pc2 huge.pc2 5368709120 ||
    fail "no file of 5 GB"
if [ -z "${PELT_32_BIT:-}" ]; then
    run 0 info m.obj huge.pc2 --json huge.json
    json huge.json 'JSON.stringify(r).includes("22293")'
else
    run 2 info m.obj huge.pc2
    err "huge.pc2: is too large for this machine's addresses"
fi
rm huge.pc2

# ---- An input that is mapped (over 16 MB) is also the output ----
node -e '
    const fs = require("fs"), bytes = fs.readFileSync("m.pc2"), points = bytes.readUInt32LE(16), file = fs.openSync("clip.pc2", "w");
    bytes.writeUInt32LE(80, 28);
    fs.writeSync(file, bytes, 0, 32, 0);
    for (let k = 0; k < 80; k++) fs.writeSync(file, bytes, 32, 12 * points, 32 + 12 * points * k);' || fail "no clip"
cp clip.pc2 before.pc2
run 0 convert m.obj clip.pc2 -o clip.pc2
same clip.pc2 before.pc2
left=$(find . -name '*pelt-*')
[ -z "$left" ] || fail "left behind: $left"

# ---- A file that may not be written is replaced; in a folder that may not be written nothing is ----
quad >a.obj
cp a.obj only-read.obj
chmod 444 only-read.obj
run 0 convert a.obj only-read.obj
mkdir locked
cp a.obj locked/
chmod 555 locked
if obey_permissions; then
    run 3 convert a.obj locked/b.obj
    err 'locked/b.obj: cannot be written: Permission denied'
    run 3 convert a.obj locked/a.obj
fi
chmod 755 locked
run 3 convert a.obj nowhere/b.obj
err 'nowhere/b.obj: cannot be written: No such file or directory'

# ---- Neither home nor terminal ----
(
    unset HOME TERM
    ! command -v setsid >/dev/null || before='setsid -w' # a session of its own has no terminal
    run 0 info a.obj
    run 0 convert a.obj home.ply
) </dev/null || exit 1
