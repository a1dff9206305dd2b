# pelt correct and decompose --corrections on real animations: no error rises with the rank, and bones and targets that are
# fitted to each other reach what was promised.
. "$(dirname "$0")/lib.sh"

need_data bench

for name in horse-gallop elastic-cow samba; do
    for transforms in affine rigid; do
        run 0 decompose -q "$data/$name.obj" "$data/$name.pc2" -o rig.glb --bones 12 --iterations 2 --transforms $transforms
        run 0 correct -q rig.glb "$data/$name.obj" "$data/$name.pc2" -o out.glb --rank 5 --json report.json
        json report.json 'r.rank === 5 && r.errors.every((e, n) => n === 0 || e < r.errors[n - 1])'
        json report.json 'Math.abs(r.error_rms - r.errors[5]) < 1e-3 * r.errors[5]'
    done
done

horse="$data/horse-gallop.obj $data/horse-gallop.pc2"
run 0 decompose -q $horse -o horse.glb --bones 30 --corrections 10 --json report.json
json report.json 'r.result.bones === 30 && r.corrections.rank === 10 && r.result.error_kg <= 0.25'
json report.json 'r.corrections.rounds.every((e, n) => n === 0 || e < r.corrections.rounds[n - 1])'
