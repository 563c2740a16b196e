package io.tidemark.sink;

import io.tidemark.workload.OrdersTable;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.Collector;

/**
 * A table sink {@code 'connector' = 'keyed-result'} of {@link OrdersTable} rows: a map of this JVM,
 * keyed by ID, one map a name. It outlives jobs, as a database would, and a job that is restored
 * takes back what it wrote after its checkpoint.
 */
public final class KeyedResult extends OneOptionSink<String> {
  private static final ConfigOption<String> NAME =
      ConfigOptions.key("name").stringType().noDefaultValue();
  private static final Map<String, Content> CONTENTS = new ConcurrentHashMap<>();

  /** What has arrived under a name. */
  public static Content content(String name) {
    return CONTENTS.computeIfAbsent(name, n -> new Content());
  }

  /** Rows by key, and how many changes made them. */
  public static final class Content {
    private final Map<Long, Object[]> rows = new ConcurrentHashMap<>();
    private final Map<Integer, Journal> journals = new ConcurrentHashMap<>();
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

    /** The keys that have a row. */
    public Set<Long> ids() {
      return rows.keySet();
    }

    /** A column of the row with a key, counted behind the key; null where there is no row. */
    public Object column(long id, int column) {
      Object[] row = rows.get(id);
      return row == null ? null : row[column];
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
                  (LocalDate) row[3],
                  (java.time.LocalDateTime) row[4]));
      return sum;
    }

    /** Applies a change and returns what undoes it. */
    Undo apply(RowData row) {
      changes.incrementAndGet();
      long millis = row.getTimestamp(6, 3).getMillisecond();
      if (millis > 0) {
        streamed.incrementAndGet();
        newestMillis = millis;
      }
      long id = row.getLong(0);
      boolean puts = row.getRowKind() == RowKind.INSERT || row.getRowKind() == RowKind.UPDATE_AFTER;
      return new Undo(id, puts ? rows.put(id, columns(row)) : rows.remove(id));
    }

    void undo(Undo undo) {
      if (undo.before == null) {
        rows.remove(undo.id);
      } else {
        rows.put(undo.id, undo.before);
      }
    }

    private static Object[] columns(RowData row) {
      return new Object[] {
        text(row, 1),
        row.isNullAt(2) ? null : row.getDecimal(2, 12, 2).toBigDecimal(),
        text(row, 3),
        row.isNullAt(4) ? null : LocalDate.ofEpochDay(row.getInt(4)),
        row.isNullAt(5) ? null : row.getTimestamp(5, 6).toLocalDateTime()
      };
    }

    private static String text(RowData row, int field) {
      return row.isNullAt(field) ? null : row.getString(field).toString();
    }
  }

  public KeyedResult() {
    super("keyed-result", NAME);
  }

  @Override
  protected DataStreamSink<?> sink(
      DataStream<RowData> rows, String name, List<LogicalType> columns) {
    return rows.keyBy((KeySelector<RowData, Long>) row -> row.getLong(0))
        .process(new Apply(name))
        .sinkTo(new DiscardingSink<>());
  }

  /** What a row was before a change. */
  private static final class Undo {
    final long id;
    final Object[] before;

    Undo(long id, Object[] before) {
      this.id = id;
      this.before = before;
    }
  }

  /**
   * What a subtask did since checkpoints that may yet be restored; {@code marks} are places in it.
   */
  private static final class Journal {
    final Deque<Undo> undos = new ArrayDeque<>();
    final TreeMap<Long, Long> marks = new TreeMap<>();
    long written;

    void add(Undo undo) {
      undos.addLast(undo);
      written++;
    }

    void mark(long checkpoint) {
      marks.put(checkpoint, written);
    }

    /** Checkpoints before the third newest are not restored. */
    void forget(long completed) {
      while (marks.headMap(completed).size() > 3) {
        marks.pollFirstEntry();
      }
      while (!marks.isEmpty() && written - undos.size() < marks.firstEntry().getValue()) {
        undos.removeFirst();
      }
    }

    void back(long checkpoint, Content content) {
      long to = marks.getOrDefault(checkpoint, 0L);
      while (written > to) {
        content.undo(undos.removeLast());
        written--;
      }
      marks.tailMap(checkpoint, false).clear();
    }
  }

  private static final class Apply extends KeyedProcessFunction<Long, RowData, Void>
      implements CheckpointedFunction, CheckpointListener {
    private static final long serialVersionUID = 1L;
    private final String name;
    private transient ListState<Long> checkpoint;
    private transient Content content;
    private transient Journal journal;

    private Apply(String name) {
      this.name = name;
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
      checkpoint =
          context
              .getOperatorStateStore()
              .getListState(new ListStateDescriptor<>("checkpoint", Types.LONG));
      content = content(name);
      journal =
          content.journals.computeIfAbsent(
              getRuntimeContext().getTaskInfo().getIndexOfThisSubtask(), n -> new Journal());
      long restored = 0;
      for (Long number : checkpoint.get()) {
        restored = number;
      }
      journal.back(restored, content);
    }

    @Override
    public void processElement(RowData row, Context context, Collector<Void> out) {
      journal.add(content.apply(row));
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) throws Exception {
      journal.mark(context.getCheckpointId());
      checkpoint.update(List.of(context.getCheckpointId()));
    }

    @Override
    public void notifyCheckpointComplete(long number) {
      journal.forget(number);
    }
  }
}
