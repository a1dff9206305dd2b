#!/usr/bin/env bash
# dist.sh [PART…]: makes what is published, in build/dist/, and its SHA256SUMS. Without PARTs, all of them:
#   linux-x86_64    pelt-VERSION-linux-x86_64.tar.gz (preset static): program, library, headers, manual pages, completions, licence, notices
#   linux-arm64     pelt-VERSION-linux-arm64.tar.gz: the same (preset arm64, linked statically)
#   windows-x86_64  pelt-VERSION-windows-x86_64.zip: the same (preset windows)
#   npm             pelt-VERSION.tgz: the npm package (preset wasm)
#   deb             pelt, pelt-mpi, libpelt0.2, libpelt-run0.2 and libpelt-dev for Debian 12
#   wheel           pelt-VERSION-….whl: the Python package
#   blender         pelt-blender-VERSION.zip: the Blender add-on, and one with the program for each platform above
# dist.sh --pack BUILD PART FOLDER: the archive of a part, of what is built in the folder BUILD already; in FOLDER.
#
# The same sources give the same bytes in whatever folder: compilers map paths, archives are sorted and have fixed owners, times are that
# of debian/changelog. tests/dist.sh compares two runs.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD out=$PWD/build/dist work=$PWD/build/dist-work
version=$(sed -n 's/^project(pelt VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
SOURCE_DATE_EPOCH=$(date -d "$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)" +%s)
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
export CFLAGS="-ffile-prefix-map=$root=." CXXFLAGS="-ffile-prefix-map=$root=."
umask 022

# compile PART PRESET OPTIONS…
compile() {
    cmake --preset "$2" -B "$work/$1" -DPELT_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/usr/local -DCMAKE_INSTALL_LIBDIR=lib "${@:3}"
    cmake --build "$work/$1"
}

# notices PART: licences of the libraries inside its programs, as Debian states them.
notices() {
    local packages folder=$work/pelt-$version-$1/share/doc/pelt/notices package
    case $1 in
        linux-x86_64) packages='libc6-dev libgcc-12-dev libstdc++-12-dev libpng-dev zlib1g-dev libdraco-dev' ;;
        linux-arm64) packages='libc6-dev-arm64-cross libgcc-12-dev-arm64-cross' ;;
        windows-x86_64) packages='mingw-w64-common gcc-mingw-w64-base' ;;
    esac
    mkdir -p "$folder"
    for package in $packages; do cp -L "/usr/share/doc/$package/copyright" "$folder/$package"; done
}

# pack BUILD PART: installs a build in pelt-VERSION-PART and makes an archive of that.
pack() {
    local name=pelt-$version-$2
    rm -rf "${work:?}/$name"
    cmake --install "$1" --prefix "$work/$name" --strip
    cp README.md CHANGELOG.md "$work/$name/"
    notices "$2"
    # Manual pages and completions come from a program that runs here.
    [ -d "$work/$name/share/man" ] || cp -r "$work/pelt-$version-linux-x86_64/share/"{man,bash-completion,zsh} "$work/$name/share/"
    cd "$work"
    chmod -R u=rwX,go=rX "$name"
    find "$name" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    if [ "$2" = windows-x86_64 ]; then
        rm -f "$out/$name.zip"
        find "$name" -type f | sort | zip -X -q -9 "$out/$name.zip" -@
    else
        tar --sort=name --owner=0 --group=0 --numeric-owner --format=ustar -cf - "$name" | gzip -n -9 >"$out/$name.tar.gz"
    fi
    cd "$root"
}

# sources: names of the tracked files; of all files where there is no repository.
sources() {
    git ls-files -z 2>/dev/null || find . \( -path ./build -o -path ./out -o -name node_modules \) -prune -o -type f -printf '%P\0'
}

make_linux_x86_64() { compile linux-x86_64 static && pack "$work/linux-x86_64" linux-x86_64; }
make_linux_arm64() {
    compile linux-arm64 arm64 -DPELT_SHARED=OFF -DCMAKE_EXE_LINKER_FLAGS=-static && pack "$work/linux-arm64" linux-arm64
}
make_windows_x86_64() { compile windows-x86_64 windows && pack "$work/windows-x86_64" windows-x86_64; }
make_npm() {
    export NODE_PATH=/usr/share/nodejs # of emscripten
    cmake --preset wasm -B "$work/npm" -DPELT_TESTS=OFF
    cmake --build "$work/npm" --target npm
    rm -rf "$work/package"
    cp -r "$work/npm/wasm/package" "$work/package"
    chmod -R u=rwX,go=rX "$work/package"
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=ustar -cf - package | gzip -n -9 >"$out/pelt-$version.tgz"
}
make_deb() {
    rm -rf "$work/deb"
    mkdir -p "$work/deb/pelt-$version"
    sources | xargs -0 cp --parents -t "$work/deb/pelt-$version"
    ln -s "$root/node_modules" "$work/deb/pelt-$version/node_modules"
    # With the compiler flags of Debian. Debug symbols are left out.
    (cd "$work/deb/pelt-$version" && env -u CFLAGS -u CXXFLAGS DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc)" dpkg-buildpackage -b -us -uc -d)
    cp "$work"/deb/*.deb "$out/"
}
make_wheel() { PELT_WHEEL_BUILD=$work/wheel /usr/bin/python3 python/backend.py "$out"; }
make_blender() {
    local tables=$work/pelt-$version-linux-x86_64/bin/pelt tree program file add
    /usr/bin/python3 scripts/blender-zip.py "$out/pelt-blender-$version.zip" --tables "$tables"
    for tree in "$work/pelt-$version-"*-*; do
        program=$(ls "$tree"/bin/pelt*) add=()
        for file in "$tree/share/doc/pelt/"{THIRD_PARTY.md,notices/*}; do add+=(--add "${file#"$tree/share/doc/pelt/"}=$file"); done
        /usr/bin/python3 scripts/blender-zip.py "$out/pelt-blender-${tree##*/pelt-}.zip" --tables "$tables" --add "bin/$(basename "$program")=$program" "${add[@]}"
    done
}

if [ "${1:-}" = --pack ]; then
    out=$(realpath "$4") work=$out
    pack "$2" "$3"
    exit
fi
mkdir -p "$out" "$work"
parts=("$@")
[ $# -gt 0 ] || { rm -rf "$out" && mkdir "$out" && parts=(linux-x86_64 linux-arm64 windows-x86_64 npm deb wheel blender); }
for part in "${parts[@]}"; do
    log=$work/$part.log start=$SECONDS
    # The functions stop at the first command that fails: not in a condition, where bash would go on.
    (set -e; "make_${part//-/_}") </dev/null >"$log" 2>&1 &
    if ! wait $!; then
        tail -n 40 "$log" >&2
        echo "dist: $part failed; see $log" >&2
        exit 1
    fi
    echo "made $part in $((SECONDS - start)) s"
done
cd "$out"
find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\0' | sort -z | xargs -0 sha256sum >SHA256SUMS
cat SHA256SUMS
