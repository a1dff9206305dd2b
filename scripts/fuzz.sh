#!/usr/bin/env bash
# fuzz.sh MINUTES: runs every fuzz target that long. New inputs gather in build/fuzz/corpus/NAME; what crashes, leaks,
# hangs (5 s) or takes 1 GB is left in build/fuzz/findings/NAME-… and fails the run.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$((${1:-1} * 60))
if [ "$seconds" -le 0 ]; then
    echo "fuzz: MINUTES must be 1 or more" >&2 # libFuzzer would take 0 for no end
    exit 1
fi

scripts/build.sh fuzz:fuzz_targets
mkdir -p build/fuzz/findings
failed=()
shopt -s nullglob
for target in build/fuzz/bin/fuzz_*; do
    name=${target##*/fuzz_}
    mkdir -p "build/fuzz/corpus/$name"
    seeds=()
    [ -d "fuzz/corpus/$name" ] && seeds=("fuzz/corpus/$name")
    # Short inputs: executions per second matter more than size. The plain schedule of inputs: the entropic one takes up to
    # a quarter of the time of these targets.
    longest=$(find "${seeds[@]}" "build/fuzz/corpus/$name" -type f -printf '%s\n' | sort -n | tail -1)
    log=build/fuzz/$name.log
    if "$target" -max_total_time="$seconds" -timeout=5 -entropic=0 -max_len=$((${longest:-0} > 1024 ? longest : 1024)) \
        -rss_limit_mb=1024 -malloc_limit_mb=1024 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/findings/$name-" "build/fuzz/corpus/$name" "${seeds[@]}" >"$log" 2>&1; then
        echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") executions, no finding"
    else
        failed+=("$name")
        # Progress lines begin with a number sign; what is left tells what went wrong.
        grep -vE '^#|^INFO|NEW_FUNC' "$log" >&2
        echo "$name: a finding"
    fi
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "fuzz: findings in ${failed[*]}; the inputs are in build/fuzz/findings/" >&2
    exit 1
fi
