package io.tidemark.source.reader;

import io.tidemark.Frame;
import io.tidemark.Native;
import io.tidemark.source.CoreGauges;
import io.tidemark.source.split.TidemarkSplit;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;

/** The reader behind JNI, known there by a handle. */
public final class NativeReader implements ReaderCore {
  private final long handle;
  private volatile boolean closed;

  NativeReader(long handle) {
    this.handle = handle;
  }

  /**
   * Opens the reader of a subtask. Connects to nothing.
   *
   * @param temporary the folders for what does not fit into memory
   */
  public static NativeReader open(String config, int subtask, String... temporary) {
    Native.load();
    ArrayNode folders = JsonNodeFactory.instance.arrayNode();
    Arrays.stream(temporary).forEach(folders::add);
    return new NativeReader(open0(config, subtask, folders.toString()));
  }

  @Override
  public List<byte[]> start() {
    return events(start0(handle));
  }

  @Override
  public List<byte[]> addSplits(List<TidemarkSplit> splits) {
    List<byte[]> bytes = splits.stream().map(TidemarkSplit::bytes).collect(Collectors.toList());
    return events(addSplits0(handle, Frame.write(bytes)));
  }

  @Override
  public List<byte[]> handle(byte[] event) {
    return events(handle0(handle, event));
  }

  @Override
  public List<byte[]> noMoreSplits() {
    return events(noMoreSplits0(handle));
  }

  @Override
  public Message next(long timeoutMillis) {
    try {
      byte[] bytes = next0(handle, timeoutMillis);
      return bytes == null ? null : Message.read(bytes);
    } finally {
      Native.drainLog();
    }
  }

  @Override
  public List<byte[]> consumed(long batch) {
    return events(consumed0(handle, batch));
  }

  @Override
  public List<TidemarkSplit> snapshot(long checkpoint, long batch, int rows) {
    return Frame.list(snapshot0(handle, checkpoint, batch, rows), TidemarkSplit::read);
  }

  @Override
  public List<byte[]> checkpointComplete(long checkpoint) {
    return events(checkpointComplete0(handle, checkpoint));
  }

  @Override
  public Map<String, Long> metrics() {
    return closed ? Map.of() : CoreGauges.decode(metrics0(handle));
  }

  @Override
  public void cancel() {
    cancel0(handle);
  }

  @Override
  public void close() {
    closed = true;
    close0(handle);
    Native.drainLog();
  }

  private static List<byte[]> events(byte[] bytes) {
    return Frame.list(bytes, Frame::bytes);
  }

  private static native long open0(String config, int subtask, String temporary);

  private static native byte[] start0(long handle);

  private static native byte[] addSplits0(long handle, byte[] splits);

  private static native byte[] handle0(long handle, byte[] event);

  private static native byte[] noMoreSplits0(long handle);

  private static native byte[] next0(long handle, long timeoutMillis);

  private static native byte[] consumed0(long handle, long batch);

  private static native byte[] snapshot0(long handle, long checkpoint, long batch, int rows);

  private static native byte[] checkpointComplete0(long handle, long checkpoint);

  private static native byte[] metrics0(long handle);

  private static native void cancel0(long handle);

  private static native void close0(long handle);
}
