# The tests of a database that is made out of a throw-away PostgreSQL (server.sh); sourced by logminer/test/run.sh and
# kingbase/test/run.sh. Every file is a *.sql or a *.sh, in a session of its own; $PSQL and $TIDEMARK_URL lead to the server.

# Starts the server that the tests share, as $STAND_IN in $STAND_IN_DIR; it ends with the script.
start_shared() {
  work=$(mktemp -d "/tmp/$1-test.XXXXXX")
  chmod 755 "$work"
  export STAND_IN=$2 STAND_IN_DIR=$work/db
  trap '"$STAND_IN" stop "$STAND_IN_DIR"; rm -rf "$work"' EXIT
  connection=$(WATCH_PID=$$ "$STAND_IN" start "$STAND_IN_DIR" 0) || exit 1
  PSQL=$(value PSQL); ODBC=$(value ODBC)
  export PSQL ODBC TIDEMARK_URL="postgresql://$(value USER):$(value PASSWORD)@127.0.0.1:$(value PORT)/$(value DATABASE)"
}

# What start said of the server.
value() { sed -n "s/^$1=//p" <<<"$connection"; }

# The kit's functions into the database at URL.
add_kit() {
  psql -X -q -v ON_ERROR_STOP=1 "$1" -f "$2" || exit 1
  psql -X -q -v ON_ERROR_STOP=1 "$1" -v to="host=127.0.0.1 port=$(value PORT) user=$(value ADMIN) password=$(value ADMIN_PASSWORD)" <<'SQL' || exit 1
SELECT format('ALTER DATABASE %I SET kit.connection = %L', current_database(), :'to' || ' dbname=' || current_database()) \gexec
SQL
}

# run_files FILE…: prints a line for each and 'N passed, N failed'; false if one failed.
run_files() {
  local file verdict started command passed=0 failed=0
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
}
