# Tests of the Blender add-on in Blender without a window. Skipped where Blender is not installed.
. "$(dirname "$0")/../cli/lib.sh"

command -v blender >/dev/null || {
    echo "skipped: Blender is not installed"
    exit 77
}
root=$here/../..
zip() { python3 "$root/scripts/blender-zip.py" "$@" || fail "no zip"; }
zip plain.zip --tables "$PELT"
zip shipped.zip --tables "$PELT" --add "bin/pelt=$PELT"
zip again.zip --tables "$PELT"
same plain.zip again.zip

# Without the program on the PATH: the one in the zip or in the preferences runs.
mkdir scripts temp
env -u PELT BLENDER_USER_SCRIPTS="$work/scripts" TMPDIR="$work/temp" \
    blender -b -noaudio --factory-startup --python-exit-code 9 --python "$here/addon.py" -- \
    "$work/plain.zip" "$work/shipped.zip" "$PELT" "$PELT_SCENES" "$work" "${PELT_DATA:-$root/../shared/data}" >log/blender 2>&1
code=$?
grep -v '^Info\|^Warning\|INFO\|glTF import' log/blender
[ $code = 0 ] || fail "exit code $code"
[ -z "$(ls -A temp)" ] || fail "left behind: $(ls temp)"
