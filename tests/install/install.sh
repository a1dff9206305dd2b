#!/usr/bin/env bash
# install.sh BUILD: installs a build under a fresh prefix, then builds and runs consumers against what lies there:
# with pkg-config and with find_package, shared and static, in C and in C++.
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

fail() {
    echo "install: $*" >&2
    exit 1
}

# Installed in one place and used from another: nothing may remember where it was.
cmake --install "$build" --prefix "$temp/first" >"$temp/log" || fail "cmake --install failed: $(cat "$temp/log")"
mv "$temp/first" "$temp/prefix"
prefix=$temp/prefix

library=$(find "$prefix" -name libpelt.so)
[ -n "$library" ] || fail "no libpelt.so under the prefix"
libdir=$(dirname "$library")
for file in "$libdir/libpelt.a" "$libdir/pkgconfig/pelt.pc" "$libdir/cmake/pelt/peltConfig.cmake" \
    "$prefix/include/pelt/pelt.h"; do
    [ -s "$file" ] || fail "$file is missing"
done
! grep -rl --include='*.pc' --include='*.cmake' -e "$build" -e "$temp/first" "$prefix" ||
    fail "the files above know where they were built or first installed"

# What the headers declare and nothing else, C++ inside or not.
others=$(nm -D --defined-only "$library" | awk '$3 !~ /^pelt_/ { print $3 }')
[ -z "$others" ] || fail "libpelt.so shows more than pelt_ functions: $others"

# Programs find the shared library by an rpath, not through the environment, so that a wrong one cannot slip in.
uses_shared() { readelf -d "$1" | grep -q 'NEEDED.*libpelt\.so'; }
check() {
    local program=$1 kind=$2
    [ "$("$program")" = "pelt $(PKG_CONFIG_PATH="$libdir/pkgconfig" pkg-config --modversion pelt)" ] ||
        fail "$program did not print the package's version"
    if [ "$kind" = shared ]; then
        uses_shared "$program" || fail "$program does not use libpelt.so"
    else
        ! uses_shared "$program" || fail "$program uses libpelt.so"
    fi
}

export PKG_CONFIG_PATH=$libdir/pkgconfig
read -ra flags < <(pkg-config --cflags pelt)
read -ra shared < <(pkg-config --libs pelt)
read -ra static < <(pkg-config --static --libs pelt)
static=("${static[@]/#-lpelt/-l:libpelt.a}")
for language in c c++; do
    compiler=cc
    [ "$language" = c ] || compiler=c++
    compile=("$compiler" -Wall -Wextra -Wpedantic -Werror "${flags[@]}" -x "$language" "$here/consumer.c" -x none)
    "${compile[@]}" "${shared[@]}" "-Wl,-rpath,$libdir" -o "$temp/$language-shared"
    "${compile[@]}" "${static[@]}" -o "$temp/$language-static"
    check "$temp/$language-shared" shared
    check "$temp/$language-static" static
done

{ cmake -G Ninja -S "$here/find_package" -B "$temp/build" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$temp/build"; } \
    >"$temp/log" 2>&1 || fail "find_package consumer failed: $(cat "$temp/log")"
for language in c cxx; do
    check "$temp/build/${language}_shared" shared
    check "$temp/build/${language}_static" static
done

"$prefix/bin/pelt" --version | grep -q 'pelt [0-9]' || fail "the installed pelt does not say its version"
for file in share/man/man1/pelt.1 share/bash-completion/completions/pelt share/zsh/site-functions/_pelt; do
    [ -s "$prefix/$file" ] || fail "$file is missing"
done
echo "8 consumers built and run against the installed package"
