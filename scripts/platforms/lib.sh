# Shared by the platforms. A platform sets
#   packages  lines of "PACKAGE CHECK…": the Debian package that brings what the command CHECK looks for
#   preset    of CMakePresets.json
#   runner    command that starts a program of the platform; empty: none is needed
#   skips     lines of "TEST reason": tests that cannot run there
#   suites    beginnings of the names of tests that run there
#   targets   what is built; empty: everything
#   select    arguments of ctest that select tests; empty: all of `suites`
#   slow      not empty: an emulator runs the programs ten to thirty times slower. Long unit tests (test_long in tests/support.h) and those
#             of real data are left out, unless PELT_DATA names the data
# may define
#   begin     called before anything is run
# and calls platform "$@". The name of a file is the name of the platform.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
packages='' preset='' runner=() skips='' targets=() slow='' select=() suites='test_|cli_|replay_|example_|same_bytes'

begin() { :; }

count() { echo "$1 $2 $3" >"${PELT_COUNTS:-/dev/null}"; }

# judge STATUS: counts one test, and returns STATUS.
judge() { count $(($1 == 0)) $(($1 != 0)) 0; return "$1"; }

# smoke_build TARGET…: compiled quickly, in build/smoke/PRESET: with -O0 what this machine runs itself. Emulators would take longer for that than
# its compilation saves, and MinGW-w64 (gcc 12) has internal errors.
smoke_build() {
    local build=build/smoke/$preset log=build/smoke/$preset.log level=-O1
    [ ${#runner[@]} -gt 0 ] || level=-O0
    mkdir -p "$build"
    if ! { cmake --preset "$preset" -B "$build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=$level -DCMAKE_CXX_FLAGS_DEBUG=$level \
        -DPELT_TESTS=OFF -DPELT_PAGE=OFF -DPELT_SHARED=OFF && cmake --build "$build" --target "$@"; } </dev/null >"$log" 2>&1; then
        tail -n 40 "$log"
        return 1
    fi
}

# smoke: a few results of the program have the bytes of the table.
smoke() {
    local build=build/smoke/$preset suffix
    smoke_build pelt pelt-scenes || { judge 1; return; }
    for suffix in '' .exe; do
        [ ! -f "$build/bin/pelt$suffix" ] || break
    done
    tests/same_bytes.sh --quick "$build/bin/pelt$suffix" "$build/bin/pelt-scenes$suffix" "${runner[@]}" &&
        echo "$preset: a few results have the bytes of tests/same_bytes.sha256"
    judge $?
}

# whole: every test of the library and of the program.
whole() {
    local record=build/$preset/tests.xml except='^$' data=$PWD/../shared/data name reason passed failed skipped
    [ ${#targets[@]} -gt 0 ] || targets=(all)
    [ ${#select[@]} -gt 0 ] || select=(-R "^($suites)")
    scripts/build.sh "${targets[@]/#/$preset:}" || { judge 1; return; }
    while read -r name reason; do
        [ -z "$name" ] || { except+="|^$name\$"; echo "not run: $name: $reason"; }
    done <<<"$skips"
    rm -f "$record"
    [ -z "$slow" ] || { export PELT_SHORT=1; data=/none; }
    PELT_DATA=${PELT_DATA:-$data} ctest --test-dir "build/$preset" -j "$(nproc)" --output-on-failure --no-tests=error \
        "${select[@]}" -E "$except" --output-junit "$PWD/$record" </dev/null
    read -r passed failed skipped < <(node scripts/test-summary.mjs "$record" || echo 0 1 0)
    count "$passed" "$failed" $((skipped + $(grep -c . <<<"$skips")))
    [ "$failed" -eq 0 ]
}

platform() {
    [ "${1:-}" != --packages ] || { grep . <<<"$packages"; exit; }
    while read -r package check; do
        [ -z "$package" ] || sh -c "$check" >/dev/null 2>&1 || { echo "skipped: package $package is not installed"; exit 77; }
    done <<<"$packages"
    begin
    if [ "${1:-}" = --smoke ]; then smoke; else whole; fi
}
