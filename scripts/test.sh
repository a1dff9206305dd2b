#!/usr/bin/env bash
# Every test. coverage (dev with gcov) runs all of them but one, and lines of src/ that they miss must be few; dev-clang has
# to build without warnings, and is installed (others cannot link a library with gcov in it); asan runs the tests of the
# library and of the program, the fuzz corpora and the broken files; tsan runs the first two. Each build, and the coverage,
# counts as one test. The last line is `N passed, N failed` with `, N skipped` behind when tests had no data to run on;
# fails when anything failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

passed=0 failed=0 skipped=0
jobs=$(nproc)

# build PRESET: one test.
build() {
    echo "== $1: build"
    if scripts/build.sh "$1"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        return 1
    fi
}

# run PRESET CTEST-ARGUMENTS…: as many tests as there are, counted from CTest's own record.
run() {
    local preset=$1 record counts
    shift
    record=build/$preset/tests.xml
    rm -f "$record"
    echo "== $preset: tests"
    ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$jobs" --output-junit "$PWD/$record" \
        "$@" </dev/null
    local status=$?
    # <testsuite … tests="5" failures="1" disabled="0" skipped="2" …>
    counts=$(tr '\n\t' '  ' <"$record" 2>/dev/null | grep -o '<testsuite [^>]*>' | head -n 1)
    number() { sed -n "s/.* $1=\"\([0-9]*\)\".*/\1/p" <<<"$counts"; }
    local tests failures skips
    tests=$(number tests) failures=$(number failures) skips=$(($(number skipped) + $(number disabled)))
    # CTest failing without a failed test on record (a missing program, no test at all) is a failure too.
    [ "$status" -ne 0 ] && [ "${failures:-0}" -eq 0 ] && failures=1 tests=$((${tests:-0} + 1))
    passed=$((passed + tests - failures - skips))
    failed=$((failed + failures))
    skipped=$((skipped + skips))
}

# covered PERCENT: one test, of what has run.
covered() {
    local all
    echo "== coverage: at least $1 % of the lines of src/"
    all=$(scripts/coverage.sh --as-run | tail -n 1)
    echo "$all"
    if awk -v least="$1" '{ exit !($1 >= least) }' <<<"$all"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

build coverage && find build/coverage -name '*.gcda' -delete && run coverage -E '^install$' && covered 85
build dev-clang && run dev-clang -R '^install$'
# Under sanitizers tests go without the real data, which would only take long. tsan's own start does not survive the limit
# on the size of files that cli_hostile sets; stepping a jiggle and making scenes never leave one thread.
build asan && PELT_DATA=/none run asan -R '^(test_|cli_|replay_)' && run asan -R '^data_broken'
build tsan && PELT_DATA=/none run tsan -R '^(test_|cli_)' -E '^(cli_hostile|test_jiggle|test_jiggle_match|test_scenes)$'

[ "$skipped" -eq 0 ] && more= || more=", $skipped skipped"
echo
echo "$passed passed, $failed failed$more"
[ "$failed" -eq 0 ]
