# Manual pages and shell completions are accepted by man and by the shells.
. "$(dirname "$0")/lib.sh"

run 0 completion bash
no_err
bash -n log/out || fail "bash syntax"
cp log/out bash.sh
cat >ask.bash <<'END'
. ./bash.sh
ask() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _pelt
    echo "${COMPREPLY[*]}"
}
[[ $(ask pelt co) == "convert correct compare collide completion" ]] || { echo verbs; exit 1; }
[[ $(ask pelt bake --mo) == "--motion" ]] || { echo option; exit 1; }
[[ $(ask pelt bake --skinning du) == "dual-quaternion" ]] || { echo choice; exit 1; }
[[ $(ask pelt help bak) == "bake" ]] || { echo help; exit 1; }
[[ $(ask pelt completion z) == "zsh" ]] || { echo shells; exit 1; }
END
bash ask.bash 2>log/err || fail "bash completion"

run 0 completion zsh
no_err
head -1 log/out | grep -qx '#compdef pelt' || fail "zsh: #compdef"
if command -v zsh >/dev/null; then zsh -n log/out || fail "zsh syntax"; fi

mkdir pages
run 0 man --all pages
for verb in info convert bake compare help version completion man; do
    [ -s pages/pelt-$verb.1 ] || fail "no page for $verb"
    run 0 man $verb
    same log/out pages/pelt-$verb.1
    for section in NAME SYNOPSIS OPTIONS 'EXIT STATUS'; do out ".SH $section"; done
    grep -q "pelt\\\\-$verb (1)\|pelt\\\\-$verb(1)\|BR pelt\\\\-$verb" pages/pelt.1 || fail "pelt.1 does not name $verb"
done
run 0 man
same log/out pages/pelt.1
if command -v groff >/dev/null; then
    for page in pages/*.1; do
        groff -man -ww -Tutf8 -K utf8 "$page" >shown 2>log/err || fail "groff $page"
        no_err
        [ -s shown ] || fail "$page shows nothing"
    done
fi
run 3 man --all no/such/folder
err "no/such/folder"
exit 0
