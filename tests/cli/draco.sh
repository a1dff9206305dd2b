# glTF files with KHR_draco_mesh_compression: read, written without it, refused with a sentence when damaged.
. "$(dirname "$0")/lib.sh"

cp "$here/../../fuzz/corpus/gltf/draco_sequential.glb" square.glb
cp "$here/../../fuzz/corpus/gltf/draco_rig.glb" rig.glb
if "$PELT" info square.glb 2>log/err | grep -q 'format'; then :; else
    run 2 info square.glb
    err "square.glb: mesh 0, primitive 0: was compressed with KHR_draco_mesh_compression; this build has no Draco support"
    exit 0
fi

run 0 info rig.glb
out "bones         2"
for file in square rig; do
    run 0 convert -q $file.glb plain.glb
    ! grep -aq 'KHR_draco\|DRACO' plain.glb || fail "plain.glb is compressed"
    run 0 compare --max-error 0 $file.glb plain.glb
    # The same bytes whatever the threads, and when it is read again.
    run 0 convert -q --threads 1 $file.glb one.glb
    same plain.glb one.glb
    run 0 convert -q plain.glb again.glb
    same plain.glb again.glb
done
run 0 convert -q square.glb square.obj
[ "$(grep -c '^v ' square.obj)" = 4 ] || fail "vertices of square.obj"

# Another version, and an end that is missing.
sed 's/DRACO\x02\x02/DRACO\x02\x01/' square.glb >version.glb
run 2 convert version.glb out.glb
err "version.glb: mesh 0, primitive 0: view 0: its Draco stream is not of version 2.2"
sed 's/"buffer":0,"byteLength":112/"buffer":0,"byteLength":99 /' square.glb >cut.glb
run 2 convert cut.glb out.glb
err "cut.glb: mesh 0, primitive 0: view 0: its Draco stream is damaged"
sed 's/"count":4/"count":5/g' square.glb >count.glb
run 2 convert count.glb out.glb
err "count.glb: mesh 0, primitive 0: POSITION: accessor 0 has 5 elements, view 0's Draco stream has 4 vertices"
missing out.glb
