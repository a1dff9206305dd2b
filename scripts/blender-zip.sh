#!/usr/bin/env bash
# blender-zip.sh: packs the Blender add-on: build/pelt-blender-VERSION.zip, and one with the program for this system. That
# program has all parts that the add-on uses and needs the C library only.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^project(pelt VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
system=$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m)
folder=build/blender
mkdir -p $folder
if ! {
    cmake --preset program -B $folder -DPELT_PAGE=OFF -DPELT_PNG=OFF -DPELT_DRACO=OFF -DPELT_MESHOPTIMIZER=OFF &&
        cmake --build $folder && cmake --install $folder --strip --prefix $folder/installed
} </dev/null >$folder/build.log 2>&1; then
    cat $folder/build.log >&2
    echo "blender-zip: the program could not be built" >&2
    exit 1
fi
library=$(find $folder/installed -name 'libpelt.so.*' -type l | head -1) # its name is that in the program
pelt=$folder/installed/bin/pelt
python3 scripts/blender-zip.py "build/pelt-blender-$version.zip" --tables $pelt
python3 scripts/blender-zip.py "build/pelt-blender-$version-$system.zip" --tables $pelt \
    --add bin/pelt=$pelt --add "lib/$(basename "$library")=$library"
ls "build/pelt-blender-$version"*.zip
