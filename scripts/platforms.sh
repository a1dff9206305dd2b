#!/usr/bin/env bash
# platforms.sh [--smoke] [NAME…]: builds Pelt for other platforms and runs their tests, by scripts/platforms/NAME.sh; without names, all.
# A platform whose tools are not installed is skipped (scripts/setup platforms installs them).
#   --smoke  only the program, compiled quickly, and the bytes of a few small results (tests/same_bytes.sh --quick)
# The end is a table with passed, failed and skipped tests; fails when anything failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

smoke=()
[ "${1:-}" != --smoke ] || { smoke=(--smoke); shift; }
names=("$@")
if [ $# -eq 0 ]; then
    for file in scripts/platforms/*.sh; do
        [ "$file" = scripts/platforms/lib.sh ] || names+=("$(basename "$file" .sh)")
    done
fi

failed=0 table=()
mkdir -p build/platforms
for name in "${names[@]}"; do
    start=$SECONDS
    counts=build/platforms/$name.counts # "PASSED FAILED SKIPPED", written by the platform
    rm -f "$counts"
    echo "== $name"
    PELT_COUNTS=$PWD/$counts "scripts/platforms/$name.sh" "${smoke[@]}"
    status=$?
    if [ $status -eq 77 ]; then
        table+=("$(printf '%-12s not run: its tools are not installed' "$name")")
        continue
    fi
    read -r good bad none < <(cat "$counts" 2>/dev/null || echo 0 1 0)
    [ $status -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    failed=$((failed + bad))
    table+=("$(printf '%-12s %4d passed %4d failed %4d skipped %6d s' "$name" "$good" "$bad" "$none" $((SECONDS - start)))")
done
echo
printf '%s\n' "${table[@]}"
[ "$failed" -eq 0 ]
