#!/usr/bin/env bash
# Builds jar and test classes, and writes what a JVM needs to run them to java/target/{test-classpath,jvm-options}.
set -euo pipefail
cd "$(dirname "$0")/.."
mvn -B -q --no-transfer-progress -Dstyle.color=never package -DskipTests \
  dependency:build-classpath -Dmdep.includeScope=test -Dmdep.outputFile=java/target/dependencies
echo "$PWD/java/target/test-classes:$(ls java/target/flink-connector-tidemark-*.jar | grep -v -e sources -e javadoc | head -n 1):$(cat java/target/dependencies)" >java/target/test-classpath
sed -n 's:.*<test.jvm>\(.*\)</test.jvm>.*:\1:p' pom.xml | tr ' ' '\n' >java/target/jvm-options
