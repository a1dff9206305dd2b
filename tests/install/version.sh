#!/usr/bin/env bash
# version.sh: all files that state Pelt's version state the same.
set -euo pipefail
cd "$(dirname "$0")/../.."

# stated FILE EXPRESSION: the first match.
stated() { sed -nE "s/$2/\\1/p" "$1" | head -n 1; }
version=$(stated include/pelt/base.h '^#define PELT_VERSION +"([0-9.]+)"')
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "version: base.h states '$version'" >&2; exit 1; }
same() {
    [ "$2" = "$version" ] || { echo "version: $1 states '$2', base.h $version" >&2; exit 1; }
}
number() { stated include/pelt/base.h "^#define PELT_VERSION_$1 +([0-9]+)"; }
same PELT_VERSION_MAJOR… "$(number MAJOR).$(number MINOR).$(number PATCH)"
same CMakeLists.txt "$(stated CMakeLists.txt '^project\(pelt VERSION ([0-9.]+).*')"
same CITATION.cff "$(stated CITATION.cff '^version: (.*)')"
same package.json "$(stated package.json '^  "version": "(.*)",')"
same wasm/package.json "$(stated wasm/package.json '^  "version": "(.*)",')"
same package-lock.json "$(stated package-lock.json '^  "version": "(.*)",')"
same debian/changelog "$(stated debian/changelog '^pelt \(([0-9.]+)\).*')"
same CHANGELOG.md "$(stated CHANGELOG.md '^## ([0-9.]+).*')"
echo "version $version everywhere"
