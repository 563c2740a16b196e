#!/usr/bin/env bash
# Makes the savepoints of this version that tests restore from then on: java/src/test/resources/savepoints/VERSION, which must not be
# there yet.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's:^  <version>\(.*\)</version>$:\1:p' pom.xml)
scripts/test-classpath.sh
mkdir -p java/src/test/resources/savepoints
java @java/target/jvm-options -Dtidemark.test.basedir="$PWD" -Dlog4j2.configurationFile=log4j2-test.properties \
  -cp "$(cat java/target/test-classpath)" io.tidemark.savepoint.MakeSavepoints "java/src/test/resources/savepoints/$version"
