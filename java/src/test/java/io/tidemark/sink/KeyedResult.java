package io.tidemark.sink;

import io.tidemark.workload.OrdersTable;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.sink.DataStreamSinkProvider;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.util.Collector;

/**
 * A table sink {@code 'connector' = 'keyed-result'} of {@link OrdersTable} rows: a map of this JVM, keyed by ID, one
 * map a name. It outlives jobs, as a database would.
 */
public final class KeyedResult implements DynamicTableSinkFactory {
  private static final ConfigOption<String> NAME = ConfigOptions.key("name").stringType().noDefaultValue();
  private static final Map<String, Content> CONTENTS = new ConcurrentHashMap<>();

  /** What has arrived under a name. */
  public static Content content(String name) {
    return CONTENTS.computeIfAbsent(name, n -> new Content());
  }

  /** Rows by key, and how many changes made them. */
  public static final class Content {
    private final Map<Long, Object[]> rows = new ConcurrentHashMap<>();
    private final AtomicLong changes = new AtomicLong();
    private final AtomicLong streamed = new AtomicLong();
    private volatile long newestMillis;

    public long changes() {
      return changes.get();
    }

    public long streamed() {
      return streamed.get();
    }

    /** Commit time of the newest streamed change, 0 before there is one. */
    public long newestMillis() {
      return newestMillis;
    }

    public OrdersTable.Checksum checksum() {
      OrdersTable.Checksum sum = new OrdersTable.Checksum();
      rows.forEach(
          (id, row) ->
              sum.add(
                  id,
                  (String) row[0],
                  (java.math.BigDecimal) row[1],
                  (String) row[2],
                  (java.time.LocalDate) row[3],
                  (java.time.LocalDateTime) row[4]));
      return sum;
    }

    void apply(RowData row) {
      changes.incrementAndGet();
      long millis = row.getTimestamp(6, 3).getMillisecond();
      if (millis > 0) {
        streamed.incrementAndGet();
        newestMillis = millis;
      }
      long id = row.getLong(0);
      switch (row.getRowKind()) {
        case INSERT:
        case UPDATE_AFTER:
          rows.put(
              id,
              new Object[] {
                text(row, 1),
                row.isNullAt(2) ? null : row.getDecimal(2, 12, 2).toBigDecimal(),
                text(row, 3),
                row.isNullAt(4) ? null : java.time.LocalDate.ofEpochDay(row.getInt(4)),
                row.isNullAt(5) ? null : row.getTimestamp(5, 6).toLocalDateTime()
              });
          break;
        case DELETE:
        case UPDATE_BEFORE:
          rows.remove(id);
          break;
      }
    }

    private static String text(RowData row, int field) {
      return row.isNullAt(field) ? null : row.getString(field).toString();
    }
  }

  @Override
  public String factoryIdentifier() {
    return "keyed-result";
  }

  @Override
  public Set<ConfigOption<?>> requiredOptions() {
    return Set.of(NAME);
  }

  @Override
  public Set<ConfigOption<?>> optionalOptions() {
    return Set.of();
  }

  @Override
  public DynamicTableSink createDynamicTableSink(Context context) {
    FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
    helper.validate();
    return new Sink(helper.getOptions().get(NAME));
  }

  private static final class Sink implements DynamicTableSink {
    private final String name;

    private Sink(String name) {
      this.name = name;
    }

    @Override
    public ChangelogMode getChangelogMode(ChangelogMode requested) {
      return ChangelogMode.all();
    }

    @Override
    public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
      return new DataStreamSinkProvider() {
        @Override
        public DataStreamSink<?> consumeDataStream(ProviderContext provider, DataStream<RowData> rows) {
          return rows.keyBy((KeySelector<RowData, Long>) row -> row.getLong(0))
              .process(new Apply(name))
              .sinkTo(new DiscardingSink<>());
        }
      };
    }

    @Override
    public DynamicTableSink copy() {
      return new Sink(name);
    }

    @Override
    public String asSummaryString() {
      return "keyed-result";
    }
  }

  private static final class Apply extends KeyedProcessFunction<Long, RowData, Void> {
    private static final long serialVersionUID = 1L;
    private final String name;

    private Apply(String name) {
      this.name = name;
    }

    @Override
    public void processElement(RowData row, Context context, Collector<Void> out) {
      content(name).apply(row);
    }
  }
}
