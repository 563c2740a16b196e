package io.tidemark.source.reader;

import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;

/**
 * Rows as the core laid them out ({@code rust/reader/batch.rs} has the layout), and how many of
 * them are out.
 */
final class Batch {
  private static final int ROWS = 4;
  private static final int NUMBER = 8;
  private static final int TABLE = 16;
  private static final int COMMITS = 20;

  private final MemorySegment bytes;
  private final int rows;
  private final int starts;
  private final int joined;

  /** Where the commit times are, or 0. */
  private final int commits;

  private int out;

  Batch(byte[] bytes) {
    this.bytes = MemorySegmentFactory.wrap(bytes);
    rows = this.bytes.getIntLittleEndian(ROWS);
    starts = this.bytes.getIntLittleEndian(TABLE);
    joined = starts + 4 * (rows + 1);
    commits = this.bytes.getIntLittleEndian(COMMITS);
  }

  long number() {
    return bytes.getLongLittleEndian(NUMBER);
  }

  /** How many bytes it has. */
  int size() {
    return bytes.size();
  }

  /** How many rows are out. */
  int out() {
    return out;
  }

  boolean isOut() {
    return out == rows;
  }

  /**
   * Emits the next unit: a row, or the rows that no checkpoint may stand between. Returns how many
   * they are. Rows of the log have their commit time as timestamp, rows of the snapshot none.
   */
  <T> int emit(ReaderOutput<T> output, RecordFormat<T> format) {
    int first = out;
    do {
      int start = bytes.getIntLittleEndian(starts + 4 * out);
      int end = bytes.getIntLittleEndian(starts + 4 * (out + 1));
      T record = format.read(bytes, start, end - start);
      if (commits == 0) {
        output.collect(record);
      } else {
        output.collect(record, bytes.getLongLittleEndian(commits + 8 * out));
      }
      out++;
    } while (out < rows && bytes.get(joined + out) != 0);
    return out - first;
  }
}
