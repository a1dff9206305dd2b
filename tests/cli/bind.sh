# pelt bind: weights for a mesh and a skeleton.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" creature -o rig.glb --vertices 800 --frames 10 >/dev/null || fail "no scene"
"$PELT_SCENES" production -o man.glb --vertices 1500 --frames 4 >/dev/null || fail "no scene"
"$PELT_SCENES" tube -o tube.glb >/dev/null || fail "no scene"
coarse='--resolution 48'

# A column from 0 to 4 along y, [-1, 1] across, cut into four storeys.
column() {
    for y in 0 1 2 3 4; do
        for corner in '-1 -1' '1 -1' '1 1' '-1 1'; do
            echo "v ${corner% *} $y ${corner#* }"
        done
    done
    for storey in 0 1 2 3; do
        for side in 1 2 3 4; do
            a=$((4 * storey + side)) b=$((4 * storey + side % 4 + 1))
            echo "f $b $a $((a + 4)) $((b + 4))"
        done
    done
    echo 'f 1 2 3 4'
    echo 'f 20 19 18 17'
}
# skeleton LENGTH OFFSET…: a BVH file with a chain of joints j0, j1, …, one for every offset, and an end.
skeleton() {
    end=$1
    shift
    echo HIERARCHY
    word=ROOT count=0 channels=
    for offset in "$@"; do
        echo "$word j$count {"
        echo "OFFSET $offset"
        echo 'CHANNELS 3 Zrotation Xrotation Yrotation'
        word=JOINT count=$((count + 1)) channels="$channels 0 0 0"
    done
    echo "End Site { OFFSET 0 $end 0 }"
    while [ $count -gt 0 ]; do
        echo '}'
        count=$((count - 1))
    done
    printf 'MOTION\nFrames: 1\nFrame Time: 0.1\n%s\n' "$channels"
}
column >column.obj

# A rig keeps everything but its weights, which are near the true ones; the report says what was done.
run 0 bind rig.glb -o bound.glb $coarse --json report.json
out "29 of 30 have weights"
out "only steer others, or carry no volume: creature"
json report.json 'r.verb === "bind" && r.output === "bound.glb" && Math.max(...r.grid) === 50 && r.cell.length === 3'
json report.json 'r.interior_voxels > 100 && r.boundary_voxels > 100 && r.bridged_vertices === 0 && r.bridged_parts.length === 0'
json report.json 'r.joints === 30 && r.active_joints === 29 && r.idle_joints.length === 1 && r.idle_joints[0].why === "control"'
json report.json '["load", "voxelize", "solve", "weights", "write", "total"].every((key) => r.seconds[key] >= 0)'
json report.json 'r.peak_memory_bytes > 1e5 && r.bytes > 1e4 && r.settings.method === "heat"'
# Toes are nearer to each other than two of these voxels. The resolution is an estimate from their gaps: at 102 they still touch, and
# --separate, which tries, ends where no gap is left.
err "limbs touch at this resolution, in "
err "_toes.R' move, and 1 more pair (listed by --json); --resolution 102 may separate them"
json report.json 'r.touching.every(({gap, separating_resolution}) => gap > 0 && separating_resolution > 48)'
run 0 bind rig.glb -o apart.glb $coarse --separate --max-resolution 120 --json apart.json
json apart.json 'Math.max(...r.grid) > 60 && Math.max(...r.grid) <= 122 && r.touching.every(({gap}) => gap === 0)'
json report.json 'r.touching.map(({joints}) => joints.join("+")).sort().join() === "fore_toes.L+fore_toes.R,hind_toes.L+hind_toes.R"'
json report.json 'r.touching.every(({faces}) => faces > 0)'
json report.json 'r.block_size === 1 && r.solved_voxels === r.interior_voxels + r.boundary_voxels'
# Fields on blocks of the voxels.
run 0 bind rig.glb -o blocks.glb --resolution 300 --max-voxels 5000 --json blocks.json
out "pieces of blocks of "
json blocks.json 'Math.max(...r.grid) === 302 && r.block_size > 1 && r.solved_voxels < 20000 && r.interior_voxels > 50000'
json report.json 'r.touching_voxels > 0 && r.touching_joints.join() === r.touching[0].joints.join() && r.warnings.length === 1'
run 0 compare rig.glb bound.glb --json same.json
json same.json 'r.weights.l1_mean < 0.6 && r.error_rms < 15 && r.frames === 10'

# The same bytes for any number of threads; --quiet says nothing.
run 0 bind -q rig.glb -o one.glb $coarse --threads 1
no_out
same bound.glb one.glb

# Over itself.
cp rig.glb self.glb
run 0 bind -q self.glb -o self.glb $coarse
same bound.glb self.glb

# Settings reach the binding.
for other in '--influences 1' '--exclude head' '--resolution 24' '--grid 20,50,90'; do
    run 0 bind -q rig.glb -o other.glb $coarse $other
    ! cmp -s bound.glb other.glb || fail "$other changes nothing"
done
run 0 bind rig.glb -o other.glb $coarse --exclude head,neck.1 --json report.json
out "left out, as asked: "
json report.json 'r.idle_joints.filter(({why}) => why === "excluded").length === 2'
# … and again: joints without weights in the file stay without, unless they are asked for.
run 0 bind other.glb -o again.glb $coarse --json report.json
err "2 joints get no weights, because there are none in the file's own skin: "
err "--joints all uses them too, --only names the joints to use"
json report.json 'r.idle_joints.filter(({why}) => why === "unweighted").map(({joint}) => joint).sort().join() === "head,neck.1"'
run 0 bind other.glb -o again.glb $coarse --joints all --json report.json
json report.json 'r.active_joints === 29'
run 0 bind -q rig.glb -o other.glb --grid 20,50,90 --json report.json
json report.json 'r.grid.join() === "20,50,90"'

# Shells with holes and flaws: every vertex has weights.
run 0 bind man.glb -o man_bound.glb $coarse --json report.json
json report.json 'r.vertices > 1000 && r.rigid_vertices > 100 && r.active_joints >= 35'
run 0 compare -q man.glb man_bound.glb --json same.json
json same.json 'r.weights.l1_mean < 1.2'

# A mesh without a rig gets a skeleton with its motion.
skeleton 1 '0 0 0' '0 2 0' >two.bvh
run 0 bind column.obj --skeleton two.bvh -o column.glb --resolution 24 --json report.json
no_err
out "2 of 3 have weights"
json report.json 'r.vertices >= 20 && r.active_joints === 2 && r.idle_joints.length === 1'
run 0 info column.glb --json info.json
json info.json 'const i = r.inputs[0]; i.joint_names.includes("j0") && i.joint_names.includes("j1") && i.bones === 2 && i.motions.length === 1'
run 0 convert -q tube.glb tube.obj
run 0 bind tube.obj --skeleton tube.glb -o tube_bound.glb --resolution 32
run 0 compare tube.glb tube_bound.glb --json same.json
json same.json 'r.frames > 5 && r.error_max < 0.1'

# One joint has everything; one far away nothing, with a warning; a skeleton elsewhere is refused, fitted or bound, as asked.
skeleton 1 '0 1 0' >one.bvh
run 0 bind column.obj --skeleton one.bvh -o one.glb --resolution 24 --json report.json
json report.json 'r.active_joints === 1'
skeleton 1 '0 0 0' '0 2 0' '500 0 0' >far.bvh
run 0 bind column.obj --skeleton far.bvh -o far.glb --resolution 24 --json report.json
err "no part of the mesh is near: j2"
json report.json 'r.active_joints === 2 && r.idle_joints.some(({joint, why}) => joint === "j2" && why === "far") && r.warnings.length === 1'
skeleton 100 '0 300 0' '0 200 0' >elsewhere.bvh
run 2 bind column.obj --skeleton elsewhere.bvh -o elsewhere.glb --resolution 24
err "elsewhere.bvh: the skeleton is"
err "times too large for the mesh: 0 % of its joints lie inside it"
err "give --fit"
run 0 bind column.obj --skeleton elsewhere.bvh -o elsewhere.glb --resolution 24 --no-fit --json report.json
json report.json 'r.active_joints >= 1 && !r.fit.changes && r.fit.scale === 1 && r.fit.inside_before === undefined'
run 0 bind column.obj --skeleton elsewhere.bvh -o elsewhere.glb --resolution 24 --fit --json report.json
out "fit "
json report.json 'r.active_joints === 2 && r.fit.changes && r.fit.scale < 0.1 && r.fit.inside_after === 1'
skeleton 0.04 '0 0.05 0' '0 0.1 0' '0 0.1 0' '0 0.1 0' >small.bvh
awk '/^v/ { print "v", $2 / 5, $3, $4 / 5; next } { print }' column.obj >pole.obj
run 2 bind pole.obj --skeleton small.bvh -o small.glb --resolution 24
err "small.bvh: the skeleton is 10 times too small for the mesh: 100 % of its joints"
run 0 bind pole.obj --skeleton small.bvh -o small.glb --resolution 24 --fit --json report.json
json report.json 'r.active_joints === 4 && r.fit.scale === 10 && r.seconds.fit >= 0'
run 0 bind small.glb -o small.glb --resolution 24 --fit --json report.json
out "the skeleton fits as it is"
json report.json '!r.fit.changes'
run 0 bind small.glb -o small.glb --resolution 24 --json report.json
json report.json '!r.fit.changes && r.fit.inside_before > 0.9 && r.fit.inside_after === r.fit.inside_before'
run 1 bind small.glb -o small.glb --fit --no-fit
err "exclude each other"

# A mesh that is flat, and 200 joints.
printf 'v 0 0 0\nv 4 0 0\nv 4 1 0\nv 0 1 0\nv 2 0 0\nv 2 1 0\nf 1 5 6 4\nf 5 2 3 6\n' >flat.obj
skeleton 0 '0.5 0.5 0' '1 0 0' '1 0 0' >flat.bvh
run 0 bind flat.obj --skeleton flat.bvh -o flat.glb --resolution 24 --json report.json
json report.json 'r.active_joints >= 2 && r.vertices >= 6'
set --
while [ $# -lt 199 ]; do set -- "$@" '0 0.02 0'; done
skeleton 0.02 '0 0 0' "$@" >many.bvh
run 0 bind column.obj --skeleton many.bvh -o many.glb --resolution 24 --json report.json
json report.json 'r.joints >= 200 && r.active_joints >= 5'
for file in column one far elsewhere small flat many; do
    run 0 info "$file.glb" --json info.json
    no_err
    json info.json 'const i = r.inputs[0]; i.influences.max >= 1 && i.influences.max <= 4'
done

# A button in front of the column, which no bone reaches: bridged, and as a part by name rigid to one joint.
{
    echo 'o column'
    column
    echo 'o button'
    for v in '-.1 .5 2' '.1 .5 2' '.1 .7 2' '-.1 .7 2' '-.1 .5 2.2' '.1 .5 2.2' '.1 .7 2.2' '-.1 .7 2.2'; do echo "v $v"; done
    for f in '24 23 22 21' '25 26 27 28' '21 22 26 25' '22 23 27 26' '23 24 28 27' '24 21 25 28'; do echo "f $f"; done
} >button.obj
run 0 bind button.obj --skeleton two.bvh -o button.glb --resolution 32 --rigid-parts off --json report.json
out "vertices that no bone reaches, in button"
json report.json 'r.bridged_vertices >= 8 && r.bridged_parts.join() === "button" && r.rigid_vertices === 0'
run 0 bind button.obj --skeleton two.bvh -o button.glb --resolution 32 --rigid button=j1 --json report.json
out "follow one joint"
json report.json 'r.rigid_vertices >= 8'
run 2 bind button.obj --skeleton two.bvh -o no.glb --resolution 24 --rigid hat=j1
err "hat"
run 2 bind button.obj --skeleton two.bvh -o no.glb --resolution 24 --rigid button=j7
err "j7"

# Locked joints keep what they have.
run 0 bind -q rig.glb -o locked.glb $coarse --lock head,pelvis
run 0 bind -q rig.glb -o free.glb $coarse
! cmp -s locked.glb free.glb || fail "--lock changes nothing"

# Falloffs: one number everywhere is --falloff; painted, they change what they cover.
run 0 bind -q tube.glb -o plain.glb --resolution 32
run 0 bind -q tube.glb -o stiff.glb --resolution 32 --falloff 1
yes 1 | head -n 56 >ones.txt # the tube has 56 vertices
run 0 bind -q tube.glb -o uv.glb --resolution 32 --falloff-attribute TEXCOORD_0.y
painted=
if pictures; then
    painted=painted
    run 0 view -q tube.glb --png grey.png --size 8x8
    run 0 bind -q tube.glb -o painted.glb --resolution 32 --falloff-map grey.png
fi
run 0 bind -q tube.glb -o numbers.glb --resolution 32 --falloff-map ones.txt
cmp stiff.glb numbers.glb || fail "falloffs of 1 at every vertex are not --falloff 1"
for one in stiff $painted uv; do ! cmp -s plain.glb $one.glb || fail "$one: the falloff changes nothing"; done

# --report: the page shows the surface's voxels.
run 0 bind -q rig.glb -o bound.glb --resolution 16 --report page.html
grep -q 'pelt-voxels' page.html || fail "no voxels on the page"

# Usage.
run 1 bind rig.glb
err "-o FILE"
run 1 bind -o no.glb
err "one input"
run 1 bind rig.glb man.glb -o no.glb
err "2 are given"
run 1 bind rig.glb -o no.obj
err "holds no skin"
run 1 bind rig.glb -o no.bvh
err "holds no skin"
run 1 bind rig.glb -o no.glb --resolution 4
err "out of range"
run 1 bind rig.glb -o no.glb --grid 20,50
err "three whole numbers"
run 1 bind rig.glb -o no.glb --grid 20,50,x
err "three whole numbers"
run 1 bind rig.glb -o no.glb --views +x,+q
err '"+q" is none of'
run 1 bind rig.glb -o no.glb --falloff-map a.png --falloff-attribute b
err "give one of them"
run 2 bind rig.glb -o no.glb --exclude nose
err "there is no joint 'nose'"

# Input that does not work leaves what was there.
cp rig.glb kept.glb
run 2 bind column.obj -o kept.glb
err "there is no skeleton; give one with --skeleton"
run 0 convert -q column.obj -o column.glb # the node that carries the mesh is no skeleton
run 2 bind column.glb -o kept.glb
err "there is no skeleton; give one with --skeleton"
run 2 bind two.bvh -o kept.glb
err "there is no mesh"
run 2 bind missing.glb -o kept.glb
err "missing.glb"
run 2 bind column.obj --skeleton missing.bvh -o kept.glb
err "missing.bvh"
run 2 bind column.obj --skeleton column.obj -o kept.glb
err "no skeleton"
: >empty.glb
run 2 bind empty.glb -o kept.glb
err "empty.glb"
printf 'v 0 0 0\nv nan 0 0\nv 1 1 0\nf 1 2 3\n' >nan.obj
run 2 bind nan.obj --skeleton two.bvh -o kept.glb
err "not finite"
printf 'v 0 0 0\nv 1 0 0\nv 1 1 0\n' >points.obj
run 2 bind points.obj --skeleton two.bvh -o kept.glb
err "no triangles"
same rig.glb kept.glb
run 3 bind rig.glb $coarse -o nowhere/out.glb
err "nowhere/out.glb"
missing nowhere
missing no.glb

# Attributes and pictures as falloffs.
run 2 bind tube.glb -o no.glb --falloff-attribute _FALLOFF
err 'no vertex attribute "_FALLOFF"; there are: POSITION, NORMAL, TEXCOORD_0'
run 2 bind column.obj --skeleton two.bvh -o no.glb --falloff-attribute _FALLOFF
err "glTF, FBX and USD files"
run 2 bind tube.glb -o no.glb --falloff-attribute NORMAL
err "falloffs are from 0 to 1"
run 2 bind tube.glb -o no.glb --falloff-attribute TEXCOORD_0.z
err "only 2 components"
if pictures; then
    run 2 bind column.obj --skeleton two.bvh -o no.glb --falloff-map grey.png
    err "needs UVs"
fi
run 2 bind tube.glb -o no.glb --falloff-map missing.png
err "missing.png"
run 2 bind tube.glb -o no.glb --falloff-map tube.glb
err "is not text"
missing no.glb

# Other meshes in the same voxels: the rig itself gets the same file, a bare mesh the skeleton; joints that lack are named.
run 0 convert rig.glb -o bare.obj
run 0 bind rig.glb -o bound.glb $coarse --also rig.glb=again.glb --also bare.obj=dressed.glb --json report.json
cmp bound.glb again.glb || fail "the same mesh has other weights"
out "dressed.glb: "
json report.json 'r.also.length === 2 && r.also[0].output === "again.glb" && r.also[0].outside_vertices === 0 && r.also[1].vertices > 0'
run 0 info dressed.glb
out "29"
run 1 bind rig.glb -o bound.glb $coarse --also bare.obj
err "--also bare.obj: give a mesh and an output"
run 1 bind rig.glb -o bound.glb $coarse --also bare.obj=bare.obj

# Regions by place, falloffs of regions, voxels painted in and out.
run 0 bind rig.glb -o bound.glb $coarse --rigid 'box(-9 -9 -9 9 9 9)=head' --json report.json
json report.json 'r.rigid_vertices === r.vertices'
run 2 bind rig.glb -o no.glb $coarse --rigid 'sphere(99 0 0 1)=head'
err "rigid: no vertex that gets weights is in sphere(99 0 0 1)"
run 2 bind rig.glb -o no.glb $coarse --rigid 'attribute(_HELM)=head'
err 'no vertex attribute "_HELM"'
run 0 bind rig.glb -o bound.glb $coarse --rigid 'attribute(POSITION)=head' --json report.json
json report.json 'r.rigid_vertices > 0 && r.rigid_vertices < r.vertices'
run 1 bind rig.glb -o no.glb $coarse --falloffs 'box(-9 -9 -9 9 9 9)=2'
err "should be a falloff from 0 to 1"
run 0 bind rig.glb -o bound.glb $coarse --falloffs 'box(-9 -9 -9 9 9 9)=0.7'
printf '# nothing left of x = 0\n-box(-9 -9 -9 0 9 9)\n\n' >paint.txt
run 0 bind rig.glb -o half.glb $coarse --paint-file paint.txt --json half.json
run 0 bind rig.glb -o half.glb $coarse --paint '-box(-9 -9 -9 0 9 9)' --json report.json
json half.json 'r.interior_voxels > 0 && r.warnings.length >= 0'
run 1 bind rig.glb -o no.glb --paint -head --paint-file paint.txt
err "say the same thing"
run 2 bind rig.glb -o no.glb --paint-file none.txt
err "none.txt: cannot be read as a list of regions"
missing no.glb

# Sections through the voxels.
if pictures; then
    run 0 bind rig.glb -o bound.glb $coarse --section z=a.png --section 'x 0 weights=b.png' --section 'y head=c.png'
    for picture in a b c; do
        head -c 4 $picture.png | grep -q PNG || fail "$picture.png is no picture"
    done
fi
run 1 bind rig.glb -o no.glb $coarse --section w=a.png
err "--section w=a.png: give an axis and a picture"
run 2 bind rig.glb -o bound.glb $coarse --section 'z nobody=d.png'
err "there is no joint 'nobody'"
missing d.png

# Settings of the paper; other options take precedence. Methods for comparison.
run 0 bind rig.glb -o bound.glb --preset voxel2013 --grid 64,64,32 --json report.json
json report.json 'r.settings.method === "geodesic" && r.settings.curve === "paper" && r.settings.grid === "64,64,32" && r.settings.prune === 0'
# Examples of good poses, as a cache and as sculpts with a pose each: the file comes closer to the weights that it had.
run 0 bake -q rig.glb -o good.pc2 --fps 12
run 0 bind -q rig.glb -o plain.glb $coarse
run 0 bind rig.glb -o bound.glb $coarse --prefer good.pc2 --json report.json
json report.json 'r.prefer.examples > 2 && r.prefer.after < 0.5 * r.prefer.before && r.prefer.changed > 0'
out "examples"
run 0 compare rig.glb plain.glb --json plain.json
run 0 compare rig.glb bound.glb --json bound.json
cp plain.json report.json && json report.json 'require("fs").writeFileSync("l1", String(r.weights.l1_mean)) === undefined'
json bound.json 'r.weights.l1_mean < 0.9 * Number(require("fs").readFileSync("l1", "utf8"))'
mkdir sculpts
run 0 pose -q tube.glb -j upper=0,0,80 -o sculpts/bent.obj
printf '{"joints": {"upper": {"euler": [0, 0, 80]}}}' >sculpts/bent.json
run 0 bind tube.glb -o bound.glb $coarse --prefer sculpts --prefer-strength 0.001 --json report.json
json report.json 'r.prefer.examples === 1 && r.prefer.after < 0.5 * r.prefer.before'
run 1 bind tube.glb -o no.glb --prefer-strength 0.1
err "without --prefer"
run 1 bind tube.glb -o no.glb --prefer sculpts --lock upper
err "with --lock"
missing no.glb

for method in surface closest hierarchy; do
    run 0 bind rig.glb -o bound.glb $coarse --method $method
done
run 1 bind rig.glb -o bound.glb $coarse --method closest --also rig.glb=no.glb

exit 0
