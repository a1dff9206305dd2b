#!/usr/bin/env bash
# fuzz.sh MINUTES: runs every fuzz target that long. New inputs gather in build/fuzz/corpus/NAME; what crashes, leaks,
# hangs (5 s) or takes 1 GB is left in build/fuzz/findings/NAME-… and fails the run.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$((${1:-1} * 60))

scripts/build.sh fuzz
mkdir -p build/fuzz/findings
failed=()
shopt -s nullglob
for target in build/fuzz/bin/fuzz_*; do
    name=${target##*/fuzz_}
    mkdir -p "build/fuzz/corpus/$name"
    seeds=()
    [ -d "fuzz/corpus/$name" ] && seeds=("fuzz/corpus/$name")
    echo "== $name"
    "$target" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=1024 -print_final_stats=1 \
        -verbosity=0 -artifact_prefix="build/fuzz/findings/$name-" "build/fuzz/corpus/$name" "${seeds[@]}" ||
        failed+=("$name")
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "fuzz: findings in ${failed[*]}; the inputs are in build/fuzz/findings/" >&2
    exit 1
fi
