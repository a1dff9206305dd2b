# --report: a page with everything that --json has, of every verb that computes something.
. "$(dirname "$0")/lib.sh"

# page FILE EXPRESSION: as json, over the data of a page; r is what the page holds, r.report the report.
page() {
    node -e 'const fs = require("fs"), text = fs.readFileSync(process.argv[1], "utf8");
        const data = /<script type="application\/json" id="pelt-data">([^]*?)<\/script>/.exec(text)[1];
        fs.writeFileSync(process.argv[2], data);' "$1" "$work/log/page.json" || fail "$1 is no page"
    json "$work/log/page.json" "$2"
}
same_report='require("node:util").isDeepStrictEqual(r.report, JSON.parse(require("fs").readFileSync("report.json")))'

"$PELT_SCENES" softbody -o hare.obj --vertices 300 --frames 12 >/dev/null || fail "no scene"
"$PELT_SCENES" cloth -o gust.obj --vertices 300 --frames 8 --seed 5 >/dev/null || fail "no scene"
"$PELT_SCENES" cloth -o flag.obj --vertices 300 --frames 12 >/dev/null || fail "no scene"
fast="--bones 6 --iterations 5"

# Decompose: the result, its source, the error of every frame, the settings.
run 0 decompose hare.obj hare.pc2 -o hare.glb $fast --json report.json --report page.html
no_err
page page.html "$same_report"
page page.html 'r.clips.length === 1 && r.clips[0].motion === 0 && r.clips[0].times.length === 12'
json report.json 'r.frame_rms.length === 12 && r.curves === undefined && r.warnings.length === 0'
json report.json 'Math.abs(Math.hypot(...r.frame_rms) / Math.sqrt(12) / r.result.error_rms - 1) < 1e-9'
json report.json 'r.settings.bones === 6 && r.settings.transforms === "affine" && r.settings["fixed-rest"] === false'
json report.json 'r.settings.output === "hare.glb" && r.settings.threads === undefined && r.settings.skeleton === undefined'

# Where bones are searched for, what they are worth. A missed target is a warning, and there is a page of it.
run 0 decompose -q flag.obj flag.pc2 -o few.glb --error 0.5 --iterations 2 --json report.json --report page.html
page page.html "$same_report"
json report.json 'r.curves.length === 1 && r.curves[0].x === "bones" && r.curves[0].points.length > 2'
json report.json 'r.curves[0].points.every(([b, e], n, all) => n === 0 || (b > all[n - 1][0] && e < 1.5 * all[n - 1][1]))'
run 4 decompose flag.obj flag.pc2 -o few.glb --bones 2 --error 0.1 --iterations 2 --json report.json --report page.html
err "0.1 was asked for"
page page.html "$same_report"
json report.json 'r.warnings.some((w) => w.includes("0.1 was asked for"))'
run 0 decompose hare.obj hare.pc2 -o rigid.glb $fast --target unreal --transforms affine --json report.json
err "warning: affine bones may look wrong"
json report.json 'r.warnings.length === 1 && r.warnings[0].startsWith("affine bones")'

# Several clips, each with its motion.
run 0 decompose -q flag.obj flag.pc2 gust.pc2 -o both.glb $fast --json report.json --report page.html
page page.html "$same_report"
page page.html 'r.clips.map((c) => c.motion).join() === "0,1" && r.clips[1].name === "gust"'
json report.json 'r.frame_rms === undefined && r.clips.map((c) => c.frame_rms.length).join() === "12,8"'

# Compare: a rig beside its source, whose points it has lost at seams; and two caches.
run 0 compare hare.obj hare.pc2 hare.glb --json report.json --report page.html
page page.html "$same_report"
page page.html "r.clips.length === 1 && r.clips[0].motion === 0 && r.clips[0].points === r.report.points"
json report.json 'r.settings.skinning === "linear"'
run 0 compare -q hare.obj hare.pc2 hare.pc2 --report page.html
page page.html 'r.clips.length === 2 && r.report.error_rms === 0'

# The others.
run 0 bake -q hare.glb -o baked.pc2 --report page.html --json report.json
page page.html "$same_report"
page page.html 'r.clips.length === 1 && r.clips[0].times.length === r.report.frames'
run 0 weights smooth -q hare.glb -o smooth.glb --report page.html
page page.html 'r.report.action === "smooth" && r.clips.length === 0'
run 0 retarget -q hare.glb hare.glb -o twice.glb --report page.html
page page.html 'r.report.verb === "retarget" && r.report.matched > 0'
run 0 convert -q hare.obj hare.pc2 other.mdd --report page.html
page page.html 'r.clips.length === 1 && r.report.settings.fps === 30 && r.report.verb === "convert"'
run 0 info hare.obj hare.pc2 --report page.html
page page.html 'r.report.inputs[0].clips[0].frames === 12 && r.clips[0].times.length === 12'

# Warnings stand where they were before, too.
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nvt 5\nnonsense\n' >odd.obj
run 0 info odd.obj hare.obj --json report.json
json report.json 'r.inputs[1].warnings.length === 0 && r.warnings.length === r.inputs[0].warnings.length'
no_err

# Refused, with no page.
rm page.html
run 1 info hare.obj --report page.htm
err "--report page.htm: a page's name must end in .html"
run 1 version --report page.html
err "nothing to show"
run 1 view hare.obj --png a.png --report page.html
err "with -o"
run 1 info hare.obj flag.obj --report page.html
err "--report shows one input, these are 2"
run 2 info missing.obj --report page.html
run 2 compare hare.obj missing.obj --report page.html
missing page.html
run 3 info hare.obj --report no/such/folder/page.html
err "no/such/folder/page.html"
exit 0
