# The Blender add-on in Blender's window, on a virtual screen with software rendering. Skipped without Blender or xvfb-run.
# PICTURE=FILE: also writes the picture of docs/blender.md.
. "$(dirname "$0")/../cli/lib.sh"

for program in blender xvfb-run; do
    command -v $program >/dev/null || {
        echo "skipped: $program is not installed"
        exit 77
    }
done
mkdir -p scripts/addons
ln -s "$here/../../blender" scripts/addons/pelt
"$PELT_SCENES" troll -o troll.glb --vertices 1500 --frames 30 >/dev/null || fail "no scene"
export BLENDER_USER_SCRIPTS="$work/scripts" TMPDIR="$work" LIBGL_ALWAYS_SOFTWARE=1 PYTHONDONTWRITEBYTECODE=1
blender -b -noaudio --factory-startup --python-exit-code 9 --python "$here/window.py" -- troll.glb "$work/start.blend" >log/out 2>&1 ||
    fail "no scene in Blender"
# shellcheck disable=SC2086 # PICTURE may be unset: no argument
timeout 500 xvfb-run -a -s '-screen 0 1180x740x24' blender --factory-startup -noaudio --window-geometry 0 0 1180 740 \
    --enable-event-simulate start.blend --python "$here/window.py" -- "$PELT" "$work/result" ${PICTURE:-} >log/out 2>log/err
grep -q "Unable to open a display\|Could not.*OpenGL\|no OpenGL" log/out log/err && {
    echo "skipped: Blender opens no window here"
    exit 77
}
[ "$(cat result)" = ok ] || fail "$(cat result)"
