#!/usr/bin/env bash
# Runs the stand-in's own tests: every *.sql beside this file (or those named), in a session of its own on one throw-away
# stand-in. Prints 'N passed, N failed'; exit code 1 if one failed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d /tmp/stand-in-test.XXXXXX)
chmod 755 "$work"
export STAND_IN=$here/../stand-in.sh STAND_IN_DIR=$work/db
trap '"$STAND_IN" stop "$STAND_IN_DIR"; rm -rf "$work"' EXIT
connection=$(WATCH_PID=$$ "$STAND_IN" start "$STAND_IN_DIR" 0) || exit 1
value() { sed -n "s/^$1=//p" <<<"$connection"; }
PSQL=$(value PSQL); ODBC=$(value ODBC)
export PSQL ODBC TIDEMARK_URL="postgresql://$(value USER):$(value PASSWORD)@127.0.0.1:$(value PORT)/$(value DATABASE)"
psql -X -q -v ON_ERROR_STOP=1 "$PSQL" -f "$here/kit.sql" || exit 1
psql -X -q "$PSQL" -c "ALTER DATABASE \"DAMENG\" SET kit.connection = 'host=127.0.0.1 port=$(value PORT) dbname=DAMENG user=SYSDBA password=$(value ADMIN_PASSWORD)'"

passed=0; failed=0
[ $# -gt 0 ] || set -- "$here"/[0-9]*.sql "$here"/[0-9]*.sh
for file in "$@"; do
  case $file in
    *.sh) command=(timeout 120 bash "$file") ;;
    *) command=(env PGOPTIONS='-c statement_timeout=60s' timeout 180 psql -X -q -v ON_ERROR_STOP=1 -v VERBOSITY=terse -v PSQL="$PSQL" -v TIDEMARK_URL="$TIDEMARK_URL" -o /dev/null -f "$file" "$PSQL") ;;
  esac
  started=$(date +%s%N)
  if "${command[@]}" >"$work/output" 2>&1; then
    passed=$((passed + 1)); verdict=ok
  else
    failed=$((failed + 1)); verdict=FAILED
  fi
  printf '%-28s %s (%d ms)\n' "$(basename "$file")" "$verdict" $((($(date +%s%N) - started) / 1000000))
  [ $verdict = ok ] || sed 's/^/    /' "$work/output"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
