#!/usr/bin/env bash
# test-switches.sh [NAME…]: builds each combination of build switches in build/switches/NAME with warnings as errors, and runs its
# tests. Without names: all of them. One line each; a log is shown where one fails.
set -euo pipefail
cd "$(dirname "$0")/.."

# Tests of the optional parts: what reads, writes or refuses them. `minimal` runs all unit and command-line tests.
parts='^(example_|install$|headers$|test_gltf|test_page|test_painted|test_view|cli_view|cli_page|cli_draco|cli_edit|cli_report)'
combinations() {
    cat <<-TABLE
	run|.|-DPELT_RUN_ONLY=ON
	minimal|^(example_|install|headers|test_|cli_|replay_)|-DPELT_PAGE=OFF -DPELT_PNG=OFF -DPELT_DRACO=OFF -DPELT_MESHOPTIMIZER=OFF
	no-page|$parts|-DPELT_PAGE=OFF
	no-png|$parts|-DPELT_PNG=OFF
	no-draco|$parts|-DPELT_DRACO=OFF
	no-meshoptimizer|$parts|-DPELT_MESHOPTIMIZER=OFF
	TABLE
}

failed=0
while IFS='|' read -r name rest; do
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    # The tests' expression may contain '|': the switches follow the last one.
    tests=${rest%|*} switches=${rest##*|}
    build=build/switches/$name
    mkdir -p "$build"
    # shellcheck disable=SC2086
    if { cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DPELT_WERROR=ON $switches && cmake --build "$build" &&
        ctest --test-dir "$build" -R "$tests" -j"$(nproc)" --output-on-failure --no-tests=error; } </dev/null >"$build/log" 2>&1; then
        echo "$name: $(grep -E 'tests passed' "$build/log" | sed 's/.*out of \([0-9]*\).*/\1 tests passed/')"
    else
        tail -n 60 "$build/log"
        echo "$name: failed with $switches"
        failed=1
    fi
done < <(combinations)
exit $failed
