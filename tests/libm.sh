#!/usr/bin/env bash
# libm.sh COMPILER LIBRARY.a…: no object file calls a function whose result differs between C libraries: those of libm that IEEE 754 does not
# define (src/core/libm.h has own ones), qsort and rand. Reads the undefined symbols of the objects.
set -euo pipefail
cc=$1
shift
libm=$("$cc" -print-file-name=libm.so.6)
[ -e "$libm" ] || { echo "libm.sh: no shared libm on this machine"; exit 77; }
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

exact='(sqrt|fabs|floor|ceil|trunc|round|rint|nearbyint|lround|llround|lrint|llrint|fmod|modf|frexp|ldexp|scalbn|scalbln|ilogb|logb|copysign)f?'
{
    nm -D --defined-only "$libm" | awk '{ sub(/@.*/, "", $3); print $3 }' | grep -vxE "$exact"
    printf '%s\n' qsort qsort_r bsearch rand rand_r random drand48 srand
} | sort -u >"$temp/forbidden"
# check LIBRARY…: prints "object: symbol" of forbidden calls; fails when there are some.
check() {
    nm -A --undefined-only "$@" | awk 'NR == FNR { forbidden[$1]; next } $NF in forbidden { print $1, $NF; found = 1 } END { exit found }' \
        "$temp/forbidden" -
}
check "$@" || { echo "libm.sh: use px_ functions of src/core/libm.h and px_sort" >&2; exit 1; }

# A forbidden call must be found.
echo 'double sin(double); double called(double x) { return sin(x); }' >"$temp/wrong.c"
"$cc" -c "$temp/wrong.c" -o "$temp/wrong.o"
if check "$temp/wrong.o" >"$temp/found"; then echo "libm.sh: the check finds nothing" >&2; exit 1; fi
grep -q 'sin$' "$temp/found"
