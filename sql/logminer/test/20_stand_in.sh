# stand-in.sh: a free port, a second one beside it, nothing left behind, and an end with who started it.
set -eu
work=$(mktemp -d /tmp/stand-in-self.XXXXXX); chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
unset WATCH_PID
# A process that nobody has waited for yet is as dead as one that is gone.
alive() { [ -r "/proc/$1/stat" ] && [ "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)" != Z ]; }
out=$("$STAND_IN" start "$work/one" 0)
postmaster=$(head -1 "$work/one/data/postmaster.pid"); archiver=$(cat "$work/one/archiver.pid")
url=$(sed -n 's/^PSQL=//p' <<<"$out")
[ "$(psql -X -At "$url" -c 'SELECT count(*) FROM "V$ARCH_FILE"')" -ge 1 ]
port=$(sed -n 's/^PORT=//p' <<<"$out")
! "$STAND_IN" start "$work/two" "$port" 2>/dev/null || { echo 'a taken port was accepted'; exit 1; }
[ ! -e "$work/two" ] || { echo 'a failed start left its directory'; exit 1; }
! "$STAND_IN" start "$work/one" 0 2>/dev/null || { echo 'a directory in use was accepted'; exit 1; }
[ -e "$work/one/data" ] || { echo 'a refused start removed a directory'; exit 1; }
# over ODBC
printf 'SELECT "CUR_LSN" FROM "V$RLOG"\n' | isql -b -k "$(sed -n 's/^ODBC=//p' <<<"$out")" | grep -q 'rows fetched'
"$STAND_IN" stop "$work/one"
[ ! -e "$work/one" ] || { echo 'stop left the directory'; exit 1; }
! alive "$postmaster" || { echo 'stop left the server'; exit 1; }
for _ in $(seq 100); do alive "$archiver" || break; sleep 0.05; done
! alive "$archiver" || { echo 'stop left the archiver'; exit 1; }
# stop refuses what is none of its own
mkdir "$work/mine"; touch "$work/mine/file"
! "$STAND_IN" stop "$work/mine" 2>/dev/null || { echo 'stop removed another directory'; exit 1; }
[ -e "$work/mine/file" ]
# ends with its owner
sleep 600 & owner=$!
WATCH_PID=$owner "$STAND_IN" start "$work/watched" 0 >/dev/null
postmaster=$(head -1 "$work/watched/data/postmaster.pid")
kill "$owner"; wait "$owner" 2>/dev/null || true
for _ in $(seq 200); do [ -e "$work/watched" ] || break; sleep 0.05; done
[ ! -e "$work/watched" ] || { echo 'the stand-in outlived its owner'; exit 1; }
! alive "$postmaster" || { echo 'the server outlived its owner'; exit 1; }
