#!/usr/bin/env bash
# Java tests on Flink 1.20 (what is compiled against) and, the same class files, on the version named; then those of a
# project that has the connector from a Maven repository.
set -euo pipefail
cd "$(dirname "$0")/.."
flink2=$1
mvn="mvn -B --no-transfer-progress -Dstyle.color=never"

$mvn spotless:check verify
# Clusters of processes are given the jar; one database on each Flink.
$mvn surefire:test -Dtest='DamengUnderFireTest,LargeTransactionsTest'
# The longest of the random workloads is about keys and rows, which are the same on both; the others run on both.
$mvn surefire:test -Dflink.version="$flink2" -Dtest='!KeyKindsWorkloadTest,!DamengUnderFireTest,!LargeTransactionsTest'

# A repository below java/target that has the user's artifacts, and ours in it alone: a test leaves nothing in ~/.m2.
repository=$PWD/java/target/repository
users=${MAVEN_REPOSITORY:-$HOME/.m2/repository}
rm -rf "$repository"
mkdir -p "$repository/io"
for artifacts in "$users"/* "$users"/io/*; do
  link=$repository/${artifacts#"$users"/}
  case $link in "$repository"/io | "$repository"/io/tidemark) continue ;; esac
  [ ! -e "$artifacts" ] || ln -s "$artifacts" "$link"
done
mvn="$mvn -Dmaven.repo.local=$repository"
version=$(sed -n 's:^  <version>\(.*\)</version>$:\1:p' pom.xml)
$mvn -q install:install-file -DpomFile=pom.xml -Dfile="java/target/flink-connector-tidemark-$version.jar"
$mvn -f tests/maven-consumer/pom.xml test -Dtidemark.version="$version"
$mvn -f tests/maven-consumer/pom.xml surefire:test -Dtidemark.version="$version" -Dflink.version="$flink2"
