package io.tidemark.source.reader;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.TidemarkException;
import io.tidemark.source.CoreEvent;
import io.tidemark.source.split.TidemarkSplit;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SourceOutput;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.metrics.groups.SourceReaderMetricGroup;
import org.apache.flink.runtime.metrics.groups.InternalSourceReaderMetricGroup;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.table.data.RowData;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.UserCodeClassLoader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class TidemarkReaderTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final List<String> trace = new ArrayList<>();
  private final Core core = new Core();
  private final SourceReaderMetricGroup metrics =
      InternalSourceReaderMetricGroup.wrap(
          UnregisteredMetricGroups.createUnregisteredOperatorMetricGroup());
  private final TidemarkReader<RowData> reader =
      new TidemarkReader<>(new Context(), core, TestBatch.FORMAT);
  private final Output output = new Output();

  @AfterEach
  void close() {
    reader.close();
  }

  @Test
  void rowsGoOutOneUnitACallAndTheStateIsExactAtEach() {
    reader.start();
    core.messages.add(
        new TestBatch()
            .row(RowKind.INSERT, 1)
            .row(RowKind.UPDATE_BEFORE, 2)
            .joined(RowKind.UPDATE_AFTER, 3)
            .row(RowKind.DELETE, 4)
            .message(7));
    reader.snapshotState(1);
    assertEquals(InputStatus.MORE_AVAILABLE, pollWhenAvailable());
    reader.snapshotState(2);
    assertEquals(InputStatus.MORE_AVAILABLE, reader.pollNext(output));
    reader.snapshotState(3);
    reader.pollNext(output);
    reader.snapshotState(4);
    assertEquals(
        List.of(
            "sent started",
            "snapshot 1 at 0+0",
            "+I1",
            "snapshot 2 at 7+1",
            "-U2",
            "+U3",
            "snapshot 3 at 7+3",
            "-D4",
            "consumed 7",
            "sent report 7",
            "snapshot 4 at 7+4"),
        trace);
    assertEquals(4, metrics.getIOMetricGroup().getNumRecordsInCounter().getCount());
  }

  @Test
  void rowsOfTheLogHaveTheirCommitTimeAsTimestamp() {
    reader.start();
    core.messages.add(
        new TestBatch()
            .row(RowKind.UPDATE_BEFORE, 2)
            .committed(1_700_000_000_001L)
            .joined(RowKind.UPDATE_AFTER, 3)
            .committed(1_700_000_000_001L)
            .row(RowKind.DELETE, 4)
            .committed(-5)
            .message(1));
    pollWhenAvailable();
    reader.pollNext(output);
    assertEquals(List.of("-U2@1700000000001", "+U3@1700000000001", "-D4@-5"), trace.subList(1, 4));
  }

  @Test
  void bytesAndRecordsPassedOverAreCounted() {
    reader.start();
    byte[] batch = new TestBatch().row(RowKind.INSERT, 1).bytes(1);
    core.messages.add(Message.read(batch));
    pollWhenAvailable();
    assertEquals(batch.length, metrics.getIOMetricGroup().getNumBytesInCounter().getCount());
    assertEquals(3, metrics.getNumRecordsInErrorsCounter().getCount());
    reader.snapshotState(1);
    assertEquals(3, metrics.getNumRecordsInErrorsCounter().getCount());
  }

  @Test
  void aReaderWithoutMessagesIsNotAvailableAndWakesWhenOneComes() throws Exception {
    reader.start();
    assertEquals(InputStatus.NOTHING_AVAILABLE, reader.pollNext(output));
    var available = reader.isAvailable();
    assertFalse(available.isDone());
    core.messages.add(new TestBatch().row(RowKind.INSERT, 1).message(1));
    available.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    reader.pollNext(output);
    assertTrue(trace.contains("+I1"));
    assertEquals(InputStatus.NOTHING_AVAILABLE, reader.pollNext(output));
    assertFalse(reader.isAvailable().isDone());
  }

  @Test
  void eventsOfTheCoreAreSentOnTheTaskThread() {
    reader.start();
    core.messages.add(Message.events(List.of(bytes("request"))));
    core.messages.add(Message.events(List.of()));
    core.messages.add(new TestBatch().row(RowKind.INSERT, 1).message(1));
    while (!trace.contains("+I1")) {
      pollWhenAvailable();
    }
    assertEquals(
        List.of("sent started", "sent request", "+I1", "consumed 1", "sent report 1"), trace);
  }

  @Test
  void splitsAndEventsReachTheCoreInTheirOrder() {
    reader.addSplits(List.of(new TidemarkSplit("restored", new byte[0])));
    reader.start();
    reader.addSplits(List.of(new TidemarkSplit("assigned", new byte[0])));
    reader.handleSourceEvents(new CoreEvent(bytes("none now")));
    reader.notifyCheckpointComplete(5);
    reader.notifyNoMoreSplits();
    assertEquals(
        List.of(
            "splits [restored]",
            "sent started",
            "splits [assigned]",
            "event none now",
            "complete 5",
            "no more splits"),
        trace);
  }

  @Test
  void whatAnswersTheEnumeratorIsSentFromThePollThatASavepointsStopEnds() throws Exception {
    reader.start();
    assertEquals(InputStatus.NOTHING_AVAILABLE, reader.pollNext(output));
    var available = reader.isAvailable();
    reader.handleSourceEvents(new CoreEvent(bytes("ranges")));
    reader.notifyCheckpointComplete(5);
    assertEquals(List.of("sent started", "event ranges", "complete 5"), trace);
    assertTrue(available.isDone());
    assertEquals(InputStatus.NOTHING_AVAILABLE, reader.pollNext(output));
    assertEquals(List.of("sent answer", "sent completed 5"), trace.subList(3, 5));
    reader.pollNext(output);
    assertEquals(5, trace.size());
    assertFalse(reader.isAvailable().isDone());
  }

  @Test
  void theEndIsTheEndOfInputAndTheStateIsStillAsked() {
    reader.start();
    core.messages.add(new TestBatch().row(RowKind.INSERT, 1).message(1));
    core.messages.add(Message.end());
    InputStatus status;
    do {
      status = pollWhenAvailable();
    } while (status != InputStatus.END_OF_INPUT);
    assertEquals(InputStatus.END_OF_INPUT, reader.pollNext(output));
    assertTrue(reader.isAvailable().isDone());
    reader.snapshotState(9);
    assertEquals("snapshot 9 at 1+1", trace.get(trace.size() - 1));
  }

  @Test
  void aFailureComesBehindTheRowsThatCameBeforeIt() {
    TidemarkException failure = new TidemarkException("TM-2002", "lost", true);
    reader.start();
    core.messages.add(new TestBatch().row(RowKind.INSERT, 1).message(1));
    core.messages.add(Message.failed(failure));
    while (!trace.contains("+I1")) {
      pollWhenAvailable();
    }
    assertSame(failure, assertThrows(TidemarkException.class, this::pollWhenAvailable));
  }

  @Test
  void closeWakesTheFetcherWhereverItWaits() {
    reader.start();
    // One message fills the queue, with the next one the fetcher waits for room.
    for (int batch = 1; batch <= 3; batch++) {
      core.messages.add(new TestBatch().row(RowKind.INSERT, batch).message(batch));
    }
    assertTimeoutPreemptively(PATIENCE, reader::close);
    assertTrue(core.cancelled.getCount() == 0 && trace.contains("closed"));
    assertEquals(0, Thread.getAllStackTraces().keySet().stream().filter(this::isFetcher).count());
  }

  private boolean isFetcher(Thread thread) {
    return thread.getName().equals("tidemark-fetcher-" + Context.SUBTASK) && thread.isAlive();
  }

  private InputStatus pollWhenAvailable() {
    try {
      reader.isAvailable().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("nothing came", e);
    }
    return reader.pollNext(output);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** A core without a database: hands out what a test puts in, and notes what it is asked. */
  private final class Core implements ReaderCore {
    final BlockingQueue<Message> messages = new LinkedBlockingQueue<>();
    final CountDownLatch cancelled = new CountDownLatch(1);

    @Override
    public List<byte[]> start() {
      return List.of(bytes("started"));
    }

    @Override
    public List<byte[]> addSplits(List<TidemarkSplit> splits) {
      trace.add("splits " + splits);
      return List.of();
    }

    @Override
    public List<byte[]> handle(byte[] event) {
      trace.add("event " + text(event));
      return List.of(bytes("answer"));
    }

    @Override
    public List<byte[]> noMoreSplits() {
      trace.add("no more splits");
      return List.of();
    }

    @Override
    public Message next(long timeoutMillis) {
      try {
        while (true) {
          Message message = messages.poll(1, TimeUnit.MILLISECONDS);
          if (message != null) {
            return message;
          }
          if (cancelled.getCount() == 0) {
            throw new TidemarkException("TM-9001", "closed", true);
          }
        }
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public List<byte[]> consumed(long batch) {
      trace.add("consumed " + batch);
      return List.of(bytes("report " + batch));
    }

    @Override
    public List<TidemarkSplit> snapshot(long checkpoint, long batch, int rows) {
      trace.add("snapshot " + checkpoint + " at " + batch + "+" + rows);
      return List.of();
    }

    @Override
    public List<byte[]> checkpointComplete(long checkpoint) {
      trace.add("complete " + checkpoint);
      return List.of(bytes("completed " + checkpoint));
    }

    @Override
    public Map<String, Long> metrics() {
      return Map.of("recordsSkipped", 3L);
    }

    @Override
    public void cancel() {
      cancelled.countDown();
    }

    @Override
    public void close() {
      trace.add("closed");
    }
  }

  private final class Output implements ReaderOutput<RowData> {
    @Override
    public void collect(RowData row) {
      trace.add(TestBatch.text(row));
    }

    @Override
    public void collect(RowData row, long timestamp) {
      trace.add(TestBatch.text(row) + "@" + timestamp);
    }

    @Override
    public void emitWatermark(Watermark watermark) {}

    @Override
    public void markIdle() {}

    @Override
    public void markActive() {}

    @Override
    public SourceOutput<RowData> createOutputForSplit(String splitId) {
      return this;
    }

    @Override
    public void releaseOutputForSplit(String splitId) {}
  }

  private final class Context implements SourceReaderContext {
    static final int SUBTASK = 3;

    @Override
    public SourceReaderMetricGroup metricGroup() {
      return metrics;
    }

    @Override
    public Configuration getConfiguration() {
      return new Configuration();
    }

    @Override
    public String getLocalHostName() {
      return "localhost";
    }

    @Override
    public int getIndexOfSubtask() {
      return SUBTASK;
    }

    @Override
    public void sendSplitRequest() {
      throw new AssertionError("splits are asked for by events");
    }

    @Override
    public void sendSourceEventToCoordinator(SourceEvent event) {
      trace.add("sent " + text(((CoreEvent) event).bytes()));
    }

    @Override
    public UserCodeClassLoader getUserCodeClassLoader() {
      throw new UnsupportedOperationException();
    }
  }
}
