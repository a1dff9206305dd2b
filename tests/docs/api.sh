# api.sh NODE: every function, type and struct field of the public headers has a comment (scripts/docs-api.mjs), and the check
# rejects headers where one is missing.
set -eu
node=$1
script=$(cd "$(dirname "$0")/../.." && pwd)/scripts/docs-api.mjs
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
mkdir "$temp/headers"

"$node" "$script" "$temp/api/index.html"
grep -q 'id="pelt_decompose"' "$temp/api/index.html" || { echo "docs_api: pelt_decompose is not in the page" >&2; exit 1; }

# header TEXT…: a header of these lines alone.
header() { printf '%s\n' "$@" >"$temp/headers/fixture.h"; }
# reject MESSAGE: the header is rejected with this message.
reject() {
    ! "$node" "$script" --headers "$temp/headers" >/dev/null 2>"$temp/log" ||
        { echo "docs_api: the check accepts: $(cat "$temp/headers/fixture.h")" >&2; exit 1; }
    grep -qF "$1" "$temp/log" || { echo "docs_api: no '$1' in: $(cat "$temp/log")" >&2; exit 1; }
}

header '/* A pair. */' 'typedef struct pelt_pair {' '    int a; /* first */' '    int b, c; /* others */' '} pelt_pair;' \
    '/* Swaps. */' 'PELT_API void pelt_pair_swap(pelt_pair *pair);'
"$node" "$script" --headers "$temp/headers" >/dev/null || { echo "docs_api: the check rejects a complete header" >&2; exit 1; }

header '/* One. */' 'PELT_API void pelt_one(void);' 'PELT_API void pelt_two(void);'
reject 'fixture.h:3: function pelt_two has no comment'
header '/* A text of its own. */' '' 'PELT_API void pelt_one(void);'
reject 'function pelt_one has no comment'
header '/* A pair. */' 'typedef struct pelt_pair {' '    int a; /* */' '    int b; /* second */' '} pelt_pair;'
reject 'field pelt_pair.a has no comment'
header '/* A pair. */' 'typedef struct pelt_pair {' '    int a; /* first */' '    int (*b)(int x, int y);' '} pelt_pair;'
reject 'field pelt_pair.b has no comment'
header 'typedef struct pelt_pair {' '    int a; /* first */' '} pelt_pair;'
reject 'struct pelt_pair has no comment'
header '/* One of two. */' '' 'typedef enum pelt_kind { PELT_KIND_A, PELT_KIND_B } pelt_kind;'
reject 'enum pelt_kind has no comment'
echo "7 fixtures judged"
