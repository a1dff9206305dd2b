#!/usr/bin/env bash
# include_order.sh: includes in src/ and include/pelt/ follow the dependency order of docs/architecture.md, programs
# include public headers, the platform layer and their own only, nothing outside of the platform layer depends on an operating system,
# no type has two definitions, and models are not copied by value: their memory has one owner (pelt_model_borrow, px_operation).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

# check TREE: prints breaches; fails where there are some.
check() {
    local order includes
    # "module: allowed modules", from the table of the document. A module may include only modules above its own line.
    order=$(awk '/^module +includes$/ { inside = 1; next } /^```/ { inside = 0 } inside && NF' "$1/docs/architecture.md")
    # "file included" for every include of a project header.
    includes=$(cd "$1" && grep -roE '^ *# *include *("[^"]+"|<pelt/[^>]+>)' src include cli scenes |
        sed -E 's/: *# *include */ /; s/["<>]//g')
    awk -v src="$(cd "$1" && ls src)" '
        function module_of(path, name) {
            if (path !~ /^pelt\//)
                return substr(path, 1, index(path, "/") - 1)
            name = substr(path, 6, length(path) - 7)
            return name in owner ? owner[name] : name
        }
        function breach(text) { print text; failed = 1 }
        BEGIN {
            owner["base"] = owner["model"] = owner["measure"] = "core" # headers that are not named as their modules
            owner["delta_mush"] = "run"
            owner["edit"] = "rest"
            owner["group"] = "core"
            owner["pelt"] = owner["runtime"] = "everything"
        }
        NR == FNR {
            for (f = 2; f <= NF; f++) {
                if (!($f in known))
                    breach("docs/architecture.md: " $1 " includes " $f ", which is not above it")
                allowed[$1, $f]
            }
            allowed[$1, $1]
            known[$1]
            next
        }
        /^(cli|scenes)\// {
            if ($2 ~ /\// && $2 !~ /^pelt\// && $2 != "core/platform.h" && $2 != "core/child.h")
                breach($1 " includes " $2 ", which is not public")
            next
        }
        {
            from = module_of($1 ~ /^src/ ? substr($1, 5) : substr($1, 9))
            to = module_of($2)
            if (from != "everything" && !((from, to) in allowed))
                breach($1 " includes " $2 ": module " from " may not include " to " (docs/architecture.md)")
            seen++
        }
        END {
            count = split(src, modules)
            for (m = 1; m <= count; m++)
                if (modules[m] !~ /\./ && !(modules[m] in known))
                    breach("src/" modules[m] " is not in the dependency order of docs/architecture.md")
            if (seen < 2)
                breach("no includes found")
            exit failed
        }' <(echo "$order") <(echo "$includes") || return 1
    # Of the system: headers of C17, strings.h (strcasecmp), instruction sets, and those of optional libraries.
    local allowed='assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|setjmp|stdalign|stdarg|stdatomic|stdbool|stddef'
    allowed+='|stdint|stdio|stdlib|stdnoreturn|string|strings|tgmath|[a-z]*mmintrin|arm_neon|wasm_simd128'
    allowed+='|png|mpi|meshoptimizer|draco/.*|sanitizer/.*|pelt/.*'
    local systems='_WIN|WIN32|WIN64|MINGW|_MSC_VER|CYGWIN|APPLE|__MACH__|linux|unix|BSD|GLIBC|GNU_LIBRARY|EMSCRIPTEN|ANDROID'
    if (cd "$1" && {
        grep -rnE '^ *# *include *<' src cli scenes --include='*.[ch]' | grep -vE "<($allowed)\.h>"
        grep -rnE "^ *# *(if|ifdef|ifndef|elif).*($systems)" src cli scenes --include='*.[ch]' --include='*.cc'
        true
    } | grep -vE '^src/core/(platform|program)_[a-z]+\.c:'); then
        echo "depends on an operating system: use core/platform.h"
        return 1
    fi
    local twice
    twice=$(cd "$1" && grep -rhoE '^\} px_[a-z0-9_]+;' src --include='*.h' | sort | uniq -d | tr -d '};\n')
    [ -z "$twice" ] || { echo "defined twice:$twice"; return 1; }
    # A copy at its declaration, a copy to a struct that exists, a member that is a model.
    local copies='pelt_model +[a-z_]+ *= *\*|= *\*[a-z_>.-]*\b(model|rig)\b *[,;})]|^ *pelt_model +[a-z_]+;'
    if (cd "$1" && grep -rnE "$copies" src cli scenes --include='*.[ch]' | grep -vE '^src/core/(model\.c|core\.h):'); then
        echo "copies a model: use pelt_model_borrow or px_operation_begin"
        return 1
    fi
}

# The check must reject each kind of breach.
# rejects MESSAGE FILE LINE: the fixture with a line more.
rejects() {
    rm -rf "$temp/tree"
    mkdir -p "$temp/tree"/{docs,src/core,src/numeric,src/run,include/pelt,cli,scenes}
    cd "$temp/tree"
    printf '```\nmodule includes\ncore\nnumeric core\nrun core\n```\n' >docs/architecture.md
    echo '#include "core/core.h"' | tee src/run/a.c >src/numeric/a.c
    echo '#include <pelt/pelt.h>' | tee cli/a.c >scenes/a.c
    printf 'typedef struct px_a {\n} px_a;\n' >src/core/core.h
    echo '#include <pelt/base.h>' >include/pelt/model.h
    check . || { echo "include_order: the fixture without a breach is rejected" >&2; exit 1; }
    mkdir -p "$(dirname "$2")"
    printf '%s\n' "$3" >>"$2"
    if check . >"$temp/log"; then echo "include_order: accepts $3 in $2" >&2; exit 1; fi
    grep -q "$1" "$temp/log" || { echo "include_order: $2: unexpected message: $(cat "$temp/log")" >&2; exit 1; }
}
rejects 'core may not include run' src/core/b.c '#include "run/run.h"'
rejects 'numeric may not include run' src/numeric/b.h '#include <pelt/run.h>'
rejects 'core may not include numeric' include/pelt/measure.h '#include <pelt/numeric.h>'
rejects 'not public' cli/b.c '#include "core/core.h"'
rejects 'depends on an operating system' src/run/b.c '#include <unistd.h>'
rejects 'depends on an operating system' scenes/b.h '#include <sys/stat.h>'
rejects 'depends on an operating system' cli/b.c '#ifdef _WIN32'
rejects 'depends on an operating system' src/run/b.c '#if defined(__APPLE__)'
rejects 'not in the dependency order' src/other/b.c '#include "other/b.h"'
rejects 'defined twice: px_a' src/run/run.h '} px_a;'
rejects 'copies a model' src/run/b.c '    pelt_model made = *old;'
rejects 'copies a model' cli/b.c '    *posed = *w->model;'
rejects 'copies a model' src/run/b.c '    work w = {.from = *model, .to = to};'
rejects 'copies a model' src/run/b.h '    pelt_model view;'

check "$root" || exit 1
echo "includes follow the dependency order, one layer knows the operating system, and no model is copied by value"
