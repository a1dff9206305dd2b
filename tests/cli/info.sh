# pelt info: tables and JSON, several inputs, failures among them.
. "$(dirname "$0")/lib.sh"

quad >quad.obj
run 0 info quad.obj
no_err
out quad.obj
grep -Eq '^  vertices +4$' log/out || fail "vertices"
grep -Eq '^  triangles +2$' log/out || fail "triangles"
grep -Eq '^  polygons +1$' log/out || fail "polygons"
grep -Eq '^  size +1 × 1 × 0$' log/out || fail "size"

# JSON: alone on stdout, or in a file beside the table.
run 0 info --json - quad.obj
json log/out 'r.verb === "info" && r.inputs.length === 1'
json log/out 'r.inputs[0].vertices === 4 && r.inputs[0].polygons === 1 && r.inputs[0].format === "OBJ"'
json log/out 'r.inputs[0].box.max.join() === "1,1,0" && r.inputs[0].clips.length === 0'
cp log/out on_stdout
run 0 info --json report.json quad.obj
out vertices
same report.json on_stdout

# A folder of two sequences is refused, with the patterns to choose from.
mkdir takes
for k in 1 2; do
    quad $k >takes/run_$k.obj
    quad $k >takes/walk_$k.obj
done
run 2 info takes
err "takes: more than one sequence of files: 'takes/run_%d.obj' and 'takes/walk_%d.obj'; give the pattern of one of them"
run 0 info takes/walk_%d.obj
out "2 frames"

# A sequence in its three forms, in natural order, and as a cache with its mesh.
mkdir frames
for k in 1 2 10; do quad $k >frames/q_$k.obj; done
for sequence in frames 'frames/q_*.obj' 'frames/q_%d.obj'; do
    run 0 info --fps 10 --json - "$sequence"
    json log/out 'r.inputs[0].clips[0].frames === 3 && Math.abs(r.inputs[0].clips[0].duration - 0.2) < 1e-6'
    json log/out 'r.inputs[0].box.max[2] === 1'
done
run 0 convert -q frames frames.pc2
run 0 info --json - quad.obj frames.pc2 quad.obj
json log/out 'r.inputs.length === 2 && r.inputs[0].paths.length === 2 && r.inputs[0].clips.length === 1'
json log/out 'r.inputs[1].clips.length === 0'

# A failure does not hide the others.
printf 'glTF\002\000\000\000nonsense' >broken.glb
run 2 info broken.glb quad.obj missing.obj --json report.json
err "pelt: broken.glb: "
err "pelt: missing.obj: "
out "quad.obj"
json report.json 'r.inputs.length === 3 && "error" in r.inputs[0] && !("error" in r.inputs[1]) && "error" in r.inputs[2]'

# A rig.
strip
run 0 info strip.gltf --json report.json
out "bend: 1.000 s, 2 tracks"
out "slide: 100.000 s"
out "1: bulge"
out "felt"
json report.json 'const i = r.inputs[0]; i.vertices === 10 && i.triangles === 8 && i.bones === 2'
json report.json 'const i = r.inputs[0]; i.motions.map(m => m.name).join() === "bend,slide" && i.morphs.join() === "bulge"'
json report.json 'const i = r.inputs[0]; i.influences.max === 2 && Math.abs(i.influences.mean - 1.6) < 1e-9'
json report.json 'const i = r.inputs[0]; i.materials.join() === "felt" && i.parts.length === 1 && i.joints >= 2'

# Drivers of morphs, and none where they do not hold together.
drivers=$here/../../fuzz/corpus/gltf/drivers.gltf
run 0 info "$drivers" --json report.json
out "3: elbow, hand, hand"
json report.json 'const [a, b] = r.inputs[0].drivers; a.joint === "elbow" && a.centres === 3 && b.part === "swing"'
json report.json 'r.inputs[0].drivers[2].morphs.join() === "hand mode 1,elbow mode 2"'
sed 's/"name":"hand","translation"/"name":"fist","translation"/' "$drivers" >renamed.gltf
run 0 info renamed.gltf
out "driver 1: was made for joint 'hand', but its node is 'fist' now; the file is read without drivers of morphs"
! grep -q '^  drivers' log/out || fail "drivers of a joint that is another"

# Names from files cannot speak to the terminal, and JSON stays JSON whatever a file is called.
printf 'o a\033[2Jb\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' >escape.obj
run 0 info escape.obj --json report.json
tr -d '\n' <log/out | LC_ALL=C grep -q '[[:cntrl:]]' && fail "a control character on stdout"
json report.json 'r.inputs.length === 1'
name=$(printf 'quote"\\\377.obj')
if posix && ! node_program && cp quad.obj "$name" 2>/dev/null; then
    run 0 info --json - "$name"
    json log/out 'r.inputs[0].paths[0].startsWith("quote\"\\")'
fi

# Defects of the mesh: a quad has one hole; two triangles that cross are found on demand.
run 0 info quad.obj --json report.json
json report.json '((i) => i.shells === 1 && i.holes === 1 && i.nonmanifold_edges === 0 && !("intersecting_triangles" in i))(r.inputs[0])'
printf 'v 0 0 0\nv 2 0 0\nv 0 2 0\nv 0.5 0.5 -1\nv 0.5 0.5 1\nv 0.6 0.4 1\nf 1 2 3\nf 4 5 6\n' >cross.obj
run 0 info cross.obj --intersections --json report.json
out "2 triangles"
json report.json '((i) => i.shells === 2 && i.holes === 2 && i.boundary_edges === 6 && i.intersecting_triangles === 2)(r.inputs[0])'

# The memory limit holds.
run 2 info --max-memory 1K quad.obj
err "memory"
exit 0
