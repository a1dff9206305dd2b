# pelt decompose --error gives the fewest bones: with one less, as --bones solves it, the error is missed. Without --bones the
# result is what --bones gives with that number. A still clip has one bone; too little memory is an error; --weights keeps the rest.
. "$(dirname "$0")/lib.sh"

value() { node -p "JSON.parse(require('fs').readFileSync('$1')).$2"; }

# least ERROR INPUT…: such that --error ERROR needs what it takes. Sets `bones`.
least() {
    asked=$1
    shift
    run 0 decompose -q "$@" -o least.glb --error "$asked" --json least.json
    json least.json "r.result.error_rms <= 1.001 * $asked"
    bones=$(value least.json result.bones)
    [ "$bones" -gt 1 ] || fail "one bone"
    run 0 decompose -q "$@" -o less.glb --bones $((bones - 1)) --json less.json
    json less.json "r.result.error_rms > $asked"
    json least.json "r.curves[0].points.some(([p, e]) => p === $bones && e <= $asked)"
    json least.json "r.curves[0].points.some(([p, e]) => p === $bones - 1 && e > $asked)"
}

# The README's flag.
"$PELT_SCENES" cloth -o flag.obj >/dev/null || fail "no scene"
least 3 flag.obj flag.pc2
[ "$bones" -le 12 ] || fail "$bones bones, where 12 do"

"$PELT_SCENES" softbody -o soft.obj --vertices 600 --frames 20 >/dev/null || fail "no scene"
run 0 decompose -q soft.obj soft.pc2 -o auto.glb --json auto.json
bones=$(value auto.json result.bones)
run 0 decompose -q soft.obj soft.pc2 -o asked.glb --bones "$bones"
same auto.glb asked.glb
run 0 decompose -q soft.obj soft.pc2 -o bounded.glb --memory 200M
same auto.glb bounded.glb
run 2 decompose -q soft.obj soft.pc2 -o tight.glb --bones 40 --memory 1M
err "more than the 1 MB allowed: allow a memory of"
missing tight.glb

# Nothing moves.
for k in 0 1 2; do run 0 convert -q soft.obj s_$k.obj; done
run 0 decompose -q 's_%d.obj' -o still.glb --json still.json
json still.json 'r.result.bones === 1 && r.result.error_rms < 0.001'

# A rig's weights with another motion: the rest pose and the weights are the rig's. Rigid bones rest exactly where they were bound;
# those of others are turned to their axes, which rounds.
run 0 decompose -q soft.obj soft.pc2 -o rig.glb --bones 6 --iterations 5 --transforms rigid --weights-format f32
run 0 decompose -q soft.obj soft.pc2 -o moved.glb --weights rig.glb --transforms rigid
run 0 convert -q rig.glb rig.obj
run 0 convert -q moved.glb moved.obj
same rig.obj moved.obj
exit 0
