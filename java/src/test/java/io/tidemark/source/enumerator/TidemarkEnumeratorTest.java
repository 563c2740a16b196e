package io.tidemark.source.enumerator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.tidemark.TidemarkException;
import io.tidemark.source.CoreEvent;
import io.tidemark.source.split.TidemarkSplit;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.BiConsumer;
import org.apache.flink.api.connector.source.ReaderInfo;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.SplitsAssignment;
import org.apache.flink.metrics.groups.SplitEnumeratorMetricGroup;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.junit.jupiter.api.Test;

class TidemarkEnumeratorTest {
  private final List<String> trace = new ArrayList<>();
  private final Context context = new Context();
  private final Core core = new Core();
  private final TidemarkEnumerator enumerator = new TidemarkEnumerator(context, core);

  @Test
  void actionsAreCarriedOutInTheirOrder() {
    context.register(2);
    core.answer =
        List.of(
            new Action(Action.Kind.ASSIGN, 2, new TidemarkSplit("c:1", new byte[0]), null),
            new Action(Action.Kind.SEND, 2, null, bytes("none now")),
            new Action(Action.Kind.NO_MORE_SPLITS, 2, null, null));
    enumerator.addReader(2);
    assertEquals(
        List.of("register 2", "assign c:1 to 2", "send none now to 2", "no more splits for 2"),
        trace);
    assertEquals(List.of(2), core.listed);
  }

  @Test
  void aReaderThatIsNotRegisteredIsLeftOut() {
    core.answer =
        List.of(
            new Action(Action.Kind.SEND, 1, null, bytes("ack")),
            new Action(Action.Kind.NO_MORE_SPLITS, 1, null, null));
    enumerator.notifyCheckpointComplete(4);
    assertEquals(List.of("complete 4"), trace);
  }

  @Test
  void cuttingRunsOnTheWorkerAndItsResultOnTheCoordinator() {
    core.answer = List.of(new Action(Action.Kind.CUT, 0, null, null));
    enumerator.start();
    assertEquals(List.of("start"), trace);
    core.answer = List.of();
    context.runWorker();
    assertEquals(List.of("start", "cut", "cut done"), trace);
  }

  @Test
  void whatCuttingFailsWithFailsTheCoordinator() {
    core.answer = List.of(new Action(Action.Kind.CUT, 0, null, null));
    enumerator.start();
    core.failure = new TidemarkException("TM-2002", "lost", true);
    assertSame(core.failure, assertThrows(TidemarkException.class, context::runWorker));
  }

  @Test
  void callsReachTheCoreWithTheirSubtask() {
    enumerator.handleSourceEvent(5, new CoreEvent(bytes("request")));
    enumerator.addSplitsBack(List.of(new TidemarkSplit("c:9", new byte[0])), 6);
    enumerator.addSplitsBack(List.of(), 7);
    assertEquals(3, enumerator.snapshotState(3)[0]);
    enumerator.close();
    assertEquals(
        List.of("event request of 5", "[c:9] back from 6", "[] back from 7", "closed"), trace);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private final class Core implements EnumeratorCore {
    List<Action> answer = List.of();
    RuntimeException failure;
    List<Integer> listed;

    private List<Action> note(String call) {
      trace.add(call);
      return answer;
    }

    @Override
    public void listed(Collection<Integer> subtasks) {
      listed = List.copyOf(subtasks);
    }

    @Override
    public List<Action> start() {
      return note("start");
    }

    @Override
    public List<Action> register(int subtask) {
      return note("register " + subtask);
    }

    @Override
    public List<Action> handle(int subtask, byte[] event) {
      return note("event " + text(event) + " of " + subtask);
    }

    @Override
    public List<Action> addSplitsBack(List<TidemarkSplit> splits, int subtask) {
      return note(splits + " back from " + subtask);
    }

    @Override
    public byte[] snapshot(long checkpoint) {
      return new byte[] {(byte) checkpoint};
    }

    @Override
    public List<Action> checkpointComplete(long checkpoint) {
      return note("complete " + checkpoint);
    }

    @Override
    public void cut() {
      if (failure != null) {
        throw failure;
      }
      note("cut");
    }

    @Override
    public List<Action> cutDone() {
      return note("cut done");
    }

    @Override
    public Map<String, Long> metrics() {
      return Map.of();
    }

    @Override
    public void close() {
      note("closed");
    }
  }

  private final class Context implements SplitEnumeratorContext<TidemarkSplit> {
    private final Map<Integer, ReaderInfo> readers = new HashMap<>();
    private Runnable worker;

    void register(int subtask) {
      readers.put(subtask, new ReaderInfo(subtask, "localhost"));
    }

    void runWorker() {
      worker.run();
    }

    @Override
    public SplitEnumeratorMetricGroup metricGroup() {
      return UnregisteredMetricsGroup.createSplitEnumeratorMetricGroup();
    }

    @Override
    public void sendEventToSourceReader(int subtask, SourceEvent event) {
      trace.add("send " + text(((CoreEvent) event).bytes()) + " to " + subtask);
    }

    @Override
    public int currentParallelism() {
      return 8;
    }

    @Override
    public Map<Integer, ReaderInfo> registeredReaders() {
      return readers;
    }

    @Override
    public void assignSplits(SplitsAssignment<TidemarkSplit> assignment) {
      assignment
          .assignment()
          .forEach(
              (subtask, splits) ->
                  splits.forEach(split -> trace.add("assign " + split + " to " + subtask)));
    }

    @Override
    public void signalNoMoreSplits(int subtask) {
      trace.add("no more splits for " + subtask);
    }

    @Override
    public <T> void callAsync(Callable<T> callable, BiConsumer<T, Throwable> handler) {
      worker =
          () -> {
            T result = null;
            Throwable failure = null;
            try {
              result = callable.call();
            } catch (Exception e) {
              failure = e;
            }
            handler.accept(result, failure);
          };
    }

    @Override
    public <T> void callAsync(
        Callable<T> callable, BiConsumer<T, Throwable> handler, long delay, long period) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void runInCoordinatorThread(Runnable runnable) {
      throw new UnsupportedOperationException();
    }
  }
}
