# Ctrl-C during a long bake: exit code 130, no file, nothing beside it.
. "$(dirname "$0")/lib.sh"

strip
cat >many.js <<'END'
// The strip's motion, an hour long.
const rig = JSON.parse(require("fs").readFileSync("strip.gltf"));
rig.animations.length = 1;
const bytes = Buffer.from(rig.buffers[0].uri.split(",")[1], "base64");
const times = rig.accessors[rig.animations[0].samplers[0].input];
times.max = [3600];
bytes.writeFloatLE(3600, rig.bufferViews[times.bufferView].byteOffset + 8);
rig.buffers[0].uri = "data:application/octet-stream;base64," + bytes.toString("base64");
require("fs").writeFileSync("long.gltf", JSON.stringify(rig));
END
node many.js || fail "many.js"

for signal in INT TERM; do
    mkdir $signal
    # 7.2 million frames, near the most that are taken. A shell starts background jobs with SIGINT ignored, and pelt respects that.
    env --default-signal=INT "$PELT" bake long.gltf -o $signal/long.pc2 --fps 2000 >log/out 2>log/err &
    pid=$!
    tries=0
    until [ -n "$(ls -A $signal)" ]; do # the file beside has begun
        kill -0 $pid 2>/dev/null || break
        tries=$((tries + 1))
        [ $tries -lt 600 ] || fail "the bake does not begin"
        sleep 0.05
    done
    kill -$signal $pid || fail "the bake was over before it could be interrupted"
    wait $pid
    code=$?
    [ $code = 130 ] || fail "SIG$signal: exit code $code"
    [ -z "$(ls -A $signal)" ] || fail "left behind: $(ls -A $signal)"
    err "interrupted"
    no_out
    [ "$(tr -cd '\r' <log/err | wc -c)" = 0 ] || fail "a progress line in a file"
done
exit 0
