package io.tidemark.source.reader;

import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;

/**
 * Rows as the core laid them out ({@code rust/reader/batch.rs} has the layout), and how many of
 * them are out. A row is a view of the batch's bytes; nothing is copied or decoded here.
 */
final class Batch {
  private static final int ROWS = 4;
  private static final int NUMBER = 8;
  private static final int TABLE = 16;
  private static final int COMMITS = 20;

  private final MemorySegment bytes;
  private final int arity;
  private final int rows;
  private final int starts;
  private final int joined;

  /** Where the commit times are, or 0. */
  private final int commits;

  private int out;

  Batch(byte[] bytes, int arity) {
    this.bytes = MemorySegmentFactory.wrap(bytes);
    this.arity = arity;
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
  int emit(ReaderOutput<RowData> output) {
    int first = out;
    do {
      if (commits == 0) {
        output.collect(row(out));
      } else {
        output.collect(row(out), bytes.getLongLittleEndian(commits + 8 * out));
      }
      out++;
    } while (out < rows && bytes.get(joined + out) != 0);
    return out - first;
  }

  private RowData row(int index) {
    int start = bytes.getIntLittleEndian(starts + 4 * index);
    int end = bytes.getIntLittleEndian(starts + 4 * (index + 1));
    // A new object each: operators downstream may keep it.
    BinaryRowData row = new BinaryRowData(arity);
    row.pointTo(bytes, start, end - start);
    return row;
  }
}
