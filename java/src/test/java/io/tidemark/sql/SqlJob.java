package io.tidemark.sql;

import io.tidemark.demo.Gauges;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/** A query over a table of ours as a job of its own; its rows are taken as they come out. */
public final class SqlJob implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final JobClient client;
  private final CloseableIterator<Row> rows;

  private SqlJob(TableResult result) {
    client = result.getJobClient().orElseThrow();
    rows = result.collect();
  }

  /** Runs the query of a job at parallelism 1, with checkpoints and without restarts. */
  public static SqlJob start(String table, String query) {
    return start(Map.of(), table, query);
  }

  /** The same with settings of Flink that replace those; an empty one takes a setting away. */
  public static SqlJob start(Map<String, String> settings, String table, String query) {
    Configuration configuration = new Configuration();
    configuration.setString("parallelism.default", "1");
    configuration.setString("taskmanager.numberOfTaskSlots", "2");
    configuration.setString("execution.checkpointing.interval", "50 ms");
    configuration.setString("restart-strategy.type", "disable");
    configuration.setString("rest.port", "0");
    configuration.setString("metrics.reporters", "gauges");
    configuration.setString("metrics.reporter.gauges.factory.class", Gauges.class.getName());
    settings.forEach(
        (name, value) -> {
          if (value.isEmpty()) {
            configuration.removeKey(name);
          } else {
            configuration.setString(name, value);
          }
        });
    StreamTableEnvironment tables =
        StreamTableEnvironment.create(
            StreamExecutionEnvironment.getExecutionEnvironment(configuration));
    tables.executeSql(table);
    return new SqlJob(tables.executeSql(query));
  }

  /** The next rows, which must come. */
  public List<Row> take(int count) {
    List<Row> taken = new ArrayList<>();
    while (taken.size() < count && rows.hasNext()) {
      taken.add(rows.next());
    }
    return taken;
  }

  /** The rows that come until the job ends by itself. */
  List<Row> takeAll() {
    return take(Integer.MAX_VALUE);
  }

  boolean isRunning() {
    return !client.getJobExecutionResult().isDone();
  }

  /** All messages of what the job fails with. */
  public String failure() throws InterruptedException {
    try {
      client.getJobExecutionResult().get();
    } catch (ExecutionException e) {
      StringBuilder messages = new StringBuilder();
      for (Throwable cause = e; cause != null; cause = cause.getCause()) {
        messages.append(cause.getMessage()).append('\n');
      }
      return messages.toString();
    }
    return "it did not fail";
  }

  /** Waits until a gauge of the job has a value other than {@code not}. */
  static long gauge(String name, long not) throws Exception {
    await(
        "gauge " + name,
        () -> Gauges.value(name) instanceof Long && !Gauges.value(name).equals(not));
    return (Long) Gauges.value(name);
  }

  static void await(String what, Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.call()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("waited in vain for " + what);
      }
      Thread.sleep(20);
    }
  }

  @Override
  public void close() throws Exception {
    // Cancels the job.
    rows.close();
    await("the job's end", () -> client.getJobExecutionResult().isDone());
  }
}
