#!/usr/bin/env bash
# What `make dist` makes: archives of all platforms, Debian packages, npm package, wheel, Blender add-on (scripts/dist.sh).
. "$(dirname "$0")/lib.sh"
packages='
gcc-aarch64-linux-gnu command -v aarch64-linux-gnu-gcc
libc6-dev-arm64-cross test -f /usr/aarch64-linux-gnu/lib/libc.a
qemu-user-static command -v qemu-aarch64-static
gcc-mingw-w64-x86-64 command -v x86_64-w64-mingw32-gcc
wine command -v wine
wine64 test -x /usr/lib/wine/wine64
emscripten command -v emcc
node-acorn test -d /usr/share/nodejs/acorn
dpkg-dev command -v dpkg-buildpackage
libopenmpi-dev command -v mpicc
debhelper command -v dh
fakeroot command -v fakeroot
lintian command -v lintian
python3-dev pkg-config --exists python-3.11
zip command -v zip
unzip command -v unzip
'
preset=static
smoke() { smoke_build all && tests/dist.sh --smoke "build/smoke/$preset"; judge $?; }
whole() { tests/dist.sh; judge $?; }
platform "$@"
