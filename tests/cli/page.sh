# Pages from the command line: files, sources, refusals. What is in them, the browser tests look at.
. "$(dirname "$0")/lib.sh"

quads f
run 0 view f_0.obj f_1.obj f_2.obj -o a.html --json r.json
out "a.html"
no_err
json r.json 'r.page.output === "a.html" && r.page.bytes > 100000'
[ "$(head -c 15 a.html)" = "<!doctype html>" ] || fail "a.html is no page"
grep -q "three.js authors" a.html || fail "a.html has no licence notice of three"
grep -q "meshoptimizer (MIT License, Copyright .* Arseny Kapoulkine" a.html || fail "a.html has no notice of meshoptimizer"
grep -q 'id="pelt-model"' a.html || fail "a.html has no model"
grep -q 'id="pelt-clip-0"' a.html || fail "a.html has no frames"
# Once, so that two runs can be compared.
run 0 view f_0.obj f_1.obj f_2.obj -o b.html --threads 1 -q
no_out
same a.html b.html

# A source beside a result; a picture at the same time.
strip
png=
if pictures; then png='--png s.png --size 64x64'; fi
# shellcheck disable=SC2086
run 0 view strip.gltf --source strip.gltf -o s.html $png -q
grep -q '"motion":' s.html || fail "the source's clip has no motion"
[ -z "$png" ] || [ -s s.png ] || fail "no picture"

run 1 view f_0.obj
err "-o PAGE.html or --png FILE"
run 1 view f_0.obj -o a.png
err "a page's name must end in .html"
run 1 view f_0.obj --open --png x.png
err "--open needs a page"
run 2 view f_0.obj --source strip.gltf -o d.html
err "strip.gltf has 8 and 10: they must be the same mesh"
run 2 view nothing.obj -o d.html
run 3 view f_0.obj -o no/such/folder/d.html
missing d.html

# --open calls the desktop's program with the page; a browser that fails is only told.
if posix && ! node_program; then
    printf '#!/bin/sh\necho "$1" >opened\n' >xdg-open
    chmod +x xdg-open
    PATH="$work:$PATH" run 0 view f_0.obj -o a.html --open
    [ "$(cat opened)" = a.html ] || fail "the page was not opened"
    printf '#!/bin/sh\nexit 3\n' | tee xdg-open >open
    chmod +x open
    PATH="$work:$PATH" run 0 view f_0.obj -o a.html --open
    err "open a.html in a browser"
fi
[ -z "$(find . -name '*pelt-*')" ] || fail "something was left behind"
