#!/usr/bin/env bash
# dist.sh: what `make dist` makes: the same bytes in two folders; archives and packages have what they must have and run; lintian accepts
# the Debian packages. Takes long: run by scripts/platforms/dist.sh.
# dist.sh --smoke BUILD: packs a finished build (preset static) twice: the same bytes, and the archive has what it must have.
# dist.sh --twice PART…: only makes these parts of scripts/dist.sh in two folders and compares them.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
temp=$(mktemp -d "${TMPDIR:-/tmp}/pelt-dist.XXXXXX")
trap 'rm -rf "$temp"' EXIT
fail() { echo "dist: $*" >&2; exit 1; }

# complete TREE PROGRAM LIBRARY RUNNER…: an unpacked archive has all parts, names no folder of the build, and its program works.
complete() {
    local tree=$1 program=$2 library=$3 file found
    shift 3
    for file in "$program" "$library" include/pelt/pelt.h lib/cmake/pelt/peltConfig.cmake lib/pkgconfig/pelt.pc share/man/man1/pelt.1 \
        share/man/man1/pelt-bind.1 share/bash-completion/completions/pelt share/zsh/site-functions/_pelt share/doc/pelt/LICENSE \
        share/doc/pelt/THIRD_PARTY.md share/doc/pelt/notices README.md CHANGELOG.md; do
        [ -s "$tree/$file" ] || fail "${tree##*/} has no $file"
    done
    if found=$(grep -rlF "$root" "$tree"); then fail "these files name the folder of the build: $found"; fi
    (cd "$temp" && printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' >a.obj && "$@" "$tree/$program" convert -q a.obj a.glb && [ -s a.glb ]) ||
        fail "${tree##*/}/$program does not run"
    rm "$temp/a.glb"
}

if [ "${1:-}" = --smoke ]; then
    for turn in 1 2; do
        mkdir "$temp/$turn"
        scripts/dist.sh --pack "$2" linux-x86_64 "$temp/$turn" >"$temp/log" 2>&1 || { cat "$temp/log" >&2; fail "packing failed"; }
    done
    cmp "$temp"/[12]/pelt-*.tar.gz
    tar -C "$temp" -xf "$temp"/1/pelt-*.tar.gz
    root=/none # paths of the build are in it: only the compiler flags of scripts/dist.sh remove them
    complete "$temp"/pelt-*-linux-x86_64 bin/pelt lib/libpelt.a
    echo "dist: the archive is complete, and the same twice"
    exit
fi

# twice PART…: here, and in a copy whose folder has another name.
twice() {
    local copy=$temp/a-folder-with-a-longer-name
    scripts/dist.sh "$@"
    mkdir "$copy"
    git ls-files -z | xargs -0 cp --parents -t "$copy"
    ln -s "$root/node_modules" "$copy/node_modules"
    "$copy/scripts/dist.sh" "$@" >/dev/null
    (cd build/dist && sha256sum $(ls "$copy/build/dist" | grep -v SHA256SUMS)) | diff - <(grep . "$copy/build/dist/SHA256SUMS") ||
        fail "a build in another folder has other bytes"
    rm -rf "$copy"
}
if [ "${1:-}" = --twice ]; then
    shift
    twice "$@"
    echo "dist: the same bytes in two folders: $*"
    exit
fi

twice
cd build/dist
sha256sum --check --quiet --strict SHA256SUMS
out=$PWD

cd "$temp"
for archive in "$out"/*.tar.gz; do tar -xf "$archive"; done
unzip -q "$out"/pelt-[0-9]*-windows-x86_64.zip
complete "$temp"/pelt-*-linux-x86_64 bin/pelt lib/libpelt.a
complete "$temp"/pelt-*-linux-arm64 bin/pelt lib/libpelt.a qemu-aarch64-static
complete "$temp"/pelt-*-windows-x86_64 bin/pelt.exe bin/libpelt.dll "$root/scripts/platforms/wine"
grep -q libpelt.dll "$temp"/pelt-*-windows-x86_64/lib/libpelt.dll.a || fail "libpelt.dll.a is not that of libpelt.dll"

# lintian: an error or a warning fails.
lintian --allow-root --fail-on error,warning "$out"/*.deb
mkdir installed
for package in "$out"/*.deb; do dpkg-deb -x "$package" installed; done
LD_LIBRARY_PATH=$(echo "$temp"/installed/usr/lib/*-linux-gnu) installed/usr/bin/pelt version

tar -xf "$out"/pelt-[0-9]*.tgz
for file in pelt.js engine.js worker.js pelt.wasm options.json types/index.d.ts LICENSE THIRD_PARTY.md README.md; do
    [ -s "package/$file" ] || fail "the npm package has no $file"
done
node --input-type=module -e 'import { readFileSync } from "node:fs"; import { Engine } from "./package/engine.js";
    const engine = await Engine.start(new WebAssembly.Module(readFileSync("package/pelt.wasm"))); console.log(`npm ${engine.version}`);'
/usr/bin/python3 -m zipfile -e "$out"/pelt-*.whl wheel
PYTHONPATH=wheel /usr/bin/python3 -c 'import pelt; print("wheel", pelt.__version__)'
for platform in linux-x86_64:pelt linux-arm64:pelt windows-x86_64:pelt.exe; do
    unzip -l "$out"/pelt-blender-*-"${platform%:*}.zip" | grep -q " pelt/bin/${platform#*:}$" || fail "the add-on for ${platform%:*} has no program"
done
echo "dist: $(wc -l <"$out/SHA256SUMS") files, the same bytes in two folders"
