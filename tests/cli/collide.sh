# pelt collide: frames and pairs, one or two inputs, rigs and caches, targets, what is wrong.
. "$(dirname "$0")/lib.sh"

# A quad that moves up from 0 to 2, and one that stands upright across the first: they meet in frames 0 and 1.
quads a
quad >a.obj
run 0 convert -q 'a_%d.obj' a.pc2
printf 'v 0.5 -1 -0.5\nv 0.5 2 -0.5\nv 0.5 2 1\nv 0.5 -1 1\nf 1 2 3 4\n' >wall.obj

run 0 collide a.obj a.pc2 wall.obj --json -
check='r.frames === 3 && r.meeting_frames === 2 && r.first_frame === 0 && r.contacts.length === 2'
json log/out "$check && r.contacts[1].frame === 1 && r.contacts[1].time > 0"
json log/out 'r.contacts.every(c => c.pairs === c.listed.length && c.triangles_a === 2 && c.triangles_b <= 2)'
json log/out 'r.curves[0].points.length === 3 && r.curves[0].points[2][1] === 0'
run 0 collide wall.obj a.obj a.pc2
out "2: 0 to 1"
run 0 collide 'a_%d.obj' wall.obj --pairs 1 --json report.json
json report.json "$check && r.contacts.every(c => c.listed.length === 1 && c.pairs > 1)"
out "in frame 0"

# What touches meets; a hair's breadth away does not.
run 0 collide a.obj a.pc2 wall.obj --offset 0.5,0,0 --json -
json log/out 'r.meeting_frames === 2'
run 0 collide a.obj a.pc2 wall.obj --offset 0.5000001,0,0
out "none of them"
run 0 collide a.obj a.pc2 wall.obj --offset 0,0,-0.5 --json -
json log/out 'r.meeting_frames === 1'

# Targets.
run 4 collide a.obj a.pc2 wall.obj --max-pairs 0 --json report.json
err "--max-pairs 0"
json report.json "$check"
run 0 collide a.obj a.pc2 wall.obj --max-pairs 8

# With itself: neighbours do not count, folded over quads do.
run 0 collide a.obj a.pc2 --json -
json log/out 'r.meeting_frames === 0 && r.most_pairs === 0 && !("b" in r)'
printf 'v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0.2 0.2 -1\nv 0.5 0.2 1\nv 0.2 0.5 1\nf 1 2 3\nf 4 5 6\n' >crossed.obj
run 0 collide crossed.obj --json -
json log/out 'r.frames === 1 && r.most_pairs === 1 && r.contacts[0].triangles_a === 2 && !("triangles_b" in r.contacts[0])'
out_of=$("$PELT" collide crossed.obj)
case $out_of in *"1 pairs of 2 triangles"*) ;; *) fail "$out_of" ;; esac

# Rigs: by their matrices, and by the vertices that they were baked to, with any number of threads.
"$PELT_SCENES" creature -o creature.glb --vertices 1200 --frames 30 >log/out || fail "pelt-scenes"
run 0 convert -q creature.glb creature.obj
run 0 bake -q creature.glb -o creature.pc2
run 0 collide creature.glb creature.glb --offset 0.9,0,0 --json rig.json --report page.html
json rig.json 'r.frames === 30 && r.most_pairs > 10 && r.opened > 0 && r.opened < 1'
grep -q '<html' page.html || fail "no page"
run 0 collide creature.glb creature.glb --offset 0.9,0,0 --threads 1 --json one.json
for file in rig one; do # what is left is what was found
    node -e 'const r = JSON.parse(require("fs").readFileSync(process.argv[1])); console.log(JSON.stringify(r.contacts))' \
        $file.json >$file.txt || fail "$file.json"
done
same rig.txt one.txt
run 0 collide creature.obj creature.pc2 creature.glb --offset 0.9,0,0 --json cache.json
json cache.json "r.most_pairs > 10 && r.most_pairs === $(sed -n 's/.*"most_pairs": \([0-9]*\).*/\1/p' rig.json)"
run 0 collide creature.glb creature.glb --offset 0.9,0,0 --skinning dual-quaternion --json -
json log/out 'r.most_pairs > 10'
strip
run 0 collide strip.gltf creature.glb --motion 0 --json -
json log/out 'r.frames > 30'

# What is wrong.
run 1 collide
err "one or two"
run 1 collide a.obj a.obj a.obj
run 1 collide a.obj --offset 1,2,3
err "one only"
for offset in 1,2 1,2,x 1,2,3,4 inf,0,0 ''; do
    run 1 collide a.obj wall.obj --offset "$offset"
    err "three numbers"
done
run 1 collide creature.glb a.obj --motion nosuch
run 2 collide a.obj missing.obj --json none.json
err "missing.obj"
missing none.json
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\n' >points.obj
run 2 collide a.obj points.obj
err "no triangles"
run 2 collide a.obj wall.obj --max-memory 1K
exit 0
