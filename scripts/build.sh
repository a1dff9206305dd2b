#!/usr/bin/env bash
# build.sh PRESET…: configures and builds each preset. Prints nothing unless one fails.
set -euo pipefail
cd "$(dirname "$0")/.."

for preset in "$@"; do
    mkdir -p "build/$preset"
    log=build/$preset/build.log
    if ! { cmake --preset "$preset" && cmake --build --preset "$preset"; } </dev/null >"$log" 2>&1; then
        cat "$log" >&2
        echo "build: preset $preset failed" >&2
        exit 1
    fi
done
