# pelt study: one table in four forms, lists of numbers and methods, inputs that a method or all of them cannot take.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" softbody -o hare.obj --vertices 300 --frames 20 >/dev/null || fail "no scene"
"$PELT_SCENES" production -o man.glb --vertices 500 --frames 6 >/dev/null || fail "no scene"
"$PELT_SCENES" tube -o tube.glb --vertices 60 --frames 4 >/dev/null || fail "no scene"

# Every method, skins with and without corrections.
run 0 study hare.obj hare.pc2 --bones 4,8 --corrections 3 --csv rows.csv --svg plot.svg --json rows.json --report page.html
no_err
cp log/out table
out "vertices, 20 frames"
for method in FESAM 'SMA rigid TSVD' 'SMA rigid NNLS' 'SMA affine TSVD' 'SMA affine NNLS' SAD CPCA SVD; do
    out "$method"
done
out "8 affine bones, 3 morphs"
out "8 clusters of 4 components"
out "32 components"
json rows.json 'r.verb === "study" && r.rows.length === 4 + 8 + 4 + 2 + 2 && r.input.frames === 20'
json rows.json 'r.rows.every((x) => x.error_rms > 0 && x.error_kg > 0 && x.seconds >= 0)'

# The forms agree: the CSV has all of the JSON, the table is its rounding.
cat >agree.js <<'JS'
const fs = require("fs"), assert = require("assert");
const rows = JSON.parse(fs.readFileSync("rows.json")).rows;
const names = ["method", "bones", "components", "corrections", "error_rms", "error_kg", "error_max", "ratio", "seconds",
               "bytes_per_vertex", "bytes_per_frame", "seconds_init", "seconds_step", "normal_degrees"];
const csv = fs.readFileSync("rows.csv", "utf8").trim().split("\n").slice(1);
const table = fs.readFileSync("table", "utf8").trim().split("\n").slice(2);
assert(csv.length === rows.length && table.length === rows.length);
rows.forEach((row, n) => {
    const cells = csv[n].split(",");
    assert(cells.length === names.length && cells[0] === row.method);
    names.slice(1).forEach((name, c) => assert(Math.abs(cells[c + 1] - row[name]) <= 1e-3 * row[name] + 5e-4, name));
    const words = table[n].split(/ {2,}/).map((word) => word.trim().replace(",", ""));
    assert(words[0] === row.method + (row.corrections ? " + " + row.corrections : ""));
    [row.error_rms, row.error_kg, row.ratio, row.seconds, row.bytes_per_vertex, row.bytes_per_frame].forEach(
        (value, c) => assert(Math.abs(words[c + 2] - value) <= 1e-3 * value + 0.05 * (c > 1), table[n]));
});
JS
node agree.js || fail "forms disagree"

# What is stored: SMA's Table 1 counts 7 floats a vertex, 12 or 7 a bone and frame.
cat >sizes.js <<'JS'
const assert = require("assert"), r = JSON.parse(require("fs").readFileSync("rows.json")), N = r.input.vertices;
for (const x of r.rows) {
    const skin = x.components === 0, rigid = x.method.includes("rigid"), K = Math.min(4, x.bones);
    const vertex = skin ? 12 + 4 * (K - 1) + K + 12 * x.corrections : 4 * x.components + (x.bones > 1 ? 1 : 0);
    const frame = skin ? x.bones * (rigid ? 28 : 48) + 4 * x.corrections : 12 * x.bones * x.components;
    assert(x.bytes_per_vertex === vertex && x.bytes_per_frame === frame, x.method);
    assert(Math.abs(x.ratio - 12 * N * 20 / (N * vertex + 20 * frame)) < 1e-9 * x.ratio);
}
JS
node sizes.js || fail "sizes"

# More bones and corrections are better; the errors are those of decompose and compare.
json rows.json 'r.rows.every((x, n) => x.corrections === 0 || x.error_rms < r.rows[n - 1].error_rms)'
json rows.json '["FESAM", "SAD", "CPCA", "SVD"].every((m) => { const e = r.rows.filter((x) => x.method === m && !x.corrections); return e.length === 2 && e[1].error_rms < e[0].error_rms; })'
run 0 decompose -q hare.obj hare.pc2 -o four.glb --bones 4 --key-tolerance 0 --weights-format f32 --json four.json
json four.json 'Math.abs(r.result.error_rms / JSON.parse(require("fs").readFileSync("rows.json")).rows[0].error_rms - 1) < 1e-3'
json rows.json 'r.curves.length === 4 + 2 + 7 && r.curves.every((c) => c.y === "E_rms" && c.points.length > 1)'
grep -q 'error against bones' page.html || fail "no curve on the page"

# The plot is well-formed, has a mark for every point, and its text is only text.
cat >tags.js <<'JS'
const fs = require("fs"), assert = require("assert"), svg = fs.readFileSync(process.argv[2], "utf8"), open = [];
for (const [tag, close, name, , empty] of svg.matchAll(/<(\/?)([a-zA-Z]+)((?:\s+[a-zA-Z0-9-:]+="[^"<>]*")*)\s*(\/?)>/g))
    if (close) assert(open.pop() === name, tag);
    else if (!empty) open.push(name);
assert(open.length === 0 && svg.startsWith("<svg ") && !/NaN|inf|undefined/.test(svg));
assert(!svg.replace(/<[^<>]*>/g, "").match(/[<>]|&(?!#)/));
console.log(svg.split("<polyline").length - 1, svg.split("<circle").length - 1);
JS
node tags.js plot.svg >log/out || fail "the plot is not well-formed"
points=$((20 + (6 * 4) + 3)) # rows; ranks 0 to 3 of six skins; three components
out "21 $((points + 21))" # curves; marks, and those of the legend
if posix; then # Windows has no such names
    cp hare.obj 'a<b>&c.obj'
    run 0 study -q 'a<b>&c.obj' hare.pc2 --methods svd --ranks 1,3 --svg odd.svg
    no_out
    node tags.js odd.svg >/dev/null || fail "the plot with an odd name is not well-formed"
fi

# As published: TSVD weights are negative and fit better than non-negative ones; several tolerances; animations as files.
mkdir rows
run 0 study -q hare.obj hare.pc2 --methods fesam,sma-affine,cpca --bones 4 --published --corrections 0 --rotation-tolerance 0.05,0.2 --write rows --json published.json
json published.json 'r.rows.filter((x) => x.method === "SMA affine TSVD").length === 2 && r.rows.filter((x) => /SMA/.test(x.method)).every((x) => x.near_rigid > 0)'
json published.json '(() => { const [t, n] = ["SMA affine TSVD", "SMA affine NNLS"].map((m) => r.rows.find((x) => x.method === m)); return t.bones === n.bones && (t.bones < 2 || (t.negative_vertices > 0 && t.error_rms < n.error_rms)) && n.negative_vertices === 0; })()'
run 0 study -q hare.obj rows/cpca-16.pc2 --methods svd --ranks 2
run 1 study hare.obj hare.pc2 --rotation-tolerance 0.1,,0.2

# Lists: methods by name or family, clusters and ranks of their own, no corrections; results depend on no thread.
run 0 study -q hare.obj hare.pc2 --methods cpca,svd --clusters 3 --ranks 5,6 --components 2 --json lists.json
json lists.json 'r.rows.map((x) => x.bones + "x" + x.components).join() === "3x2,1x5,1x6"'
run 0 study -q hare.obj hare.pc2 --methods sma-affine,sad --bones 5 --corrections 0 --threads 1 --svg one.svg --json one.json
run 0 study -q hare.obj hare.pc2 --methods sma-affine,sad --bones 5 --corrections 0 --threads 4 --svg four.svg
json one.json 'r.rows.map((x) => x.method).join() === "SMA affine TSVD,SMA affine NNLS,SAD"'
same one.svg four.svg

# Motions of a rig, and several clips together.
run 0 study -q man.glb --methods fesam,svd --bones 5 --corrections 0 --json man.json
json man.json 'r.rows.length === 2 && r.input.frames >= 6'
cp hare.pc2 again.pc2
run 0 study -q hare.obj hare.pc2 again.pc2 --methods fesam,sad,cpca,svd --bones 4 --corrections 2 --json clips.json
json clips.json 'r.input.frames === 40 && r.rows.every((x) => x.error_rms < 50)'

# Points without triangles: sma is left out, with a reason.
grep '^v' hare.obj >points.obj
run 0 study points.obj hare.pc2 --methods fesam,sma-rigid-nnls --bones 2 --corrections 0
err "SMA rigid NNLS is left out: "
run 2 study points.obj hare.pc2 --methods sma --svg no.svg

# Refused, with a sentence and without a file.
run 1 study
run 1 study hare.obj hare.pc2 --bones 10,,20
err "with commas between"
run 1 study hare.obj hare.pc2 --bones 0
run 1 study hare.obj hare.pc2 --bones 5000
run 1 study hare.obj hare.pc2 --ranks 1x
run 1 study hare.obj hare.pc2 --methods fesam,smart
err "there is no method 'smart'"
run 1 study hare.obj hare.pc2 --methods ''
run 2 study hare.obj --csv no.csv
err "no animation in it"
run 2 study none.obj none.pc2 --csv no.csv
run 2 study four.json --csv no.csv
run 3 study hare.obj hare.pc2 --methods svd --ranks 2 --csv no/rows.csv
missing no.svg
missing no.csv

# Bytes at equal largest errors.
"$PELT_SCENES" cloth -o sizes.obj --vertices 200 --frames 8 >/dev/null || fail "no scene"
"$PELT" study sizes.obj sizes.pc2 --max-error 5% >log/out 2>log/err
grep -q "no meshoptimizer support" log/err && exit 0 # sizes are those of compressed files
run 0 study sizes.obj sizes.pc2 --max-error 5% --json sizes.json
out "cache"
json sizes.json 'r.sizes.length === 1 && ["skin", "svd", "cpca", "cache"].every((n) => r.sizes[0][n].bytes > 0 && r.sizes[0][n].error_max_units <= r.sizes[0].max_error_units)'
run 1 study sizes.obj sizes.pc2 --max-error 5% --bones 4
run 1 study sizes.obj sizes.pc2 --max-error far
