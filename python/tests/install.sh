#!/usr/bin/env bash
# install.sh PYTHON MODULE PELT_SCENES: what README.md and the pages tell users of Python to do works. The package is installed by pip into
# a new environment, without a network and with a module that is built already; then every ```python block of a page runs, in order.
set -euo pipefail
python=$1 module=$2 scenes=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
"$python" -c 'import numpy, ensurepip' 2>/dev/null || { echo "skipped: no numpy or venv (packages python3-numpy, python3-venv)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$python" -m venv --system-site-packages environment
PIP_NO_INDEX=1 PELT_WHEEL_MODULE=$module environment/bin/pip install --quiet --disable-pip-version-check "$root/python"
"$scenes" cloth -o flag.obj --vertices 600 --frames 30 >/dev/null
"$scenes" creature -o creature.glb --vertices 2000 >/dev/null
for page in README.md docs/python.md python/README.md; do
    rm -f flag.glb
    # Blocks that use bpy are for Blender.
    awk '/^```python$/ { inside = 1; block = ""; next } /^```$/ && inside { inside = 0; if (block !~ /bpy/) printf "%s", block }
        inside { block = block $0 "\n" }' "$root/$page" >page.py
    [ -s page.py ] || { echo "$page has no python block" >&2; exit 1; }
    environment/bin/python page.py >output || { echo "$page: its python blocks fail" >&2; exit 1; }
    [ -s flag.glb ] || { echo "$page: no flag.glb was written" >&2; exit 1; }
done
