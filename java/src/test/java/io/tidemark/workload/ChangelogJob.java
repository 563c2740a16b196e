package io.tidemark.workload;

import io.tidemark.sink.CommittedLines;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Random;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;

/**
 * A job of its own process, to be killed: the changelog of {@link OrdersTable} into {@link
 * CommittedLines}, at parallelism 4, one region a subtask, with a subtask that fails now and then.
 */
public final class ChangelogJob {
  private ChangelogJob() {}

  /**
   * Arguments: folder of lines, folder of checkpoints, checkpoint to restore or -, one row in how
   * many fails, seed, table options.
   */
  public static void main(String[] args) throws Exception {
    Configuration configuration = new Configuration();
    configuration.setString("parallelism.default", "4");
    configuration.setString("taskmanager.numberOfTaskSlots", "4");
    configuration.setString("execution.checkpointing.interval", "300 ms");
    configuration.setString("execution.checkpointing.dir", Path.of(args[1]).toUri().toString());
    configuration.setString("state.checkpoints.dir", Path.of(args[1]).toUri().toString());
    configuration.setString(
        "execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    configuration.setString("execution.checkpointing.num-retained", "3");
    configuration.setString("restart-strategy.type", "fixed-delay");
    configuration.setString("restart-strategy.fixed-delay.attempts", "1000000");
    configuration.setString("restart-strategy.fixed-delay.delay", "50 ms");
    configuration.setString("rest.port", "0");
    if (!args[2].equals("-")) {
      configuration.setString("execution.state-recovery.path", Path.of(args[2]).toUri().toString());
    }
    StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
    tables.executeSql(
        "CREATE TABLE orders ("
            + OrdersTable.FLINK_COLUMNS
            + ", transaction_id STRING METADATA VIRTUAL) "
            + args[5]);
    tables
        .toChangelogStream(tables.sqlQuery("SELECT * FROM orders"))
        .map(new ToLine(Integer.parseInt(args[3]), Long.parseLong(args[4])), Types.STRING)
        .process(new CommittedLines(Path.of(args[0])))
        .uid("lines")
        .sinkTo(new DiscardingSink<>());
    environment.execute("changelog");
  }

  /** A row as {@code transaction|kind|columns…}, the form of {@link Judge}. */
  static String line(Row row) {
    Object transaction = row.getField(6);
    return transaction
        + "|"
        + row.getKind().shortString()
        + "|"
        + row.getField(0)
        + "|"
        + row.getField(1)
        + "|"
        + row.getField(2)
        + "|"
        + (row.getField(3) == null ? null : row.getField(3).toString().replace("\n", "\\n"))
        + "|"
        + row.getField(4)
        + "|"
        + time((LocalDateTime) row.getField(5));
  }

  private static String time(LocalDateTime time) {
    if (time == null) {
      return null;
    }
    String text = time.format(DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSS"));
    return text.replaceFirst("\\.?0+$", "");
  }

  /** Fails now and then, but not for ever: each subtask's fourth attempt goes through. */
  private static final class ToLine extends RichMapFunction<Row, String> {
    private static final long serialVersionUID = 1L;
    private final int failOneIn;
    private final long seed;
    private transient boolean failing;
    private transient Random random;

    ToLine(int failOneIn, long seed) {
      this.failOneIn = failOneIn;
      this.seed = seed;
    }

    @Override
    public void open(OpenContext context) {
      failing = failOneIn > 0 && getRuntimeContext().getTaskInfo().getAttemptNumber() < 3;
      random =
          new Random(
              seed
                  + 31L * getRuntimeContext().getTaskInfo().getIndexOfThisSubtask()
                  + 1009L * getRuntimeContext().getTaskInfo().getAttemptNumber());
    }

    @Override
    public String map(Row row) {
      if (failing && random.nextInt(failOneIn) == 0) {
        throw new IllegalStateException("a subtask fails, as the test asked for");
      }
      return line(row);
    }
  }
}
