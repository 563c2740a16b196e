#!/usr/bin/env bash
# make bench: every comparison side by side in one run, ratios printed. ARGS="parser|transactions|bridge|snapshot|log|slots-snapshot|slots-stream|
# slots-latency|slots-memory|slots-loss|memory [arguments]" runs one of them; what it takes stands at the head of each.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=benches/jdbc-source
flink_cdc=benches/flink-cdc-postgres

# in_java CLASS [ARGUMENTS]: over the connector's tests' class path, with the peer's beside it.
in_java() {
  java @java/target/jvm-options -Xmx1g -Dtidemark.test.basedir="$PWD" -Dlog4j2.configurationFile=log4j2-test.properties \
    -cp "$(cat java/target/test-classpath):$(cat $folder/target/class-path)" "$@"
}
transactions() { cargo bench --locked --bench transactions -- "$@"; }
parser() { cargo bench --locked --bench redo_parser -- "$@"; }
bridge() {
  cargo build --locked --release --example bridge_bench
  in_java io.tidemark.bench.BridgeBench "$PWD/target/release/examples/libbridge_bench.so" "$@"
}
snapshot() { in_java io.tidemark.bench.SnapshotBench "$@"; }
log() { in_java io.tidemark.bench.LogBench "$@"; }
# Flink CDC runs on a class path of its own, with nothing of ours but the classes of the benches.
slots() { in_java -Dtidemark.bench.peer="$PWD/java/target/test-classes:$(cat $flink_cdc/target/class-path)" "$@"; }
slots-snapshot() { slots io.tidemark.bench.SlotsBench snapshot "$@"; }
slots-stream() { slots io.tidemark.bench.SlotsBench stream "$@"; }
slots-latency() { slots io.tidemark.bench.SlotsBench latency "$@"; }
slots-memory() { slots io.tidemark.bench.SlotsBench memory "$@"; }
memory() { in_java io.tidemark.cluster.MemoryBench "$@"; }
slots-loss() { slots io.tidemark.bench.SlotsLoss "$@"; }

if [ "${1:-}" != parser ] && [ "${1:-}" != transactions ]; then
  scripts/test-classpath.sh
  for peer in $folder $flink_cdc; do
    mvn -B -q -f $peer/pom.xml dependency:build-classpath -Dmdep.outputFile=target/class-path
  done
fi
if [ $# -gt 0 ]; then
  "$@"
  exit
fi
for comparison in parser transactions bridge snapshot log slots-snapshot slots-stream slots-latency slots-memory slots-loss memory; do
  printf '\n== %s\n' "$comparison"
  $comparison
done
