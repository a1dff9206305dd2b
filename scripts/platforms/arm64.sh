#!/usr/bin/env bash
# Linux on ARM64: Debian's cross compiler, run by qemu.
. "$(dirname "$0")/lib.sh"
packages='
gcc-aarch64-linux-gnu command -v aarch64-linux-gnu-gcc
libc6-dev-arm64-cross test -f /usr/aarch64-linux-gnu/lib/libc.a
qemu-user-static command -v qemu-aarch64-static
'
preset=arm64
runner=(qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=/usr/aarch64-linux-gnu/lib) # as in cmake/qemu.cmake
slow=1
skips='
cli_batch qemu-user cannot start a second program of its machine
'
platform "$@"
