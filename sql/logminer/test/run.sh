#!/usr/bin/env bash
# Runs the stand-in's own tests: every *.sql beside this file (or those named), in a session of its own on one throw-away
# stand-in. Prints 'N passed, N failed'; exit code 1 if one failed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../tests.sh"
start_shared stand-in "$here/../stand-in.sh"
add_kit "$PSQL" "$here/kit.sql"
[ $# -gt 0 ] || set -- "$here"/[0-9]*.sql "$here"/[0-9]*.sh
run_files "$@"
