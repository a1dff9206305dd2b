# pelt jiggle end to end on real data: a captured run on a human, from files to a GLB that plays it.
. "$(dirname "$0")/lib.sh"

need_data char-makehuman/human_cmu.glb
human=$data
need_data mocap-cmu-bvh/009/09_06.bvh
bvh=$data
need_data mocap-cmu-asfamc/09_06-run.amc
amc=$data

# A third of a second of the run, past the T-pose that these BVH files begin with; few steps of the solver.
part="--particles 800 --preroll 0.3 --rate 30"
run 0 jiggle "$human" "$bvh" -o run.glb $part --from 0.3 --to 0.6 --add 6 --iterations 2 --json run.json
out "Joints of the rig and of the motion"
out "LeftUpLeg"
json run.json 'r.retarget.matched >= 29 && r.clips.length === 1 && r.clips[0].motion === "09_06" && r.clips[0].frames === 10'
json run.json 'r.particles > 500 && r.clips[0].farthest > 0.005 && r.clips[0].farthest < 0.5'
# Limbs that bend keep their volume.
json run.json 'r.clips[0].volumes.filter((v) => /Leg$|Arm$/.test(v.joint)).every((v) => Math.abs(v.after / v.rest - 1) < 0.05)'
json run.json 'r.skin.result.bones === 31 + 6'
run 0 info run.glb --json info.json
json info.json 'r.inputs[0].motions[0].name === "09_06" && r.inputs[0].vertices === 13380'

# The file plays the flesh.
json run.json 'r.skin.result.error_rms < 10 && r.skin.result.influences <= 4'

# The same motion as AMC: nearly the same flesh.
run 0 jiggle -q "$human" "$amc" -o amc.pc2 $part --from 0.29167 --to 0.59167 --json amc.json
json amc.json 'r.retarget.matched >= 15 && r.clips[0].farthest > 0.005 && r.clips[0].farthest < 0.5'
exit 0
