# Shared by the tests of the program. Each runs in a temporary folder, which is removed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/pelt-cli.XXXXXX")
trap 'cd /; rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir "$work/log"

fail() {
    echo "FAIL: $*" >&2
    sed 's/^/  out: /' "$work/log/out" 2>/dev/null | head -20 >&2
    sed 's/^/  err: /' "$work/log/err" 2>/dev/null | head -20 >&2
    exit 1
}

before='' # a command that starts pelt
# run CODE ARGS…: runs pelt, which must exit with CODE. Its output is then in log/out and log/err.
run() {
    expected=$1
    shift
    $before "$PELT" "$@" >"$work/log/out" 2>"$work/log/err"
    code=$?
    [ "$code" = "$expected" ] || fail "pelt $*: exit code $code, expected $expected"
}

# out TEXT, err TEXT: the last run's output must have it. no_out, no_err: must be empty.
out() { grep -qF -e "$1" "$work/log/out" || fail "no '$1' on stdout"; }
err() { grep -qF -e "$1" "$work/log/err" || fail "no '$1' on stderr"; }
no_out() { [ ! -s "$work/log/out" ] || fail "stdout is not empty"; }
no_err() { [ ! -s "$work/log/err" ] || fail "stderr is not empty"; }

same() { cmp -s "$1" "$2" || fail "$1 and $2 differ"; }
missing() { [ ! -e "$1" ] || fail "$1 exists"; }

# posix: whether signals, limits and links of this system reach the program; they do not reach a Windows program under wine.
posix() { [ -z "${PELT_WINDOWS:-}" ]; }

# node_program: whether the program runs in node, which starts no other programs, has no signals, and takes only text as names of files.
node_program() { [ -n "${PELT_NODE:-}" ]; }

# obey_permissions: from here on, those of files and folders bind pelt, also when the tests run as root. Fails where root cannot give up its
# right: without util-linux, and under wine, whose server opens the files.
obey_permissions() {
    [ "$(id -u)" = 0 ] || return 0
    posix && command -v setpriv >/dev/null || return 1
    before='setpriv --bounding-set -dac_override --inh-caps -dac_override'
}

# pictures: whether the build reads and writes PNG files.
pictures() { [ -z "${PELT_WITHOUT_PICTURES:-}" ]; }

# compression: whether the build compresses glTF files.
compression() { [ -z "${PELT_WITHOUT_COMPRESSION:-}" ]; }

# need_data FOLDER: sets `data` to it, of the real data; without, the test is skipped.
need_data() {
    data=${PELT_DATA:-$here/../../../shared/data}/$1
    [ -e "$data" ] && return
    echo "skipped: no real data at $data"
    exit 77
}

# json FILE EXPRESSION: a JavaScript expression over the parsed file `r` must be true.
json() {
    node -e 'const r = JSON.parse(require("fs").readFileSync(process.argv[1])); process.exit(eval(process.argv[2]) === true ? 0 : 1)' \
        "$1" "$2" || fail "$1: not true: $2"
}

# A quad of two triangles, and a sequence of three such quads that moves up.
quad() {
    z=${1:-0}
    printf 'o quad\nv 0 0 %s\nv 1 0 %s\nv 1 1 %s\nv 0 1 %s\nf 1 2 3 4\n' "$z" "$z" "$z" "$z"
}
quads() {
    for k in 0 1 2; do quad $k >"$1_$k.obj"; done
}
strip() { cp "$here/strip.gltf" strip.gltf; }
