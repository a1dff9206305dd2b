#!/usr/bin/env bash
# Linux on s390x, whose bytes are in the other order: readers and writers must convert. Debian's cross compiler, run by qemu.
. "$(dirname "$0")/lib.sh"
packages='
gcc-s390x-linux-gnu command -v s390x-linux-gnu-gcc
libc6-dev-s390x-cross test -f /usr/s390x-linux-gnu/lib/libc.a
qemu-user-static command -v qemu-s390x-static
'
preset=s390x
runner=(qemu-s390x-static -L /usr/s390x-linux-gnu -E LD_LIBRARY_PATH=/usr/s390x-linux-gnu/lib) # as in cmake/qemu.cmake
slow=1
# Only what reads and writes files: the other tests run under the same emulator on ARM64.
targets=(format_tests pelt pelt-scenes)
select=(-L formats)
platform "$@"
