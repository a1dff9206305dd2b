#!/usr/bin/env bash
# Draws docs/pictures/ from generated scenes. Needs a build (make build) and, for pictures of the page, Chromium. Each picture is at
# most 200 KB.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=build/release/bin
out=docs/pictures
scenes=$(mktemp -d)
trap 'rm -rf "$scenes"' EXIT
mkdir -p "$out"

"$bin/pelt-scenes" creature -o "$scenes/creature.glb" --vertices 24000 >/dev/null
"$bin/pelt-scenes" softbody -o "$scenes/hare.obj" >/dev/null
"$bin/pelt-scenes" cloth -o "$scenes/flag.obj" >/dev/null
# Run in its folder: the page shows file names as given.
(pelt=$PWD/$bin/pelt && cd "$scenes" && "$pelt" decompose flag.obj flag.pc2 -o flag.glb --bones 32 --quiet --report flag.html)
"$bin/pelt" decompose "$scenes/flag.obj" "$scenes/flag.pc2" -o "$scenes/flag.glb" --bones 16 --quiet

"$bin/pelt-scenes" production -o "$scenes/hero.glb" >/dev/null
"$bin/pelt" bind "$scenes/hero.glb" -o "$scenes/bound.glb" --quiet

"$bin/pelt-scenes" arm -o "$scenes/arm.glb" --vertices 8000 --poses "$scenes/poses" --unseen "$scenes/unseen" >/dev/null
"$bin/pelt" correct "$scenes/arm.glb" --driver pose --poses "$scenes/poses" --support 0.01 -o "$scenes/flex.glb" --quiet

# view NAME INPUT… OPTIONS…
view() {
    local name=$1
    shift
    "$bin/pelt" view "$@" --png "$out/$name.png" --samples 3 --quiet
}

# A walking rig: shaded, and coloured by bones.
view creature "$scenes/creature.glb" --columns 4 --size 1320x300 --yaw 62 --pitch 10 --second-mode bones
# The same walk baked into a cache and decomposed into rigid bones.
"$bin/pelt" bake -q "$scenes/creature.glb" -o "$scenes/walk.pc2" --mesh "$scenes/walk.obj"
"$bin/pelt" decompose -q "$scenes/walk.obj" "$scenes/walk.pc2" -o "$scenes/skin.glb" --bones 24 --transforms rigid
view decompose "$scenes/skin.glb" --columns 4 --size 1320x300 --yaw 62 --pitch 10 --second-mode bones
view bones "$scenes/creature.glb" --size 900x510 --yaw 55 --time 0.3 --mode bones
view weights "$scenes/creature.glb" --size 800x500 --yaw 62 --mode weights --joint 3
view hare "$scenes/hare.obj" "$scenes/hare.pc2" --columns 6 --size 1600x320
# Error of a decomposition with few bones, and displacement of a soft body.
view error "$scenes/flag.glb" --source "$scenes/flag.obj" --source "$scenes/flag.pc2" --size 800x500 --mode error --frame 30
view sheet "$scenes/hare.obj" "$scenes/hare.pc2" --sheet --frames 0:60:5 --size 1000x620 --mode displacement
# The page in a browser.
page() { node scripts/page-picture.mjs "$scenes/flag.html" "$out/$1.png" "${@:2}"; }
page page 1000x600 dark '#frame=70&mode=error&view=side'
page page-phone 390x844 light '#frame=70&mode=bones&skeleton=1'
# The studio, where it is built: #sample=flag is decomposed when the page is ready.
studio=build/studio/studio.html
if [ -f "$studio" ]; then
    still='const { studio, viewer } = window.pelt; await studio.settled; viewer.store.set({ playing: false, frame: 40, mode: "error" })'
    node scripts/page-picture.mjs "$studio" "$out/studio.png" 1120x700 dark '#sample=flag' "$still"
    node scripts/page-picture.mjs "$studio" "$out/studio-start.png" 1280x800 light
    node scripts/page-picture.mjs "$studio" "$out/studio-phone.png" 390x844 light '#sample=flag' "$still"
fi
# Automatic weights of a mesh with many shells.
view bind "$scenes/bound.glb" --columns 4 --size 1160x360 --yaw 25 --second-mode bones
# A pose outside the training set: linear blend skinning, corrected, ground truth.
unseen=$scenes/unseen/unseen_18
"$bin/pelt" pose "$scenes/arm.glb" --pose "$unseen.json" -o "$scenes/bent_0.obj" --quiet
"$bin/pelt" pose "$scenes/flex.glb" --pose "$unseen.json" -o "$scenes/bent_1.obj" --quiet
cp "$unseen.obj" "$scenes/bent_2.obj"
view eigenskin "$scenes/bent_%d.obj" --sheet --frames 0:3:1 --columns 3 --size 1160x360 --yaw 80 --fit-pose
# A bent and twisted arm: linear blend skinning, and with volume preservation.
"$bin/pelt-scenes" wring -o "$scenes/wring.glb" --vertices 8000 >/dev/null
for volume in 0 1; do
    "$bin/pelt" jiggle "$scenes/wring.glb" --delta 0 --volume $volume -o "$scenes/frame_%d.obj" --quiet
    cp "$scenes/frame_30.obj" "$scenes/wrung_$volume.obj"
done
view volume "$scenes/wrung_%d.obj" --sheet --frames 0:2:1 --columns 2 --size 1000x460 --yaw 60 --fit-pose
# The lattice of a simulation, moving with the animation.
"$bin/pelt-scenes" troll -o "$scenes/troll.glb" --vertices 6000 >/dev/null
(pelt=$PWD/$bin/pelt && cd "$scenes" && "$pelt" jiggle troll.glb -o soft.glb --quiet --report lattice.html)
node scripts/page-picture.mjs "$scenes/lattice.html" "$out/lattice.png" 900x560 light '#frame=13&lattice=1'
# Baked sky light on a moving character: shaded above, vertex colours below.
"$bin/pelt-scenes" troll -o "$scenes/troll.glb" --vertices 6000 >/dev/null
"$bin/pelt" light "$scenes/troll.glb" -o "$scenes/lit.glb" --kind sky --sky 0.45,0.7,1 --ground 0.6,0.2,0.05 --fps 10 --quiet
view light "$scenes/lit.glb" --columns 3 --rows 2 --size 760x480 --yaw 25 --second-mode colors
# Radiance transfer, relit on the page.
"$bin/pelt" light "$scenes/troll.glb" -o "$scenes/transfer.glb" --kind transfer --bounce 0.5 --floor --fps 10 --directions 512 --sky 0.1,0.14,0.22 \
    --ground 0.05,0.04,0.03 --sun -0.8,0.5,0.35 --sun-color 0.9,0.75,0.5 --quiet
"$bin/pelt" view "$scenes/transfer.glb" -o "$scenes/transfer.html" --quiet
node scripts/page-picture.mjs "$scenes/transfer.html" "$out/light-page.png" 1000x620 dark '#mode=light&frame=4'
# A displacement of the rest pose, in every frame.
"$bin/pelt" convert -q "$scenes/creature.glb" "$scenes/rest.obj"
awk '$1 == "v" { bump = sin(14 * $2) * sin(14 * $3) * sin(14 * $4); print bump < 0 ? 0 : bump }' "$scenes/rest.obj" >"$scenes/warts.txt"
"$bin/pelt" edit -q "$scenes/creature.glb" --displace "$scenes/warts.txt" --amount 0.08 -o "$scenes/warts.glb"
view edit "$scenes/warts.glb" --columns 4 --size 1320x330 --yaw 62 --pitch 10
# All triangles, a quarter and a sixteenth at the same time of the walk.
"$bin/pelt-scenes" creature -o "$scenes/small.glb" --vertices 8000 >/dev/null
"$bin/pelt" simplify -q "$scenes/small.glb" -o "$scenes/level_%d.glb" --lods 5 --frames 2
for n in 0 2 4; do "$bin/pelt" pose -q "$scenes/level_$n.glb" --time 0.3 -o "$scenes/level_$n.obj"; done
awk 'FNR == 1 { base = points; shift += 5.4 }
    $1 == "v" { print "v", $2, $3, $4 - shift; points++ }
    $1 == "f" { line = "f"; for (c = 2; c <= NF; c++) line = line " " $c + base; print line }' \
    "$scenes/level_0.obj" "$scenes/level_2.obj" "$scenes/level_4.obj" >"$scenes/levels.obj"
view simplify "$scenes/levels.obj" --size 1200x260 --yaw 90 --pitch 8 --zoom 1.1 --wireframe

# Characters decomposed by SMA that fall on each other: their surfaces collide.
"$bin/pelt-scenes" creature -o "$scenes/few.glb" --vertices 3000 >/dev/null
"$bin/pelt" bake -q "$scenes/few.glb" -o "$scenes/few.pc2" --mesh "$scenes/few.obj"
"$bin/pelt" decompose -q "$scenes/few.obj" "$scenes/few.pc2" -o "$scenes/sma.glb" --method sma
"$bin/example_fall" "$scenes/sma.glb" "$out/fall.png" >/dev/null

# A crowd of ten thousand.
"$bin/bench_crowd" --picture "$out/stampede.png"
"$bin/pelt" view -q "$scenes/few.glb" -o "$scenes/few.html"
node scripts/page-picture.mjs "$scenes/few.html" "$out/stampede-page.png" 870x430 light '#frame=5&crowd=10000'

# pairs NAME FRAMES OPTIONS…: frames of a-%d.obj in $scenes/pairs, and under them those of b-%d.obj.
pairs() {
    local name=$1 frames=$2 n=0 kind k
    for kind in a b; do
        for k in $frames; do
            cp "$scenes/pairs/$kind-$k.obj" "$scenes/pairs/pair_$n.obj"
            n=$((n + 1))
        done
    done
    view "$name" "$scenes/pairs/pair_%d.obj" --sheet --frames "0:$n:1" --columns $((n / 2)) "${@:3}"
    rm "$scenes/pairs"/*
}
# A rig without and with simulated soft tissue.
mkdir "$scenes/pairs"
"$bin/pelt-scenes" troll -o "$scenes/troll.glb" --vertices 14000 >/dev/null
"$bin/pelt" bake -q "$scenes/troll.glb" -o "$scenes/pairs/a-%d.obj"
"$bin/pelt" jiggle -q "$scenes/troll.glb" -o "$scenes/pairs/b-%d.obj" --loop --particles 4000 \
    --soft 'belly=0.95,ear*=0.97' --frequency 8 --damping 4
pairs jiggle '3 10 17 24' --size 840x440 --yaw 30 --pitch 8
# A captured run on a human (MakeHuman, CC0; CMU motion capture, free for all uses), where the data is installed.
data=${PELT_DATA:-../shared/data}
human=$data/char-makehuman/human_cmu.glb run=$data/mocap-cmu-bvh/009/09_06.bvh
if [ -e "$human" ] && [ -e "$run" ]; then
    whole='--from 0.05 --frequency 12'
    "$bin/pelt" jiggle -q "$human" "$run" -o "$scenes/pairs/a-%d.obj" $whole --delta 0 --volume 0
    "$bin/pelt" jiggle -q "$human" "$run" -o "$scenes/pairs/b-%d.obj" $whole
    pairs jiggle-run '6 11 16 26' --size 800x540 --yaw 110 --fit-pose
fi

# Rate-distortion plot of a small flag. Run in its folder: the title is the file name.
mkdir "$scenes/study"
"$bin/pelt-scenes" cloth -o "$scenes/study/flag.obj" --vertices 800 --frames 60 >/dev/null
(pelt=$PWD/$bin/pelt && cd "$scenes/study" &&
    "$pelt" study flag.obj flag.pc2 --methods fesam,sma-affine-nnls,sad,cpca,svd --bones 4,8,16,32 --svg study.svg --quiet)
cp "$scenes/study/study.svg" "$out/study.svg"

# The hand of the EigenSkin paper: a pose outside the training set (Figs 1, 7: linear blend skinning, one and five
# eigendisplacements, truth), training poses (Fig. 4), skeleton (Fig. 6), supports (Fig. 3), eigendisplacements (Fig. 5).
hand() { "$bin/pelt" correct "$scenes/hand.glb" --driver pose --poses "$scenes/handposes" --preset eigenskin2002 -o "$scenes/hand_$1.glb" --quiet "${@:2}"; }
# The Blender add-on, where Blender and a virtual screen are installed.
PELT=$PWD/$bin/pelt PELT_SCENES=$PWD/$bin/pelt-scenes PICTURE=$PWD/$out/blender.png sh tests/blender/window.sh || [ $? = 77 ]

"$bin/pelt-scenes" hand -o "$scenes/hand.glb" --vertices 7000 --poses "$scenes/handposes" --unseen "$scenes/handunseen" >/dev/null
hand 1 --modes 1
hand 5
unseen=$scenes/handunseen/unseen_09
n=0
for rig in hand hand_1 hand_5; do "$bin/pelt" pose "$scenes/$rig.glb" --pose "$unseen.json" -o "$scenes/grip_$((n++)).obj" --quiet; done
cp "$unseen.obj" "$scenes/grip_3.obj"
view eigenskin-hand "$scenes/grip_%d.obj" --sheet --frames 0:4:1 --columns 4 --size 1240x400 --yaw 15 --fit-pose
n=0
for pose in thumb-metacarpal_40_0 thumb-metacarpal_0_-30 thumb-phalanx-distal_75_0 index-finger-phalanx-proximal_90_0 index-finger-phalanx-intermediate_100_0 index-finger-phalanx-proximal_0_15; do
    cp "$scenes/handposes/$pose.obj" "$scenes/lesson_$((n++)).obj"
done
view eigenskin-poses "$scenes/lesson_%d.obj" --sheet --frames 0:6:1 --columns 6 --size 1240x300 --yaw 15 --fit-pose
view eigenskin-skeleton "$scenes/hand.glb" --rest --skeleton on --size 300x400 --yaw 15
for joint in thumb-metacarpal thumb-phalanx-proximal thumb-phalanx-distal index-finger-phalanx-proximal; do
    view "eigenskin-support-$joint" "$scenes/hand_5.glb" --rest --mode support --joint "$joint" --skeleton off --size 230x300 --yaw 15
done
for n in 1 2 3 4; do
    view "eigenskin-mode-$n" "$scenes/hand_5.glb" --rest --mode morph --morph "thumb-metacarpal mode $n" --size 230x300 --yaw 15
done

# The examples of the Python package.
example() { PYTHONPATH=build/release/python /usr/bin/python3 "python/examples/$1.py" "${@:3}" "$out/python-$2.png" >/dev/null; }
example bones_and_error bones "$scenes/hare.obj" "$scenes/hare.pc2"
example bind_and_pose bind "$scenes/creature.glb"
example train_eigenskin eigenskin "$scenes/arm.glb"
example jiggle_loop jiggle "$scenes/creature.glb"

status=0
for file in "$out"/*.png "$out"/*.svg; do
    size=$(stat -c %s "$file")
    printf '%-32s %4d KB\n' "$file" $((size / 1000))
    [ "$size" -le 200000 ] || { echo "docs-pictures: $file is over 200 KB" >&2; status=1; }
done
exit $status
