#!/usr/bin/env bash
# install.sh BUILD: installs a build under a fresh prefix, then builds and runs consumers against what lies there, for each package
# (pelt where it is built, pelt-run): with pkg-config and with find_package, shared and static, in C and in C++.
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

libdir=$(dirname "$(find "$prefix" -name libpelt-run.so)")
! grep -rl --include='*.pc' --include='*.cmake' -e "$build" -e "$temp/first" "$prefix" ||
    fail "the files above know where they were built or first installed"

# needs_only LIBRARY: what the run time may need.
needs_only() { ldd "$1" | awk '{ print $1 }' | grep -vE '^(linux-vdso|libc|libm|libpthread|ld-linux.*|/lib.*/ld-linux.*)\.so' ; }

# Programs find the shared library by an rpath, not through the environment, so that a wrong one cannot slip in.
uses_shared() { readelf -d "$1" | grep -q "NEEDED.*lib$2\.so"; }
# check PROGRAM PACKAGE KIND
check() {
    [ "$("$1")" = "pelt $(pkg-config --modversion "$2")" ] || fail "$1 did not print the package's version"
    if [ "$3" = shared ]; then
        uses_shared "$1" "$2" || fail "$1 does not use lib$2.so"
    else
        ! uses_shared "$1" "$2" || fail "$1 uses lib$2.so"
    fi
    consumers=$((consumers + 1))
}

export PKG_CONFIG_PATH=$libdir/pkgconfig
consumers=0
# try_package NAME CONSUMER
try_package() {
    local name=$1 language kind compiler compile flags shared static file others
    for file in "$libdir/lib$name.so" "$libdir/lib$name.a" "$libdir/pkgconfig/$name.pc" "$libdir/cmake/$name/${name}Config.cmake"; do
        [ -s "$file" ] || fail "$file is missing"
    done
    # What the headers declare and nothing else, C++ inside or not.
    others=$(nm -D --defined-only "$libdir/lib$name.so" | awk '$3 !~ /^pelt_/ { print $3 }')
    [ -z "$others" ] || fail "lib$name.so shows more than pelt_ functions: $others"

    read -ra flags < <(pkg-config --cflags "$name")
    read -ra shared < <(pkg-config --libs "$name")
    read -ra static < <(pkg-config --static --libs "$name")
    static=("${static[@]/#-l$name/-l:lib$name.a}")
    for language in c c++; do
        compiler=cc
        [ "$language" = c ] || compiler=c++
        compile=("$compiler" -Wall -Wextra -Wpedantic -Werror "${flags[@]}" -x "$language" "$here/$2" -x none)
        "${compile[@]}" "${shared[@]}" "-Wl,-rpath,$libdir" -o "$temp/$name-$language-shared"
        "${compile[@]}" "${static[@]}" -o "$temp/$name-$language-static"
        for kind in shared static; do
            check "$temp/$name-$language-$kind" "$name" "$kind"
        done
    done

    { cmake -G Ninja -S "$here/find_package" -B "$temp/$name" -DPACKAGE="$name" -DCMAKE_PREFIX_PATH="$prefix" &&
        cmake --build "$temp/$name"; } >"$temp/log" 2>&1 || fail "find_package($name) consumer failed: $(cat "$temp/log")"
    for language in c cxx; do
        for kind in shared static; do
            check "$temp/$name/${language}_$kind" "$name" "$kind"
        done
    done
}

try_package pelt-run consumer_run.c
others=$(needs_only "$libdir/libpelt-run.so") && fail "libpelt-run.so needs more than libc, libm and threads: $others"
others=$(needs_only "$temp/pelt-run-c-static") && fail "a static pelt-run program needs more than libc, libm and threads: $others"

if [ -e "$libdir/libpelt.so" ]; then
    try_package pelt consumer.c
    # The check above must be able to fail.
    needs_only "$libdir/libpelt.so" >/dev/null || fail "libpelt.so needs libc, libm and threads only, or the check sees nothing"
    "$prefix/bin/pelt" --version | grep -q 'pelt [0-9]' || fail "the installed pelt does not say its version"
    for file in share/man/man1/pelt.1 share/bash-completion/completions/pelt share/zsh/site-functions/_pelt; do
        [ -s "$prefix/$file" ] || fail "$file is missing"
    done
fi
# The examples, as a project of their own.
{ cmake -G Ninja -S "$here/../../examples" -B "$temp/examples" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$temp/examples" &&
    ctest --test-dir "$temp/examples" --output-on-failure --no-tests=error; } >"$temp/log" 2>&1 ||
    fail "examples against the installed packages failed: $(cat "$temp/log")"
echo "$consumers consumers built and run against the installed packages"
