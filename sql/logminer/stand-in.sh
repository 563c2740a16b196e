#!/usr/bin/env bash
# Starts and stops a throw-away PostgreSQL 15 that plays DM8: DBMS_LOGMNR, V$ views, dictionary.
#
#   stand-in.sh start DIR [PORT]     PORT 0 or none: a free one is picked
#   stand-in.sh stop  DIR            stops the server and deletes DIR
#   stand-in.sh kill  DIR            kills the server as a power cut would (DIR stays)
#   stand-in.sh resume DIR           starts the server again on the same port
#
# start prints KEY=VALUE lines (HOST, PORT, DATABASE, USER, PASSWORD, ADMIN, ADMIN_PASSWORD, ODBC, PSQL); the same stand in DIR/connection.
# Environment: what ../server.sh lists (ENCODING: EUC_CN for GB18030), SYSDBA_PASSWORD,
#   CASE_SENSITIVE (1; 0: names and VARCHAR2 are compared without regard to case, as dminit's option),
#   BLANK_PAD_MODE (1; 0: VARCHAR2 is compared without blanks at its end).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
script=$here/stand-in.sh
usage=$(sed -n '2,12p' "$script")
name=stand-in
database=DAMENG
user=TIDEMARK
admin=SYSDBA
admin_password=${SYSDBA_PASSWORD:-Sysdba_8pw}
. "$here/../server.sh"

configure() {
  cat <<CONF
wal_keep_size = '${WAL_KEEP:-16GB}'
max_locks_per_transaction = 512
intervalstyle = 'sql_standard'
max_worker_processes = 4
CONF
}

install() {
  sql -d "$database" -v tidemark_password="$tidemark_password" -v case_sensitive="${CASE_SENSITIVE:-1}" -v blank_pad_mode="${BLANK_PAD_MODE:-1}" \
    -f "$here/install.sql"
}

# The archiver, in a process group of its own, comes back when its session is ended.
start_companions() {
  PGPASSWORD=$admin_password PGAPPNAME=archiver setsid bash -c 'while [ -d "$1/data" ]; do
      psql -X -q -h 127.0.0.1 -p "$2" -U SYSDBA -d "$3" -c "CALL logminer.archiver()"; sleep 0.1
    done' archiver "$dir" "$port" "$database" </dev/null >/dev/null 2>&1 &
  echo $! >"$dir/archiver.pid"
}

end_companions() { stop_process archiver; }

serve "$@"
