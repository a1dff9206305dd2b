# pelt decompose --method sma on the paper's own animations: about as many bones as it found (Table 1: horse 30, cow 18), and
# errors no larger than its own for flexible bones with NNLS, without corrections and with ten.
. "$(dirname "$0")/lib.sh"
need_data bench

# reaches NAME LEAST-BONES MOST-BONES E_KG E_KG-CORRECTED. Of one animation, E_rms and E_kg are the same but for a factor.
reaches() {
    run 0 decompose -q "$data/$1.obj" "$data/$1.pc2" -o rig.glb --method sma --corrections 10 --json report.json
    json report.json "r.result.bones >= $2 && r.result.bones <= $3 && r.result.error_kg <= $5"
    json report.json "r.corrections.errors[0] / r.result.error_rms * r.result.error_kg <= $4"
}
reaches horse-gallop 21 39 4.53 0.53
reaches elastic-cow 13 23 3.18 2.02
