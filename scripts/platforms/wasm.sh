#!/usr/bin/env bash
# WebAssembly: emscripten, programs and the npm package run by node, and by Chromium where it is installed.
. "$(dirname "$0")/lib.sh"
packages='
emscripten command -v emcc
node-acorn test -d /usr/share/nodejs/acorn
'
preset=wasm
suites+='|wasm_'
skips='
cli_batch other programs are started
cli_blender other programs are started
cli_hostile a link in the way of a file is named by the process, whose number the program does not know; cli_hostile_inputs runs
cli_interrupt there are no signals
test_group its processes are threads, of which there are none
'
# The npm package and its tests in node.
smoke() {
    scripts/build.sh wasm:npm && PELT_DATA=/none ctest --test-dir build/wasm --output-on-failure --no-tests=error -R '^wasm_(package|types)$' </dev/null
    judge $?
}
platform "$@"
