# pelt correct, and decompose --corrections: morph targets for what the bones miss.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" softbody -o hare.obj --vertices 400 --frames 40 >/dev/null || fail "no scene"
"$PELT_SCENES" production -o man.glb --vertices 800 --frames 8 >/dev/null || fail "no scene"
bones='--bones 3 --iterations 2 --transforms rigid'
run 0 decompose -q hare.obj hare.pc2 -o hare.glb $bones

# The report: an error for every rank, never rising; the last is that of the file, and of what is baked from it.
run 0 correct hare.glb hare.obj hare.pc2 -o five.glb --rank 5 --json report.json --report page.html
no_err
out "at rank 5"
json report.json 'r.verb === "correct" && r.rank === 5 && r.errors.length === 6 && r.frames === 40 && r.vertices > 100'
json report.json 'r.errors.every((e, n) => n === 0 || e < r.errors[n - 1])'
json report.json 'Math.abs(r.error_rms - r.errors[5]) < 1e-3 * r.errors[5] && r.bytes_out > r.bytes_in && r.bytes_in > 0'
json report.json 'r.settings.basis === "skinned" && r.curves[0].title === "error against rank" && r.warnings.length === 0'
grep -q 'error against rank' page.html || fail "no curve on the page"
run 0 info five.glb
out "6: correction 1"
run 0 bake -q five.glb -o played.pc2
run 0 compare hare.obj hare.pc2 five.glb --json played.json
cp report.json wanted.json
json played.json 'Math.abs(r.error_rms - JSON.parse(require("fs").readFileSync("wanted.json")).error_rms) < 1e-6'

# Fewer ranks give what the larger one told of them.
run 0 correct -q hare.glb hare.obj hare.pc2 -o two.glb --rank 2 --json two.json
no_out
json two.json 'r.errors.every((e, n) => e === JSON.parse(require("fs").readFileSync("wanted.json")).errors[n])'

# The paper's basis is no better at any rank.
run 0 correct -q hare.glb hare.obj hare.pc2 -o rest.glb --rank 5 --basis rest --json rest.json
json rest.json 'JSON.parse(require("fs").readFileSync("wanted.json")).errors.every((e, n) => e <= r.errors[n] * (1 + 1e-9))'

# The same bytes for any number of threads.
run 0 correct -q hare.glb hare.obj hare.pc2 -o one.glb --rank 3 --normals --threads 1
run 0 correct -q hare.glb hare.obj hare.pc2 -o four.glb --rank 3 --normals --threads 4
same one.glb four.glb

# Normals, measured on the file as they were while it was made.
run 0 correct hare.glb hare.obj hare.pc2 -o normals.glb --rank 3 --normals --json normals.json
out "before corrections"
json normals.json 'Math.abs(r.skinned_normal_rms - r.normals_after) < 1e-4 && r.normals_after < r.normals_before && r.normal_rms < r.normals_after'


# Further targets for normals alone, by either rule of skinning them; positions stay as they were.
run 0 correct hare.glb hare.obj hare.pc2 -o own.glb --rank 3 --normals --normal-rank 4 --json own.json
out "4 targets correct normals alone"
json own.json 'r.normal_rank === 4 && r.normals_after < 0.8 * JSON.parse(require("fs").readFileSync("normals.json")).normals_after'
json own.json 'Math.abs(r.skinned_normal_rms - r.normals_after) < 1e-4'
json own.json 'Math.abs(r.error_rms - JSON.parse(require("fs").readFileSync("normals.json")).error_rms) < 1e-6'
run 0 info own.glb
out "normal correction 1"
run 0 correct -q hare.glb hare.obj hare.pc2 -o inverse.glb --rank 0 --normal-rank 4 --normal-rule inverse --json inverse.json
json inverse.json 'r.rank === 0 && Math.abs(r.inverse_normal_rms - r.normals_after) < 1e-4 && r.normals_after < r.normals_before'
run 1 correct hare.glb hare.obj hare.pc2 -o no.glb --normal-rank 101
run 1 correct hare.glb hare.obj hare.pc2 -o no.glb --normal-rule accurate

# An error instead of a rank; 4 when it is missed.
run 0 correct -q hare.glb hare.obj hare.pc2 -o some.glb --error 0.3 --json some.json
json some.json 'r.error_rms <= 0.3 && r.errors[r.rank - 1] > 0.3'
run 4 correct -q hare.glb hare.obj hare.pc2 -o some.glb --error 1e-7 --rank 2
run 4 correct hare.glb hare.obj hare.pc2 -o some.glb --error 1e-7 --rank 2
err "1e-07 was asked for"

# Twice: the targets of the first time stay and work.
run 0 correct -q two.glb hare.obj hare.pc2 -o more.glb --rank 2 --json more.json
json more.json 'Math.abs(r.errors[0] - JSON.parse(require("fs").readFileSync("two.json")).error_rms) < 1e-3 && r.error_rms < r.errors[0]'
run 0 info more.glb
out "5: correction 1" # with one offset for both

# A rig with many parts keeps its materials; a cache of its own vertices needs no mesh.
run 0 bake -q man.glb -o man.pc2
run 0 decompose -q man.glb -o few.glb $bones
run 0 correct -q few.glb man.pc2 -o man2.glb --rank 4 --json man.json
json man.json 'r.error_rms < 0.5 * r.errors[0] && Math.abs(r.error_rms - r.errors[4]) < 1e-3'
run 0 info man2.glb
out "shirt, skin, metal"

# Decompose does both at once, for all clips together. Without rounds it is as one after the other, with them better.
run 0 decompose -q hare.obj hare.pc2 -o both.glb $bones --corrections 5 --rounds 0 --json both.json
json both.json 'r.corrections.rank === 5 && Math.abs(r.result.error_rms - r.corrections.errors[5]) < 1e-3 * r.result.error_rms'
json both.json 'Math.abs(r.result.error_rms - JSON.parse(require("fs").readFileSync("wanted.json")).error_rms) < 1e-4'
json both.json 'r.corrections.rounds.length === 0'
run 0 decompose hare.obj hare.pc2 -o fitted.glb $bones --corrections 5 --rounds 4 --json fitted.json
out "corrections"
json fitted.json 'r.result.error_rms < JSON.parse(require("fs").readFileSync("both.json")).result.error_rms'
json fitted.json 'r.corrections.rounds.length > 1 && r.corrections.rounds.every((e, n, all) => n === 0 || e < all[n - 1])'
json fitted.json 'Math.abs(r.result.error_rms - r.corrections.rounds.at(-1)) < 0.02 * r.result.error_rms'
cp hare.pc2 again.pc2
run 0 decompose hare.obj hare.pc2 again.pc2 -o clips.glb $bones --corrections 5 --json clips.json
out "which lower E_rms from"
json clips.json 'r.clips.length === 2 && Math.abs(r.clips[0].error_rms - r.clips[1].error_rms) < 1e-3'
json clips.json 'Math.abs(r.result.error_rms - r.corrections.errors[5]) < 1e-3 * r.result.error_rms'

# One file is written, once: where the one with corrections finds no room, the input that it would replace stays.
run 0 decompose -q hare.obj hare.pc2 -o plain.glb $bones
run 0 decompose -q plain.glb -o room.glb $bones --corrections 20 --rounds 0
between=$(node -p 'const size = (f) => require("fs").statSync(f).size; Math.floor((size("plain.glb") + size("room.glb")) / 2 / 512)')
cp plain.glb over.glb
if posix; then
    (ulimit -f "$between"; "$PELT" decompose over.glb -o over.glb $bones --corrections 20 --rounds 0 >log/out 2>log/err)
    [ $? = 3 ] || fail "no failure where the disk is full"
    err "cannot be written"
    same plain.glb over.glb
fi

# Refused, with a sentence and without a file.
quad >quad.obj
run 1 correct hare.glb hare.obj hare.pc2
run 1 correct -o no.glb
run 1 correct hare.glb hare.obj hare.pc2 -o no.pc2
run 1 correct hare.glb hare.obj hare.pc2 -o no.glb --rank 101
run 2 correct hare.glb -o no.glb
err "give a cache behind it"
run 2 correct hare.glb quad.obj -o no.glb
err "the same mesh"
run 2 correct quad.obj hare.obj hare.pc2 -o no.glb
err "the same mesh"
run 2 correct hare.obj hare.pc2 -o no.glb
err "no skin in it"
run 1 correct hare.glb hare.obj hare.pc2 -o no.glb --motion nothing
err "nothing"
head -c 4000 hare.pc2 >cut.pc2
run 2 correct hare.glb hare.obj cut.pc2 -o no.glb
missing no.glb

# A cache at another rate is told of.
run 0 correct hare.glb hare.obj hare.pc2 --fps 10 -o slow.glb --rank 1
err "is --fps right?"
