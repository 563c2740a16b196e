#!/usr/bin/env bash
# make bench: every comparison side by side in one run, ratios printed. ARGS="parser|bridge|snapshot|log [arguments]" runs
# one of them; what it takes stands at the head of each.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=benches/jdbc-source

# in_java CLASS [ARGUMENTS]: over the connector's tests' class path, with the peer's beside it.
in_java() {
  java @java/target/jvm-options -Xmx1g -Dtidemark.test.basedir="$PWD" -Dlog4j2.configurationFile=log4j2-test.properties \
    -cp "$(cat java/target/test-classpath):$(cat $folder/target/class-path)" "$@"
}
parser() { cargo bench --locked --bench redo_parser -- "$@"; }
bridge() {
  cargo build --locked --release --example bridge_bench
  in_java io.tidemark.bench.BridgeBench "$PWD/target/release/examples/libbridge_bench.so" "$@"
}
snapshot() { in_java io.tidemark.bench.SnapshotBench "$@"; }
log() { in_java io.tidemark.bench.LogBench "$@"; }

if [ "${1:-}" != parser ]; then
  scripts/test-classpath.sh
  mvn -B -q -f $folder/pom.xml dependency:build-classpath -Dmdep.outputFile=target/class-path
fi
if [ $# -gt 0 ]; then
  "$@"
  exit
fi
for comparison in parser bridge snapshot log; do
  printf '\n== %s\n' "$comparison"
  $comparison
done
