package io.tidemark.source.reader;

import io.tidemark.TidemarkException;
import io.tidemark.source.split.TidemarkSplit;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.table.data.RowData;
import org.apache.flink.types.RowKind;

/**
 * A core that counts: a split {@code a-b} is the numbers from a to below b, each as an update, -U
 * and +U. It stops in the middle of each split until a checkpoint is complete, so that there is
 * something to restore.
 */
public final class CountingReader implements ReaderCore {
  private static final int UNITS_A_BATCH = 7;

  private final RuntimeException failure;
  private final Deque<long[]> splits = new ArrayDeque<>();
  private final TreeMap<Long, long[]> handedOut = new TreeMap<>();
  private long batches;
  private boolean checkpointed;
  private boolean noMoreSplits;
  private boolean cancelled;

  private CountingReader(RuntimeException failure) {
    this.failure = failure;
  }

  /** A reader of Flink over such a core, which fails with {@code failure} if that is not null. */
  public static SourceReader<RowData, TidemarkSplit> create(
      SourceReaderContext context, RuntimeException failure) {
    return new TidemarkReader<>(context, new CountingReader(failure), TestBatch.FORMAT);
  }

  @Override
  public List<byte[]> start() {
    return List.of();
  }

  @Override
  public synchronized List<byte[]> addSplits(List<TidemarkSplit> more) {
    for (TidemarkSplit split : more) {
      String[] ends = split.splitId().split("-");
      long from = Long.parseLong(ends[0]);
      long to = Long.parseLong(ends[1]);
      splits.add(new long[] {from, to, checkpointed ? from : (from + to) / 2});
    }
    notifyAll();
    return List.of();
  }

  @Override
  public List<byte[]> handle(byte[] event) {
    return List.of();
  }

  @Override
  public synchronized List<byte[]> noMoreSplits() {
    noMoreSplits = true;
    notifyAll();
    return List.of();
  }

  @Override
  public synchronized Message next(long timeoutMillis) {
    try {
      Message message = next();
      if (message == null) {
        wait(timeoutMillis);
        message = next();
      }
      return message;
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private Message next() {
    if (cancelled) {
      throw new TidemarkException("TM-9001", "closed", true);
    }
    // Not before a split is here: an event that finds no task restarts the job, whatever the task
    // failed with.
    if (failure != null && !splits.isEmpty()) {
      throw failure;
    }
    if (splits.isEmpty()) {
      return noMoreSplits && handedOut.isEmpty() ? Message.end() : null;
    }
    long[] split = splits.peek();
    long from = split[0];
    if (from >= split[2] && !checkpointed) {
      return null;
    }
    TestBatch batch = new TestBatch();
    while (split[0] < split[1] && split[0] < from + UNITS_A_BATCH) {
      batch.row(RowKind.UPDATE_BEFORE, split[0]).joined(RowKind.UPDATE_AFTER, split[0]);
      split[0]++;
    }
    batches++;
    handedOut.put(batches, new long[] {from, split[0], split[1]});
    if (split[0] == split[1]) {
      splits.remove();
    }
    return batch.message(batches);
  }

  @Override
  public synchronized List<byte[]> consumed(long batch) {
    long[] range = handedOut.remove(batch);
    notifyAll();
    return range[1] == range[2] ? List.of("done".getBytes(StandardCharsets.UTF_8)) : List.of();
  }

  @Override
  public synchronized List<TidemarkSplit> snapshot(long checkpoint, long batch, int rows) {
    if (rows % 2 != 0) {
      throw new AssertionError("a checkpoint between the halves of an update");
    }
    TreeMap<Long, Long> rest = new TreeMap<>();
    splits.forEach(split -> rest.put(split[1], split[0]));
    handedOut.forEach(
        (number, range) -> {
          long from = range[0] + (number == batch ? rows / 2 : 0);
          rest.merge(range[2], from, Math::min);
        });
    List<TidemarkSplit> state = new ArrayList<>();
    rest.forEach((to, from) -> state.add(new TidemarkSplit(from + "-" + to, new byte[0])));
    return state;
  }

  @Override
  public synchronized List<byte[]> checkpointComplete(long checkpoint) {
    checkpointed = true;
    notifyAll();
    return List.of();
  }

  @Override
  public Map<String, Long> metrics() {
    return Map.of("pendingRecords", 1L);
  }

  @Override
  public synchronized void cancel() {
    cancelled = true;
    notifyAll();
  }

  @Override
  public void close() {}
}
