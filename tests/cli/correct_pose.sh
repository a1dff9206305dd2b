# Corrections that poses drive: from meshes with poses, from morph targets, from frames; errors have messages.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" arm -o arm.glb --vertices 400 --poses poses --unseen unseen >/dev/null || fail "no scene"
"$PELT_SCENES" arm -o arm.obj --vertices 400 >/dev/null || fail "no scene"

# ---- A folder of meshes -----------------------------------------------------------------------------------

run 0 correct arm.glb --driver pose --poses poses --unseen unseen -o better.glb --json r.json
out "with 5 modes per joint"
out "left out"
out "in the file"
out "unseen"
out "elbow"
no_err
json r.json 'r.poses === 18 && r.errors[0] === 1 && r.errors.length === r.modes + 1'
json r.json 'r.errors.every((e, m) => m === 0 || e <= r.errors[m - 1])'
json r.json 'r.file.error_rms < 0.1 * r.file.error_rms_before && r.errors[2] <= 0.1 && r.file.error < 0.05 && r.unseen.error < 0.2 && r.unseen.poses === 25'
json r.json 'r.joints.map(j => j.name).join() === "shoulder,elbow,wrist" && r.joints.every(j => j.modes > 0 && j.vertices > 0)'
json r.json 'r.morphs === r.joints.reduce((s, j) => s + j.modes, 0) && r.settings.driver === "pose"'
json r.json 'r.curves[0].points.length === r.errors.length && r.bytes_out > r.bytes_in'

# Bone weights fitted under the corrections, or kept, with a warning, where left-out poses are predicted no better.
run 0 correct arm.glb --driver pose --poses poses --unseen unseen --refit-weights -o refit.glb --json w.json
out "fitted once"
no_err
json w.json 'r.refit_rounds > 0 && r.refit_ratio < 0.98 && r.unseen.error < JSON.parse(require("fs").readFileSync("r.json")).unseen.error'
run 0 compare arm.glb refit.glb --json c.json
json c.json 'r.weights.l1_mean > 1e-3'
run 0 correct refit.glb --driver pose --poses poses --refit-weights -o kept.glb --json w.json
err "bone weights are kept"
json w.json 'r.refit_rounds === 0'
run 1 correct arm.glb arm.pc2 -o no.glb --refit-weights
err "is for --driver pose"

# A motion that is put on the rig later is corrected too.
run 0 retarget better.glb arm.glb --name again --replace -o again.glb
run 0 compare better.glb again.glb --json c.json
json c.json 'r.error_max < 1e-5'
run 0 compare arm.glb again.glb --json c.json
json c.json 'r.error_max > 0.03'

# Whatever program numbered the vertices: here each corner has one of its own.
cp -r poses split
awk '$1 == "v" { v[++n] = $0; next }
    $1 == "f" { for (i = 2; i <= 4; i++) { split($i, c, "/"); print v[c[1]] }; m++ }
    END { for (k = 1; k <= m; k++) print "f", 3 * k - 2, 3 * k - 1, 3 * k }' poses/elbow_60_0_0.obj >split/elbow_60_0_0.obj
run 0 correct arm.glb --driver pose --poses split -o split.glb
run 0 correct arm.glb --driver pose --poses poses -o same.glb
cmp split.glb same.glb || fail "other numbers, other corrections"

# The pose drives: a pose that was learned comes out right, one that was not nearly so.
run 0 pose better.glb --pose poses/elbow_60_0_0.json -o bent.obj --json p.json
json p.json 'Object.keys(p = r.weights).length > 2 && Object.entries(p).every(([n, w]) => n.startsWith("elbow") === (Math.abs(w) > 1e-4))'
run 0 compare poses/elbow_60_0_0.obj bent.obj --json c.json
json c.json 'r.error_max < 5e-3'
run 0 pose arm.glb --pose unseen/unseen_01.json -o plain.obj
run 0 pose better.glb --pose unseen/unseen_01.json -o driven.obj
run 0 compare unseen/unseen_01.obj plain.obj --json a.json
run 0 compare unseen/unseen_01.obj driven.obj --json b.json
node -e 'const [a, b] = ["a", "b"].map(f => JSON.parse(require("fs").readFileSync(f + ".json")).error_rms); process.exit(b < 0.2 * a ? 0 : 1)' ||
    fail "an unseen pose is not much better"
# The rig as a whole may be turned: no joint bends, nothing is corrected.
run 0 pose better.glb -j base=30,40,50 -o turned.obj --json p.json
json p.json 'Object.values(r.weights).every(w => Math.abs(w) < 1e-5)'
# As a mesh it has neither targets nor what would drive them.
run 0 pose better.glb --pose poses/elbow_60_0_0.json -o bent.gltf
grep -q 'pelt_drivers\|"targets"' bent.gltf && fail "drivers in a mesh"
# So is the rig's own motion, whose weights are in the file.
run 0 compare arm.obj arm.pc2 arm.glb --json a.json
run 0 compare arm.obj arm.pc2 better.glb --json b.json
node -e 'const [a, b] = ["a", "b"].map(f => JSON.parse(require("fs").readFileSync(f + ".json")).error_rms); process.exit(b < 0.25 * a ? 0 : 1)' ||
    fail "the motion is not much better"

# All modes: exact at the examples. Fewer modes: less exact, and --error says how few.
run 0 correct -q arm.glb --driver pose --poses poses -o all.glb --exact --json all.json
json all.json 'r.file.error < 1e-4 && r.file.error_max < 1e-5'
run 0 correct -q arm.glb --driver pose --poses poses -o few.glb --error 0.3 --json few.json
json few.json 'r.modes < 3 && r.errors[r.modes] <= 0.3'
run 4 correct arm.glb --driver pose --poses poses -o missed.glb --error 1e-4 --modes 1
err "was asked for"
for options in "--kernel exponential" "--kernel thin-plate" --split --normals "--regularise 0.01" "--radius 1" "--centres 3"; do
    run 0 correct -q arm.glb --driver pose --poses poses -o other.glb $options --json other.json
    json other.json 'r.errors[r.modes] < 0.5'
    cmp -s better.glb other.glb && fail "$options changes nothing"
done
run 0 correct -q arm.glb --driver pose --poses poses -o threads.glb --threads 1
same better.glb threads.glb
run 0 correct -q arm.glb --driver pose --poses poses -o better.glb --report better.html
grep -q 'error against modes' better.html || fail "no curve on the page"

# ---- Poses as BVH and glTF --------------------------------------------------------------------------------

mkdir mixed
for name in elbow_60_0_0 elbow_30_0_0; do cp poses/$name.obj poses/$name.json mixed; done
run 0 convert poses/elbow_90_0_0.obj mixed/deep.ply
cp poses/elbow_90_0_0.json mixed/deep.json
echo notes >mixed/readme.txt
run 0 convert poses/elbow_45_0_0.obj mixed/half.glb
cp poses/elbow_45_0_0.json mixed/half.json
run 0 correct -q arm.glb --driver pose --poses mixed -o mixed.glb --json r.json
json r.json 'r.poses === 4 && r.joints.length === 1 && r.file.error < 0.1'
# The first frame of a motion is a pose, and so is how a rig stands.
run 0 convert arm.obj arm.pc2 'truth_%d.obj'
mkdir first
cp truth_0.obj first/still.obj
run 0 convert arm.glb first/still.bvh
run 0 correct -q arm.glb --driver pose --poses first -o first.glb --support 0 --json r.json
json r.json 'r.file.error_rms_before > 1 && r.file.error < 1e-2'
mv first/still.bvh still.bvh
cp arm.glb first/still.glb
run 0 correct -q arm.glb --driver pose --poses first -o again.glb --support 0 --json again.json
node -e 'const [a, b] = ["r", "again"].map(f => JSON.parse(require("fs").readFileSync(f + ".json")).file.error_rms_before); process.exit(Math.abs(a - b) < 1e-3 * a ? 0 : 1)' ||
    fail "BVH and glTF are not the same pose"

# ---- Morph targets of the rig -----------------------------------------------------------------------------

# Modes of another run, without what drives them, as if they were sculpted: two of them are right in a pose each.
run 0 convert better.glb sculpt.gltf
node -e '
const fs = require("fs"), r = JSON.parse(fs.readFileSync("sculpt.gltf"))
delete r.extras.pelt_drivers
fs.writeFileSync("sculpt.gltf", JSON.stringify(r))' || fail "no drivers"
cat >targets.json <<'END'
{"poses": {"elbow mode 1": {"joints": {"elbow": {"euler": [80, 0, 0]}}},
           "wrist mode 1": {"joints": {"wrist": {"euler": [40, 0, 0]}}}}}
END
run 0 correct sculpt.gltf --driver pose --poses targets.json -o targets.glb --support 0 --json r.json
json r.json 'r.poses === 2 && r.file.error < 0.1'
sed 's/elbow mode 1/elbow mode 99/' targets.json >wrong.json
run 2 correct sculpt.gltf --driver pose --poses wrong.json -o x.glb
err "wrong.json: sculpt.gltf has no morph target 'elbow mode 99'; did you mean 'elbow mode"
run 2 correct arm.glb --driver pose --poses targets.json -o x.glb
err "has no morph target 'elbow mode 1'"

# ---- Frames -----------------------------------------------------------------------------------------------

run 0 correct arm.glb arm.pc2 --driver pose -o frames.glb --hold-out 3 --json r.json
out "1 equal another one and are merged with it"
json r.json 'r.poses + r.unseen.poses === 61 && r.different_poses === 40 && r.unseen.poses === 20 && r.unseen.error < 0.2'
run 0 correct -q arm.glb --poses arm.pc2 --driver pose -o again.glb --hold-out 3
same frames.glb again.glb
run 2 correct arm.obj arm.pc2 --driver pose -o x.glb
missing x.glb

# ---- What is wrong ----------------------------------------------------------------------------------------

run 1 correct arm.glb --poses poses -o x.glb
err "--poses is for --driver pose"
run 1 correct arm.glb --driver pose --poses poses -o x.glb --rank 3
err "--rank is for --driver time"
run 1 correct arm.glb arm.pc2 -o x.glb --kernel gaussian
err "--kernel is for --driver pose"
run 1 correct arm.glb arm.obj --driver pose --poses poses -o x.glb
err "one rig beside --poses; 2 inputs are given"
run 1 correct arm.glb --driver pose --poses poses --hold-out 2 -o x.glb
err "--hold-out is for frames"
run 1 correct arm.glb arm.pc2 --driver pose --unseen poses -o x.glb
err "--unseen goes with --poses"
run 1 correct arm.glb --driver pose --poses poses -o x.glb --modes 20
err "modes of one joint are more than"
run 2 correct arm.glb --driver pose --poses nowhere.json -o x.glb
err "nowhere.json"
mkdir empty
run 2 correct arm.glb --driver pose --poses empty -o x.glb
err "empty: there are no poses in it"
# bad FILE TEXT WORDS: a copy of a good folder with one more or other file.
bad() {
    rm -rf bad && mkdir bad && cp poses/elbow_60_0_0.* bad
    printf '%s' "$2" >"bad/$1"
    run 2 correct arm.glb --driver pose --poses bad -o x.glb
    err "$3"
}
bad lone.json '{"joints": {}}' "bad/lone.json: there is no mesh beside it (lone.obj, .ply or .glb)"
bad lone.obj 'v 0 0 0' "bad/lone.obj: there is no pose beside it (lone.json, .bvh or .glb)"
bad elbow_60_0_0.obj "$(quad)" "bad/elbow_60_0_0.obj has 2 and 4: they must be the same mesh"
bad elbow_60_0_0.json '{"joints": {"elbwo": {}}}' "bad/elbow_60_0_0.json: arm.glb: there is no joint 'elbwo'; did you mean 'elbow'?"
bad elbow_60_0_0.json '{"poses": {}}' "bad/elbow_60_0_0.json: has 0 poses; the mesh beside it needs one"
bad elbow_60_0_0.json 'no' "bad/elbow_60_0_0.json: JSON line 1"
bad elbow_60_0_0.obj 'f 1 2 3' "bad/elbow_60_0_0.obj"
rm -rf bad && mkdir bad && cp arm.obj bad && echo '{"joints": {}}' >bad/arm.json
run 2 correct arm.obj --driver pose --poses bad -o x.glb
err "no skin"
# Two shapes of one pose.
rm -rf twice && mkdir twice && cp poses/elbow_60_0_0.* poses/elbow_30_0_0.* twice
cp poses/elbow_60_0_0.json twice/copy.json
cp poses/elbow_30_0_0.obj twice/copy.obj
run 2 correct arm.glb --driver pose --poses twice -o x.glb --exact
err "'copy' and 'elbow_60_0_0' have the same pose"
missing x.glb
run 0 correct arm.glb --driver pose --poses twice -o mean.glb --json r.json
out "1 equal another one and are merged with it"
json r.json 'r.poses === 3 && r.different_poses === 2'
echo '{"joints": {"base": {"euler": [0, 90, 0]}}}' >twice/copy.json
run 2 correct arm.glb --driver pose --poses twice -o x.glb --exact
err "'copy' has the rest pose but not its shape"
missing x.glb
run 0 correct arm.glb --driver pose --poses twice -o rest.glb --json r.json
err "1 of 1 examples in the rest pose have another shape than it"
json r.json 'r.different_poses === 2 && r.rest_poses === 1'
run 1 correct arm.glb --driver pose --poses poses -o x.glb --exact --modes 3
err "--modes means nothing beside --exact"

# ---- Noise ------------------------------------------------------------------------------------------------

# noisy FOLDER DEGREES: the poses with every joint turned by so much, about any axis.
noisy() {
    cp -r poses "$1"
    node -e '
const fs = require("fs"), [folder, degrees] = process.argv.slice(1)
let state = 1
const random = () => (state = (state * 16807) % 2147483647) / 2147483647 - 0.5
for (const file of fs.readdirSync(folder).filter((f) => f.endsWith(".json"))) {
    const pose = JSON.parse(fs.readFileSync(`${folder}/${file}`))
    for (const joint of Object.values(pose.joints)) {
        const axis = [random(), random(), random()], half = (degrees * Math.PI) / 360
        const k = Math.sin(half) / Math.hypot(...axis), b = [...axis.map((x) => x * k), Math.cos(half)], a = joint.rotation
        joint.rotation = [
            a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
            a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]]
    }
    fs.writeFileSync(`${folder}/${file}`, JSON.stringify(pose))
}' "$1" "$2" || fail "no noise"
}
for degrees in 0.0001 0.01; do
    noisy "noise_$degrees" "$degrees"
    run 0 correct -q arm.glb --driver pose --poses "noise_$degrees" --unseen unseen -o noise.glb --json n.json
    json n.json 'r.unseen.error < 0.13'
done

# Shapes that do not follow from the poses: those of other ones. Nothing is made worse, and that is said.
rm -rf mixed_up && cp -r poses mixed_up
for mesh in mixed_up/*.obj; do
    awk -v seed="$((i += 1))" 'BEGIN { srand(seed) }
        $1 == "v" { printf "v"; for (i = 2; i <= 4; i++) printf " %.6f", $i + 0.5 * (rand() - 0.5); print ""; next } { print }' \
        "$mesh" >other.obj
    mv other.obj "$mesh"
done
run 0 correct arm.glb --driver pose --poses mixed_up --unseen unseen -o nothing.glb --json n.json
err "nothing was corrected"
json n.json 'r.morphs === 0 && Math.abs(r.unseen.error - 1) < 1e-6 && r.joints.every((j) => j.kept === 0)'
exit 0
