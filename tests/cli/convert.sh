# pelt convert between all pairs of formats that make sense.
. "$(dirname "$0")/lib.sh"

quads q
quad >mesh.obj

# Sequence, PC2, MDD and back: the same frames everywhere.
run 0 convert 'q_%d.obj' q.pc2
out "frames"
[ "$(wc -c <q.pc2)" = $((32 + 3 * 4 * 12)) ] || fail "size of q.pc2"
run 0 convert -q q_0.obj q_1.obj q_2.obj list.pc2
no_out
same q.pc2 list.pc2
run 0 convert -q mesh.obj q.pc2 q.mdd
[ "$(wc -c <q.mdd)" = $((8 + 3 * 4 + 3 * 4 * 12)) ] || fail "size of q.mdd"
run 0 convert -q mesh.obj q.mdd back.pc2
run 0 compare --max-error 0 mesh.obj q.pc2 back.pc2
run 0 convert -q mesh.obj q.mdd 'back_%02d.obj'
[ -f back_00.obj ] && [ -f back_02.obj ] || fail "no sequence"
run 0 compare --max-error 0 'q_%d.obj' 'back_%02d.obj'
run 0 convert -q mesh.obj q.mdd 'back_%02d.ply'
run 0 compare --max-error 0 'q_%d.obj' 'back_%02d.ply'
for encoding in binary=binary_little_endian big-endian=binary_big_endian ascii=ascii; do
    run 0 convert -q mesh.obj mesh.ply --ply ${encoding%=*}
    head -n 2 mesh.ply | grep -aqx "format ${encoding#*=} 1.0" || fail "mesh.ply is not $encoding"
    run 0 compare --max-error 0 mesh.obj q.pc2 mesh.ply q.pc2
done
run 1 convert mesh.obj mesh.ply --ply utf8
run 0 convert -q -o other.pc2 mesh.obj q.mdd
same other.pc2 back.pc2

# Meshes and rigs.
strip
run 0 convert strip.gltf strip.glb
run 0 convert -q strip.glb again.gltf
run 0 compare --max-error 0 strip.gltf again.gltf
run 0 convert -q strip.glb sorted.glb --order skin
run 0 info --json - sorted.glb
json log/out 'r.inputs[0].triangles === 8 && r.inputs[0].points === 10'
run 1 convert strip.glb sorted.glb --order bones
run 0 convert strip.glb strip.obj
err "rest pose"
run 0 info --json - strip.obj
json log/out 'r.inputs[0].triangles === 8 && r.inputs[0].points === 10'
run 0 convert -q mesh.obj mesh.glb
run 0 info --json - mesh.glb
json log/out 'r.inputs[0].triangles === 2 && r.inputs[0].format === "glTF"'
run 0 convert -q mesh.glb mesh2.obj
run 0 compare --max-error 0 mesh.obj mesh2.obj

# A rig into a cache is a bake, and says so.
run 0 convert strip.glb strip.pc2
err "bend"
err "pelt bake"
run 0 bake -q strip.glb -o baked.pc2
same strip.pc2 baked.pc2
run 0 convert -q strip.glb slide.pc2 --motion slide --fps 1
[ "$(wc -c <slide.pc2)" = $((32 + 101 * 10 * 12)) ] || fail "size of slide.pc2"
run 1 convert strip.glb slide.pc2 --motion slied
err "did you mean 'slide'?"
run 1 convert strip.glb slide.pc2 --motion 7

# Over itself.
cp strip.glb self.glb
run 0 convert -q self.glb self.glb
run 0 compare --max-error 0 strip.glb self.glb
cp q.pc2 self.pc2
run 0 convert -q mesh.obj self.pc2 self.pc2
run 0 compare --max-error 0 mesh.obj q.pc2 self.pc2

# What does not work leaves what was there.
cp q.pc2 kept.pc2
run 2 convert mesh.obj kept.pc2
err "no animation"
same q.pc2 kept.pc2
run 2 convert missing.obj kept.pc2
same q.pc2 kept.pc2
run 1 convert mesh.obj mesh.xyz
err ".glb"
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' >q_3.obj
run 2 convert 'q_%d.obj' kept.pc2
err "q_3.obj"
same q.pc2 kept.pc2
ls -A | grep -E '\.(tmp|part)|\.pelt' && fail "left behind"

# Compressed: smaller, within the stated distance, which the report has; compare finds the sorted vertices.
"$PELT_SCENES" creature -o creature.glb --vertices 2000 >/dev/null || fail "no scene"
if compression; then
    run 0 convert creature.glb small.glb --compress --compress-error 0.001 --json small.json
    out "of the size"
    json small.json 'r.compress_fraction > 0 && r.compress_fraction <= 0.001'
    json small.json "r.bytes * 2 < $(wc -c <creature.glb)"
    run 0 compare creature.glb small.glb --json compare.json
    json compare.json 'JSON.stringify(r).match(/"error_max":([0-9.e-]+)/)[1] <= 0.002'
    run 0 convert -q small.glb again.gltf --compress
    [ -f again.bin ] || fail "no again.bin"

    # Unchanged data stays compressed, unless plain arrays are asked for, or needed by the program: the same vertices.
    run 0 convert -q small.glb kept.glb --target babylon
    grep -q EXT_meshopt_compression kept.glb || fail "what did not change was written anew"
    run 0 convert -q small.glb plain.glb --plain
    run 0 convert -q again.gltf plain.gltf --target blender
    run 0 convert -q small.glb blender.glb --target blender
    cmp -s plain.glb blender.glb || fail "--target blender writes other arrays than --plain"
    for file in plain.glb plain.gltf; do
        grep -q -e EXT_meshopt_compression -e KHR_mesh_quantization $file && fail "$file has compressed data"
    done
    run 0 compare small.glb plain.glb --json compare.json
    json compare.json 'JSON.stringify(r).match(/"error_max":([0-9.e-]+)/)[1] === "0"'
    run 0 convert -q small.glb sorted.glb --plain --order skin
    run 0 compare small.glb sorted.glb --json compare.json
    json compare.json 'JSON.stringify(r).match(/"error_max":([0-9.e-]+)/)[1] <= 1e-6'
else
    run 2 convert creature.glb small.glb --compress
    err "no meshoptimizer support"
    missing small.glb
fi
run 1 convert creature.glb creature.obj --compress
err "--compress"
run 1 convert creature.glb small.glb --compress-error 0.1
run 1 convert creature.glb small.glb --compress --order skin
run 1 convert creature.glb small.glb --compress --plain
err "--plain means nothing with --compress"
run 1 convert creature.glb small.glb --compress --target blender
err "which --target blender does not read"
run 1 convert creature.glb creature.obj --target blender
err "--target means nothing where the output is neither glTF nor .fbx"
run 1 convert creature.glb creature.fbx --plain
err "--plain means nothing where the output is no .glb"

# FBX for a program: says what it sets and why; the same model, at frames that the program has.
run 0 convert -v creature.glb unreal.fbx --target unreal
err "target unreal: z up: its own up axis"
err "centimetres: its unit"
err "frames per second"
for target in unreal unity maya; do
    run 0 convert -q creature.glb $target.fbx --target $target
    run 0 compare creature.glb $target.fbx --json compare.json
    json compare.json 'JSON.stringify(r).match(/"error_max":([0-9.e-]+)/)[1] <= 0.5'
done
cmp -s unreal.fbx unity.fbx && fail "targets do not differ"

# Other verbs that write rigs take the same option, bind for its bones per vertex too.
run 0 retarget -v creature.glb creature.glb -o verb.fbx --name again --target unreal
err "target unreal: z up"
run 0 simplify -v creature.glb -o verb.fbx --target unreal
err "target unreal: z up"
run 0 bind -v creature.glb -o verb.fbx --resolution 32 --target unreal
err "target unreal: z up"
run 0 bind creature.glb -o four.glb --resolution 32 --influences 8 --target three
err "target three: --influences 4"
run 0 bake creature.glb -o verb.pc2 --mesh verb.obj
run 0 correct -v creature.glb verb.obj verb.pc2 -o verb.fbx --rank 1 --target unreal
err "target unreal: z up"
if compression; then
    for verb in "retarget small.glb creature.glb" "simplify small.glb --ratio 1" "correct small.glb verb.obj verb.pc2"; do
        run 0 $verb -q -o verb.glb --target blender
        grep -q -e EXT_meshopt_compression -e KHR_mesh_quantization verb.glb && fail "$verb: has compressed data"
    done
fi
exit 0
