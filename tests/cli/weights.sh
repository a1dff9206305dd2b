# pelt weights: transfer, smooth, relax, hammer, prune, limit, copy, mirror, normalise.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" creature -o rig.glb --vertices 800 --frames 10 >/dev/null || fail "no scene"
"$PELT_SCENES" production -o man.glb --vertices 1500 --frames 4 >/dev/null || fail "no scene"

# A mesh without a rig gets all of it; the same mesh gets the same weights.
run 0 convert -q rig.glb bare.obj
run 0 weights transfer rig.glb bare.obj -o onto.glb --json report.json
no_err
out "matched"
json report.json 'r.action === "transfer" && r.matched === r.vertices && r.filled === 0 && r.far === 0 && r.skeleton === "from"'
run 0 compare rig.glb onto.glb --max-error 0.01 --json again.json
json again.json 'r.weights.l1_max < 1e-5'

# Onto a skin of its own: joints by name; everything else stays.
run 0 weights smooth -q rig.glb -o smooth.glb --iterations 10
run 0 compare rig.glb smooth.glb --json changed.json
json changed.json 'r.weights.l1_max > 0.05'
run 0 weights transfer -q rig.glb smooth.glb -o back.glb --json report.json
json report.json 'r.skeleton === "to" && r.lost_joints.length === 0'
run 0 compare rig.glb back.glb --max-error 0.01 --json again.json
json again.json 'r.weights.l1_max < 1e-5'

# Smoothing nothing changes nothing; scope and locks.
run 0 weights smooth rig.glb -o same.glb --iterations 0 --json report.json
json report.json 'r.changed === 0 && r.change_max < 1e-6'
run 0 weights smooth -q man.glb -o part.glb --parts torso --strength 1 --json report.json
json report.json 'r.changed > 0 && r.vertices < 600'
run 0 weights smooth -q man.glb -o locked.glb --lock chest,spine --json report.json
run 2 weights smooth man.glb -o no.glb --lock nose
err "no joint 'nose'"
run 2 weights smooth man.glb -o no.glb --parts hat
err "'hat'"
missing no.glb

# Over itself.
cp man.glb self.glb
run 0 weights prune self.glb -o self.glb --threshold 0.2 --influences 2 --json -
json log/out 'r.influences <= 2 && r.changed > 0'
run 0 weights normalise self.glb -o self.glb --json -
json log/out 'r.changed === 0'
run 0 info self.glb

# Mirror lists its pairs; twice is once.
run 0 weights mirror man.glb -o mirrored.glb --json report.json
out "upper_arm.L, upper_arm.R"
json report.json 'r.pairs.length === 19 && r.unmatched.length === 0 && r.middle.includes("chest") && r.exact > 400'
run 0 weights mirror -q mirrored.glb -o twice.glb --json report.json
json report.json 'r.change_max < 1e-6'
run 0 weights mirror -q man.glb -o mirrored.glb --side right-to-left --axis x --plane 0 --report page.html
grep -q "upper_arm.L" page.html || fail "no pairs in the page"

# By topology: the same pairs, also of vertices that are not at their mirrored place.
run 0 weights mirror -q rig.glb -o place.glb --json place.json
run 0 weights mirror -q rig.glb -o topology.glb --match topology --json report.json
json report.json 'r.by_topology >= 0 && r.exact + r.near + r.on_plane + r.kept > 0'
run 2 weights mirror man.glb -o no.glb --match topology --seed 1
err "two vertices"
run 1 weights mirror man.glb -o no.glb --seed 1-2
err "--seed means nothing without --match topology"

# Relaxing, repairing, limiting, copying; regions.
run 0 weights relax -q rig.glb -o relaxed.glb --radius 0.02 --json report.json
json report.json 'r.changed > 100 && r.change_mean < 0.5'
run 0 weights relax -q rig.glb -o relaxed.glb --radius 0 --json report.json
json report.json 'r.changed === 0'
run 0 weights hammer rig.glb -o hammered.glb --json report.json
json report.json 'r.changed === 0'
run 0 weights hammer -q rig.glb -o hammered.glb --parts "vertices(3 40-45)" --difference 0 --json report.json
json report.json 'r.vertices <= 7 && r.changed > 0'
run 0 weights limit -q rig.glb -o two.glb --influences 2 --json report.json
json report.json 'r.influences === 2 && r.changed > 100'
run 0 weights normalise -q rig.glb -o largest.glb --influences 2
run 0 compare rig.glb two.glb --json two.json
run 0 compare rig.glb largest.glb --json largest.json
limited=$(node -p 'JSON.parse(require("fs").readFileSync("two.json")).error_rms')
json largest.json "r.error_rms > 1.1 * $limited"
run 0 weights copy -q rig.glb -o copied.glb --source "vertices(5)" --parts "box(-9 -9 -9 9 9 9)" --json report.json
json report.json 'r.changed > 100'
run 1 weights copy rig.glb -o no.glb --source "sphere(0 0 0 x)"
err "centre and radius"

# Usage.
run 1 weights
err "transfer, smooth, relax, hammer, prune, limit, copy, mirror or normalise"
run 1 weights smoth man.glb -o no.glb
err "did you mean 'smooth'?"
run 1 weights smooth man.glb
err "-o FILE"
run 1 weights smooth man.glb rig.glb -o no.glb
err "one file"
run 1 weights transfer man.glb -o no.glb
err "the mesh that gets them"
run 1 weights smooth man.glb -o no.obj
err "holds no skin"
run 1 weights smooth man.glb -o no.bvh
err "holds no skin"
run 1 weights smooth man.glb -o no.glb --axis x
err "--axis means nothing to 'pelt weights smooth'"
run 1 weights transfer man.glb rig.glb -o no.glb --lock head
err "--lock means nothing"
run 1 weights smooth man.glb -o no.glb --strength 2
err "out of range"

# Input that does not work leaves what was there.
cp man.glb kept.glb
run 2 weights smooth bare.obj -o kept.glb
err "no skin"
run 2 weights transfer bare.obj rig.glb -o kept.glb
err "no skin to take weights from"
run 2 weights transfer rig.glb missing.obj -o kept.glb
err "missing.obj"
strip
run 2 weights transfer rig.glb strip.gltf -o kept.glb --skeleton to
err "none of its joints"
same man.glb kept.glb
missing no.glb
exit 0
