#!/usr/bin/env bash
# examples.sh BUILD: programs in README.md and docs/ compile without a warning and run as they stand.
set -euo pipefail
build=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

"$build/bin/pelt-scenes" creature -o "$temp/creature.glb" --vertices 1000 >/dev/null
"$build/bin/pelt-scenes" creature -o "$temp/creature_far.glb" --vertices 150 >/dev/null

# programs FILE: its C blocks that have a main, as FILE_1.c, FILE_2.c …
programs() {
    awk -v base="$temp/$(basename "$1" .md)" '
        /^```c$/ { inside = 1; text = ""; next }
        /^```$/ && inside { inside = 0; if (text ~ /int main\(/) printf "%s", text >(base "_" ++count ".c"); next }
        inside { text = text $0 "\n" }' "$1"
}

for file in "$root/README.md" "$root"/docs/*.md; do
    programs "$file"
done
count=0
for source in "$temp"/*.c; do
    name=$(basename "$source" .c)
    cc -std=c17 -Wall -Wextra -Wpedantic -Werror -D_GNU_SOURCE -I"$root/include" "$source" -L"$build/lib" -lpelt \
        "-Wl,-rpath,$build/lib" -o "$temp/$name" || { echo "examples: $name does not compile" >&2; exit 1; }
    (cd "$temp" && "./$name") >"$temp/log" || { echo "examples: $name failed: $(cat "$temp/log")" >&2; exit 1; }
    [ -s "$temp/log" ] || { echo "examples: $name says nothing" >&2; exit 1; }
    count=$((count + 1))
done
[ "$count" -ge 2 ] || { echo "examples: $count programs found, there are more" >&2; exit 1; }
echo "$count programs of the documentation compiled and run"
