# pelt bake: frames, motions, kinds of skinning, the mesh beside the cache.
. "$(dirname "$0")/lib.sh"

strip
run 0 bake strip.gltf -o bend.pc2 --mesh bend.obj --json report.json
no_err
out "31 at 30 per second"
json report.json 'r.frames === 31 && r.points === 10 && r.motion === "bend" && r.bytes === 32 + 31 * 10 * 12'
json report.json 'Math.abs(r.duration - 1) < 1e-6 && r.seconds >= 0 && r.fps === 30 && r.mesh === "bend.obj"'
[ "$(wc -c <bend.pc2)" = $((32 + 31 * 10 * 12)) ] || fail "size of bend.pc2"

# The mesh and its cache are an input that is the rig's motion.
run 0 compare strip.gltf bend.obj bend.pc2 --max-error 1e-3
run 0 compare bend.obj bend.pc2 strip.gltf --max-error 1e-3
run 0 compare strip.gltf bend.pc2 --max-error 1e-3
run 0 compare strip.gltf bend.obj bend.pc2 --motion bend --max-error 1e-3
run 0 compare strip.gltf bend.pc2 --motion bend --max-error 1e-3
grep -q weights log/out && fail "a cache has no weights"
run 2 compare strip.gltf bend.pc2 --motion slide
err "3,001 frames"
run 1 compare strip.gltf bend.pc2 --motion slid
err "did you mean 'slide'?"
run 1 compare bend.obj bend.pc2 bend.obj bend.pc2 --motion none

# By name, by index, at another rate, into other formats.
run 0 bake strip.gltf -o odd.pc2 --fps 1.7 # 1 s in two steps: the last frame is at the last key
no_err
run 0 info --fps 1.7 --json - bend.obj odd.pc2
json log/out 'r.inputs[0].clips[0].frames === 3 && Math.abs(r.inputs[0].clips[0].duration - 1) < 1e-6'
run 0 bake -q strip.gltf -o slide.mdd --motion slide --fps 2
no_out
run 0 info --json - bend.obj slide.mdd
json log/out 'r.inputs[0].clips[0].frames === 201 && Math.abs(r.inputs[0].clips[0].duration - 100) < 1e-3'
run 0 bake -q strip.gltf -o slide2.mdd --motion 1 --fps 2
same slide.mdd slide2.mdd
run 0 bake strip.gltf -o 'f_%03d.obj' --fps 4
[ -f f_000.obj ] && [ -f f_004.obj ] || fail "no sequence"
missing f_005.obj
run 0 bake -q strip.gltf -o four.pc2 --fps 4
run 0 compare 'f_%03d.obj' bend.obj four.pc2 --max-error 1e-3

# Normals by every rule; caches have none.
"$PELT_SCENES" tube -o tube.glb --vertices 200 --frames 4 >log/out || fail "pelt-scenes"
run 0 bake -q tube.glb -o 'n_%03d.obj'
grep -q '^vn' n_003.obj && fail "normals that nobody asked for"
for rule in matrix inverse accurate; do
    run 0 bake -q tube.glb -o "${rule}_%03d.obj" --normals $rule
    grep -q '^vn' ${rule}_003.obj || fail "no normals by $rule"
    run 0 compare 'n_%03d.obj' "${rule}_%03d.obj" --max-error 0
    cmp -s inverse_003.obj ${rule}_003.obj && [ $rule != inverse ] && fail "$rule is inverse"
done
run 0 compare 'n_%03d.obj' tube.glb --json report.json
json report.json 'r.accurate_normal_degrees < 0.9 * r.inverse_normal_degrees'
run 1 bake strip.gltf -o no.pc2 --normals accurate
err "holds no normals"

# Dual quaternions are another surface.
run 0 bake -q strip.gltf -o dq.pc2 --skinning dual-quaternion
run 4 compare bend.obj bend.pc2 dq.pc2 --max-error 0.01
run 0 compare strip.gltf dq.pc2 --skinning dual-quaternion --max-error 1e-3

# Helper bones: linear skinning of the file is close to dual quaternions of the input; the rig plays as before.
run 0 bake tube.glb -o helped.glb --skinning dual-quaternion --add 2 --json report.json
json report.json 'r.helpers == 2 && r.joints == 4 && r.pairs.length == 1 && r.after_rms < 0.1 * r.before_rms'
out "helper bones"
run 0 bake -q tube.glb -o curved.pc2 --skinning dual-quaternion
run 4 compare tube.glb curved.pc2 --max-error 1
run 0 compare helped.glb curved.pc2 --max-error 1
run 0 bake -q tube.glb -o rigid.glb --as bones --skinning dual-quaternion --transforms rigid --json report.json
json report.json 'r.joints == r.helpers'
run 1 bake tube.glb -o no.glb
err "linearly already"
run 1 bake tube.glb -o no.glb --skinning dual-quaternion --motion 0
err "go with a cache"
run 1 bake tube.glb -o no.pc2 --add 2
err "where a cache is written"
run 1 bake tube.glb -o no.glb --skinning dual-quaternion --add 1
err "at least 2"
missing no.glb

# Delta mush: as a cache, and as helper bones that show it.
run 0 bake -q tube.glb -o mush.pc2 --skinning delta-mush
run 4 compare tube.glb mush.pc2 --max-error 1
run 0 bake tube.glb -o mush.glb --as bones --skinning delta-mush --add 4 --json report.json
json report.json 'r.helpers == 4 && r.joints == 8 && r.pairs.length == 0 && r.after_rms < 0.5 * r.before_rms'
out "from delta mush"
run 0 bake -q tube.glb -o same.pc2 --skinning delta-mush --iterations 0
run 0 compare tube.glb same.pc2 --max-error 1e-3
run 1 bake tube.glb -o no.pc2 --iterations 3
err "without --skinning delta-mush"
run 1 bake tube.glb -o 'no_%03d.obj' --skinning delta-mush --normals matrix
err "delta mush moves vertices without matrices"
missing no.pc2

# Not a rig; no such motion.
run 2 bake bend.obj bend.pc2 -o again.pc2
err "pelt convert"
missing again.pc2
run 1 bake strip.gltf -o no.pc2 --motion bned
err "did you mean 'bend'?"
missing no.pc2

# The same bytes with any number of threads.
for threads in 1 2 3; do
    run 0 bake -q strip.gltf -o t$threads.pc2 --threads $threads --motion slide --fps 100
    same t1.pc2 t$threads.pc2
done

# A vertex animation texture: four files, all or none.
strip
run 0 bake -q strip.gltf -o strip.exr --fps 10
for file in strip.exr strip_normals.exr strip.json strip.glb; do [ -s "$file" ] || fail "no $file"; done
json strip.json 'r.pelt_vat === 1 && r.frames === r.times.length && r.width === r.vertices && r.height === r.frames * r.rows_per_frame'
run 0 info strip.glb
quad >still.obj
run 1 convert still.obj still.exr
err "there is no vertex animation to write; bake one first"
missing still.glb
exit 0
