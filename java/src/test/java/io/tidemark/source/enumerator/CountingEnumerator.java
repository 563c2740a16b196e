package io.tidemark.source.enumerator;

import io.tidemark.source.split.TidemarkSplit;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;

/**
 * A core that hands out ranges of numbers, one at a time to each reader; what it cuts comes from
 * its worker.
 */
public final class CountingEnumerator implements EnumeratorCore {
  private final RuntimeException failure;
  private final Deque<String> planned = new ArrayDeque<>();
  private final List<Integer> waiting = new ArrayList<>();
  private boolean cut;

  private CountingEnumerator(byte[] state, RuntimeException failure) {
    this.failure = failure;
    if (state != null) {
      cut = true;
      for (String range : new String(state, StandardCharsets.UTF_8).split(",")) {
        if (!range.isEmpty()) {
          planned.add(range);
        }
      }
    }
  }

  /**
   * An enumerator of Flink over such a core, whose cutting fails with {@code failure} if that is
   * not null.
   */
  public static SplitEnumerator<TidemarkSplit, byte[]> create(
      SplitEnumeratorContext<TidemarkSplit> context, byte[] state, RuntimeException failure) {
    return new TidemarkEnumerator(context, new CountingEnumerator(state, failure));
  }

  @Override
  public void listed(Collection<Integer> subtasks) {
    waiting.retainAll(subtasks);
  }

  @Override
  public List<Action> start() {
    return cut ? List.of() : List.of(new Action(Action.Kind.CUT, 0, null, null));
  }

  @Override
  public void cut() {
    if (failure != null) {
      throw failure;
    }
  }

  @Override
  public List<Action> cutDone() {
    for (int range = 0; range < 4; range++) {
      planned.add(range * 500 + "-" + (range + 1) * 500);
    }
    cut = true;
    return serve();
  }

  @Override
  public List<Action> register(int subtask) {
    waiting.add(subtask);
    return serve();
  }

  @Override
  public List<Action> handle(int subtask, byte[] event) {
    return register(subtask);
  }

  private List<Action> serve() {
    List<Action> actions = new ArrayList<>();
    if (cut) {
      for (int subtask : waiting) {
        actions.add(
            planned.isEmpty()
                ? new Action(Action.Kind.NO_MORE_SPLITS, subtask, null, null)
                : new Action(
                    Action.Kind.ASSIGN,
                    subtask,
                    new TidemarkSplit(planned.remove(), new byte[0]),
                    null));
      }
      waiting.clear();
    }
    return actions;
  }

  @Override
  public List<Action> addSplitsBack(List<TidemarkSplit> splits, int subtask) {
    waiting.remove((Integer) subtask);
    splits.forEach(split -> planned.addFirst(split.splitId()));
    return List.of();
  }

  @Override
  public byte[] snapshot(long checkpoint) {
    return String.join(",", planned).getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public List<Action> checkpointComplete(long checkpoint) {
    return List.of();
  }

  @Override
  public Map<String, Long> metrics() {
    return Map.of("chunksPlanned", (long) planned.size());
  }

  @Override
  public void close() {}
}
