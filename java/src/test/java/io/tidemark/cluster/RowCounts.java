package io.tidemark.cluster;

import io.tidemark.sink.OneOptionSink;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.util.Collector;

/**
 * A table sink {@code 'connector' = 'row-counts'} for one job at parallelism 1, which may run in
 * another process. Its columns are a BIGINT, a STRING, and the transaction as a STRING. It writes
 * {@link Counts} to the file {@code path} with each checkpoint, and keeps no row.
 */
public final class RowCounts extends OneOptionSink<String> {
  private static final ConfigOption<String> PATH =
      ConfigOptions.key("path").stringType().noDefaultValue();

  /** What came so far. */
  static final class Counts {
    long rows;

    /** Of the BIGINTs. */
    long sum;

    /** Characters of the texts. */
    long characters;

    /** How often a row was of another transaction than the one before. */
    long transactions;

    /** The BIGINT of the last row. */
    long last;

    static Counts read(Path file) throws IOException {
      Counts counts = new Counts();
      if (Files.exists(file)) {
        String[] parts = Files.readString(file, StandardCharsets.UTF_8).split(" ");
        counts.rows = Long.parseLong(parts[0]);
        counts.sum = Long.parseLong(parts[1]);
        counts.characters = Long.parseLong(parts[2]);
        counts.transactions = Long.parseLong(parts[3]);
        counts.last = Long.parseLong(parts[4]);
      }
      return counts;
    }

    private void write(Path file) throws IOException {
      Path next = file.resolveSibling(file.getFileName() + ".next");
      String text = rows + " " + sum + " " + characters + " " + transactions + " " + last;
      Files.writeString(next, text, StandardCharsets.UTF_8);
      Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
    }
  }

  public RowCounts() {
    super("row-counts", PATH);
  }

  @Override
  protected DataStreamSink<?> sink(
      DataStream<RowData> rows, String path, List<LogicalType> columns) {
    return rows.process(new Count(path)).sinkTo(new DiscardingSink<>());
  }

  private static final class Count extends ProcessFunction<RowData, Void>
      implements CheckpointedFunction {
    private static final long serialVersionUID = 1L;
    private final String path;
    private transient Counts counts;
    private transient StringData transaction;

    Count(String path) {
      this.path = path;
    }

    @Override
    public void initializeState(FunctionInitializationContext context) {
      counts = new Counts();
    }

    @Override
    public void processElement(RowData row, Context context, Collector<Void> out) {
      counts.rows++;
      counts.last = row.getLong(0);
      counts.sum += counts.last;
      counts.characters += row.getString(1).toString().length();
      StringData its = row.getString(2);
      if (!its.equals(transaction)) {
        counts.transactions++;
        // What the row lies in is used again for the next one.
        transaction = StringData.fromString(its.toString());
      }
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) throws IOException {
      counts.write(Path.of(path));
    }
  }
}
