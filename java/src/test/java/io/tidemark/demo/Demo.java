package io.tidemark.demo;

import io.tidemark.sink.KeyedResult;
import io.tidemark.workload.OrdersTable;
import io.tidemark.workload.StandIn;
import io.tidemark.workload.Writers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * Watches a Flink SQL job take a table's snapshot and then its changes while eight writers change
 * it, survive a restart from its checkpoint, and end equal to the table.
 */
public final class Demo {
  private static final String RESULT = "demo";
  private final Map<String, String> arguments;
  private final Path checkpoints;
  private final StandIn standIn;
  private final boolean terminal = System.console() != null;

  private Demo(Map<String, String> arguments, StandIn standIn) throws IOException {
    this.arguments = arguments;
    this.standIn = standIn;
    this.checkpoints = Files.createTempDirectory("tidemark-demo-checkpoints");
  }

  public static void main(String[] args) throws Exception {
    Map<String, String> arguments = new HashMap<>();
    for (int n = 0; n + 1 < args.length; n += 2) {
      arguments.put(args[n].replaceFirst("^--", ""), args[n + 1]);
    }
    say("starting the stand-in: a LogMiner over PostgreSQL's own log, in DM8's form");
    boolean equal;
    try (StandIn standIn = StandIn.start()) {
      equal = new Demo(arguments, standIn).run();
    }
    say("");
    say(
        "What differs on a real DM8 (docs/dameng.md has the whole list): its ODBC driver; how far the archive's end");
    say(
        "stays behind under load; whether rows of a mining call come interleaved; what a ROLLBACK TO SAVEPOINT leaves;");
    say(
        "cuts inside a character at 4,000 bytes. The statements that the connector sends are the same.");
    System.exit(equal ? 0 : 1);
  }

  private boolean run() throws Exception {
    long rows = Long.parseLong(arguments.getOrDefault("rows", "200000"));
    long seconds = Long.parseLong(arguments.getOrDefault("seconds", "30"));
    long seed = Long.parseLong(arguments.getOrDefault("seed", "1"));
    try (Connection connection = DriverManager.getConnection(standIn.jdbcUrl())) {
      say("loading %,d rows into BIZ.ORDERS", rows);
      long start = System.nanoTime();
      OrdersTable.create(connection, rows);
      say("loaded in %.1f s", (System.nanoTime() - start) / 1e9);

      Writers writers = new Writers(standIn.jdbcUrl(), 8, rows + rows / 10, seed, 5);
      writers.start();
      say("eight writers are at work; the job starts (parallelism 2, a checkpoint every 2 s)");
      JobClient job = submit(null);
      long begin = System.nanoTime();
      long half = begin + Duration.ofSeconds(seconds).toNanos() / 2;
      long end = begin + Duration.ofSeconds(seconds).toNanos();
      watch(job, writers, () -> System.nanoTime() >= half && checkpoint().isPresent());
      job.cancel().get(60, TimeUnit.SECONDS);
      await(job);
      Path restore = checkpoint().orElseThrow();
      say("stopped the job without a savepoint; it starts again from %s", restore.getFileName());
      job = submit(restore);
      watch(job, writers, () -> System.nanoTime() >= end);
      writers.close();
      say("writers have stopped: %,d commits, %,d changes", writers.commits(), writers.changes());

      OrdersTable.Checksum table = OrdersTable.checksum(connection);
      long deadline = System.nanoTime() + Duration.ofSeconds(180).toNanos();
      watch(
          job,
          writers,
          () ->
              System.nanoTime() > deadline || KeyedResult.content(RESULT).checksum().equals(table));
      job.cancel().get(60, TimeUnit.SECONDS);
      await(job);
      OrdersTable.Checksum result = KeyedResult.content(RESULT).checksum();
      say("table  BIZ.ORDERS : %s", table);
      say("result of the job : %s", result);
      boolean equal = table.equals(result);
      say(equal ? "equal" : "DIFFERENT");
      return equal;
    } finally {
      delete(checkpoints);
    }
  }

  private JobClient submit(Path restore) throws Exception {
    Configuration configuration = new Configuration();
    configuration.setString("parallelism.default", "2");
    configuration.setString("taskmanager.numberOfTaskSlots", "2");
    configuration.setString("execution.checkpointing.interval", "2 s");
    configuration.setString("execution.checkpointing.dir", checkpoints.toUri().toString());
    configuration.setString("state.checkpoints.dir", checkpoints.toUri().toString());
    configuration.setString(
        "execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    configuration.setString("execution.checkpointing.num-retained", "3");
    configuration.setString("restart-strategy.type", "disable");
    configuration.setString("rest.port", "0");
    configuration.setString("metrics.reporters", "demo");
    configuration.setString("metrics.reporter.demo.factory.class", Gauges.class.getName());
    if (restore != null) {
      configuration.setString("execution.state-recovery.path", restore.toUri().toString());
    }
    StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
    tables.executeSql(
        "CREATE TABLE orders ("
            + OrdersTable.FLINK_COLUMNS
            + ", op_ts TIMESTAMP_LTZ(3) METADATA VIRTUAL) "
            + standIn.with());
    tables.executeSql(
        "CREATE TABLE copied_orders ("
            + OrdersTable.FLINK_COLUMNS
            + ", op_ts TIMESTAMP_LTZ(3)) WITH ('connector' = 'keyed-result', 'name' = '"
            + RESULT
            + "')");
    return tables
        .executeSql("INSERT INTO copied_orders SELECT * FROM orders")
        .getJobClient()
        .orElseThrow();
  }

  /** Refreshes the progress line until the condition holds. */
  private void watch(JobClient job, Writers writers, Condition until) throws Exception {
    KeyedResult.Content content = KeyedResult.content(RESULT);
    long before = content.changes();
    long at = System.nanoTime();
    while (!until.holds()) {
      TimeUnit.MILLISECONDS.sleep(terminal ? 500 : 2_000);
      if (job.getJobExecutionResult().isDone()) {
        job.getJobExecutionResult().get();
        throw new IllegalStateException("the job ended by itself");
      }
      long now = System.nanoTime();
      long changes = content.changes();
      double rate = (changes - before) / ((now - at) / 1e9);
      before = changes;
      at = now;
      boolean streaming = content.streamed() > 0;
      long lag = streaming ? Math.max(0, System.currentTimeMillis() - content.newestMillis()) : 0;
      progress(
          "%-8s chunks %s, %,9.0f rows/s, %,d rows taken, %,d commits written, lag %s",
          streaming ? "stream" : "snapshot",
          Gauges.chunks(),
          rate,
          changes,
          writers.commits(),
          streaming ? lag + " ms" : "-");
    }
    if (terminal) {
      System.out.println();
    }
  }

  /** Waits for the end of a job; anything but a cancellation is an error. */
  private static void await(JobClient job) throws Exception {
    try {
      job.getJobExecutionResult().get(60, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (!isCancellation(e)) {
        throw e;
      }
    } catch (java.util.concurrent.CancellationException e) {
      // that is how it was to end
    }
  }

  private static boolean isCancellation(Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause.getClass().getSimpleName().contains("Cancel")) {
        return true;
      }
    }
    return false;
  }

  /** The newest completed checkpoint. */
  private Optional<Path> checkpoint() throws IOException {
    try (Stream<Path> files = Files.walk(checkpoints, 2)) {
      return files
          .filter(
              path ->
                  path.getFileName().toString().startsWith("chk-")
                      && Files.exists(path.resolve("_metadata")))
          .max(Comparator.comparingLong(path -> path.resolve("_metadata").toFile().lastModified()));
    } catch (java.io.UncheckedIOException e) {
      return Optional.empty(); // a checkpoint was dropped while the folder was read
    }
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      files.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
    }
  }

  private void progress(String format, Object... values) {
    String line = String.format(format, values);
    if (terminal) {
      System.out.print("\r" + line + "\033[K");
      System.out.flush();
    } else {
      System.out.println(line);
    }
  }

  private static void say(String format, Object... values) {
    System.out.println(String.format(format, values));
  }

  private interface Condition {
    boolean holds() throws Exception;
  }
}
