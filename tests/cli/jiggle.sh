# pelt jiggle: a rig and its motion become a cache, morphs or bones.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" troll -o troll.glb --vertices 700 --frames 61 >/dev/null || fail "no scene"
"$PELT_SCENES" troll -o short.glb --vertices 700 --frames 9 >/dev/null || fail "no scene"
small="--particles 300 --preroll 0.2 --frequency 8 --damping 4 --softness even"

# A cache with its mesh; the table and the report tell what happened.
run 0 jiggle short.glb -o soft.pc2 --mesh soft.obj $small --json soft.json --report soft.html
no_err
out "particles"
out "from skin"
out "belly"
json soft.json 'r.verb === "jiggle" && r.as === "cache" && r.particles > 150 && r.particles < 600 && r.cells > 50 && r.cell > 0'
json soft.json 'r.clips.length === 1 && r.clips[0].motion === "bounce" && r.clips[0].frames === 9 && r.clips[0].fps === 30'
json soft.json 'r.clips[0].farthest > 0.01 && r.clips[0].farthest < 0.6 && r.clips[0].turns === undefined && r.skin === undefined'
json soft.json 'r.clips[0].volumes.length > 8 && r.clips[0].volumes.every((v) => v.rest > 0 && v.before > 0 && v.after > 0)'
# What the skeleton takes from bends, or gives them, is put right in the most part.
json soft.json 'r.clips[0].volumes.reduce((s, v) => s + Math.abs(v.after - v.rest), 0) < 0.6 * r.clips[0].volumes.reduce((s, v) => s + Math.abs(v.before - v.rest), 0)'
json soft.json 'r.bytes === require("fs").statSync("soft.pc2").size && r.settings.delta > 0'
run 0 compare short.glb soft.obj soft.pc2 --json c.json
json c.json 'r.frames === 9 && r.error_rms > 1'
# On the page lies the lattice: every edge once, as long as a cell.
node -e 'const fs = require("fs"), text = fs.readFileSync("soft.html", "utf8"), r = JSON.parse(fs.readFileSync("soft.json"));
    const block = (name) => Buffer.from(new RegExp(`id="pelt-lattice-${name}">([^<]*)<`).exec(text)[1], "base64");
    const points = block("points"), edges = block("edges"), seen = new Set();
    if (points.length !== 12 * r.particles || edges.length < 8 * r.cells) process.exit(1);
    for (let e = 0; e < edges.length; e += 8) {
        const [a, b] = [edges.readUInt32LE(e), edges.readUInt32LE(e + 4)];
        const length = Math.hypot(...[0, 4, 8].map((c) => points.readFloatLE(12 * a + c) - points.readFloatLE(12 * b + c)));
        if (seen.has(`${a} ${b}`) || Math.abs(length - r.cell) > 1e-4 * r.cell) process.exit(1);
        seen.add(`${a} ${b}`);
    }' || fail "the lattice on the page"

# The same bytes for any number of threads; without any swing there is none.
run 0 jiggle -q short.glb -o one.pc2 $small --threads 1
no_out
same soft.pc2 one.pc2
run 0 jiggle -q short.glb -o 'f_%d.obj' $small
[ -s f_8.obj ] || fail "no sequence"
run 0 jiggle -q short.glb -o stiff.mdd $small --delta 0 --json stiff.json
json stiff.json 'r.clips[0].farthest === 0'

# What is soft: nothing but what is named, and how much.
run 0 jiggle -q short.glb -o ears.pc2 $small --soft 'ear*=0.9' --json ears.json
run 0 jiggle -q short.glb -o same.pc2 $small --delta 0 --soft ear.L=0.9,ear.R=0.9 --soft 'ear_tip.?=0.9'
same ears.pc2 same.pc2
json ears.json 'r.clips[0].farthest > 0.01'
run 0 jiggle -q short.glb -o held.pc2 $small --soft 'ear*=0.9' --pin '*=1'
run 0 jiggle -q short.glb -o rest.pc2 $small --delta 0
same held.pc2 rest.pc2
# Values over time: constant ones are constant; others begin as the first and end as the last.
run 0 jiggle -q short.glb -o key.pc2 $small --soft 'ear*@0=0.9' --soft 'ear*@5=0.9'
same ears.pc2 key.pc2
run 0 jiggle -q short.glb -o key.pc2 $small --soft 'ear*@0=0' --soft 'ear*@0.2=0.9'
cmp -s ears.pc2 key.pc2 && fail "keys change nothing"
cmp -s -n 5000 rest.pc2 key.pc2 || fail "keys hold before their time"
# Maps: numbers, an attribute, a picture; as numbers say it, attributes do.
run 0 info short.glb --json info.json
count=$(node -p 'JSON.parse(require("fs").readFileSync("info.json")).inputs[0].vertices')
yes 0.9 | head -n "$count" >soft.txt
run 0 jiggle -q short.glb -o map.pc2 $small --soft-map soft.txt
run 0 jiggle -q short.glb -o all.pc2 $small --delta 0.9
run 0 compare map.pc2 all.pc2 --json c.json
json c.json 'r.error_max < 1e-4'
run 0 jiggle -q short.glb -o uv.pc2 $small --pin-map TEXCOORD_0.y --stiffness-map TEXCOORD_0.x --damping-map soft.txt
cmp -s uv.pc2 soft.pc2 && fail "maps change nothing"
# Forces and colliders.
run 0 jiggle -q short.glb -o sag.pc2 $small --gravity 9.81
cmp -s sag.pc2 soft.pc2 && fail "gravity changes nothing"
run 0 jiggle -q short.glb -o same.pc2 $small --gravity 0,-9.81,0
same sag.pc2 same.pc2
run 0 jiggle -q short.glb -o wind.pc2 $small --wind 20,0,0
run 0 jiggle -q short.glb -o same.pc2 $small --wind 20,0,0 --drag 1
same wind.pc2 same.pc2
cmp -s wind.pc2 soft.pc2 && fail "wind changes nothing"
run 0 jiggle -q short.glb -o ball.pc2 $small --collider sphere:0,0.8,0.7,0.4,0.5 --collider floor:0
run 0 jiggle -q short.glb -o hung.pc2 $small --collider capsule:0,0,0,0,0.4,0,0.1@head --collider plane:0,0,0,0,1,0,0.5
for file in ball hung; do cmp -s $file.pc2 soft.pc2 && fail "colliders change nothing"; done

# Loops: the last frame is the first.
run 0 jiggle troll.glb -o loop.pc2 $small --loop --json loop.json
out "closed after"
json loop.json 'r.clips[0].frames === 61 && r.clips[0].turns > 1 && r.clips[0].seam < 1e-3'
node -e 'const b = require("fs").readFileSync("loop.pc2"), size = 12 * b.readInt32LE(16), n = b.readInt32LE(28);
    process.exit(b.subarray(32, 32 + size).equals(b.subarray(32 + (n - 1) * size)) ? 0 : 1)' || fail "a seam"
run 2 jiggle short.glb -o no.pc2 $small --loop
err "no cycle"
missing no.pc2

# A part of the motion; other rates.
run 0 jiggle -q troll.glb -o part.pc2 $small --from 0.5 --to 1 --fps 60 --json part.json
json part.json 'r.clips[0].frames === 31 && Math.abs(r.clips[0].duration - 0.5) < 1e-6'

# A motion that ends between frames: everything that is written lasts as long, in all channels, also what was a part of one.
lasts() { # lasts FILE.glb SECONDS
    node -e 'const b = require("fs").readFileSync(process.argv[1]), g = JSON.parse(b.subarray(20, 20 + b.readUInt32LE(12)));
        const ends = g.animations[0].samplers.map((s) => g.accessors[s.input]).map((a) => [a.min[0], a.max[0]]);
        const [first, last] = [Math.min(...ends.map((e) => e[0])), Math.max(...ends.map((e) => e[1]))];
        const off = ends.filter((e) => e[0] !== first || (e[1] !== last && e[1] !== first)).length;
        process.exit(first === 0 && Math.abs(last - process.argv[2]) < 1e-6 && off === 0 ? 0 : 1)' "$1" "$2" ||
        fail "$1 does not last $2 s in all channels"
}
quick="$small --iterations 3"
run 0 jiggle -q troll.glb -o cut.glb --to 0.708333 $quick --add 2
lasts cut.glb 0.708333
run 0 jiggle -q troll.glb -o middle.glb --from 0.5 --to 1 $quick --add 2
lasts middle.glb 0.5
run 0 jiggle cut.glb -o again.glb --particles 300 --add 2 --iterations 2 --json again.json
lasts again.glb 0.708333
json again.json 'r.clips[0].frames === 23 && Math.abs(r.clips[0].fps - 22 / 0.708333) < 1e-3 && Math.abs(r.clips[0].duration - 0.708333) < 1e-6'
run 0 jiggle -q cut.glb -o again.glb --as morphs --particles 300 --corrections 3
lasts again.glb 0.708333
run 0 jiggle -q cut.glb -o again.pc2 --mesh again.obj --particles 300
run 0 info again.obj again.pc2 --json info.json
json info.json 'r.inputs[0].clips[0].frames === 23 && Math.abs(r.inputs[0].clips[0].duration - 0.708333) < 1e-5'
# A cycle without its last key is closed.
run 0 jiggle troll.glb -o closed.glb $quick --add 2 --to 1.9666667 --loop --json closed.json
out "one frame of 0.03333 s was added"
json closed.json 'r.clips[0].frames === 61 && Math.abs(r.clips[0].closed - 1 / 30) < 1e-5 && Math.abs(r.clips[0].duration - 2) < 1e-5'
lasts closed.glb 2

# Softness follows thickness; --softness even is everywhere the same.
run 0 jiggle -q short.glb -o thick.pc2 --particles 300 --preroll 0.2 --frequency 8 --damping 4 --json thick.json
json thick.json 'r.settings.softness === "thickness" && r.clips[0].farthest > 0.003'
cmp -s thick.pc2 soft.pc2 && fail "softness changes nothing"
run 1 jiggle short.glb -o no.pc2 --softness hard

# Bones again: those of the rig stay, helpers come. Free ones. Morphs alone. The file is what the report says.
run 0 jiggle short.glb -o bones.glb $quick --add 6 --json bones.json --report bones.html
out "at most"
json bones.json 'r.as === "bones" && r.skin.result.bones === 21 + 6 && r.skin.result.error_rms < 15'
run 0 info bones.glb
out "hips, belly"
run 0 compare soft.obj soft.pc2 bones.glb --json c.json
json c.json 'Math.abs(r.error_rms - JSON.parse(require("fs").readFileSync("bones.json")).skin.result.error_rms) < 1e-3'
run 0 compare short.glb soft.obj soft.pc2 --json lbs.json
json c.json 'r.error_rms < 0.5 * JSON.parse(require("fs").readFileSync("lbs.json")).error_rms'
run 0 jiggle -q short.glb -o free.glb $quick --bones 12 --target web --json free.json
json free.json 'r.skin.result.bones === 12 && r.skin.result.influences <= 4'
run 4 jiggle short.glb -o free.glb $quick --bones 4 --error 0.01
err "was asked for"
run 0 jiggle -q short.glb -o both.glb $quick --add 4 --corrections 4 --rounds 0 --json both.json
json both.json 'r.skin.corrections.rank === 4 && r.skin.result.error_rms < 15'
run 0 jiggle -q short.glb -o morphs.glb --as morphs --corrections 6 $small --json morphs.json
json morphs.json 'r.as === "morphs" && r.skin.rank === 6 && r.skin.error_rms < 0.3 * r.skin.errors[0]'
run 0 compare soft.obj soft.pc2 morphs.glb --json c.json
json c.json 'Math.abs(r.error_rms - JSON.parse(require("fs").readFileSync("morphs.json")).skin.error_rms) < 1e-3'

# A motion of another skeleton.
run 0 convert -q short.glb bounce.bvh
run 0 jiggle short.glb bounce.bvh -o same.pc2 $small --ground keep --json r.json
out "Joints of the rig and of the motion"
json r.json 'r.retarget.matched >= 21 && r.retarget.joints.length >= 21 && r.clips[0].motion === "bounce"'
run 0 compare same.pc2 soft.pc2 --json c.json
json c.json 'r.error_max < 1e-3'
printf 'belly = head\n' >map.txt
run 0 jiggle -q short.glb bounce.bvh -o map.glb --map map.txt $quick --add 3 --json r.json
json r.json 'r.retarget.joints.some((j) => j.rig === "belly" && j.motion === "head" && j.match === "map")'

# Refused, with a sentence and without a file.
refused() {
    run "$@" -o no.pc2
    missing no.pc2
}
run 1 jiggle troll.glb
run 1 jiggle troll.glb -o no.obj
err "pattern"
run 1 jiggle troll.glb -o no.pc2 --as bones
err "holds no skin"
run 1 jiggle troll.glb -o no.glb --as cache
err "is no cache"
run 1 jiggle troll.glb -o no.glb --mesh no.obj
refused 1 jiggle
refused 1 jiggle troll.glb bounce.bvh bounce.bvh
refused 1 jiggle troll.glb --soft belly
err "belly=0.8"
refused 1 jiggle troll.glb --soft belly=2
refused 1 jiggle troll.glb --soft belly=0.1,belly=0.2
err "two values"
refused 1 jiggle troll.glb --heat belly@1=2
err "over time"
refused 2 jiggle troll.glb --soft bely=0.8
err "did you mean 'belly'"
refused 1 jiggle troll.glb --gravity 1,2
refused 1 jiggle troll.glb --wind 1
refused 1 jiggle troll.glb --collider box:1,2,3
err "none of sphere"
refused 1 jiggle troll.glb --collider sphere:1,2,3
err "give 4 numbers"
refused 2 jiggle troll.glb --collider sphere:1,2,3,1@nose
err "nose"
refused 1 jiggle troll.glb --from 3
err "lasts 2 s"
refused 1 jiggle troll.glb --motion nothing
refused 2 jiggle troll.glb --soft-map _NONE
err "_NONE"
refused 2 jiggle missing.glb
refused 2 jiggle troll.glb missing.bvh
quad >quad.obj
refused 2 jiggle quad.obj
err "no skeleton"
run 2 jiggle bounce.bvh -o no.glb
missing no.glb
exit 0
