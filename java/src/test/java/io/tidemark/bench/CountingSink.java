package io.tidemark.bench;

import java.util.Set;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.sink.DataStreamSinkProvider;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.util.Collector;

/**
 * A table sink {@code 'connector' = 'counting'} for one job at parallelism 1 in this JVM: how many
 * rows came, when, and the sum of their first column, by which two jobs can be compared.
 */
public final class CountingSink implements DynamicTableSinkFactory {
  private static volatile long rows;
  private static volatile long sum;
  private static volatile long firstNanos;

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

  @Override
  public String factoryIdentifier() {
    return "counting";
  }

  @Override
  public Set<ConfigOption<?>> requiredOptions() {
    return Set.of();
  }

  @Override
  public Set<ConfigOption<?>> optionalOptions() {
    return Set.of();
  }

  @Override
  public DynamicTableSink createDynamicTableSink(Context context) {
    return new Table();
  }

  private static final class Table implements DynamicTableSink {
    @Override
    public ChangelogMode getChangelogMode(ChangelogMode requested) {
      return ChangelogMode.all();
    }

    @Override
    public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
      return new DataStreamSinkProvider() {
        @Override
        public DataStreamSink<?> consumeDataStream(
            ProviderContext provider, DataStream<RowData> rows) {
          return rows.process(new Count()).sinkTo(new DiscardingSink<>());
        }
      };
    }

    @Override
    public DynamicTableSink copy() {
      return new Table();
    }

    @Override
    public String asSummaryString() {
      return "counting";
    }
  }

  private static final class Count extends ProcessFunction<RowData, Void> {
    private static final long serialVersionUID = 1L;
    private static final int PUBLISHED_EVERY = 1000;
    private long count;
    private long keys;

    @Override
    public void processElement(RowData row, Context context, Collector<Void> out) {
      if (count++ == 0) {
        firstNanos = System.nanoTime();
      }
      keys += row.getLong(0);
      if (count % PUBLISHED_EVERY == 0) {
        publish();
      }
    }

    @Override
    public void close() {
      publish();
    }

    private void publish() {
      sum = keys;
      rows = count;
    }
  }
}
