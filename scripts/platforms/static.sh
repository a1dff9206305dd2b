#!/usr/bin/env bash
# Linux x86-64: one program without shared libraries.
. "$(dirname "$0")/lib.sh"
packages='
libc6-dev ls "$(gcc -print-file-name=libc.a)"
zlib1g-dev ls "$(gcc -print-file-name=libz.a)"
'
preset=static
platform "$@"
