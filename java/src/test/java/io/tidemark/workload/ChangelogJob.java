package io.tidemark.workload;

import io.tidemark.sink.CommittedLines;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import org.apache.flink.api.common.typeinfo.Types;
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
    StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.getExecutionEnvironment(
            JobProcess.configuration(args[1], args[2], 4));
    StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
    tables.executeSql(
        "CREATE TABLE orders ("
            + OrdersTable.FLINK_COLUMNS
            + ", transaction_id STRING METADATA VIRTUAL) "
            + args[5]);
    tables
        .toChangelogStream(tables.sqlQuery("SELECT * FROM orders"))
        .map(
            new FailsNowAndThen<Row, String>(
                Integer.parseInt(args[3]), Long.parseLong(args[4]), ChangelogJob::line),
            Types.STRING)
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
}
