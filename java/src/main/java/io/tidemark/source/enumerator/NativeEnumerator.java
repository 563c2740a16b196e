package io.tidemark.source.enumerator;

import io.tidemark.Frame;
import io.tidemark.Native;
import io.tidemark.source.CoreGauges;
import io.tidemark.source.split.TidemarkSplit;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The enumerator behind JNI, known there by a handle. */
public final class NativeEnumerator implements EnumeratorCore {
  private final long handle;
  private volatile boolean closed;

  NativeEnumerator(long handle) {
    this.handle = handle;
  }

  /** Opens one; {@code state} is null where there is none. Connects to nothing. */
  public static NativeEnumerator open(String config, int parallelism, byte[] state) {
    Native.load();
    return new NativeEnumerator(open0(config, parallelism, state));
  }

  @Override
  public void listed(Collection<Integer> subtasks) {
    listed0(handle, Frame.numbers(subtasks));
  }

  @Override
  public List<Action> start() {
    return actions(start0(handle));
  }

  @Override
  public List<Action> register(int subtask) {
    return actions(register0(handle, subtask));
  }

  @Override
  public List<Action> handle(int subtask, byte[] event) {
    return actions(handle0(handle, subtask, event));
  }

  @Override
  public List<Action> addSplitsBack(List<TidemarkSplit> splits, int subtask) {
    List<byte[]> bytes = splits.stream().map(TidemarkSplit::bytes).collect(Collectors.toList());
    return actions(addSplitsBack0(handle, Frame.write(bytes), subtask));
  }

  @Override
  public byte[] snapshot(long checkpoint) {
    return snapshot0(handle, checkpoint);
  }

  @Override
  public List<Action> checkpointComplete(long checkpoint) {
    return actions(checkpointComplete0(handle, checkpoint));
  }

  @Override
  public void cut() {
    cut0(handle);
  }

  @Override
  public List<Action> cutDone() {
    return actions(cutDone0(handle));
  }

  @Override
  public Map<String, Long> metrics() {
    return closed ? Map.of() : CoreGauges.decode(metrics0(handle));
  }

  @Override
  public void close() {
    closed = true;
    close0(handle);
    Native.drainLog();
  }

  private static List<Action> actions(byte[] bytes) {
    Native.drainLog();
    return Frame.list(bytes, Action::read);
  }

  private static native long open0(String config, int parallelism, byte[] state);

  private static native void listed0(long handle, byte[] subtasks);

  private static native byte[] start0(long handle);

  private static native byte[] register0(long handle, int subtask);

  private static native byte[] handle0(long handle, int subtask, byte[] event);

  private static native byte[] addSplitsBack0(long handle, byte[] splits, int subtask);

  private static native byte[] snapshot0(long handle, long checkpoint);

  private static native byte[] checkpointComplete0(long handle, long checkpoint);

  private static native void cut0(long handle);

  private static native byte[] cutDone0(long handle);

  private static native byte[] metrics0(long handle);

  private static native void close0(long handle);
}
