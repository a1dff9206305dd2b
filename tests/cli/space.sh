# Axes and units: --up and --scale of every kind of file, and caches that are of others than their mesh.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" softbody -o hare.obj --vertices 300 --frames 6 >/dev/null || fail "no scene"
"$PELT_SCENES" creature -o creature.glb --vertices 300 --frames 6 >/dev/null || fail "no scene"

# Back and forth: z up is what y up was, turned; twice four quarter turns are none.
box() { sed -n 's/^ *box *//p' log/out; }
run 0 convert -q hare.obj hare.pc2 z.mdd --up z
run 0 convert -q hare.obj z.obj --up z
for verb in "hare.obj" "hare.obj hare.pc2" "creature.glb"; do
    run 0 info $verb
    box >plain
    run 0 info $verb --up z --scale 2
    box >turned
    node -e 'const [a, b] = ["plain", "turned"].map((f) => require("fs").readFileSync(f, "utf8").match(/[-\d.e]+/g).map(Number));
const wanted = [2 * a[0], 2 * a[2], -2 * a[4], 2 * a[3], 2 * a[5], -2 * a[1]];
process.exit(wanted.every((x, i) => Math.abs(x - b[i]) < 1e-4 * (1 + Math.abs(x))) ? 0 : 1)' || fail "$verb: $(cat plain turned)"
done
cp creature.glb turned.glb
for n in 1 2 3 4; do run 0 convert -q turned.glb turned.glb --up z; done
run 0 compare creature.glb turned.glb --json compare.json
json compare.json 'r.error_max < 1e-5'
run 0 convert -q creature.glb large.glb --scale 100
run 0 compare creature.glb large.glb --scale large.glb=0.01 --json compare.json
json compare.json 'r.error_max < 1e-5'

# A cache in other axes and units than its mesh: brought to it with a warning, or as asked for.
for scale in 1 100; do
    run 0 convert -q hare.obj hare.pc2 odd.mdd --up z --scale $scale
    run 0 compare hare.obj hare.pc2 hare.obj odd.mdd --json compare.json
    err "odd.mdd: has Y up where hare.obj has Z up"
    err "converted to the axes and units of the mesh; set up or scale for this file to override"
    json compare.json 'r.error_max < 1e-5'
    factor=$(node -p "1 / $scale")
    run 0 convert -q hare.obj odd.mdd back.mdd --up odd.mdd=z --scale odd.mdd=$factor
    no_err
done
run 0 compare hare.obj hare.pc2 hare.obj odd.mdd --up odd.mdd=y --json compare.json
err "hare.obj odd.mdd probably has Y up where hare.obj hare.pc2 has Z up and is 100 times as large"
json compare.json 'r.error_max > 1'
run 0 compare hare.obj hare.pc2 hare.obj hare.pc2
no_err

# A pattern for a mesh and its cache: entries name the files that it finds, or the pattern itself.
mkdir g
cp hare.obj g/hare.obj
cp hare.pc2 g/hare.pc2
run 0 info 'g/hare.*' --json plain.json
run 0 info 'g/hare.*' --up 'hare.*=z' --json both.json
no_err
run 0 info 'g/hare.*' --up 'g/hare.*=z' --json path.json
no_err
run 0 info 'g/hare.*' --up hare.obj=z,hare.pc2=z --json each.json
no_err
json plain.json 'r.inputs[0].clips.length === 1'
node -e 'const [a, ...others] = ["plain", "both", "path", "each"].map((f) => require("fs").readFileSync(f + ".json", "utf8").match(/"box":.*?\]\]|"box":.*?}/s)?.[0]);
process.exit(a && others.every((b) => b && b !== a && b === others[0]) ? 0 : 1)' || fail "boxes of a pattern: $(cat plain.json both.json)"
run 1 info 'g/hare.*' --up 'hair.obj=z'
err "is 'hair.obj'"

# Other pairs of files: named, not touched.
run 0 decompose hare.obj hare.pc2 -o out.glb --bones 2 --iterations 1 --rest z.obj
err "z.obj probably has Y up where hare.obj has Z up"
run 0 decompose hare.obj hare.pc2 -o out.glb --bones 2 --iterations 1 --rest hare.obj
no_err
run 0 correct out.glb hare.obj odd.mdd --up odd.mdd=y -o no.glb --rank 1
err "has Y up where out.glb has Z up and is 100 times as large"
rm no.glb
run 0 convert -q creature.glb rest.obj
run 0 edit creature.glb --rest rest.obj -o edited.glb
grep -q "probably" log/err && fail "the same mesh is of the same axes"
run 0 convert -q creature.glb rest.obj --up z
run 0 edit creature.glb --rest rest.obj -o edited.glb
err "rest.obj probably has Y up where creature.glb has Z up"

# A skeleton.
printf 'HIERARCHY\nROOT hips\n{\n OFFSET 0 0 1\n CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n JOINT spine\n {\n  OFFSET 0 0 2\n  CHANNELS 3 Zrotation Xrotation Yrotation\n  End Site\n  {\n   OFFSET 0 0 1\n  }\n }\n}\nMOTION\nFrames: 2\nFrame Time: 0.1\n1 2 3 0 0 0 0 0 0\n1 2 4 90 0 0 0 0 0\n' >walk.bvh
run 0 convert -q walk.bvh walk.gltf --up z --scale 0.1
node -e 'const d = JSON.parse(require("fs").readFileSync("walk.gltf")), [hips, spine] = ["hips", "spine"].map((n) => d.nodes.find((x) => x.name === n));
const near = (a, b) => a.every((x, i) => Math.abs(x - b[i]) < 1e-6);
process.exit(near(spine.translation, [0, 0, 0.2]) && near(hips.rotation, [-Math.SQRT1_2, 0, 0, Math.SQRT1_2]) ? 0 : 1)' ||
    fail "the skeleton is not turned at its root: $(grep -A3 '"name"' walk.gltf)"

# Refused.
run 1 convert hare.obj no.glb --up w
err "up 'w': give y, z or x"
run 1 convert hare.obj no.glb --scale 0
err "scale '0'"
run 1 convert hare.obj no.glb --up hair.obj=z
err "--up hair.obj=z: no file on the command line is 'hair.obj'"
run 1 convert hare.obj no.glb --scale hare.obj=1,x=3
err "is 'x'"
run 1 convert hare.obj no.glb --up 'hare,1.obj=z' # names with a comma cannot be given
err "is '1.obj'"
cp hare.obj 'h=1.obj'
run 0 info 'h=1.obj' --up 'h=1.obj=z'
missing no.glb
