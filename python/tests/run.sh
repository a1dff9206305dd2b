#!/usr/bin/env bash
# run.sh PYTHON FOLDER: the tests of the package, and whether its types are those of the option tables. Skips without numpy or pytest.
set -euo pipefail
python=$1 folder=$2
export LD_PRELOAD=${PELT_PRELOAD:-}
"$python" -c 'import numpy, pytest' 2>/dev/null || { echo "skipped: no numpy or pytest (packages python3-numpy, python3-pytest)"; exit 77; }
stubs=$(mktemp)
trap 'rm -f "$stubs"' EXIT
"$python" "$folder/tools/stubs.py" "$stubs"
diff -u "$folder/pelt/__init__.pyi" "$stubs" || { echo "run python/tools/stubs.py to write the types again" >&2; exit 1; }
"$python" -m pytest -q -p no:cacheprovider "$folder/tests"
