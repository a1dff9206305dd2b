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
    for option in quiet verbose progress json threads max-memory help; do out "--$option"; done
    "$PELT" man $verb | sed -n 's/^\\fB.*\\-\\-\([a-z\\-]*\)\\fR.*/\1/p' | sed 's/\\//g' >options
    [ -s options ] || fail "no options in pelt man $verb"
    while read -r option; do out "--$option"; done <options
done
for option in fps motion mesh skinning output; do
    run 0 bake --help
    out "--$option"
done
[ "$("$PELT" bake --help | grep -c -e '--fps N ')" = 1 ] || fail "--fps is listed twice"

# The same tables for other programs, with ranges; without a verb, those of all verbs.
run 0 help bake bind --json -
no_err
cp log/out tables.json
json tables.json 'Object.keys(r.verbs).join() === "bake,bind"'
json tables.json 'r.verbs.bind.options.some((o) => o.name === "falloff" && o.letter === "a" && o.kind === "real" && o.default === "0.7" && o.min === 0 && o.max === 1)'
json tables.json 'r.verbs.bake.options.some((o) => o.name === "skinning" && o.kind === "choice" && o.choices === "linear|dual-quaternion|delta-mush")'
json tables.json 'r.verbs.bake.options.filter((o) => o.name === "fps").length === 1'
run 0 help --json tables.json
out "usage: pelt VERB"
json tables.json 'Object.keys(r.verbs).length >= 20 && Object.values(r.verbs).every((v) => v.usage && v.options.every((o) => o.kind && o.help))'
run 1 help bakee --json -
no_out

# Progress for other programs: lines, also where standard error is no terminal.
quad >quad.obj
quads f
run 0 decompose 'f_*.obj' -o f.glb --progress --bones 1
grep -Eq '^progress [01]\.[0-9]{3} [a-z]' log/err || fail "no lines of progress"
run 0 decompose 'f_*.obj' -o f.glb --bones 1
grep -q '^progress' log/err && fail "lines of progress that nobody asked for"

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
