package io.tidemark.savepoint;

import io.tidemark.TidemarkSource;
import io.tidemark.TidemarkSourceBuilder;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.RowData;

/**
 * The job whose savepoints are kept: its operators have names of their own, so that any version of
 * Flink finds their states. Rows come out as {@code kind ID V}.
 */
final class FixtureJob implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(120);

  /** By job: it runs in this process. */
  private static final Map<String, List<String>> ROWS = new ConcurrentHashMap<>();

  private final String id = UUID.randomUUID().toString();
  private final JobClient job;
  private boolean ended;

  /**
   * @param savepoint to go on from, or null
   * @param millisPerRow how long each row takes: a savepoint can then be taken between two
   */
  FixtureJob(TidemarkSourceBuilder source, Path savepoint, long millisPerRow) throws Exception {
    ROWS.put(id, new CopyOnWriteArrayList<>());
    Configuration configuration = new Configuration();
    configuration.setString("parallelism.default", "1");
    configuration.setString("execution.checkpointing.interval", "100 ms");
    configuration.setString("restart-strategy.type", "disable");
    configuration.setString("rest.port", "0");
    if (savepoint != null) {
      configuration.setString("execution.state-recovery.path", savepoint.toUri().toString());
    }
    StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    TidemarkSource<RowData> built =
        source
            .columns(
                DataTypes.ROW(
                    DataTypes.FIELD("ID", DataTypes.BIGINT().notNull()),
                    DataTypes.FIELD("V", DataTypes.STRING())))
            .build(environment);
    environment
        .fromSource(built, WatermarkStrategy.noWatermarks(), "source")
        .uid("source")
        .map(new Note(id, millisPerRow))
        .uid("note")
        .sinkTo(new DiscardingSink<>())
        .uid("sink");
    job = environment.executeAsync();
  }

  /** What came so far. */
  List<String> rows() {
    return new ArrayList<>(ROWS.get(id));
  }

  /** Waits for so many rows. */
  void await(int rows) throws Exception {
    CompletableFuture<?> result = job.getJobExecutionResult();
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (ROWS.get(id).size() < rows) {
      if (result.isDone()) {
        result.get();
      }
      if (System.nanoTime() > deadline) {
        throw new AssertionError("waited for " + rows + " rows, there are " + rows());
      }
      Thread.sleep(10);
    }
  }

  /** Ends it with a savepoint in Flink's own format, which other versions read. */
  Path stop(Path folder) throws Exception {
    String path =
        job.stopWithSavepoint(false, folder.toUri().toString(), SavepointFormatType.CANONICAL)
            .get();
    ended = true;
    return Path.of(URI.create(path));
  }

  /** What it fails with, which it must. */
  Throwable failure() throws Exception {
    ended = true;
    try {
      job.getJobExecutionResult().get();
    } catch (ExecutionException e) {
      return e;
    }
    throw new AssertionError("the job ended");
  }

  @Override
  public void close() throws Exception {
    // Its cluster is gone with a job that has ended.
    if (!ended) {
      job.cancel().get();
    }
    ROWS.remove(id);
  }

  private static final class Note implements MapFunction<RowData, String> {
    private static final long serialVersionUID = 1L;
    private final String id;
    private final long millis;

    Note(String id, long millis) {
      this.id = id;
      this.millis = millis;
    }

    @Override
    public String map(RowData row) throws InterruptedException {
      String text = row.getRowKind().shortString() + " " + row.getLong(0) + " " + row.getString(1);
      ROWS.get(id).add(text);
      Thread.sleep(millis);
      return text;
    }
  }
}
