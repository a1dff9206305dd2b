#!/usr/bin/env bash
# Windows x86-64: MinGW-w64, run by wine.
. "$(dirname "$0")/lib.sh"
packages='
gcc-mingw-w64-x86-64 command -v x86_64-w64-mingw32-gcc
wine command -v wine
wine64 test -x /usr/lib/wine/wine64
'
preset=windows
runner=("$PWD/scripts/platforms/wine")
skips='
cli_hostile links, pipes and limits of POSIX systems; cli_hostile_inputs runs
cli_interrupt signals do not reach programs under wine
'
# A program that waits for the end of this script: without one, wine starts its services anew for every program, which takes ten times longer
# than most of them.
begin() { exec 9> >("${runner[@]}" cmd /c 'set /p end=' >/dev/null 2>&1); }
platform "$@"
