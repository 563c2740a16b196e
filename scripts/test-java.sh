#!/usr/bin/env bash
# Java tests on Flink 1.20 (what is compiled against) and, the same class files, on the version named.
set -euo pipefail
cd "$(dirname "$0")/.."
mvn -B -q --no-transfer-progress spotless:check verify
mvn -B -q --no-transfer-progress surefire:test -Dflink.version="$1"
