#!/usr/bin/env bash
# dist.sh: `make dist` in two folders gives the same bytes; the archive and the Debian packages have what they must have and work; lintian
# accepts them. Takes minutes: run by scripts/platforms/dist.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
export SOURCE_DATE_EPOCH=1793534400

for folder in "$temp/a" "$temp/a-folder-with-a-longer-name"; do
    mkdir "$folder"
    git ls-files -z | xargs -0 cp --parents -t "$folder"
    ln -s "$root/node_modules" "$folder/node_modules"
    "$folder/scripts/dist.sh" "$folder/out" linux-x86_64 deb >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
done
diff "$temp/a/out/SHA256SUMS" "$temp/a-folder-with-a-longer-name/out/SHA256SUMS"
cd "$temp/a/out"
sha256sum --check --quiet --strict SHA256SUMS

# The archive: unpacked anywhere, the program finds its library.
mkdir "$temp/unpacked"
tar -C "$temp/unpacked" -xf pelt-*-linux-x86_64.tar.gz
cd "$temp"/unpacked/pelt-*
bin/pelt version
for file in lib/libpelt.so lib/libpelt.a lib/libpelt-run.a include/pelt/pelt.h share/man/man1/pelt.1 share/bash-completion/completions/pelt \
    share/zsh/site-functions/_pelt share/doc/pelt/LICENSE share/doc/pelt/THIRD_PARTY.md README.md CHANGELOG.md; do
    [ -s "$file" ] || { echo "dist: the archive has no $file" >&2; exit 1; }
done
if grep -rlF "$temp" .; then echo "dist: these files name the folder of the build" >&2; exit 1; fi

# The packages: what lintian says is an error or a warning fails.
cd "$temp/a/out"
lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs ./*.deb
mkdir "$temp/installed"
for package in *.deb; do dpkg-deb -x "$package" "$temp/installed"; done
LD_LIBRARY_PATH=$(echo "$temp"/installed/usr/lib/*-linux-gnu) "$temp/installed/usr/bin/pelt" version
echo "dist: the same bytes twice: $(wc -l <SHA256SUMS) files"
