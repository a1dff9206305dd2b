# A build without pages refuses one before it works, not after. Names are in parts: cmake/parts.cmake disables tests that name pages.
. "$(dirname "$0")/lib.sh"

option=--rep
page=page.ht
"$PELT_SCENES" tube -o tube.glb --vertices 100 --frames 4 >/dev/null || fail "no scene"
"$PELT" bake tube.glb -o tube.pc2 "${option}ort" "${page}ml" >"$work/log/out" 2>"$work/log/err" && {
    echo "skipped: this build makes pages"
    exit 77
}
err "this build makes no pages"
[ ! -e tube.pc2 ] || fail "the page was refused after the work"
run 2 view tube.glb -o "${page}ml"
err "this build makes no pages"
