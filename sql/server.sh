# A throw-away PostgreSQL 15 in a directory of its own; sourced by the scripts that make a database out of one
# (logminer/stand-in.sh, kingbase/face.sh), which say: $name (in messages), $admin, $database, $usage, and the functions
#   configure        lines for postgresql.conf beside those below
#   install          makes the database; $port and $admin_password are set
#   start_companions processes beside the server; end_companions
#
#   SCRIPT start DIR [PORT]     PORT 0 or none: a free one is picked
#   SCRIPT stop  DIR            stops the server and deletes DIR
#   SCRIPT kill  DIR            kills the server as a power cut would (DIR stays)
#   SCRIPT resume DIR           starts the server again on the same port
#
# start prints KEY=VALUE lines; the same stand in DIR/connection.
# Environment: PG_BIN (/usr/lib/postgresql/15/bin), TIDEMARK_PASSWORD, SEGMENT_MB (16), TIME_ZONE (UTC), ENCODING (UTF8), WAL_KEEP (16GB),
#   WATCH_PID: when this process is gone, the server stops and is deleted.
#   POSTGRES_OPTIONS: lines for postgresql.conf.
# DIR must not exist or be empty; run by root, the server runs as postgres (or SERVER_USER), who must be able to reach DIR.

pg_bin=${PG_BIN:-/usr/lib/postgresql/15/bin}
tidemark_password=${TIDEMARK_PASSWORD:-Tidemark_8pw}

fail() { echo "$name: $*" >&2; exit 1; }

# Runs a command as an unprivileged user if we are root: PostgreSQL refuses root.
unprivileged() {
  if [ "$(id -u)" -eq 0 ]; then
    (cd / && setpriv --reuid="$server_user" --regid="$(id -g "$server_user")" --clear-groups env HOME=/tmp "$@")
  else
    "$@"
  fi
}

free_port() {
  local port
  for _ in $(seq 200); do
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then echo "$port"; return; fi
  done
  fail "no free port found"
}

# The log is read to say why a start failed.
start_server() {
  unprivileged "$pg_bin/pg_ctl" -D "$dir/data" -l "$dir/server.log" -w -t 60 -s start >/dev/null 2>&1
}

sql() { PGPASSWORD=$admin_password psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$port" -U "$admin" "$@"; }

# The watchdog runs beside the server, in a process group of its own, and is found again by its process id.
start_watch() {
  if [ -n "${WATCH_PID:-}" ] && [ ! -e "$dir/watch.pid" ]; then
    setsid bash -c 'while kill -0 "$1" 2>/dev/null && [ -d "$2" ]; do sleep 1; done; [ -d "$2" ] && exec "$3" stop "$2"' \
      watch "$WATCH_PID" "$dir" "$script" </dev/null >/dev/null 2>&1 &
    echo $! >"$dir/watch.pid"
  fi
}

stop_process() {
  if [ -s "$dir/$1.pid" ]; then kill -- "-$(cat "$dir/$1.pid")" 2>/dev/null || true; rm -f "$dir/$1.pid"; fi
}

# A process that nobody has waited for yet is as dead as one that is gone.
alive() { [ -r "/proc/$1/stat" ] && [ "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)" != Z ]; }

# The postmaster and its children at once, without a last word.
kill_server() {
  local postmaster processes pid
  postmaster=$(head -1 "$dir/data/postmaster.pid")
  kill -STOP "$postmaster"      # so that it starts no more of them
  processes="$postmaster $(cat "/proc/$postmaster/task/$postmaster/children")"
  kill -9 $processes 2>/dev/null || true
  for pid in $processes; do
    while alive "$pid"; do sleep 0.01; done
  done
  rm -f "$dir/data/postmaster.pid"
}

read_connection() {
  [ -r "$dir/connection" ] || fail "no server of ours in $dir"
  port=$(sed -n 's/^PORT=//p' "$dir/connection")
  admin_password=$(sed -n 's/^ADMIN_PASSWORD=//p' "$dir/connection")
}

start() {
  local wanted=${1:-0} attempt
  [ -x "$pg_bin/initdb" ] || fail "PostgreSQL 15 is not in $pg_bin (set PG_BIN)"
  mkdir -p "$dir"
  [ -z "$(ls -A "$dir")" ] || fail "$dir is not empty"
  trap '[ $? -eq 0 ] || stop' EXIT
  chmod 700 "$dir"
  [ "$(id -u)" -ne 0 ] || chown "$server_user" "$dir"
  unprivileged test -w "$dir" || fail "user $server_user cannot reach $dir"
  unprivileged bash -c 'printf %s "$2" >"$1/password"' - "$dir" "$admin_password"
  unprivileged "$pg_bin/initdb" --no-sync --no-instructions -D "$dir/data" -U "$admin" -A scram-sha-256 --pwfile="$dir/password" \
    -E "${ENCODING:-UTF8}" --locale=C --wal-segsize="${SEGMENT_MB:-16}" >"$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log" >&2; fail "initdb failed"; }
  rm -f "$dir/password"
  cat >>"$dir/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
wal_level = logical
fsync = off
full_page_writes = off
wal_init_zero = off
wal_writer_delay = 10ms
max_wal_size = 4GB
max_prepared_transactions = 64
shared_buffers = 256MB
timezone = '${TIME_ZONE:-UTC}'
log_timezone = 'UTC'
log_min_messages = error
logging_collector = off
max_parallel_workers_per_gather = 0
jit = off
$(configure)
${POSTGRES_OPTIONS:-}
CONF
  for attempt in $(seq 20); do
    port=$wanted
    [ "$wanted" -ne 0 ] || port=$(free_port)
    sed -i '/^port = /d' "$dir/data/postgresql.conf"
    echo "port = $port" >>"$dir/data/postgresql.conf"
    if start_server; then break; fi
    if [ "$wanted" -ne 0 ] || [ "$attempt" -eq 20 ]; then cat "$dir/server.log" >&2; fail "the server did not start on port $port"; fi
  done
  cat >"$dir/connection" <<KEYS
HOST=127.0.0.1
PORT=$port
DATABASE=$database
USER=$user
PASSWORD=$tidemark_password
ADMIN=$admin
ADMIN_PASSWORD=$admin_password
ODBC=Driver={PostgreSQL Unicode};Servername=127.0.0.1;Port=$port;Database=$database;UID=$user;PWD=$tidemark_password
PSQL=postgresql://$admin:$admin_password@127.0.0.1:$port/$database
KEYS
  sql -d postgres -c "CREATE DATABASE \"$database\"" || fail "cannot create the database"
  (unset PGTZ PGOPTIONS; install >/dev/null) || fail "the installation failed"
  start_companions
  start_watch
  cat "$dir/connection"
}

stop() {
  [ -d "$dir" ] || return 0
  [ -e "$dir/data/PG_VERSION" ] || [ -z "$(find "$dir" -mindepth 1 -not -name initdb.log -not -name password -not -path "$dir/data*" -print -quit)" ] \
    || fail "no server of ours in $dir"
  end_companions
  if [ -s "$dir/data/postmaster.pid" ]; then
    unprivileged "$pg_bin/pg_ctl" -D "$dir/data" -m immediate -s -w -t 30 stop >/dev/null 2>&1 || true
  fi
  local watcher
  watcher=$(cat "$dir/watch.pid" 2>/dev/null || true)
  rm -rf "$dir"
  # The watchdog may be who is stopping: it ends by itself, the directory being gone.
  if [ -n "$watcher" ] && [ "$watcher" != "$$" ]; then kill -- "-$watcher" 2>/dev/null || true; fi
}

# serve COMMAND DIR [PORT]: what a script was called with.
serve() {
  local command=${1:-}
  dir=${2:-}
  [ -n "$dir" ] || { echo "$usage" >&2; exit 2; }
  case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
  server_user=${SERVER_USER:-postgres}
  if [ "$(id -u)" -eq 0 ] && ! id "$server_user" >/dev/null 2>&1; then server_user=nobody; fi
  case $command in
    start) start "${3:-0}" ;;
    stop) stop ;;
    kill)
      read_connection
      end_companions
      kill_server ;;
    resume)
      read_connection
      start_server || { tail -20 "$dir/server.log" >&2; fail "the server did not start again"; }
      start_companions
      start_watch ;;
    *) fail "unknown command $command" ;;
  esac
}
