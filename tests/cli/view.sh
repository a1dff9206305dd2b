# Pictures from the command line: files, sizes, refusals.
. "$(dirname "$0")/lib.sh"

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
run 0 view f_0.obj f_1.obj f_2.obj --png c.png --sheet 3x1 --width 90 --height 30 --json r.json
json r.json 'r.panels === 3 && r.width === 90 && r.height === 30 && r.output === "c.png" && r.bytes > 100'

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
err "--size 0x64: --width"
run 1 view f_0.obj --png d.png --sheet 4x900
err "--sheet 4x900: --rows"
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
