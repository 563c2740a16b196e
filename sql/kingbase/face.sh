#!/usr/bin/env bash
# Starts and stops a throw-away PostgreSQL 15 that shows the face of KingbaseES in Oracle mode in its database TEST, and is
# itself in its database plain.
#
#   face.sh start DIR [PORT]     PORT 0 or none: a free one is picked
#   face.sh stop  DIR            stops the server and deletes DIR
#   face.sh kill  DIR            kills the server as a power cut would (DIR stays)
#   face.sh resume DIR           starts the server again on the same port
#
# start prints KEY=VALUE lines (HOST, PORT, DATABASE, USER, PASSWORD, ADMIN, ADMIN_PASSWORD, ODBC, PSQL, PLAIN); the same stand in DIR/connection.
# Environment: what ../server.sh lists, SYSTEM_PASSWORD.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
script=$here/face.sh
usage=$(sed -n '2,11p' "$script")
name=face
database=test
user=tidemark
admin=system
admin_password=${SYSTEM_PASSWORD:-System_8pw}
. "$here/../server.sh"

configure() {
  cat <<CONF
wal_keep_size = '${WAL_KEEP:-0}'
max_replication_slots = 50
max_wal_senders = 50
CONF
}

install() {
  sql -d postgres -c 'CREATE DATABASE plain' &&
  sql -d "$database" -v tidemark_password="$tidemark_password" -f "$here/face/install.sql" &&
  echo "PLAIN=postgresql://$admin:$admin_password@127.0.0.1:$port/plain" >>"$dir/connection"
}

start_companions() { :; }
end_companions() { :; }

serve "$@"
