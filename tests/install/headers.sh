#!/usr/bin/env bash
# headers.sh: every public header compiles alone, as C17 and as C++17, without a warning, with gcc and clang.
set -euo pipefail
include=$(cd "$(dirname "$0")/../../include" && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

count=0
# alone COMPILER LANGUAGE STANDARD HEADER
alone() {
    echo "#include <$4>" | "$1" -x "$2" -std="$3" -Wall -Wextra -Wpedantic -Werror -I"$include" -I"$temp" \
        -fsyntax-only - 2>"$temp/log"
}

# The check must be able to fail: a header that needs another one before it, and one that is not C++.
echo 'size_t missing_include(void);' >"$temp/needs.h"
echo 'static inline int *f(void *p) { return p; }' >"$temp/c_only.h"
for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || continue
    ! alone "$compiler" c c17 needs.h || { echo "headers: the check accepts a header that cannot stand alone"; exit 1; }
    ! alone "$compiler" c++ c++17 c_only.h || { echo "headers: the check accepts a header that is not C++"; exit 1; }
    for header in "$include"/pelt/*.h; do
        for language in 'c c17' 'c++ c++17'; do
            read -r name standard <<<"$language"
            alone "$compiler" "$name" "$standard" "pelt/${header##*/}" ||
                { echo "headers: ${header##*/} with $compiler as $standard:"; cat "$temp/log"; exit 1; } >&2
            count=$((count + 1))
        done
    done
done
# Experimental functions warn with PELT_STABLE_ONLY, stable ones do not.
# calls FUNCTION HEADER: a program that uses it
calls() { printf '#include <pelt/%s>\nvoid *call(void);\nvoid *call(void) { return (void *)&%s; }\n' "$2" "$1"; }
stable_only() { cc -x c -std=c17 -Werror -DPELT_STABLE_ONLY -I"$include" -fsyntax-only - 2>"$temp/log"; }
calls pelt_version base.h | stable_only || { echo "headers: PELT_STABLE_ONLY rejects a stable function"; cat "$temp/log"; exit 1; }
! calls pelt_light light.h | stable_only || { echo "headers: PELT_STABLE_ONLY accepts an experimental function"; exit 1; }
echo "$count compilations of single headers without a warning"
