#!/usr/bin/env bash
# A throw-away Flink cluster of processes, of the parts that Maven's repository has: ZooKeeper for a JobManager that comes
# back, one JobManager, two TaskManagers of two slots. Every port is a free one, everything stands below DIR.
#
#   cluster.sh start DIR                 prints KEY=VALUE lines (REST, LOGS, CHECKPOINTS, SAVEPOINTS, DISKS); the same stand in DIR/cluster
#   cluster.sh launch DIR NAME           starts zookeeper, jobmanager, taskmanager-1 or taskmanager-2 again; DIR/NAME.pid has its id
#   cluster.sh client DIR [ARGUMENT...]  the SQL client in the foreground; of its arguments see Flink (-f SCRIPT, -j JAR)
#   cluster.sh rest DIR                  where the REST interface is now
#   cluster.sh stop DIR                  ends all processes and deletes DIR
#
# Environment: FLINK_VERSION (1.20.3), FLINK_CONFIG: lines for config.yaml after those below,
#   DISK_MB: the TaskManagers' two temporary folders are file systems of this size, where those can be mounted (DISKS=own, else none),
#   WATCH_PID: when this process is gone, the cluster stops and is deleted.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
script=$here/cluster.sh
basedir=$here/../..
names='taskmanager-1 taskmanager-2 jobmanager zookeeper'

fail() { echo "cluster: $*" >&2; exit 1; }

# A free port below those that connections take by themselves.
free_port() {
  local port
  for _ in $(seq 200); do
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then echo "$port"; return; fi
  done
  fail "no free port found"
}

# Small file systems for the temporary folders.
mount_disks() {
  local folder
  for folder in "$dir"/temporary-[12]; do
    mount -t tmpfs -o "size=${DISK_MB}m" none "$folder" 2>/dev/null || { unmount_disks; echo none; return; }
  done
  echo own
}

unmount_disks() {
  local folder
  for folder in "$dir"/temporary-[12]; do
    if mountpoint -q "$folder"; then umount -l "$folder"; fi
  done
}

# The jars, where Maven keeps them.
classpath() {
  local version=${FLINK_VERSION:-1.20.3}
  local file=$basedir/java/target/cluster-$version.classpath
  if [ ! -s "$file" ] || [ "$here/pom.xml" -nt "$file" ]; then
    mkdir -p "$basedir/java/target"
    mvn -B -q --no-transfer-progress -Dstyle.color=never -f "$here/pom.xml" dependency:build-classpath -Dflink.version="$version" \
      -Dmdep.outputFile="$dir/classpath" >&2
    mv "$dir/classpath" "$file"
  fi
  cat "$file"
}

configure() {
  mkdir -p "$dir"/{conf,logs,high-availability,checkpoints,savepoints,zookeeper,temporary,temporary-1,temporary-2}
  cat >"$dir/conf/config.yaml" <<CONF
high-availability.type: zookeeper
high-availability.zookeeper.quorum: 127.0.0.1:$1
high-availability.zookeeper.client.session-timeout: 5000
high-availability.storageDir: file://$dir/high-availability
jobmanager.rpc.address: 127.0.0.1
taskmanager.host: 127.0.0.1
rest.address: 127.0.0.1
rest.port: 0
taskmanager.numberOfTaskSlots: 2
taskmanager.cpu.cores: 1
taskmanager.memory.task.heap.size: 384mb
taskmanager.memory.task.off-heap.size: 0
taskmanager.memory.framework.heap.size: 128mb
taskmanager.memory.framework.off-heap.size: 64mb
taskmanager.memory.managed.size: 64mb
taskmanager.memory.network.min: 64mb
taskmanager.memory.network.max: 64mb
taskmanager.memory.jvm-metaspace.size: 256mb
taskmanager.memory.jvm-overhead.min: 192mb
taskmanager.memory.jvm-overhead.max: 192mb
io.tmp.dirs: $dir/temporary-1,$dir/temporary-2
blob.storage.directory: $dir/temporary
heartbeat.interval: 1000
heartbeat.timeout: 15000
parallelism.default: 2
execution.checkpointing.interval: 1 s
execution.checkpointing.dir: file://$dir/checkpoints
execution.checkpointing.savepoint-dir: file://$dir/savepoints
state.checkpoints.dir: file://$dir/checkpoints
state.savepoints.dir: file://$dir/savepoints
execution.checkpointing.num-retained: 10
execution.checkpointing.externalized-checkpoint-retention: RETAIN_ON_CANCELLATION
restart-strategy.type: fixed-delay
restart-strategy.fixed-delay.attempts: 1000000
restart-strategy.fixed-delay.delay: 200 ms
${FLINK_CONFIG:-}
CONF
  cat >"$dir/conf/log4j.properties" <<'CONF'
rootLogger.level = INFO
rootLogger.appenderRef.file.ref = File
logger.zookeeper.name = org.apache.flink.shaded.zookeeper3
logger.zookeeper.level = WARN
appender.file.name = File
appender.file.type = File
appender.file.fileName = ${sys:log.file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %-5p %c{1} - %m%n
CONF
  printf 'tickTime=500\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\n' "$dir/zookeeper" "$1" >"$dir/conf/zoo.cfg"
}

java_options() {
  printf '%s\n' -XX:+UseSerialGC -XX:TieredStopAtLevel="${1:-4}" -Djava.io.tmpdir="$dir/temporary" -Dlog4j2.configurationFile="$dir/conf/log4j.properties" \
    -Dzookeeper.admin.enableServer=false -Dzookeeper.4lw.commands.whitelist='*'
  sed -n 's:.*<test.jvm>\(.*\)</test.jvm>.*:\1:p' "$basedir/pom.xml" | tr ' ' '\n'
}

# Runs a class as process NAME, in a process group of its own.
run() {
  local name=$1
  shift
  FLINK_CONF_DIR=$dir/conf setsid java $(java_options) -Dlog.file="$dir/logs/$name.log" -cp "$(cat "$dir/jars")" "$@" \
    </dev/null >>"$dir/logs/$name.out" 2>&1 &
  echo $! >"$dir/$name.pid"
}

launch() {
  case $1 in
    zookeeper) run "$1" -Xmx64m org.apache.flink.runtime.zookeeper.FlinkZooKeeperQuorumPeer --zkConfigFile "$dir/conf/zoo.cfg" --peerId 1 ;;
    jobmanager)
      run "$1" -Xmx512m org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint --configDir "$dir/conf" \
        -D io.tmp.dirs="$dir/temporary" ;;
    taskmanager-*)
      run "$1" -Xmx512m -XX:MaxDirectMemorySize=128m org.apache.flink.runtime.taskexecutor.TaskManagerRunner \
        --configDir "$dir/conf" -D taskmanager.resource-id="$1-$(date +%s%N)" ;;
    *) fail "unknown process $1" ;;
  esac
}

# await WHAT COMMAND...: until the command succeeds, or a process has ended.
await() {
  local what=$1 name
  shift
  for _ in $(seq 1200); do
    if "$@"; then return; fi
    for name in $names; do
      if [ -s "$dir/$name.pid" ] && ! kill -0 "$(cat "$dir/$name.pid")" 2>/dev/null; then
        tail -n 40 "$dir/logs/$name.out" "$dir/logs/$name.log" >&2 || true
        fail "$name ended"
      fi
    done
    sleep 0.1
  done
  fail "waited two minutes for $what"
}

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

rest() { sed -n 's/.*Rest endpoint listening at /http:\/\//p' "$dir/logs/jobmanager.log" 2>/dev/null | tail -n 1; }

has_taskmanagers() {
  local registered
  registered=$(grep -c 'Registering task executor' "$dir/logs/jobmanager.log" 2>/dev/null) || true
  [ "${registered:-0}" -ge 2 ] && [ -n "$(rest)" ]
}

start() {
  local port
  mkdir -p "$dir"
  [ -z "$(ls -A "$dir")" ] || fail "$dir is not empty"
  trap '[ $? -eq 0 ] || stop' EXIT
  classpath >"$dir/jars"
  port=$(free_port)
  configure "$port"
  local disks=none
  if [ -n "${DISK_MB:-}" ]; then disks=$(mount_disks); fi
  launch zookeeper
  await ZooKeeper listens "$port"
  for name in jobmanager taskmanager-1 taskmanager-2; do launch "$name"; done
  if [ -n "${WATCH_PID:-}" ]; then
    setsid bash -c 'while kill -0 "$1" 2>/dev/null && [ -d "$2" ]; do sleep 1; done; [ ! -d "$2" ] || exec "$3" stop "$2"' \
      watch "$WATCH_PID" "$dir" "$script" </dev/null >/dev/null 2>&1 &
  fi
  await 'two TaskManagers' has_taskmanagers
  cat >"$dir/cluster" <<KEYS
REST=$(rest)
LOGS=$dir/logs
CHECKPOINTS=$dir/checkpoints
SAVEPOINTS=$dir/savepoints
DISKS=$disks
KEYS
  cat "$dir/cluster"
}

client() {
  FLINK_CONF_DIR=$dir/conf exec java $(java_options 1) -Dlog.file="$dir/logs/client.log" -cp "$(cat "$dir/jars")" \
    org.apache.flink.table.client.SqlClient embedded -hist "$dir/history" "$@"
}

stop() {
  [ -d "$dir" ] || return 0
  # Whom it ends need not be reported.
  disown -a
  [ -e "$dir/jars" ] || fail "no cluster of ours in $dir"
  local name pid
  for name in $names; do
    if [ -s "$dir/$name.pid" ]; then kill -9 "$(cat "$dir/$name.pid")" 2>/dev/null || true; fi
  done
  for name in $names; do
    pid=$(cat "$dir/$name.pid" 2>/dev/null || true)
    while [ -n "$pid" ] && [ -e "/proc/$pid" ] && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null; do sleep 0.02; done
  done
  unmount_disks
  rm -rf "$dir"
}

command=${1:-}
dir=${2:-}
[ -n "$dir" ] || { sed -n '2,13p' "$script" >&2; exit 2; }
case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
shift 2
case $command in
  start) start ;;
  launch) launch "$1" ;;
  client) client "$@" ;;
  rest) rest ;;
  stop) stop ;;
  *) fail "unknown command $command" ;;
esac
