# pelt decompose with what is known already: a rig's motion, its weights, locks, helper bones, a rest pose.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" creature -o rig.glb --vertices 500 --frames 20 >/dev/null || fail "no scene"
run 0 bake -q rig.glb -o walk.pc2 --mesh walk.obj

# Weights for a motion: the file is the rig, bit for bit but for the weights.
run 0 decompose rig.glb walk.pc2 -o weights.glb --skeleton rig.glb --json report.json
no_err
json report.json 'r.result.error_rms < 0.1 && r.result.bones > 20'
run 0 compare -q rig.glb weights.glb --max-error 0.1
run 0 info weights.glb --json -
json log/out 'r.inputs[0].joints === 30'
# The same onto another file of the mesh.
run 0 decompose -q walk.obj walk.pc2 -o onto.glb --skeleton rig.glb
run 0 compare -q rig.glb onto.glb --max-error 0.1

# A motion for weights.
run 0 decompose -q walk.obj walk.pc2 -o motion.glb --weights rig.glb --weights-format f32
run 0 compare rig.glb motion.glb --max-error 0.05 --json again.json
json again.json 'r.weights.l1_max < 1e-6'

# Both, refined, with some of it locked, by name or from a file.
printf 'head\nchest\n' >locked.txt
run 0 decompose -q rig.glb walk.pc2 -o locked.glb --skeleton rig.glb --weights rig.glb --lock-bones locked.txt --json report.json
run 0 decompose -q rig.glb walk.pc2 -o named.glb --skeleton rig.glb --weights rig.glb --lock-bones head,chest
same locked.glb named.glb
run 0 decompose -q rig.glb walk.pc2 -o parts.glb --skeleton rig.glb --weights rig.glb --lock-vertices creature
run 0 compare -q rig.glb locked.glb --max-error 0.1

# Helper bones for the input itself, where it moves otherwise than its skin. A warning counts vertices without a free influence.
run 0 decompose rig.glb walk.pc2 -o helped.glb --add 2 --influences 6 --json report.json
no_err
json report.json 'r.result.bones === 29 && r.result.error_rms < 0.01'
run 0 jiggle -q rig.glb -o soft.pc2 --particles 300 --preroll 0.1
run 0 decompose -q rig.glb soft.pc2 -o helped.glb --add 2 --influences 6 --json report.json
json report.json 'r.result.bones === 31'
# Weights for a rig with the joints of the input and more.
run 0 decompose -q rig.glb soft.pc2 -o again.glb --skeleton helped.glb --iterations 2
run 0 decompose -q rig.glb soft.pc2 -o helped.glb --add 1 --json report.json
json report.json 'r.warnings.some((w) => w.includes("no room for helper bones"))'

# Rest poses.
run 0 decompose -q walk.obj walk.pc2 -o rest.glb --bones 8 --iterations 3 --rest 7 --fixed-rest
run 0 decompose -q walk.obj walk.pc2 -o file.glb --bones 8 --iterations 3 --rest walk.obj --fixed-rest
run 2 decompose walk.obj walk.pc2 -o no.glb --bones 8 --rest "$here/strip.gltf"
err "10 points"
missing no.glb

# What does not fit.
run 1 decompose walk.obj walk.pc2 -o no.glb --skeleton rig.glb --weights motion.glb
err "must be of one rig"
run 2 decompose walk.obj walk.pc2 -o no.glb --skeleton walk.obj
err "no bones"
run 2 decompose walk.obj walk.pc2 -o no.glb --weights "$here/strip.gltf"
err "not those of the mesh"
run 2 decompose rig.glb walk.pc2 -o no.glb --skeleton rig.glb --weights rig.glb --lock-bones nose
err "no bone 'nose'"
run 1 decompose walk.obj walk.pc2 -o no.glb --bones 8 --rest 20
err "frame 20"
run 1 decompose walk.obj walk.pc2 -o no.glb --refine
err "means nothing without a rig"
missing no.glb

# The same bytes, whatever the threads.
run 0 decompose -q rig.glb soft.pc2 -o one.glb --add 2 --influences 6 --threads 1
run 0 decompose -q rig.glb soft.pc2 -o two.glb --add 2 --influences 6 --threads 2
same one.glb two.glb
exit 0
