package io.tidemark.source.enumerator;

import io.tidemark.source.split.TidemarkSplit;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/** The enumerator of the core; {@code rust/enumerator/api.rs} says what each call means. */
interface EnumeratorCore extends AutoCloseable {
  /** Which readers Flink lists now; comes before every other call on the coordinator's thread. */
  void listed(Collection<Integer> subtasks);

  List<Action> start();

  List<Action> register(int subtask);

  List<Action> handle(int subtask, byte[] event);

  List<Action> addSplitsBack(List<TidemarkSplit> splits, int subtask);

  byte[] snapshot(long checkpoint);

  List<Action> checkpointComplete(long checkpoint);

  /** Blocks; the one call that is made on a worker thread. */
  void cut();

  List<Action> cutDone();

  Map<String, Long> metrics();

  @Override
  void close();
}
