#!/usr/bin/env bash
# A database with sample data, a Flink cluster and its SQL client with the connector; all of it goes with the client.
#
#   make playground                                 the stand-in for DM8, and the client to type into
#   make playground DATABASE=postgres               PostgreSQL instead
#   make playground FILE=script.sql                 runs the script to its end; fails where a statement does
#   make stand-in                                   the stand-in alone, until Ctrl-C
#
# Environment: DATABASE (stand-in), FILE, FLINK_VERSION (1.20.3), MVN_OPTIONS (-Pdebug builds quicker), DATABASE_ONLY: no cluster,
#   no client.
set -euo pipefail
caller=$PWD
cd "$(dirname "$0")/.."
database=${DATABASE:-stand-in}
cluster=scripts/cluster/cluster.sh
case $database in
  stand-in) server=sql/logminer/stand-in.sh ;;
  postgres) server=sql/kingbase/face.sh ;;
  *) echo "playground: DATABASE is stand-in or postgres, not $database" >&2; exit 2 ;;
esac
file=${FILE:-}
case $file in '' | /*) ;; *) file=$caller/$file ;; esac
[ -z "$file" ] || [ -r "$file" ] || { echo "playground: $file cannot be read" >&2; exit 2; }

dir=$(mktemp -d -t tidemark-playground-XXXXXX)
chmod 711 "$dir" # the server's user may be another
finish() {
  [ ! -d "$dir/cluster" ] || "$cluster" stop "$dir/cluster" || true
  [ ! -d "$dir/server" ] || "$server" stop "$dir/server" || true
  rm -rf "$dir"
}
trap finish EXIT
export WATCH_PID=$$

trap 'exit 143' TERM HUP
if [ -z "${DATABASE_ONLY:-}" ]; then
  jar() { ls java/target/flink-connector-tidemark-*.jar 2>/dev/null | grep -v -e sources -e javadoc | head -n 1; }
  echo "building the connector (the first time takes some minutes)"
  mvn -B -q --no-transfer-progress -Dstyle.color=never package -DskipTests ${MVN_OPTIONS:-}
fi

echo "starting the database ($database)"
"$server" start "$dir/server" >/dev/null
value() { sed -n "s/^$1=//p" "$dir/server/connection"; }
psql=$(value PSQL)
[ "$database" = stand-in ] || psql=$(value PLAIN)
psql -X -q -v ON_ERROR_STOP=1 "$psql" -f scripts/playground/sample.sql
if [ "$database" = stand-in ]; then
  connector="'connector' = 'dameng-cdc', 'schema-name' = 'BIZ', 'odbc.driver' = 'PostgreSQL Unicode', 'odbc.DATABASE' = '$(value DATABASE)',
  'odbc.UseDeclareFetch' = '1', 'odbc.Fetch' = '1000', 'odbc.Protocol' = '7.4-1', 'odbc.BoolsAsChar' = '0'"
  slot() { :; }
else
  psql -X -q -v ON_ERROR_STOP=1 "$psql" -f scripts/playground/postgres.sql
  connector="'connector' = 'postgres-slot-cdc', 'database-name' = 'plain', 'schema-name' = '\"BIZ\"', 'odbc.driver' = 'PostgreSQL Unicode',
  'publication.name' = 'playground'"
  slot() { echo ", 'slot.name' = '$1'"; }
fi
connector="$connector, 'hostname' = '127.0.0.1', 'port' = '$(value PORT)',
  'username' = '$(value USER)', 'password' = '$(value PASSWORD)'"
name() { if [ "$database" = stand-in ]; then echo "$1"; else echo "\"$1\""; fi; }
cat >"$dir/tables.sql" <<SQL
SET 'sql-client.execution.result-mode' = 'tableau';
CREATE TABLE customers (ID BIGINT, NAME STRING, CITY STRING, PRIMARY KEY (ID) NOT ENFORCED) WITH (
  $connector,
  'table-name' = '$(name CUSTOMERS)'$(slot customers));
CREATE TABLE orders (ID BIGINT, CUSTOMER BIGINT, AMOUNT DECIMAL(12, 2), NOTE STRING, CHANGED TIMESTAMP(6),
  op_ts TIMESTAMP_LTZ(3) METADATA VIRTUAL, PRIMARY KEY (ID) NOT ENFORCED) WITH (
  $connector,
  'table-name' = '$(name ORDERS)'$(slot orders));
SQL
cat <<TEXT

change its tables:   psql '$psql'
                     UPDATE "BIZ"."ORDERS" SET "AMOUNT" = "AMOUNT" + 1 WHERE "ID" = 7;
over ODBC:           isql -k '$(value ODBC | sed "s/Database=[^;]*/Database=${psql##*/}/")'
in Flink:            $(sed -n '2,$p' "$dir/tables.sql" | sed '2,$s/^/                     /')

TEXT

if [ -n "${DATABASE_ONLY:-}" ]; then
  echo "Ctrl-C ends it"
  sleep infinity &
  trap 'kill $!; exit 143' TERM HUP
  wait
fi

echo "starting a Flink cluster"
"$cluster" start "$dir/cluster" >/dev/null
echo "its web interface has no pages, its REST interface is $(sed -n 's/^REST=//p' "$dir/cluster/cluster")"
if [ -n "$file" ]; then
  # The client's exit code says nothing of a statement that failed, behind which it stops.
  "$cluster" client "$dir/cluster" -i "$dir/tables.sql" -j "$(jar)" -f "$file" 2>&1 | tee "$dir/output"
  ! grep -q '\[ERROR\]' "$dir/output"
else
  echo "try: SELECT c.NAME, SUM(o.AMOUNT) FROM orders o JOIN customers c ON o.CUSTOMER = c.ID GROUP BY c.NAME;   (Ctrl-C ends a query)"
  "$cluster" client "$dir/cluster" -i "$dir/tables.sql" -j "$(jar)"
fi
