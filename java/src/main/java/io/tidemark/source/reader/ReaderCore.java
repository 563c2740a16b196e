package io.tidemark.source.reader;

import io.tidemark.source.split.TidemarkSplit;
import java.util.List;
import java.util.Map;

/**
 * The reader of the core; {@code rust/reader/api.rs} says what each call means. Lists of byte
 * strings are events for the enumerator.
 */
interface ReaderCore extends AutoCloseable {
  List<byte[]> start();

  List<byte[]> addSplits(List<TidemarkSplit> splits);

  List<byte[]> handle(byte[] event);

  List<byte[]> noMoreSplits();

  /**
   * Waits up to a timeout; null if nothing came. The one call that is made on the fetcher thread.
   */
  Message next(long timeoutMillis);

  List<byte[]> consumed(long batch);

  List<TidemarkSplit> snapshot(long checkpoint, long batch, int rows);

  List<byte[]> checkpointComplete(long checkpoint);

  Map<String, Long> metrics();

  void cancel();

  @Override
  void close();
}
