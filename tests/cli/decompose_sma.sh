# pelt decompose --method sma: bones that triangles make, the report, what it refuses, the same bytes for every number of
# threads.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" cloth -o flag.obj --vertices 500 --frames 12 >/dev/null || fail "no scene"

run 0 decompose flag.obj flag.pc2 -o flag.glb --method sma --json report.json
err "shade this wrongly"
out "near-rigid"
json report.json 'r.result.bones > 1 && r.result.near_rigid > 0 && r.result.near_rigid <= 1'
json report.json 'r.result.negative_vertices === 0 && r.result.error_rms > 0 && r.iterations.length === 0'
bones=$(node -p 'JSON.parse(require("fs").readFileSync("report.json")).result.bones')

# Fewer bones where more counts as alike.
run 0 decompose -q flag.obj flag.pc2 -o flag.glb --method sma --rotation-tolerance 0.3 --json report.json
json report.json "r.result.bones < $bones"

# Weights that no file may have are reported, and not written.
run 0 decompose flag.obj flag.pc2 -o flag.glb --method sma -t rigid --weight-solver tsvd --json report.json
out "below 0"
json report.json 'r.result.negative_vertices > 0 && r.result.error_rms_weights > 0'
run 0 decompose -q flag.obj flag.pc2 -o flag.glb --method sma -t rigid --weight-solver bounded --min-weight -0.5

# As published: the error of the paper's own steps is larger; negative weights are not for files.
run 0 decompose -q flag.obj flag.pc2 -o flag.glb --preset sma2005 --json published.json
json published.json 'r.result.core_fraction <= r.result.near_rigid'
run 1 decompose flag.obj flag.pc2 -o no.glb --preset sma2005 --weight-solver tsvd
err "no negative weights"
run 0 decompose -q flag.obj flag.pc2 -o flag.glb --preset fesam2010 --bones 6 --json published.json
json published.json 'r.iterations.length === 15'
run 0 decompose -q flag.obj flag.pc2 -o flag.glb --preset fesam2010 --bones 6 --iterations 0 --json seeds.json
json seeds.json 'r.iterations.length === 0 && r.result.error_rms > JSON.parse(require("fs").readFileSync("published.json")).result.error_rms'

# Triangles of each bone as vertex colours.
run 0 decompose -q flag.obj flag.pc2 -o colours.glb --method sma --color-clusters
grep -aq COLOR_0 colours.glb || fail "no colours"
grep -aq COLOR_0 flag.glb && fail "colours that nobody asked for"

# Weights for the bones of a rig: no worse than those of the file they were found with.
run 0 decompose -q flag.obj flag.pc2 -o bones.glb --method sma --key-tolerance 0 --json bones.json
run 0 decompose -q flag.obj flag.pc2 -o weights.glb --method sma --skeleton bones.glb --json weights.json
json weights.json '(() => { const b = JSON.parse(require("fs").readFileSync("bones.json")).result; return r.result.bones === b.bones && r.result.error_rms < 1.05 * b.error_rms; })()'

# The same bytes, whatever the threads.
run 0 decompose -q flag.obj flag.pc2 -o one.glb --method sma --threads 1
run 0 decompose -q flag.obj flag.pc2 -o two.glb --method sma --threads 2
same one.glb two.glb

# What it cannot do.
run 1 decompose flag.obj flag.pc2 -o no.glb --method sma --bones 4
err "--rotation-tolerance"
run 1 decompose flag.obj flag.pc2 -o no.glb --method sma --weights flag.glb
err "only if a rig gives the bones"
[ ! -e no.glb ] || fail "a file after a failure"
