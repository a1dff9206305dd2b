# pelt edit: an edited rest pose, or a displacement, through a rig's animation.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" tube -o tube.glb --vertices 300 >/dev/null || fail "no scene"
"$PELT_SCENES" production -o man.glb --vertices 800 --frames 6 >/dev/null || fail "no scene"
"$PELT_SCENES" softbody -o hare.obj --vertices 300 --frames 8 >/dev/null || fail "no scene"
# raise IN OUT: what stands above half the height goes a tenth further up; six digits, as other programs write them.
raise() {
    awk '$1 == "v" && NR == FNR { if ($3 > h) h = $3 }
         NR != FNR { if ($1 == "v" && $3 > h / 2) $3 += 0.1 * ($3 - h / 2)
                     if ($1 == "v") printf "v %.6f %.6f %.6f\n", $2, $3, $4; else print }' "$1" "$1" >"$2"
}
# like FILE FILE LIMIT: the mesh or frame of one is that of the other.
like() {
    run 0 compare "$1" "$2" --json like.json
    json like.json "r.error_max < $3"
}

# Nothing edited: the same bytes, and a warning.
for rig in tube man; do
    run 0 convert -q $rig.glb $rig.obj
    run 0 edit $rig.glb --rest $rig.obj -o same.glb --json same.json
    err "nothing moved"
    json same.json 'r.moved === 0 && r.turned === 0 && r.vertices > 100 && r.change.error_rms === 0 && r.warnings.length === 1'
    same $rig.glb same.glb
done

# An edited rest pose is the rest pose of the output, and the report tells what it came to.
raise tube.obj high.obj
run 0 edit tube.glb --rest high.obj -o high.glb --json high.json --report high.html
no_err
out "made in  the bind pose"
out "welded vertices"
json high.json 'r.verb === "edit" && r.pose === "bind" && r.moved > 50 && r.moved < r.turned && r.turned < r.vertices'
json high.json 'r.torn === 0 && r.ill_conditioned === 0 && Math.abs(r.distance_max - 0.1) < 1e-4 && r.missed_max < 1e-6'
json high.json 'r.change.frames === 31 && r.change.error_rms > 1 && r.bytes === require("fs").statSync("high.glb").size'
grep -q 'ill_conditioned' high.html || fail "no report on the page"
run 0 convert -q high.glb again.obj
like high.obj again.obj 1e-6
run 0 info high.glb
out "bend"

# In any numbering: the same mesh without normals and UVs, so that nothing splits it, and a PLY of it.
awk '$1 == "f" { for (c = 2; c <= 4; c++) sub("/.*", "", $c) } $1 != "vt" && $1 != "vn"' high.obj >bare.obj
run 0 convert -q high.obj high.ply
for other in bare.obj high.ply; do
    run 0 edit -q tube.glb --rest $other -o other.glb
    no_out
    same high.glb other.glb
done

# Made in a frame: there again.
run 0 bake -q tube.glb -o 'f_%d.obj'
raise f_20.obj bent.obj
run 0 edit tube.glb --rest bent.obj --frame 20 -o bent.glb --json bent.json
out "motion 'bend' at 0.6667 s"
json bent.json 'r.pose === "motion" && r.motion === "bend" && Math.abs(r.time - 2 / 3) < 1e-6 && r.moved > 50'
run 0 bake -q bent.glb -o 'b_%d.obj'
like bent.obj b_20.obj 1e-5
run 0 edit -q tube.glb --rest bent.obj --time 0.66666667 -o time.glb
run 0 bake -q time.glb -o 't_%d.obj'
like b_20.obj t_20.obj 1e-6

# A decomposed rig has a rest pose of its own: the difference is what counts.
run 0 decompose -q hare.obj hare.pc2 -o hare.glb --bones 3 --iterations 2 --corrections 2
raise hare.obj tall.obj
run 0 edit hare.glb --rest tall.obj -o no.glb
err "give that with --original"
rm no.glb
run 0 edit hare.glb --rest hare.obj --original hare.obj -o same.glb
same hare.glb same.glb
run 0 edit hare.glb --rest tall.obj --original hare.obj -o tall.glb --json tall.json
json tall.json 'r.moved > 20 && r.moved < r.vertices'
run 0 info tall.glb
out "3: correction 1"

# Distances along normals: numbers, an attribute, a picture. The tube's side has radius 1/4.
run 0 info tube.glb --json info.json
count=$(node -p 'JSON.parse(require("fs").readFileSync("info.json")).inputs[0].vertices')
yes 2 | head -n "$count" >two.txt
run 0 edit tube.glb --displace two.txt --amount 0.05 -o fat.glb --json fat.json
json fat.json 'r.moved === r.vertices && Math.abs(r.distance_max - 0.1) < 1e-6 && Math.abs(r.distance_mean - 0.1) < 1e-6'
run 0 edit -q tube.glb --displace two.txt --amount 0.1 --middle 1 -o fat2.glb
same fat.glb fat2.glb
if posix; then # wine opens a pipe to look at it, and closes it: what was written is lost
    mkfifo pipe
    cat two.txt >pipe &
    run 0 edit -q tube.glb --displace pipe --amount 0.05 -o piped.glb
    same fat.glb piped.glb
fi
run 0 edit -q tube.glb --displace-attribute TEXCOORD_0.y --amount 0.1 -o cone.glb --json cone.json
json cone.json 'r.distance_max > 0.09 && r.distance_max < 0.1001 && r.distance_mean < 0.09'
# A grey picture of 2 × 1 pixels, black and white.
node -e 'const z = require("zlib"), b = (n) => { const x = Buffer.alloc(4); x.writeUInt32BE(n >>> 0); return x; };
const crc = (d) => { let c = ~0; for (const v of d) { c ^= v; for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1; } return ~c; };
const chunk = (n, d) => { const x = Buffer.concat([Buffer.from(n), d]); return Buffer.concat([b(d.length), x, b(crc(x))]); };
const png = (w, row) => Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", Buffer.concat([b(w), b(1), Buffer.from([8, 0, 0, 0, 0])])), chunk("IDAT", z.deflateSync(Buffer.from([0, ...row]))), chunk("IEND", Buffer.alloc(0))]);
require("fs").writeFileSync("split.png", png(2, [0, 255])); require("fs").writeFileSync("white.png", png(1, [255]));'
if pictures; then
    run 0 edit -q tube.glb --displace white.png --amount 0.2 -o white.glb
    same fat.glb white.glb
    run 0 edit -q tube.glb --displace white.png --amount 0.1 --middle 0 -o white.glb
    same fat.glb white.glb
    run 0 edit -q tube.glb --displace split.png --amount 0.2 -o split.glb --json split.json
    json split.json 'r.torn === 0 && r.distance_max > 0.09 && r.distance_max <= 0.1001 && r.distance_mean < 0.09'
fi
cp man.glb own.glb
run 0 edit -q own.glb --displace-attribute NORMAL.y --amount 0.01 -o own.glb
run 0 info own.glb
out "shirt, skin, metal"

# The same bytes for any number of threads.
run 0 edit -q man.glb --displace-attribute NORMAL.x --amount 0.01 --threads 1 -o one.glb
run 0 edit -q man.glb --displace-attribute NORMAL.x --amount 0.01 --threads 4 -o four.glb
same one.glb four.glb

# Refused, with a sentence and without a file.
quad >quad.obj
refused() {
    run "$@" -o no.glb
    missing no.glb
}
refused 1 edit tube.glb
err "one of --rest, --displace"
refused 1 edit tube.glb --rest high.obj --displace two.txt
refused 1 edit tube.glb --rest high.obj --amount 2
refused 1 edit tube.glb --displace two.txt --original tube.obj
refused 1 edit tube.glb --rest high.obj --pose rest --frame 3
refused 1 edit tube.glb man.glb --rest high.obj
refused 1 edit tube.glb --displace split.png
err "--amount"
refused 1 edit tube.glb --rest high.obj --time 2
err "behind the end"
refused 1 edit tube.glb --rest high.obj --motion nothing
refused 2 edit tube.glb --rest missing.obj
err "missing.obj"
refused 2 edit missing.glb --rest high.obj
refused 2 edit tube.glb --displace missing.txt
err "missing.txt"
refused 2 edit tube.glb --displace high.obj
err "line 1"
refused 2 edit tube.glb --displace-attribute _NONE
err "_NONE"
refused 2 edit tube.glb --rest quad.obj
err "same mesh"
# Faces and vertices in another order.
awk '$1 == "f" { line = "f"; for (i = 2; i <= NF; i++) line = line " " ($i * 5) % 200 + 1; f[++n] = line; next }
    $1 == "v"
    END { for (; n; n--) print f[n] }' high.obj >shuffled.obj
refused 2 edit tube.glb --rest shuffled.obj
err "shuffled.obj: triangle"
strip
refused 2 edit strip.gltf --displace white.png --amount 1
err "needs UVs"
refused 2 edit quad.obj --rest quad.obj
err "neither skin nor morphs"
run 1 edit tube.glb --rest high.obj
run 1 edit tube.glb --rest high.obj -o no.obj
missing no.obj
