# pelt decompose of Dem Bones' own example, Bone_Anim.abc with the rest pose of Bone_Geom.fbx, to FBX: an error at or below that
# of Dem Bones' own results with as many bones and influences. FBX files are in centimetres, the Alembic file has no unit.
. "$(dirname "$0")/lib.sh"
need_data anim-dembones/data

# error_of RIG: E_rms of a rig against the animation.
error_of() {
    run 0 compare -q "$data/Bone_Anim.abc" "$1" --fps 24 --scale Bone_Anim.abc=0.01 --json report.json
    node -p 'JSON.parse(require("fs").readFileSync("report.json")).error_rms'
}
# reaches REFERENCE BONES INFLUENCES: bones that rotate and move only, as those of Dem Bones.
reaches() {
    run 0 decompose -q "$data/Bone_Anim.abc" --rest "$data/Bone_Geom.fbx" --scale Bone_Anim.abc=0.01 --bones "$2" -k "$3" \
        --transforms rigid -o rig.fbx
    theirs=$(error_of "$data/$1") ours=$(error_of rig.fbx)
    echo "$2 bones, $3 influences: E_rms $ours, Dem Bones $theirs"
    node -e 'process.exit(+process.argv[1] > 0 && +process.argv[1] <= +process.argv[2] ? 0 : 1)' "$ours" "$theirs" ||
        fail "$2 bones: E_rms $ours, Dem Bones has $theirs"
}
reaches Decomposition_05.fbx 5 4
reaches Decomposition_10.fbx 10 8
