# Help, misspelt names, options in all their forms, exit code 1.
. "$(dirname "$0")/lib.sh"

run 0 --help
out "usage: pelt VERB"
no_err
run 0 help
out "compare"
run 1
no_out
err "usage: pelt VERB"
run 0 --version
grep -Eqx 'pelt [0-9]+\.[0-9]+\.[0-9]+' log/out || fail "version"
run 0 version
run 1 version now

# Every verb has help that lists every option of its manual page, and the common ones.
for verb in info convert bake pose weights compare view help version completion man; do
    run 0 help $verb
    cp log/out by_help
    run 0 $verb --help
    same by_help log/out
    out "usage: pelt $verb"
    for option in quiet verbose json threads max-memory help; do out "--$option"; done
    "$PELT" man $verb | sed -n 's/^\\fB.*\\-\\-\([a-z\\-]*\)\\fR.*/\1/p' | sed 's/\\//g' >options
    [ -s options ] || fail "no options in pelt man $verb"
    while read -r option; do out "--$option"; done <options
done
for option in fps motion mesh skinning output; do
    run 0 bake --help
    out "--$option"
done
[ "$("$PELT" bake --help | grep -c -e '--fps N ')" = 1 ] || fail "--fps is listed twice"

# Misspelt verbs and options.
run 1 comapre a b
err "did you mean 'compare'?"
err "try 'pelt --help'"
run 1 inf x
err "did you mean 'info'?"
run 1 xyzzy
err "there is no verb 'xyzzy'"
grep -q "did you mean" log/err && fail "xyzzy is near nothing"
run 1 bake a.glb --motoin walk -o b.pc2
err "there is no option --motoin; did you mean --motion?"
err "try 'pelt bake --help'"
run 1 bake a.glb -Z
err "there is no option -Z"
run 1 help bakee
err "did you mean 'bake'?"

# Values: missing, bad, out of range, attached.
run 1 bake a.glb -o
err "--output needs a value"
run 1 bake a.glb -o --fps 3
err "--output needs a value"
run 1 bake a.glb -o b.pc2 --fps much
err "'much' is not a number"
run 1 bake a.glb -o b.pc2 --fps=0
err "out of range"
run 1 bake a.glb -o b.pc2 --skinning bent
err "linear|dual-quaternion"
run 1 info --threads 1000 a.glb
run 1 info --quiet=maybe a.glb
run 2 bake missing.glb -ob.pc2 --fps=24 -qv --max-memory=1G
err "missing.glb"
run 2 -q info missing.glb
run 2 info -- --missing.glb
err "--missing.glb"

# Arguments.
run 1 info
err "try 'pelt info --help'"
run 1 convert a.glb
run 1 bake a.glb
err "-o FILE"
run 1 bake a.glb -o b.xyz
err ".pc2"
run 1 bake a.glb -o b.obj
err "pattern"
run 1 bake a.glb -o b.glb
run 1 bake a.glb -o b.pc2 --mesh c.pc2
run 1 compare a.obj
err "two inputs"
run 1 compare a.obj b.obj c.obj
run 1 completion fish
run 1 man bake info
run 1 man bka
exit 0
