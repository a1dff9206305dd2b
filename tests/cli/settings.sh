# --settings: a report of --json gives the same result again; the command line takes precedence; what does not fit is told.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" cloth -o flag.obj --vertices 200 --frames 8 >/dev/null || fail "no scene"

# The report of a run, all of whose settings are in it, defaults too.
run 0 decompose flag.obj flag.pc2 -o a.glb -b 6 --transforms rigid --influences 3 --json a.json
run 0 decompose flag.obj flag.pc2 -o b.glb --settings a.json --json b.json
same a.glb b.glb
json b.json 'JSON.stringify({...r.settings, output: ""}) === JSON.stringify({...JSON.parse(require("fs").readFileSync("a.json")).settings, output: ""})'

# An object of settings; options of the command line take precedence, wherever they stand.
printf '{"bones": 6, "transforms": "rigid", "influences": 3, "hierarchy": false, "preset": null}\n' >own.json
run 0 decompose --settings own.json flag.obj flag.pc2 -o c.glb
same a.glb c.glb
run 0 decompose -b 4 --settings own.json flag.obj flag.pc2 -o d.glb --json d.json
json d.json 'r.settings.bones === 4 && r.settings.transforms === "rigid" && r.settings.influences === 3'

# The output may be in it, flags and presets too; values of the file take precedence over its preset.
printf '{"verb": "decompose", "settings": {"output": "e.glb", "preset": "fesam2010", "bones": 4, "hierarchy": true, "transforms": "rigid"}}\n' >e.json
run 0 decompose flag.obj flag.pc2 --settings e.json --json e2.json
json e2.json 'r.settings.preset === "fesam2010" && r.settings.hierarchy && r.settings.bones === 4 && r.settings.transforms === "rigid"'
[ -s e.glb ] || fail "the output of the settings was not written"

# Options of the file count as given where they differ from their default: rules about options that mean nothing hold.
printf '{"rotation-tolerance": 0.05}\n' >idle.json
run 0 decompose flag.obj flag.pc2 -b 4 -o f.glb --settings idle.json
printf '{"rotation-tolerance": 0.5}\n' >idle.json
run 1 decompose flag.obj flag.pc2 -b 4 -o f.glb --settings idle.json
err "--rotation-tolerance means nothing"

# What does not fit: a sentence with file and cause, exit code 2, and no output.
wrong() {
    printf '%s\n' "$1" >wrong.json
    run 2 decompose flag.obj flag.pc2 -o missing.glb --settings wrong.json
    err "$2"
    missing missing.glb
}
wrong '{"boness": 3}' "wrong.json: 'boness' is no setting of 'pelt decompose'; did you mean 'bones'?"
wrong '{"threads": 3}' "wrong.json: 'threads' is no setting of 'pelt decompose'"
wrong '{"verb": "bind", "settings": {}}' "wrong.json: has settings of 'pelt bind', not of 'pelt decompose'"
wrong '{"bones": "many"}' "wrong.json: bones: 'many' is not a whole number"
wrong '{"bones": {"count": 3}}' "wrong.json: 'bones' should be a number, a text, true, false or a list of these"
wrong '[3]' "wrong.json: should be an object of settings"
wrong '{"settings": 3}' "wrong.json: should be an object of settings"
wrong '{"bones": ' "wrong.json: JSON line"
run 2 decompose flag.obj flag.pc2 -o missing.glb --settings none.json
err "none.json"
