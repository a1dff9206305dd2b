#!/usr/bin/env bash
# studio.sh: builds the studio, build/studio/studio.html (docs/studio.md). Needs emscripten and the npm packages; exits with 77 where
# emscripten is not installed (scripts/setup platforms wasm installs it).
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v emcc >/dev/null && [ -z "${EMSCRIPTEN:-}" ]; then
    echo "skipped: emscripten is not installed (scripts/setup platforms wasm installs it)"
    exit 77
fi
scripts/build.sh wasm:npm
node web/build.mjs --studio build/studio/studio.html build/wasm/wasm/package
