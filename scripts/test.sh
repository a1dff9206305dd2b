#!/usr/bin/env bash
# test.sh [--all]: every test.
#
#   studio     the page with the library as WebAssembly, where emscripten is installed, for the browser tests
#   dev-gcc    gcc, optimised; must build without warnings: every test, that is those of the library and the program, fuzz corpora, the
#              documentation, the page in a browser, other readers of our files, the installed package, the quick parts of gauntlet and
#              interop
#   asan       clang, which must build without warnings, with its address and undefined-behaviour sanitizers: the tests of the library
#              without long ones, tests of the program that read broken or unusual input (INPUT_TESTS in tests/cli.cmake), fuzz corpora,
#              broken files
#   tsan       clang, thread sanitizer: tests that together enter every parallel loop (THREAD_TESTS in tests/unit.cmake), without long ones
#   platforms  the program for each platform whose tools are installed, and the bytes of a few small results (scripts/platforms.sh --smoke)
#
# Parts overlap: the studio is built beside dev-gcc; while tests wait for other programs, or the last of them run alone, the next builds are
# made at low priority; the platforms run beside the sanitizers' tests. The times of the summary are how long each part was waited for.
#
# Each build counts as one test. Real data is used by dev-gcc only; under sanitizers it would only take long. Long tests
# (test_long in tests/support.h) are left out under sanitizers for the same reason.
#
# --all adds what is slow or needs other programs: the tests of the library with gcov (at least 85 % of the lines of src/ must have run),
# every case of tests that otherwise take a few (PELT_ALL), every test of the library and of the program under asan and tsan,
# interruptions at 20 times as many places, the whole gauntlet, all of interop, results on a CPU without AVX (by qemu, where it is
# installed), other build switches, and MINUTES=5 of every fuzz target; each is one test.
#
# The end is a summary with a line for each part. Its last line is `N passed, N failed`, with `, N skipped` behind when tests
# had no data to run on; fails when anything failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

passed=0 failed=0 skipped=0 summary=()
[ "${1:-}" != --all ] || export PELT_ALL=1 # for tests that otherwise take a sample of their cases
export ASAN_OPTIONS=handle_sigill=2${ASAN_OPTIONS:+:$ASAN_OPTIONS} # with the place of undefined behaviour, which is a trap (CMakePresets.json)
jobs=$(nproc)

# count NAME SECONDS PASSED FAILED SKIPPED: adds to the sums, and a line to the summary.
count() {
    passed=$((passed + $3)) failed=$((failed + $4)) skipped=$((skipped + $5))
    summary+=("$(printf '%-24s %4d passed %4d failed %4d skipped %6d s' "$1" "$3" "$4" "$5" "$2")")
}

# one NAME COMMAND…: a command that is one test.
one() {
    local name=$1 start=$SECONDS status
    shift
    echo "== $name"
    "$@"
    status=$?
    count "$name" $((SECONDS - start)) $((status == 0)) $((status != 0 && status != 77)) $((status == 77))
    return $status
}

# ahead COMMAND…: begins it; `finished` waits for it, prints what it wrote and has its status.
ahead() {
    "$@" >build/ahead.log 2>&1 &
    begun=$!
}
finished() {
    local status=0
    wait "$begun" || status=$?
    cat build/ahead.log
    return $status
}
trap 'kill 0' INT # commands in the background do not get it from the terminal

build() { one "${1%%:*}: build" scripts/build.sh "$1"; }

# run PRESET CTEST-ARGUMENTS…: as many tests as there are, counted from CTest's own record.
run() {
    local preset=$1 start=$SECONDS record=build/$1/tests.xml status good bad none
    shift
    rm -f "$record"
    echo "== $preset: tests"
    ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$jobs" --output-junit "$PWD/$record" \
        "$@" </dev/null
    status=$?
    read -r good bad none < <(node scripts/test-summary.mjs "$record" || echo 0 1 0)
    [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1 # no test at all
    count "$preset: tests" $((SECONDS - start)) "$good" "$bad" "$none"
}

# covered PERCENT: of what has run.
covered() {
    local all
    all=$(scripts/coverage.sh --as-run | tail -n 1)
    echo "$all"
    awk -v least="$1" '{ exit !($1 >= least) }' <<<"$all"
}

# without_avx: the table of tests/same_bytes.sh on an older CPU.
without_avx() {
    command -v qemu-x86_64-static >/dev/null || { echo "skipped: no qemu-x86_64-static (package qemu-user-static)"; return 77; }
    tests/same_bytes.sh "${programs[@]}" qemu-x86_64-static -cpu Nehalem
}

mkdir -p build
ahead nice -n 19 scripts/studio.sh
build dev-gcc
built=$?
one "studio: build" finished
[ $built -ne 0 ] || {
    ahead nice -n 19 scripts/build.sh asan tsan:thread_tests
    run dev-gcc
}
wait
ahead scripts/platforms.sh --smoke
build asan && PELT_SHORT=1 PELT_DATA_BROKEN=${PELT_DATA:-$PWD/../shared/data} PELT_DATA=/none run asan -L sanitized
build tsan:thread_tests && PELT_SHORT=1 PELT_DATA=/none run tsan -L threads
one "platforms: smoke tests" finished

if [ "${1:-}" = --all ]; then
    programs=(build/release/bin/pelt build/release/bin/pelt-scenes)
    build coverage && find build/coverage -name '*.gcda' -delete && run coverage -R '^(test_|replay_)' &&
        one "coverage: 85 % of lines" covered 85
    PELT_DATA=/none run asan -R '^test_' -L sanitized # with the long ones
    PELT_DATA=/none run asan -R '^cli_' -LE sanitized
    # The start of tsan's runtime does not survive the limit on the size of files that cli_hostile sets.
    build tsan && PELT_DATA=/none run tsan -R '^(test_|cli_)' -E '^cli_hostile$'
    build release &&
        one "interrupt: dense" node tests/interrupt/interrupt.mjs "${programs[@]}" build/release/lib/libfault.so --dense &&
        one "gauntlet: whole" node tests/gauntlet/gauntlet.mjs "${programs[@]}" build/release/bin/tool_pose &&
        one "interop: whole" node tests/interop/interop.mjs "${programs[@]}" build/release/bin/tool_pose --rigs &&
        one "same bytes without AVX" without_avx
    [ ! -x scripts/test-switches.sh ] || one "build switches" scripts/test-switches.sh
    one "fuzz: ${MINUTES:-5} min each" scripts/fuzz.sh "${MINUTES:-5}"
fi

[ "$skipped" -eq 0 ] && more= || more=", $skipped skipped"
echo
printf '%s\n' "${summary[@]}"
echo "$((SECONDS / 60)) min $((SECONDS % 60)) s"
echo "$passed passed, $failed failed$more"
[ "$failed" -eq 0 ]
