# Skeletons and motions alone, and pelt retarget.
. "$(dirname "$0")/lib.sh"

cat >walk.bvh <<'END'
HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
  JOINT LeftUpLeg
  {
    OFFSET 1 0 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    JOINT LeftLeg
    {
      OFFSET 0 -4 0
      CHANNELS 3 Zrotation Yrotation Xrotation
      End Site
      {
        OFFSET 0 -4 0
      }
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.1
0 8 0 0 0 0 0 0 0 0 0 0
0 8 1 0 0 0 0 0 30 0 0 -10
0 8 2 0 0 0 0 0 0 0 0 0
END
cp "$here/leg.asf" s.asf
cp "$here/leg.amc" t.amc

# What is in them.
run 0 info walk.bvh s.asf t.amc t.amc --json -
json log/out 'r.inputs.length === 2 && r.inputs[0].format === "BVH" && r.inputs[0].joints === 4 && r.inputs[1].motions.length === 2'
run 0 info t.amc
out "joints"
run 2 info strip.gltf t.amc

# Into each other.
run 0 convert -q walk.bvh walk.glb
run 0 convert -q walk.glb back.bvh
run 0 info back.bvh --json -
json log/out 'r.inputs[0].joints === 4 && Math.abs(r.inputs[0].motions[0].duration - 0.2) < 1e-6'
run 0 convert -q s.asf t.amc t.bvh
grep -q "Frame Time: 0.0083333" t.bvh || fail "120 frames per second"
run 0 convert -q t.amc --amc-fps 10 --fps 30 slow.bvh
grep -q "Frame Time: 0.0333333" slow.bvh && grep -q "Frames: 4" slow.bvh || fail "30 frames per second"
run 0 convert -q t.amc --amc-fps 60 --fps 30 short.bvh # 1/60 s: its end is not lost
grep -q "Frame Time: 0.01666" short.bvh && grep -q "Frames: 2" short.bvh || fail "a motion of less than a frame"
run 0 convert s.asf t.amc t.amc two.bvh
err "holds one motion"
strip
run 0 convert strip.gltf --motion slide slide.bvh
grep -q "^ROOT" slide.bvh || fail "no root"
run 1 convert strip.gltf --motion nothing slide.bvh
run 2 convert walk.bvh walk.obj
err "no mesh"
missing walk.obj
run 2 convert walk.bvh walk.pc2
missing walk.pc2
printf 'o quad\nv 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\n' >mesh.obj
run 2 convert mesh.obj mesh.bvh
err "no skeleton"
missing mesh.bvh
if pictures; then
    run 0 view walk.bvh --png walk.png --size 80x60
    [ -s walk.png ] || fail "no picture"
fi

# Retarget: onto itself nothing changes but the name.
run 0 retarget walk.glb walk.bvh -o twice.glb --name again --json r.json
out "LeftLeg"
json r.json 'r.stretch === 0 && r.torn === false'
json r.json 'r.matched === 4 && r.frames === 3 && Math.abs(r.scale - 1) < 1e-6 && r.joints[0].match === "name"'
run 0 info twice.glb --json -
json log/out 'r.inputs[0].motions.length === 2 && r.inputs[0].motions[1].name === "again"'
run 0 retarget -q walk.glb walk.bvh -o once.glb --replace
run 0 info once.glb --json -
json log/out 'r.inputs[0].motions.length === 1'

# By body parts, with the skeleton beside the motion; by a mapping.
run 0 retarget walk.glb t.amc -o amc.glb --json r.json
json r.json 'r.matched === 2 && r.joints[1].motion === "lfemur" && r.joints[1].match === "body" && r.joints[2].match === ""'
run 0 retarget walk.glb s.asf t.amc -o amc.bvh
printf '# shins\nLeftLeg = lfemur\nLeftUpLeg =\n' >map.txt
run 0 retarget walk.glb t.amc --map map.txt -o map.glb --json r.json
json r.json 'r.joints[2].motion === "lfemur" && r.joints[2].match === "map" && r.joints[1].motion === undefined'
printf 'LeftLeg = nobody\n' >map.txt
run 2 retarget walk.glb t.amc --map map.txt -o none.glb
err "line 1 of the mapping: the motion has no joint 'nobody'"
missing none.glb
run 2 retarget walk.glb t.amc --map nowhere.txt -o none.glb
err "nowhere.txt"
printf 'HIERARCHY ROOT tentacle\n{ OFFSET 0 0 0 }' >tentacle.bvh
run 2 retarget tentacle.bvh walk.bvh -o none.glb
err "--map FILE"
run 2 retarget mesh.obj walk.bvh -o none.glb
err "no skeleton"
run 2 retarget walk.glb s.asf -o none.glb
err "no motion"
run 1 retarget walk.glb -o none.glb
run 1 retarget walk.glb walk.bvh
run 1 retarget walk.glb walk.bvh -o none.obj
missing none.glb
