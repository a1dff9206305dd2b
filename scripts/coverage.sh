#!/usr/bin/env bash
# coverage.sh [--as-run]: line coverage of src/, per file and in all, with gcov alone: by the unit tests and the corpus
# replays, or by what has run since the build.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" != --as-run ]; then
    scripts/build.sh coverage
    find build/coverage -name '*.gcda' -delete
    ctest --test-dir build/coverage -j "$(nproc)" -R '^(test_|replay_)' --output-on-failure >build/coverage/tests.log 2>&1 ||
        { cat build/coverage/tests.log >&2; exit 1; }
fi

# gcov -n prints pairs of lines: File 'src/core/json.c' / Lines executed:97.31% of 297. What no test links counts
# as not executed; gcov tells so on stderr.
find build/coverage/src -name '*.gcno' -print0 | xargs -0 gcov -n -r -s "$PWD" 2>/dev/null |
    awk -F"'" '
        /^File / { file = $2 }
        /^Lines executed:/ && file ~ /^src\/.*\.cc?$/ {
            split($0, part, /[:% ]+/)
            lines[file] = part[5]
            hit[file] = part[3] * part[5] / 100
            file = ""
        }
        END {
            for (file in lines) {
                printf "%6.1f %%  %5d lines  %s\n", 100 * hit[file] / lines[file], lines[file], file | "sort -k4"
                all_lines += lines[file]; all_hit += hit[file]
            }
            close("sort -k4")
            if (all_lines) printf "%6.1f %%  %5d lines  in all\n", 100 * all_hit / all_lines, all_lines
        }'
