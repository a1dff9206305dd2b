# Corrections by pose from motion capture, with defaults: poses that were not learned from come near the reference, soft tissue that only
# preserves its volume. At 30 frames per second: fewer are fewer examples (49_06 has 0.41 at 15).
. "$(dirname "$0")/lib.sh"
need_data char-makehuman/human_cmu.glb
rig=$data
need_data mocap-cmu-bvh
captures=$data

# unseen CAPTURE BOUND: every third frame is held out; the error left there is at most BOUND.
unseen() {
    run 0 retarget -q "$rig" "$captures/$1.bvh" -o moved.glb
    run 0 jiggle -q moved.glb --delta 0 -o truth.pc2
    run 0 correct moved.glb truth.pc2 --driver pose --hold-out 3 -o better.glb --json r.json
    json r.json "r.unseen.error <= $2 && r.file.error <= $2"
}
unseen 009/09_06 0.15
unseen 049/49_06 0.2
