#!/usr/bin/env bash
# Runs every benchmark of the release build; each prints its own table.
set -euo pipefail
cd "$(dirname "$0")/.."

shopt -s nullglob
for bench in build/release/bin/bench_*; do
    echo "== ${bench##*/}"
    "$bench"
done
echo "== bench_page"
node bench/bench_page.mjs build/release/bin
