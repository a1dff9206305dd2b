# Alembic files: shown, converted to a mesh and a cache and to sequences, objects chosen.
. "$(dirname "$0")/lib.sh"
cp "$here/../../fuzz/corpus/abc/transforms.abc" move.abc

run 0 info move.abc
grep -Eq '^  format +Alembic$' log/out || fail "format"
out "2: outer/inner/m, outer/alone/m"
out "move: 3 frames, 0.500 s"
run 0 info move.abc --object alone --json -
json log/out 'r.inputs[0].parts.length === 1 && r.inputs[0].parts[0].name === "outer/alone/m" && r.inputs[0].vertices === 3'
json log/out 'r.inputs[0].box.min.join() === "0,0,7"'
run 2 info move.abc --object nobody
err "no mesh at or below an object 'nobody'; its meshes: outer/inner/m, outer/alone/m"
quad >quad.obj
run 2 info quad.obj --object quad
err "has no objects to choose from; only some formats have (Alembic)"

# The mesh and its cache are the same animation as the file; sequences and MDD too.
run 0 convert -q move.abc move.obj
run 0 convert -q move.abc move.ply
for cache in move.pc2 move.mdd; do
    run 0 convert -q move.abc $cache
    run 0 compare move.abc move.obj $cache --max-error 0
    run 0 compare move.abc move.ply $cache --max-error 0
done
run 0 convert -q move.abc 'move_%d.ply'
run 0 compare move.abc 'move_%d.ply' --max-error 0
run 0 info move.obj move.pc2 --json -
json log/out 'Math.abs(r.inputs[0].clips[0].duration - 0.5) < 1e-6'
run 0 convert -q move.abc move.glb

# Alembic files are written too: the same frames, names and times, from every verb that writes frames.
run 0 convert -q move.abc again.abc
run 0 compare move.abc again.abc --max-error 0
run 0 info again.abc
out "2: outer/inner/m, outer/alone/m"
out "again: 3 frames, 0.500 s"
run 0 convert -q quad.obj quad.abc
run 0 compare quad.obj quad.abc --max-error 0
run 0 info quad.abc
out "1: quad/quadShape"
quads up
run 0 convert -q 'up_%d.obj' up.abc
run 0 compare 'up_%d.obj' up.abc --max-error 0
strip
run 0 bake -q strip.gltf -o strip.abc --fps 10
run 0 bake -q strip.gltf -o strip.mdd --fps 10
run 0 convert -q strip.abc from_abc.mdd
same strip.mdd from_abc.mdd
run 0 bake -q strip.gltf -o strip.abc --fps 10 --normals accurate
run 1 bake strip.gltf -o strip.mdd --normals accurate
err "holds no normals; use .abc or a pattern"
run 0 convert -q strip.gltf converted.abc --fps 10
run 0 compare strip.abc converted.abc --max-error 0
run 0 jiggle -q strip.gltf -o soft.abc --fps 10
run 0 info soft.abc
run 0 simplify -q move.abc -o few.abc --ratio 1
run 0 compare move.abc few.abc --max-error 0
if posix; then # the file is written in one go: a pipe gets the same bytes
    mkfifo pipe.abc
    cat pipe.abc >piped.abc &
    run 0 convert -q move.abc pipe.abc
    wait
    run 0 compare move.abc piped.abc --max-error 0
fi

printf '\211HDF\r\n\032\n' >old.abc
run 2 info old.abc
err "is in HDF5, as old Alembic files are; export it again as Ogawa"
