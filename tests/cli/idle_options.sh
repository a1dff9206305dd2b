# Options without effect beside the others are usage errors, reported before any input is read.
. "$(dirname "$0")/lib.sh"

# idle OPTION REASON ARGS…
idle() {
    option=$1 reason=$2
    shift 2
    run 1 "$@"
    err "--$option means nothing $reason"
}
d="decompose a.obj a.pc2 -o b.glb"
idle weight-solver "without --method sma" $d --weight-solver tsvd
idle rotation-tolerance "without --method sma" $d --rotation-tolerance 0.1
idle min-weight "without --weight-solver bounded" $d --method sma --min-weight=-0.2
idle smooth "with --method sma" $d --method sma --smooth 1
idle iterations "with --method sma" $d --method sma --iterations 3
idle bones "with --method sma" $d --method sma --bones 3
idle bones "with a rig" $d --weights rig.glb --bones 3
idle seed-method "with a rig" $d --skeleton rig.glb --seed-method regions
idle refine "without a rig" $d --refine
idle lock-bones "without a rig" $d --lock-bones hips
idle free-rest "with --fixed-rest" $d --weights rig.glb --fixed-rest --free-rest
idle rounds "without --corrections" $d --rounds 3
idle sparse "without --corrections" $d --sparse
idle curve "without --method geodesic" bind a.glb -o b.glb --curve sharp
idle distance "without --method geodesic" bind a.glb -o b.glb --distance paper
idle ply "where the output is no .ply" convert a.obj b.glb --ply ascii
idle order "where the output is no .glb" convert a.obj b.ply --order skin
idle ply "where the output is no .ply" pose a.glb -o b.obj --ply ascii
idle iterations "without fesam" study a.obj a.pc2 --methods svd --iterations 3
idle rotation-tolerance "without sma" study a.obj a.pc2 --methods fesam --rotation-tolerance 0.1
idle components "without cpca" study a.obj a.pc2 --methods fesam,svd --components 3
idle ranks "without svd" study a.obj a.pc2 --methods fesam --ranks 3
idle normal-rule "without --normals" correct a.glb a.pc2 -o b.glb --normal-rule inverse
idle normal-rank "without --corrections" study a.obj a.pc2 --corrections 0 --normal-rank 2
idle basis "without --corrections" study a.obj a.pc2 --corrections 0 --basis rest
idle mode "without --png" view a.glb -o a.html --mode bones
idle joint "without --mode weights" view a.glb --png a.png --joint hips
idle bones "where a cache is written" jiggle a.glb -o a.pc2 --bones 3
run 1 correct a.glb a.pc2 -o b.glb --kernel gaussian
err "--kernel is for --driver pose"
run 1 light a.glb -o b.glb --sky 1,1,1
err "--sky means nothing without --kind sky"
run 1 weights smooth a.glb -o b.glb --axis x
err "--axis means nothing to 'pelt weights smooth'"

# Where they mean something they are taken: what is missing is the input.
run 2 $d --method sma --weight-solver bounded --min-weight=-0.2
err "a.obj"
run 2 $d --corrections 3 --rounds 2
run 2 bind a.glb -o b.glb --method geodesic --curve sharp
run 2 convert a.obj b.ply --ply ascii
run 2 study a.obj a.pc2 --methods cpca --components 3
run 2 view a.glb --png a.png --mode weights --joint hips
exit 0
