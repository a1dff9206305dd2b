# pelt compare: grouping of arguments, figures, the quality target.
. "$(dirname "$0")/lib.sh"

quads a
mkdir b
quads b/b
# One point of frame 1 is 0.1 off.
printf 'o quad\nv 0 0 1\nv 1 0 1\nv 1 1 1.1\nv 0 1 1\nf 1 2 3 4\n' >b/b_1.obj
quad >a.obj
cp a.obj b.obj
run 0 convert -q 'a_%d.obj' a.pc2
run 0 convert -q b b.pc2

# The ball around the unit square has radius √½: E_rms = 1000·(0.1/√½)/√(3·4·3), E_max = 0.1/√2.
check='Math.abs(r.error_rms - 1000 * 0.1 * Math.SQRT2 / 6) < 1e-3 && Math.abs(r.error_max - 0.1 / Math.SQRT2) < 1e-6'
check="$check && Math.abs(r.error_max_units - 0.1) < 1e-6 && r.max_frame === 1 && r.max_point === 2"
check="$check && r.frames === 3 && r.points === 4 && r.frame_rms.length === 3 && r.frame_rms[0] === 0 && r.normal_rms > 0"
run 0 compare 'a_%d.obj' b/ --json -
json log/out "$check"
run 0 compare a.obj a.pc2 b.obj b.pc2 --json -
json log/out "$check"
run 0 compare a.obj a.pc2 b.pc2 --json report.json
json report.json "$check"
out "at frame 1, vertex 2"
json report.json 'r.normal_degrees > 0 && !("skinned_normal_rms" in r)'
out "(of the triangles)"
run 0 compare a.pc2 b.pc2 --json -
json log/out '!("normal_rms" in r)'
json log/out 'r.error_rms > 0'

run 4 compare a.obj a.pc2 b.pc2 --max-error 1 --json report.json
err "--max-error"
json report.json "$check"
run 0 compare a.obj a.pc2 b.pc2 --max-error 1000
run 0 compare a.obj a.pc2 a.pc2 --max-error 0
run 4 compare a.obj a.pc2 b.pc2 --max-error 0

# Still meshes.
run 0 compare a.obj b/b_1.obj --json -
json log/out 'r.frames === 1 && r.error_kg === null && r.error_max_units > 1'

# What cannot be compared.
run 2 compare a.obj a.pc2 b.obj
err "3 frames"
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' >triangle.obj
run 2 compare a.obj triangle.obj
err "same mesh"
# The same mesh in other vertices, one for each corner; and with one of them off.
printf 'v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 4 5 6\n' >split.obj
run 0 compare a.obj split.obj --json -
json log/out 'r.points === 4 && r.error_max === 0'
sed 's/^v 0 1 0/v 0 1 0.1/' split.obj >off.obj
run 0 compare a.obj off.obj --json -
json log/out 'Math.abs(r.error_max_units - 0.1) < 1e-6 && r.max_point === 3'
run 2 compare a.obj missing.obj
err "missing.obj"
run 2 compare a.obj a.pc2 missing.pc2
err "missing.pc2"

# Rigs: also by weights.
strip
run 0 compare strip.gltf strip.gltf --json - --max-error 0
json log/out 'r.frames === 31 && r.weights.l1_mean === 0 && r.weights.matched_joints === 2 && r.weights.unmatched_joints === 0'
json log/out 'r.normal_rms === 0 && r.skinned_normal_rms >= 0 && r.skinned_normal_degrees < 90'
run 0 compare strip.gltf strip.gltf --motion slide --fps 1 --json -
json log/out 'r.frames === 101'
exit 0
