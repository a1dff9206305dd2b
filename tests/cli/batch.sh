# pelt batch: results of every command, what a second run skips, commands that fail, die, hang or find no room, bad lists.
. "$(dirname "$0")/lib.sh"

"$PELT_SCENES" cloth -o flag.obj --vertices 300 --frames 4
"$PELT_SCENES" cloth -o big.obj --vertices 3000 --frames 40
head -c 500 flag.pc2 >cut.pc2
cat >jobs.json <<'END'
{"jobs": [
  {"name": "info", "command": ["info", "flag.obj"]},
  {"name": "skin", "command": ["decompose", "flag.obj", "flag.pc2", "-o", "skin.glb", "-b", "2", "--iterations", "2"]},
  {"name": "cut", "command": ["decompose", "flag.obj", "cut.pc2", "-o", "cut.glb", "-b", "2"]},
  {"name": "missed", "command": ["decompose", "flag.obj", "flag.pc2", "-o", "missed.glb", "--error", "1e-9", "--iterations", "0"]},
  {"name": "late", "time_limit": 0.3, "command": ["decompose", "big.obj", "big.pc2", "-o", "late.glb", "-b", "60", "--effort", "best", "--tolerance", "0"]},
  {"command": ["compare", "flag.obj", "flag.pc2", "flag.obj", "flag.pc2"]}
]}
END
run 2 batch jobs.json -j 2 --json report.json
out "6: 4 done, 0 done before"
out "1, and 1 over the time limit"
out "cut.pc2"
json report.json 'r.jobs.map((j) => j.result).join() === "done,done,failed,missed,time limit,done"'
json report.json 'r.jobs.map((j) => j.exit_code).join() === "0,0,2,4,,0" && r.jobs[5].name === "6" && r.jobs[1].cpu_seconds > 0'
json report.json 'r.busy > 0 && r.busy <= 1 && Math.abs(r.busy - r.jobs.reduce((sum, j) => sum + j.seconds, 0) / (r.at_once * r.seconds)) < 1e-6'
json report.json 'r.jobs.every((j) => j.started >= 0 && j.started + j.seconds <= r.seconds + 1e-6)'
json jobs/skin.json 'r.result.bones === 2'
json jobs/6.json 'r.error_rms === 0'
grep -q "cut.pc2" jobs/cut.log || fail "no message in the log"
grep -q '<a href="skin.log">' jobs/index.html || fail "no link on the page"
missing late.glb
missing cut.glb
[ -z "$(find jobs -name '.claim*')" ] || fail "claims are left"

# Done commands are skipped; changed inputs, commands and lost outputs are not. Failed ones are run again.
run 2 batch jobs.json --json report.json
json report.json 'r.jobs.map((j) => j.result).join() === "skipped,skipped,failed,missed,time limit,skipped" && r.skipped === 4'
cp flag.pc2 cut.pc2
rm skin.glb
sed -i 's/"time_limit": 0.3, "command": .*big.obj.*/"command": ["info", "big.obj"]},/' jobs.json
run 0 batch jobs.json --json report.json
json report.json 'r.jobs.map((j) => j.result).join() === "skipped,done,done,missed,done,skipped"'
cmp skin.glb cut.glb >/dev/null && fail "the same file for another input name" # their clips are named by the inputs
run 0 batch jobs.json --again -q --json report.json
json report.json 'r.done === 6'
no_out

# The same files as without batch.
run 0 decompose -q flag.obj flag.pc2 -o alone.glb -b 2 --iterations 2
same alone.glb skin.glb

# Bad lists.
echo '{"jobs": [{"command": ["info", "a"], "name": "a"}, {"command": ["info", "b"], "name": "a"}]}' >bad.json
run 2 batch bad.json
err "two jobs have the name 'a'"
echo '{"jobs": [{"command": ["nothing"]}]}' >bad.json
run 2 batch bad.json
err "there is no verb 'nothing'"
echo '{"jobs": [{"command": ["info", "a"], "name": "../a"}]}' >bad.json
run 2 batch bad.json
err "letters, digits"
echo '{"jobs": [{"command": "info a"}]}' >bad.json
run 2 batch bad.json
err "should be an array"
echo '{"jobs": []' >bad.json
run 2 batch bad.json
err "bad.json"
run 1 batch
posix || exit 0

# A command that is killed costs only itself.
cat >kill.json <<'END'
{"jobs": [
  {"name": "killed", "command": ["decompose", "big.obj", "big.pc2", "-o", "killed.glb", "-b", "60", "--effort", "best", "--tolerance", "0"]},
  {"name": "other", "command": ["info", "flag.obj"]}
]}
END
"$PELT" batch kill.json -j 1 --json report.json >log/out 2>log/err &
batch=$!
child=
for _ in $(seq 100); do
    child=$(pgrep -P "$batch" | head -1)
    [ -n "$child" ] && break
    sleep 0.1
done
[ -n "$child" ] || fail "no command to kill"
kill -9 "$child"
wait "$batch"
[ $? = 2 ] || fail "a killed command is no failure"
json report.json 'r.jobs[0].result === "failed" && r.jobs[0].signal === 9 && r.jobs[1].result === "done"'
missing killed.glb

# No room: the command says so, the others go on.
[ -e /dev/full ] || exit 0
sed 's/killed.glb", .*/killed.glb"], "name": "x"},/; s/"decompose".*/"convert", "flag.obj", "\/dev\/full"]},/' kill.json >full.json
run 2 batch full.json --json report.json
json report.json 'r.jobs[0].result === "failed" && r.jobs[0].exit_code > 0 && r.jobs[1].result === "done"'

# Interrupted: commands end, what is done stays done, the rest is run next time.
sed -i 's/"killed"/"long"/' kill.json
"$PELT" batch kill.json -j 1 -o stopped --json report.json >log/out 2>log/err &
batch=$!
for _ in $(seq 100); do
    [ -n "$(pgrep -P "$batch")" ] && break
    sleep 0.1
done
kill -TERM "$batch"
wait "$batch"
[ $? = 130 ] || fail "an interrupted batch is no interruption"
json report.json 'r.jobs[0].result === "stopped" && r.jobs[1].result === "not run"'
missing stopped/long.done
