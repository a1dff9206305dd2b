#!/usr/bin/env bash
# Runs every benchmark of the release build; each prints its own table.
set -euo pipefail
cd "$(dirname "$0")/.."

shopt -s nullglob
for bench in build/release/bin/bench_*; do
    echo "== ${bench##*/}"
    "$bench"
done
for bench in bench/bench_*.mjs; do
    echo "== $(basename "$bench" .mjs)"
    node "$bench" build/release/bin || [ $? -eq 77 ] # skipped without data
done
