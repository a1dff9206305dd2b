#!/usr/bin/env bash
# data_broken.sh PELT: every broken file of the shared data through `pelt info` of a build with address and undefined
# sanitizers. Good is: success, or exit 2 with a sentence; within 5 s and 1 GB, without a sanitizer's report or a leak.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=${PELT_DATA_BROKEN:-${PELT_DATA:-$here/../../shared/data}} # scripts/test.sh hides the data from other tests

export limit=5 # seconds
export ASAN_OPTIONS=detect_leaks=1:hard_rss_limit_mb=1024:allocator_may_return_null=1:handle_sigill=1:exitcode=99
export UBSAN_OPTIONS=print_stacktrace=1:exitcode=98

# judge PELT FILE: one line when the file was not treated well.
judge() {
    local pelt=$1 file=$2 errors status=0
    errors=$(mktemp)
    {
        timeout -k 1 "$limit" "$pelt" info "$file" </dev/null >/dev/null 2>"$errors" || status=$?
    } 2>/dev/null # where the shell itself would tell of a crash
    if grep -qE 'Sanitizer|runtime error' "$errors"; then
        echo "$file: $(grep -m 1 -E 'Sanitizer|runtime error' "$errors")"
    elif [ "$status" = 124 ] || [ "$status" = 137 ]; then
        echo "$file: took more than $limit s or 1 GB"
    elif [ "$status" = 2 ]; then
        # A sentence has words; a bare program name or an empty line has none.
        grep -qE '[[:alpha:]]+ [[:alpha:]]+' "$errors" || echo "$file: exit 2 without a sentence"
    elif [ "$status" != 0 ]; then
        echo "$file: exit $status: $(head -c 200 "$errors")"
    fi
    [ "$status" != 0 ] || echo accepted >&3
    rm -f "$errors"
}

# files FOLDER…: all of them, each with a 0 behind: what is in no format of ours must be refused too.
files() {
    find -L "$@" -type f -print0 | sort -z
}

# sweep PELT FOLDER…: complaints on stdout, one "accepted" per success on descriptor 3.
sweep() {
    local pelt=$1
    shift
    export -f judge
    # shellcheck disable=SC2016 # expanded by the inner shell
    files "$@" | xargs -0 -r -P 2 -n 16 bash -c 'pelt=$1; shift; for f; do judge "$pelt" "$f"; done' _ "$pelt"
}

# A checker that accepts everything proves nothing: a pelt that misbehaves in each way must be seen.
check_the_checker() {
    local temp=$1 said
    mkdir -p "$temp/files"
    : >"$temp/files/a.obj"
    # expect good|bad BODY: what the sweep must say of a pelt with this body.
    expect() {
        printf '#!/bin/bash\n%s\n' "$2" >"$temp/pelt"
        chmod +x "$temp/pelt"
        said=$(sweep "$temp/pelt" "$temp/files" 3>/dev/null)
        if [ "$1" = good ] && [ -n "$said" ] || [ "$1" = bad ] && [ -z "$said" ]; then
            echo "broken: the check does not call this pelt $1: $2"
            exit 1
        fi
    }
    expect good 'exit 0'
    expect good 'echo "a.obj: line 3: no such vertex" >&2; exit 2'
    expect bad 'exit 2'
    expect bad 'exit 1'
    expect bad 'kill -SEGV $$'
    limit=1 expect bad 'sleep 2'
    expect bad 'echo "==1==ERROR: LeakSanitizer: detected memory leaks" >&2; exit 0'
    expect bad 'echo "x.c:1:2: runtime error: shift exponent" >&2; exit 2'
}

temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
check_the_checker "$temp"

shopt -s nullglob
folders=("$data"/broken-*)
if [ ${#folders[@]} -eq 0 ]; then
    echo "skipped: no broken-* folders at $data (PELT_DATA says where)"
    exit 77
fi
complaints=$(sweep "$1" "${folders[@]}" 3>"$temp/accepted")
total=$(files "${folders[@]}" | tr -cd '\0' | wc -c)
accepted=$(wc -l <"$temp/accepted")
bad=0
if [ -n "$complaints" ]; then
    echo "$complaints"
    bad=$(wc -l <<<"$complaints")
fi
echo "$total files: $accepted accepted, $((total - accepted - bad)) refused with a sentence, $bad treated badly"
[ "$bad" -eq 0 ]
