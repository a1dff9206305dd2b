# Pictures from the command line: files, sizes, refusals.
. "$(dirname "$0")/lib.sh"
pictures || { echo "skipped: this build makes no pictures"; exit 77; }

quads f
run 0 view f_0.obj f_1.obj f_2.obj --png a.png --size 64x48 --frame 2
out "64 × 48 pixels"
no_err
# The signature, then width and height at byte 16.
[ "$(od -An -tx1 -N8 a.png | tr -d ' \n')" = 89504e470d0a1a0a ] || fail "a.png is no PNG"
[ "$(od -An -tu1 -j16 -N8 a.png | tr -s ' ')" = " 0 0 0 64 0 0 0 48" ] || fail "a.png has another size"

# The same pixels for any number of threads, other ones for another frame, mode or view.
run 0 view f_0.obj f_1.obj f_2.obj --png b.png --size 64x48 --frame 2 --threads 1 -q
no_out
same a.png b.png
for other in "--frame 0" "--mode parts --frame 2" "--yaw 80 --frame 2" "--background dark --frame 2"; do
    # shellcheck disable=SC2086
    run 0 view f_0.obj f_1.obj f_2.obj --png b.png --size 64x48 $other
    ! cmp -s a.png b.png || fail "$other changes nothing"
done
run 0 view f_0.obj f_1.obj f_2.obj --png c.png --columns 3 --width 90 --height 30 --json r.json
json r.json 'r.panels === 3 && r.width === 90 && r.height === 30 && r.output === "c.png" && r.bytes > 100'

# Sequences: END is not among them, names have the frame's number. Frames that are drawn alone are the same.
run 0 view 'f_%d.obj' --png 's_%02d.png' --frames 0:3:2 --size 64x48 --json r.json
json r.json 'r.frames.join() === "0,2" && r.output === "s_%02d.png"'
missing s_01.png
same s_02.png a.png
run 0 view 'f_%d.obj' --png 't_%d.png' --size 64x48 -q
for k in 0 1 2; do [ -s t_$k.png ] || fail "no t_$k.png"; done
same t_2.png a.png
run 0 view 'f_%d.obj' --png 'u_%d.png' --frames 1: --size 64x48 -q
missing u_0.png
same u_2.png a.png

# Sheets: a grid that fits the picture, or the one that is asked for.
run 0 view 'f_%d.obj' --png sheet.png --sheet --size 300x80 --json r.json
json r.json 'r.panels === 3 && r.frames.join() === "0,1,2"'
out "3 × 1 moments"
run 0 view 'f_%d.obj' --png sheet.png --sheet --frames ::2 --columns 1 --size 80x80 --json r.json
json r.json 'r.panels === 2 && r.frames.join() === "0,2"'

# Errors against a source, and distances from rest: the last quad is 2 away from the first.
run 0 view 'f_%d.obj' --png d.png --mode displacement --frame 2 --size 300x200 --json r.json
json r.json 'r.max === 2'
out "0 to 2 object units"
run 0 view 'f_%d.obj' --png e.png --mode displacement --frame 2 --size 300x200 --max 4 --json r.json
json r.json 'r.max === 4'
! cmp -s d.png e.png || fail "--max changes nothing"
for k in 0 1 2; do quad $((3 * k)) >g_$k.obj; done
run 0 view 'f_%d.obj' --source 'g_%d.obj' --png e.png --mode error --frame 2 --size 300x200 --json r.json
json r.json 'r.max === 4'
run 0 convert 'g_%d.obj' g.pc2 -q
run 0 view 'f_%d.obj' --source f_0.obj --source g.pc2 --png h.png --mode error --frame 2 --size 300x200 -q
same e.png h.png
rm d.png

# A skeleton without a surface: its bones, which move.
cat >arm.bvh <<'END'
HIERARCHY
ROOT shoulder
{
  OFFSET 0 0 0
  CHANNELS 3 Zrotation Xrotation Yrotation
  JOINT elbow
  {
    OFFSET 10 0 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 8 0 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.033333
0 0 0 0 0 0
0 0 0 90 0 0
END
for k in 0 1; do run 0 view arm.bvh --png arm_$k.png --mode bones --frame $k --size 64x48 -q; done
! cmp -s arm_0.png arm_1.png || fail "the arm does not move"
run 2 view arm.bvh --png arm.png --mode weights
err "joints and no surface"

# Refused before any work, or with nothing left behind.
run 1 view
err "view needs an input"
run 1 view f_0.obj
err "--png FILE"
run 1 view f_0.obj --png d.jpg
err "must end in .png"
run 1 view f_0.obj --png d.png --size 64
err "two numbers with an x between"
run 1 view f_0.obj --png d.png --size 0x64
err "--size 0x64: width"
run 1 view f_0.obj --png d.png --frames 0:1
err "--frames needs a pattern"
run 1 view f_0.obj --png 'd_%d.png' --sheet
err "a pattern names many"
run 1 view f_0.obj --png d.png --sheet --frame 1
err "are one moment"
for bad in 3 a:b 0:1:2:3 0:x 99999999999:; do
    run 1 view 'f_%d.obj' --png d.png --sheet --frames $bad
    err "--frames $bad: give FIRST:END:STEP"
done
for bad in 2:2 0:3:0 5:; do
    run 1 view 'f_%d.obj' --png d.png --sheet --frames $bad
    err "--frames $bad: there is no frame in it"
done
run 1 view 'f_%d.obj' --png d.png --sheet --frames 0:4
err "the animation has 3 frames, END is 3 at most"
run 1 view 'f_%d.obj' --png d.png --sheet --columns 1 --rows 2
err "3 frames do not fit"
run 2 view f_0.obj --png d.png --mode error
err "needs a source"
run 2 view f_0.obj --png d.png --mode error --source nothing.obj
run 2 view 'f_%d.obj' --png d.png --mode error --source f_0.obj
err "its source is not"
run 1 view f_0.obj --png d.png --mode wire
err "'wire' is not one of"
run 1 view f_0.obj f_1.obj --png d.png --frame 7
err "there is no frame 7"
run 2 view f_0.obj --png d.png --mode bones
err "has no skin"
run 2 view nothing.obj --png d.png
run 3 view f_0.obj --png no/such/folder/d.png
missing d.png
[ -z "$(find . -name '*pelt-*')" ] || fail "something was left behind"
