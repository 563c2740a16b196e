package io.tidemark.source.enumerator;

import io.tidemark.source.CoreEvent;
import io.tidemark.source.CoreGauges;
import io.tidemark.source.split.TidemarkSplit;
import java.util.List;
import java.util.function.Supplier;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.util.ExceptionUtils;

/** Carries Flink's calls to the core's enumerator, and out what it answers. */
public final class TidemarkEnumerator implements SplitEnumerator<TidemarkSplit, byte[]> {
  private final SplitEnumeratorContext<TidemarkSplit> context;
  private final EnumeratorCore core;

  public TidemarkEnumerator(SplitEnumeratorContext<TidemarkSplit> context, EnumeratorCore core) {
    this.context = context;
    this.core = core;
  }

  @Override
  public void start() {
    CoreGauges.register(context.metricGroup(), core::metrics);
    turn(core::start);
  }

  @Override
  public void addReader(int subtask) {
    turn(() -> core.register(subtask));
  }

  @Override
  public void handleSourceEvent(int subtask, SourceEvent event) {
    turn(() -> core.handle(subtask, ((CoreEvent) event).bytes()));
  }

  @Override
  public void handleSplitRequest(int subtask, String host) {
    throw new UnsupportedOperationException("readers ask for splits by events of the core");
  }

  @Override
  public void addSplitsBack(List<TidemarkSplit> splits, int subtask) {
    turn(() -> core.addSplitsBack(splits, subtask));
  }

  @Override
  public byte[] snapshotState(long checkpoint) {
    core.listed(context.registeredReaders().keySet());
    return core.snapshot(checkpoint);
  }

  @Override
  public void notifyCheckpointComplete(long checkpoint) {
    turn(() -> core.checkpointComplete(checkpoint));
  }

  @Override
  public void close() {
    core.close();
  }

  /** One call into the core on the coordinator's thread, and what it wants done. */
  private void turn(Supplier<List<Action>> call) {
    core.listed(context.registeredReaders().keySet());
    for (Action action : call.get()) {
      switch (action.kind) {
        case ASSIGN:
          context.assignSplit(action.split, action.subtask);
          break;
        case SEND:
          if (isRegistered(action.subtask)) {
            context.sendEventToSourceReader(action.subtask, new CoreEvent(action.event));
          }
          break;
        case NO_MORE_SPLITS:
          if (isRegistered(action.subtask)) {
            context.signalNoMoreSplits(action.subtask);
          }
          break;
        case CUT:
          context.callAsync(this::cut, this::cutDone);
          break;
      }
    }
  }

  private boolean isRegistered(int subtask) {
    return context.registeredReaders().containsKey(subtask);
  }

  private Void cut() {
    core.cut();
    return null;
  }

  private void cutDone(Void nothing, Throwable failure) {
    if (failure != null) {
      // Thrown on the coordinator's thread, it fails the job.
      ExceptionUtils.rethrow(failure);
    }
    turn(core::cutDone);
  }
}
