#!/usr/bin/env bash
# wasm.sh [--smoke]: builds with emscripten and runs the tests in node and in Chromium. The last line is
# "passed N, failed N, skipped N"; fails when anything failed. --smoke: only the npm package and its tests in node.
# Ends with 77 where emscripten is not installed.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
packages="emscripten node-acorn" # of Debian, besides those of the native build; scripts/setup reads this line

if ! command -v emcc >/dev/null; then
    echo "skipped: emscripten is not installed (Debian: apt-get install $packages)"
    exit 77
fi
# Programs that WebAssembly cannot be: signals, memory limits of the system, other programs started.
without='^cli_(interrupt|memory|blender|page|pages|view|report)$'
if [ "${1:-}" = --smoke ]; then
    scripts/build.sh wasm:npm || exit
    tests=(-R '^wasm_(package|types)$')
else
    scripts/build.sh wasm || exit
    tests=(-E "$without")
fi
# Results do not depend on the platform (same_bytes): real data is for the native build, which is faster.
export PELT_DATA=/none
log=build/wasm/tests.log
ctest --test-dir build/wasm --output-on-failure --no-tests=error -j "$(nproc)" "${tests[@]}" </dev/null | tee "$log"
status=${PIPESTATUS[0]}
lines() { grep -Ec "^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*$1" "$log"; }
skipped=$(lines '\*\*\*(Skipped|Not Run)')
passed=$(lines ' Passed ')
failed=$(lines '\*\*\*(Failed|Timeout|Exception)')
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
echo "passed $passed, failed $failed, skipped $skipped"
[ "$failed" -eq 0 ]
