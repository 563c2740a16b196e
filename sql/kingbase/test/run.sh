#!/usr/bin/env bash
# The tests of what stands beside this folder: every *.sql here (or those named) on one throw-away server, which has the face of
# KingbaseES in the database that $PSQL leads to and PostgreSQL as it is in that of $PLAIN. Prints 'N passed, N failed';
# exit code 1 if one failed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../tests.sh"
start_shared kingbase-face "$here/../face.sh"
PLAIN=$(value PLAIN)
export PLAIN DDL_CAPTURE=$here/../ddl_capture.sql
add_kit "$PSQL" "$here/../../kit.sql"
add_kit "$PLAIN" "$here/../../kit.sql"
psql -X -q "$PSQL" -c "GRANT USAGE ON SCHEMA kit TO tidemark"
[ $# -gt 0 ] || set -- "$here"/[0-9]*.sql
run_files "$@"
