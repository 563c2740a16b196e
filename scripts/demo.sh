#!/usr/bin/env bash
# make demo: builds the connector and runs java/src/test/java/io/tidemark/demo/Demo.java with these arguments:
#   --rows N (200000)  --seconds N (30)  --seed N (1)
set -euo pipefail
cd "$(dirname "$0")/.."

echo "building the connector (the first time takes some minutes)"
scripts/test-classpath.sh
exec java @java/target/jvm-options -Xmx2g -Dtidemark.test.basedir="$PWD" -Dlog4j2.configurationFile=demo-log4j2.properties \
  -cp "$(cat java/target/test-classpath)" io.tidemark.demo.Demo "$@"
