# What Blender makes of meshes beside caches and of levels of detail, and what Pelt makes of Blender's files.
. "$(dirname "$0")/lib.sh"

command -v blender >/dev/null || {
    echo "skipped: Blender is not installed"
    exit 77
}
# blender FILE ARGS…: runs a script of this folder without a window; what it prints is in log/blender.
script() {
    file=$1
    shift
    blender -b -noaudio --factory-startup --python-exit-code 9 --python "$here/blender/$file" -- "$@" >log/blender 2>&1 ||
        fail "blender $file: $(tail -5 log/blender)"
}

# A mesh of several parts with vertices that no face uses, and its cache: one object, whose vertex i is point i.
"$PELT_SCENES" production -o man.glb --vertices 600 --frames 4 >/dev/null || fail "no scene"
run 0 bake -q man.glb -o man.pc2 --mesh man.obj
printf 'o a\nv 9 9 9\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 4 3 2\no b\nusemtl m\nv 8 8 8\nv 2 0 0\nv 3 0 0\nv 2 1 0\nf 8 7 6\nv 7 7 7\n' >two.obj
run 0 convert -q two.obj --one-object one.obj
script import_obj.py man.obj one.obj two.obj
grep -q '^man.obj: 1 objects, in order$' log/blender || fail "$(grep '^man.obj' log/blender)"
grep -q '^one.obj: 1 objects, in order$' log/blender || fail "$(grep '^one.obj' log/blender)"
grep -q '^two.obj: 2 objects' log/blender || fail "Blender no longer splits objects: is one-object needed?"

# Levels of detail: each file is one level.
run 0 simplify -q man.glb -o level.glb --lods 2 --frames 2
run 0 simplify -q man.glb -o both.glb --lods 2 --one-file --frames 2
script count_meshes.py man.glb level.glb level_lod1.glb both.glb
shown() { sed -n "s/^$1: \([0-9]*\) meshes$/\1/p" log/blender; }
[ "$(shown man.glb)" -gt 0 ] || fail "no meshes"
[ "$(shown level.glb)" = "$(shown man.glb)" ] || fail "the first level draws other meshes"
[ "$(shown level_lod1.glb)" = "$(shown man.glb)" ] || fail "the second level draws other meshes"
[ "$(shown both.glb)" -gt "$(shown man.glb)" ] || fail "Blender no longer draws levels that are in no scene"

# Bones and shape keys, which Blender's exporter writes as two animations, against the same as one.
script export_keys.py
run 0 info apart.glb --json info.json
json info.json 'r.inputs[0].motions.length === 1 && r.inputs[0].motions[0].tracks === 7'
run 0 compare -q apart.glb together.glb --fps 24 --json compare.json
json compare.json 'r.error_max < 1e-6'
run 0 compare -q apart.glb together.glb --fps 24 --join none --json compare.json
json compare.json 'r.error_max > 0.01'

# Its OBJ files have Y up, its MDD files Z up.
run 0 info tube.obj tube.mdd --json info.json
json info.json 'r.warnings.length === 1 && r.warnings[0].includes("has Z up where tube.obj has Y up; converted to the axes and units of the mesh")'
run 0 info tube.obj tube.mdd --up tube.mdd=z --json info.json
json info.json 'r.warnings.length === 0'
