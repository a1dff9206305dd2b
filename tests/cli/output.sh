# Outputs that cannot be written: exit code 3, and no incomplete file stays.
. "$(dirname "$0")/lib.sh"

quads q
quad >mesh.obj
run 3 convert 'q_%d.obj' no/such/q.pc2
err "no/such/q.pc2"
run 3 info mesh.obj --json no/such/report.json
err "no/such/report.json"
mkdir folder.pc2
run 3 convert 'q_%d.obj' folder.pc2
ls -A | grep -F folder.pc2. && fail "left behind"
mkdir report.json
run 3 info mesh.obj --json report.json
[ "$(ls -A | grep -c '^report.json')" = 1 ] || fail "left behind"

# Standard output that takes nothing, and one that is closed.
if [ -c /dev/full ]; then
    "$PELT" info mesh.obj >/dev/full 2>log/err
    code=$?
    [ $code = 3 ] || fail "full stdout: exit code $code"
    err "standard output"
    run 3 info mesh.obj --json /dev/full
fi
{ "$PELT" info mesh.obj mesh.obj 2>log/err; echo $? >code; } | true
case $(cat code) in 0 | 3) ;; *) fail "closed pipe: exit code $(cat code)" ;; esac
if posix && ! node_program; then no_err; fi # wine and node tell the program no more than "I/O error", which it says

# JSON into a pipe, and into a file that is open already: both by their names in the system.
if posix && ! node_program; then
    "$PELT" info mesh.obj --json /dev/fd/1 2>log/err | cat >log/out
    out '"vertices": 4'
    echo before >log/out
    "$PELT" info mesh.obj --json /dev/fd/1 >>log/out 2>log/err || fail "--json /dev/fd/1"
    out before
    out '"vertices": 4'
fi

# A link stays, and the file that it points to is replaced.
mkdir elsewhere
echo old >elsewhere/a.obj
ln -s elsewhere/a.obj link.obj
run 0 convert -q mesh.obj link.obj
[ -L link.obj ] || fail "the link is gone"
run 0 convert -q mesh.obj plain.obj
same plain.obj elsewhere/a.obj
[ "$(ls -A elsewhere)" = a.obj ] || fail "left behind"
ln -s elsewhere/r.json link.json
echo old >elsewhere/r.json
run 0 info mesh.obj --json link.json
[ -L link.json ] || fail "the link is gone"
json elsewhere/r.json 'r.inputs[0].vertices === 4'

# A full disk, as a limit on the size of files: the old file stays.
if posix; then
    cp mesh.obj kept.pc2
    strip
    (ulimit -f 2; "$PELT" bake strip.gltf -o kept.pc2 --motion slide >log/out 2>log/err)
    code=$?
    [ $code = 3 ] || fail "file size limit: exit code $code"
    same mesh.obj kept.pc2
    [ "$(ls -A | grep -c 'kept.pc2')" = 1 ] || fail "left behind"
fi

# A folder that may not be written to.
if obey_permissions; then
    mkdir locked
    chmod 555 locked
    run 3 convert 'q_%d.obj' locked/q.pc2
    err "locked/q.pc2"
    run 3 info mesh.obj --json locked/report.json
    [ -z "$(ls -A locked)" ] || fail "left behind"
fi
exit 0
