# pelt studio: files in the page, and what it says where it cannot. The page itself is tested in a browser (tests/browser/studio.mjs).
. "$(dirname "$0")/lib.sh"

printf '<!doctype html>\n<title>Studio</title>\n<!-- files -->\n<script>1</script>\n' >page.html

# Without files the page is as it was, so that others can be embedded later.
run 0 studio --page page.html -o a.html
same page.html a.html
run 0 studio --page a.html -o studio.html
same page.html studio.html

# Files come back byte by byte, by their names.
odd='a & "quad".obj'
posix || odd="a & 'quad'.obj" # Windows has no quotes in names
quad >"$odd"
printf 'bytes \000\001\377' >b.pc2
run 0 studio --page page.html "$odd" b.pc2 -o b.html --json b.json
json b.json 'r.page.output === "b.html" && r.page.bytes === require("fs").statSync("b.html").size'
node -e '
    const { readFileSync } = require("fs");
    const text = readFileSync("b.html", "utf8");
    const found = [...text.matchAll(/<script type="application\/octet-stream" id="pelt-file-(\d)" data-file="([^"]*)">([^<]*)<\/script>\n/g)];
    const names = [process.argv[1], "b.pc2"];
    const same = found.length === 2 && found.every(([, n, name, data]) =>
        name.replaceAll("&quot;", "\"").replaceAll("&amp;", "&") === names[n] && Buffer.from(data, "base64").equals(readFileSync(names[n])));
    process.exit(same && text.endsWith("<script>1</script>\n") && !text.includes("<!-- files -->") ? 0 : 1)' "$odd" || fail "other files"

# Sequences and .gltf files bring all of theirs.
quads q
run 0 studio --page page.html 'q_%d.obj' -o c.html
[ "$(grep -c 'data-file="q_' c.html)" = 3 ] || fail "not all files of the sequence"
"$PELT_SCENES" tube -o tube.gltf --vertices 40 --frames 2 >/dev/null || fail "no scene"
run 0 studio --page page.html tube.gltf -o d.html
grep -q 'data-file="tube.gltf"' d.html && grep -q 'data-file="tube.bin"' d.html || fail "the buffer is missing"

# What fails leaves the old page.
cp b.html old.html
run 2 studio --page page.html none.obj -o b.html
err "none.obj"
same b.html old.html
run 2 studio --page b.html "$odd" -o e.html
err "is not a studio page without files; run make studio"
missing e.html
run 2 studio --page none.html -o e.html
err "none.html"
run 1 studio --page page.html -o e.txt
err "a page's name must end in .html"
run 1 studio --page page.html -o e.html --report r.html
err "studio itself writes a page"
# A program that lies alone finds no page.
if posix && cp "$PELT" alone 2>/dev/null; then
    PELT=./alone
    LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-} "$PELT" version >/dev/null 2>&1 || exit 0 # it is linked with a library beside it
    run 2 studio -o e.html
    err "make studio"
    missing e.html
fi
