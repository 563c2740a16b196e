package io.tidemark.source.reader;

import io.tidemark.source.CoreEvent;
import io.tidemark.source.CoreGauges;
import io.tidemark.source.split.TidemarkSplit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.groups.SourceReaderMetricGroup;

/**
 * Emits what the core reads, and knows at every moment which rows are out.
 *
 * <p>Everything here runs on the task thread; {@link Fetcher} has the only other one.
 */
public final class TidemarkReader<T> implements SourceReader<T, TidemarkSplit> {
  private static final CompletableFuture<Void> NOW = CompletableFuture.completedFuture(null);

  private final SourceReaderContext context;
  private final ReaderCore core;
  private final RecordFormat<T> format;
  private final Fetcher fetcher;
  private final Counter rowsIn;
  private final Counter bytesIn;
  private final Counter errors;
  private final CoreGauges gauges;
  private final List<byte[]> unsent = new ArrayList<>();

  private Batch batch;
  private long lastBatch;
  private int lastRows;
  private boolean ended;

  public TidemarkReader(SourceReaderContext context, ReaderCore core, RecordFormat<T> format) {
    this.context = context;
    this.core = core;
    this.format = format;
    fetcher = new Fetcher(core, context.getIndexOfSubtask());
    SourceReaderMetricGroup group = context.metricGroup();
    rowsIn = group.getIOMetricGroup().getNumRecordsInCounter();
    bytesIn = group.getIOMetricGroup().getNumBytesInCounter();
    errors = group.getNumRecordsInErrorsCounter();
    gauges = CoreGauges.register(group, core::metrics);
  }

  @Override
  public void start() {
    send(core.start());
    fetcher.start();
  }

  @Override
  public InputStatus pollNext(ReaderOutput<T> output) {
    send(unsent);
    unsent.clear();
    if (batch == null && !ended) {
      take();
    }
    if (batch != null) {
      emit(output);
    }
    if (ended) {
      return InputStatus.END_OF_INPUT;
    }
    return batch != null || fetcher.available().isDone()
        ? InputStatus.MORE_AVAILABLE
        : InputStatus.NOTHING_AVAILABLE;
  }

  private void take() {
    Message message = fetcher.poll();
    if (message == null) {
      return;
    }
    if (message.failure != null) {
      throw message.failure;
    }
    send(message.events);
    countErrors();
    batch = message.batch;
    if (batch != null) {
      bytesIn.inc(batch.size());
    }
    ended = message.last;
  }

  /** Flink has a counter of its own for what the core passed over. */
  private void countErrors() {
    errors.inc(gauges.value("recordsSkipped", 0) - errors.getCount());
  }

  private void emit(ReaderOutput<T> output) {
    rowsIn.inc(batch.emit(output, format));
    lastBatch = batch.number();
    lastRows = batch.out();
    if (batch.isOut()) {
      batch = null;
      send(core.consumed(lastBatch));
    }
  }

  @Override
  public CompletableFuture<Void> isAvailable() {
    return batch != null || ended ? NOW : fetcher.available();
  }

  @Override
  public List<TidemarkSplit> snapshotState(long checkpoint) {
    countErrors();
    return core.snapshot(checkpoint, lastBatch, lastRows);
  }

  @Override
  public void notifyCheckpointComplete(long checkpoint) {
    sendFromPoll(core.checkpointComplete(checkpoint));
  }

  @Override
  public void addSplits(List<TidemarkSplit> splits) {
    sendFromPoll(core.addSplits(splits));
  }

  @Override
  public void handleSourceEvents(SourceEvent event) {
    sendFromPoll(core.handle(((CoreEvent) event).bytes()));
  }

  @Override
  public void notifyNoMoreSplits() {
    sendFromPoll(core.noMoreSplits());
  }

  @Override
  public void close() {
    try {
      fetcher.close();
    } finally {
      core.close();
    }
  }

  /**
   * Flink polls a task no more that it stops with a savepoint, and ends it when that is complete:
   * an answer to what it sent meanwhile would miss it, which fails the stop.
   */
  private void sendFromPoll(List<byte[]> events) {
    if (!events.isEmpty()) {
      unsent.addAll(events);
      fetcher.wakeTask();
    }
  }

  private void send(List<byte[]> events) {
    for (byte[] event : events) {
      context.sendSourceEventToCoordinator(new CoreEvent(event));
    }
  }
}
