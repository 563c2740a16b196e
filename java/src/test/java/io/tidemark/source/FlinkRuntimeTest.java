package io.tidemark.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.TidemarkException;
import io.tidemark.source.enumerator.CountingEnumerator;
import io.tidemark.source.enumerator.EnumeratorStateSerializer;
import io.tidemark.source.reader.CountingReader;
import io.tidemark.source.split.TidemarkSplit;
import io.tidemark.source.split.TidemarkSplitSerializer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.java.typeutils.ResultTypeQueryable;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.runtime.execution.SuppressRestartsException;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.ExceptionUtils;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Our reader and enumerator in Flink's own runtime, over a core that counts. */
class FlinkRuntimeTest {
  private static final AtomicInteger READERS = new AtomicInteger();
  private static final AtomicInteger FAILURES = new AtomicInteger();

  @BeforeEach
  void reset() {
    READERS.set(0);
    FAILURES.set(0);
  }

  private static StreamExecutionEnvironment environment() {
    Configuration configuration = new Configuration();
    configuration.setString("restart-strategy.type", "fixed-delay");
    configuration.setString("restart-strategy.fixed-delay.attempts", "5");
    configuration.setString("restart-strategy.fixed-delay.delay", "0 ms");
    StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.createLocalEnvironment(2, configuration);
    environment.enableCheckpointing(100);
    return environment;
  }

  private static List<String> run(Counting source) throws Exception {
    List<String> rows = new ArrayList<>();
    try (CloseableIterator<String> result =
        environment()
            .fromSource(source, WatermarkStrategy.noWatermarks(), "counting")
            .map(new Text())
            .returns(Types.STRING)
            .executeAndCollect()) {
      result.forEachRemaining(rows::add);
    }
    return rows;
  }

  @Test
  void everyRowComesOnceAlthoughTheJobFailsAfterItsFirstCheckpoint() throws Exception {
    List<String> rows = run(new Counting(null, null));
    assertEquals(1, FAILURES.get());
    assertTrue(READERS.get() > 2, "readers were restored");
    List<String> expected = new ArrayList<>();
    for (int number = 0; number < 2000; number++) {
      expected.add("+U" + number);
      expected.add("-U" + number);
    }
    Collections.sort(expected);
    Collections.sort(rows);
    assertEquals(expected, rows);
  }

  @Test
  void aFatalErrorOfAReaderIsNotTriedAgain() {
    refusesToRestart(new Counting(fatal(), null));
    assertTrue(READERS.get() <= 2, "no reader was restored");
  }

  @Test
  void aFatalErrorOfTheEnumeratorIsNotTriedAgain() {
    refusesToRestart(new Counting(null, fatal()));
    assertTrue(READERS.get() <= 2, "no reader was restored");
  }

  @Test
  void aRetryableErrorIsTriedAgain() {
    Counting source = new Counting(new TidemarkException("TM-2002", "TM-2002 lost", true), null);
    Exception e = assertThrows(Exception.class, () -> run(source));
    assertTrue(
        ExceptionUtils.findThrowableWithMessage(e, "TM-2002 lost").isPresent(), e.toString());
    assertTrue(READERS.get() > 2, "readers were restored");
  }

  private static RuntimeException fatal() {
    return new SuppressRestartsException(
        new TidemarkException("TM-3001", "TM-3001 the log is gone", false));
  }

  private static void refusesToRestart(Counting source) {
    Exception e = assertThrows(Exception.class, () -> run(source));
    assertTrue(
        ExceptionUtils.findThrowableWithMessage(e, "TM-3001 the log is gone").isPresent(),
        e.toString());
  }

  /** Fails once, when the first checkpoint is complete. */
  private static final class Text implements MapFunction<RowData, String>, CheckpointListener {
    private static final long serialVersionUID = 1L;

    @Override
    public String map(RowData row) {
      return row.getRowKind().shortString() + row.getLong(0);
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) {
      if (FAILURES.compareAndSet(0, 1)) {
        throw new IllegalStateException("a failure that the test wants");
      }
    }
  }

  private static final class Counting
      implements Source<RowData, TidemarkSplit, byte[]>, ResultTypeQueryable<RowData> {
    private static final long serialVersionUID = 1L;

    private final RuntimeException ofReader;
    private final RuntimeException ofEnumerator;

    Counting(RuntimeException ofReader, RuntimeException ofEnumerator) {
      this.ofReader = ofReader;
      this.ofEnumerator = ofEnumerator;
    }

    @Override
    public Boundedness getBoundedness() {
      return Boundedness.BOUNDED;
    }

    @Override
    public SourceReader<RowData, TidemarkSplit> createReader(SourceReaderContext context) {
      READERS.incrementAndGet();
      return CountingReader.create(context, ofReader);
    }

    @Override
    public SplitEnumerator<TidemarkSplit, byte[]> createEnumerator(
        SplitEnumeratorContext<TidemarkSplit> context) {
      return CountingEnumerator.create(context, null, ofEnumerator);
    }

    @Override
    public SplitEnumerator<TidemarkSplit, byte[]> restoreEnumerator(
        SplitEnumeratorContext<TidemarkSplit> context, byte[] state) {
      return CountingEnumerator.create(context, state, ofEnumerator);
    }

    @Override
    public SimpleVersionedSerializer<TidemarkSplit> getSplitSerializer() {
      return new TidemarkSplitSerializer();
    }

    @Override
    public SimpleVersionedSerializer<byte[]> getEnumeratorCheckpointSerializer() {
      return new EnumeratorStateSerializer();
    }

    @Override
    public TypeInformation<RowData> getProducedType() {
      return InternalTypeInfo.ofFields(new BigIntType());
    }
  }
}
