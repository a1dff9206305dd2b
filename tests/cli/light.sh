# pelt light: how light falls on a rig as it moves, as vertex colours that morph.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" troll -o troll.glb --vertices 400 --frames 8 >/dev/null || fail "no scene"

# The report, for people and for programs; the same bytes for any number of threads.
run 0 light troll.glb -o lit.glb --directions 64 --json lit.json --threads 1
no_err
out "light"
out "patterns"
out "4 patterns cannot come nearer than"
json lit.json 'r.verb === "light" && r.frames === 8 && r.rank === 4 && r.vertices > 200 && r.rays > 10000'
json lit.json 'r.mean > 0.5 && r.mean < 1 && r.svd_errors.length === 5 && r.svd_errors.every((e, k) => k === 0 || e < r.svd_errors[k - 1])'
json lit.json 'r.error_rms >= r.svd_errors[4] && r.error_rms < 1.15 * r.svd_errors[4] && r.bytes === require("fs").statSync("lit.glb").size'
run 0 light troll.glb -o two.glb --directions 64 --threads 2 --quiet
no_out
same lit.glb two.glb
run 0 info lit.glb
out "light 1"

# Least error; a sky; onto itself, where the light falls on the colours that are there.
run 0 light troll.glb -o svd.glb --directions 64 --factors svd --json svd.json
json svd.json 'Math.abs(r.error_rms - r.svd_errors[4]) < 1e-6'
run 0 light troll.glb -o sky.glb --kind sky --sky 0.5,0.7,1 --ground 0.2,0.1,0 --directions 32 --rank 2 --json sky.json
json sky.json 'r.rank === 2 && r.mean > 0.1 && r.mean < 0.8'
run 0 light lit.glb -o lit.glb --directions 16 --rank 1
err "the file has vertex colours"

# Radiance transfer: compressed vectors, colours in a chosen light, a page; what has no effect is refused.
run 0 light troll.glb -o prt.glb --kind transfer --bounce 0.5 --floor --directions 32 --transfer-rank 5 --bands 4 --json prt.json
out "16 coefficients in 5 patterns"
json prt.json 'r.coefficients === 16 && r.transfer_errors.length === 6 && r.transfer_errors.every((e, k) => k === 0 || e < r.transfer_errors[k - 1])'
run 1 light troll.glb -o no.glb --bands 4
err "without --kind transfer"
run 1 light troll.glb -o no.glb --kind transfer --sun 0,0,0
err "it should be a direction"
missing no.glb

# Pictures show it.
if pictures; then
    run 0 view lit.glb --png lit.png --size 40x40 --mode colors --frame 3
    run 0 view lit.glb --png clay.png --size 40x40 --frame 3
    cmp -s lit.png clay.png && fail "colours are not seen"
fi
run 2 view troll.glb --png no.png --mode colors
err "there are none"
missing no.png

# Without motion: colours alone.
run 0 convert -q troll.glb still.obj
run 0 light still.obj -o still.glb --directions 16 --json still.json
err "has no motion"
json still.json 'r.frames === 1 && r.rank === 1'

# What cannot be done is said, and leaves nothing behind.
run 1 light troll.glb
run 1 light -o no.glb
run 1 light troll.glb -o no.obj
run 1 light troll.glb -o no.glb --sky 1,1,1
err "--kind sky"
run 1 light troll.glb -o no.glb --kind sky --sky 1,2,1
err "--sky: 1,2,1 is out of range; it takes a number from 0 to 1"
run 1 light troll.glb -o no.glb --rank 0
run 2 light missing.glb -o no.glb
printf 'not a model' >bad.glb
run 2 light bad.glb -o no.glb
run 2 light troll.glb -o no.glb --fps 100000
err "lower the frames per second"
missing no.glb
