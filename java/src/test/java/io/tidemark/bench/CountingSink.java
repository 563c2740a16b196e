package io.tidemark.bench;

import io.tidemark.sink.OneOptionSink;
import java.time.Instant;
import java.util.List;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.util.Collector;

/**
 * A table sink {@code 'connector' = 'counting'} for one job at parallelism 1 in this JVM: how many
 * rows came, when, and the sum of their first column, by which two jobs can be compared. With
 * {@code 'clock'}, the index of a BIGINT column of microseconds since 1970, also how old each row
 * was.
 */
public final class CountingSink extends OneOptionSink<Integer> {
  private static volatile long rows;
  private static volatile long sum;
  private static volatile long firstNanos;
  private static volatile long lastNanos;
  private static final Ages AGES = new Ages();
  private static final ConfigOption<Integer> CLOCK =
      ConfigOptions.key("clock").intType().defaultValue(-1);

  /** How many rows have come. */
  public static long rows() {
    return rows;
  }

  /** The sum of their first column, a BIGINT. */
  public static long sum() {
    return sum;
  }

  /** {@link System#nanoTime()} at the first one. */
  public static long firstNanos() {
    return firstNanos;
  }

  /** {@link System#nanoTime()} at the last one that {@link #rows} counts. */
  public static long lastNanos() {
    return lastNanos;
  }

  /** How old the rows were. */
  static Ages ages() {
    return AGES;
  }

  public CountingSink() {
    super("counting", CLOCK);
  }

  @Override
  protected DataStreamSink<?> sink(
      DataStream<RowData> rows, Integer clock, List<LogicalType> columns) {
    return rows.process(new Count(clock)).sinkTo(new DiscardingSink<>());
  }

  private static final class Count extends ProcessFunction<RowData, Void> {
    private static final long serialVersionUID = 1L;
    private static final int PUBLISHED_EVERY = 1000;
    private final int clock;
    private long count;
    private long keys;
    private long published;

    private Count(int clock) {
      this.clock = clock;
    }

    @Override
    public void processElement(RowData row, Context context, Collector<Void> out) {
      if (count++ == 0) {
        firstNanos = System.nanoTime();
      }
      keys += row.getLong(0);
      if (clock >= 0) {
        Instant now = Instant.now();
        long micros = now.getEpochSecond() * 1_000_000 + now.getNano() / 1000;
        AGES.add(row.getLong(clock), micros);
      }
      if (count % PUBLISHED_EVERY == 0) {
        publish();
      }
    }

    @Override
    public void close() {
      publish();
    }

    private void publish() {
      if (count > published) {
        lastNanos = System.nanoTime();
        published = count;
      }
      sum = keys;
      rows = count;
    }
  }
}
