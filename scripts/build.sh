#!/usr/bin/env bash
# build.sh PRESET[:TARGET]…: configures and builds each preset, or one target of it. Prints nothing unless one fails.
set -euo pipefail
cd "$(dirname "$0")/.."

for what in "$@"; do
    preset=${what%%:*} target=${what#"$preset"} target=${target#:}
    mkdir -p "build/$preset"
    log=build/$preset/build.log
    if ! { cmake --preset "$preset" && cmake --build --preset "$preset" --target "${target:-all}"; } </dev/null >"$log" 2>&1; then
        cat "$log" >&2
        echo "build: preset $preset failed" >&2
        exit 1
    fi
done
