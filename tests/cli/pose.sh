# A pose of a rig as a mesh: from joints, files and motions; errors have messages.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" arm -o arm.glb --vertices 300 --poses poses >/dev/null || fail "no scene"
"$PELT_SCENES" creature -o wolf.glb --vertices 300 --frames 8 >/dev/null || fail "no scene"

# The same pose by angles, by a file of angles and by a file of quaternions.
run 0 pose arm.glb --joint elbow=90,0,0 -o bent.obj
out "1 of 5 turned"
no_err
echo '{"joints": {"elbow": {"euler": [90, 0, 0]}}}' >bent.json
run 0 pose arm.glb --pose bent.json -o file.obj
same bent.obj file.obj
run 0 pose arm.glb --pose poses/elbow_90_0_0.json -o quaternion.obj
same bent.obj quaternion.obj
# The hand is where a right angle puts it: the elbow at 1.6, what was above it along z.
run 0 info bent.obj --json bent_info.json
json bent_info.json '(b => Math.abs(b.max[2] - 1.8) < 1e-4 && Math.abs(b.min[1] + 0.15) < 1e-4)(r.inputs[0].box)'

# Angles about x, then y, then z; turned from rest, whatever the file said; the last of several counts.
run 0 pose arm.glb -j wrist=30,40,50 -o order.obj --json order.json
node -e '
const q = JSON.parse(require("fs").readFileSync("order.json")).joints.wrist.rotation, d = Math.PI / 360
const mul = ([a, b, c, d], [e, f, g, h]) => [d*e + a*h + b*g - c*f, d*f - a*g + b*h + c*e, d*g + a*f - b*e + c*h, d*h - a*e - b*f - c*g]
const about = (axis, degrees) => [0, 1, 2].map(c => c === axis ? Math.sin(degrees * d) : 0).concat(Math.cos(degrees * d))
const wanted = mul(about(2, 50), mul(about(1, 40), about(0, 30)))
process.exit(wanted.every((v, c) => Math.abs(v - q[c]) < 1e-6) ? 0 : 1)' || fail "not Rz Ry Rx"
run 0 pose arm.glb --pose bent.json -j elbow=10,0,0 -j elbow=0,0,0 -o straight.obj
run 0 convert arm.glb rest.obj
run 0 compare straight.obj rest.obj --json c.json
json c.json 'r.error_max < 1e-6'

# A moment of a motion is what baking gives.
run 0 bake wolf.glb -o 'wolf_%d.obj'
run 0 pose wolf.glb --time 0.1 -o moment.obj
run 0 compare moment.obj wolf_3.obj --json c.json
json c.json 'r.error_max < 1e-6'
run 0 pose wolf.glb --motion 0 --time 0.1 -j head=0,20,0 -o look.obj
run 0 compare moment.obj look.obj --json c.json
json c.json 'r.error_max > 1e-3'

# Poses of other skeletons, by name: a BVH of the same motion, whose joints have no axes of their own.
run 0 convert wolf.glb wolf.bvh
run 0 pose wolf.glb --pose wolf.bvh -o bvh.obj
run 0 compare bvh.obj wolf_0.obj --json c.json
json c.json 'r.error_max < 1e-3'
run 0 pose wolf.glb --pose wolf.glb -o same.obj
run 0 compare same.obj wolf_0.obj --json c.json
json c.json 'r.error_max < 1e-5'

# Formats, normals, dual quaternions.
for mesh in bent.ply bent.glb bent.gltf; do
    run 0 pose arm.glb -j elbow=90,0,0 -o $mesh
    run 0 compare bent.obj $mesh --json c.json
    json c.json 'r.error_max < 1e-6 && r.normal_rms < 1e-3'
    run 0 info $mesh --json i.json
    json i.json 'r.inputs[0].motions.length === 0 && r.inputs[0].joints < 2'
done
run 0 pose arm.glb -j elbow=90,0,0 -o dual.obj --skinning dual-quaternion
cmp -s bent.obj dual.obj && fail "skinning changes nothing"
run 0 pose arm.glb -j elbow=90,0,0 -o bent.obj --report bent.html -q
grep -q '"elbow"' bent.html || fail "no report on the page"

# What is wrong.
run 1 pose
err "needs a rig"
run 1 pose arm.glb
err "-o MESH"
run 1 pose arm.glb -o x.pc2
err "give one mesh"
run 1 pose arm.glb -o x.obj --pose bent.json --time 1
err "two poses to begin with"
for value in elbow elbow= =1,2,3 elbow=1,2 elbow=1,2,3,4 elbow=1,2,x elbow=1,2,nan elbow=1e9,0,0; do
    run 1 pose arm.glb -o x.obj -j "$value"
    err "--joint $value: give a name and three numbers"
done
run 2 pose arm.glb -o x.obj -j elbwo=1,2,3
err "arm.glb: there is no joint 'elbwo'; did you mean 'elbow'?"
run 2 pose arm.glb -o x.obj -j qqqqqqqqqq=1,2,3
err "there is no joint 'qqqqqqqqqq' among its"
run 2 pose bent.obj -o x.obj
err "no mesh with a skin"
run 2 pose arm.glb -o x.obj --pose none.json
err "none.json"
bad() {
    printf '%s' "$1" >bad.json
    run 2 pose arm.glb -o x.obj --pose bad.json
    err "bad.json: $2"
}
bad '{"joints": {"elbwo": {"euler": [0, 0, 0]}}}' "arm.glb: there is no joint 'elbwo'; did you mean 'elbow'?"
bad '{"joints": {"elbow": {"eulre": [0, 0, 0]}}}' "joint 'elbow': \"eulre\" is not known; a joint has \"euler\""
bad '{"joints": {"elbow": {"euler": [0, 0]}}}' "joint 'elbow': \"euler\" must be an array of 3 numbers"
bad '{"joints": {"elbow": {"rotation": [0, 0, 0, 0]}}}' "joint 'elbow': its rotation has no length"
bad '{"joints": {"elbow": {"scale": [0, 0, 1e99]}}}' "joint 'elbow': \"scale\" must be"
bad '{"joints": {"elbow": {"euler": [0, 0, 0], "rotation": [0, 0, 0, 1]}}}' "joint 'elbow': has both"
bad '{"joints": {"elbow": 90}}' "joint 'elbow': must be an object"
bad '{"joint": {}}' 'has no "joints"'
bad '[]' 'has no "joints"'
bad '{"poses": {"a": {"joints": {}}, "b": {"joints": {}}}}' "has 2 poses"
bad '{"poses": {"a": {}}}' "pose 'a' has no \"joints\""
bad '{"joints": {' "JSON line 1"
run 2 pose arm.glb -o x.obj --pose wolf.bvh
err "none of its joints has the name of one of arm.glb"
run 2 pose arm.glb -o x.obj --pose rest.obj
missing x.obj
