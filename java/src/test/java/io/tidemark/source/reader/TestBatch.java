package io.tidemark.source.reader;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.RowKind;

/** Batches of one BIGINT column, laid out as {@code rust/reader/batch.rs} does. */
final class TestBatch {
  /** How they are read. */
  static final RecordFormat<RowData> FORMAT = new RowFormat(RowType.of(new BigIntType()));

  private static final int HEADER = 24;

  // Not shared: it writes into a row of its own.
  private final RowDataSerializer serializer = new RowDataSerializer(new BigIntType());
  private final ByteArrayOutputStream rows = new ByteArrayOutputStream();
  private final ByteArrayOutputStream joined = new ByteArrayOutputStream();

  private final List<Long> commits = new ArrayList<>();

  /** The row that was added last is of a transaction that committed then. */
  TestBatch committed(long millis) {
    commits.add(millis);
    return this;
  }

  TestBatch row(RowKind kind, long value) {
    return row(kind, value, false);
  }

  /** A row that goes out in one piece with the row before it. */
  TestBatch joined(RowKind kind, long value) {
    return row(kind, value, true);
  }

  private TestBatch row(RowKind kind, long value, boolean isJoined) {
    BinaryRowData row = serializer.toBinaryRow(GenericRowData.ofKind(kind, value)).copy();
    byte[] bytes = new byte[row.getSizeInBytes()];
    row.getSegments()[0].get(row.getOffset(), bytes);
    rows.write(bytes, 0, bytes.length);
    joined.write(isJoined ? 1 : 0);
    return this;
  }

  byte[] bytes(long number) {
    int count = joined.size();
    int size = rows.size() / count;
    int table = HEADER + rows.size();
    ByteBuffer out =
        ByteBuffer.allocate(table + 4 * (count + 1) + count + 8 * commits.size())
            .order(ByteOrder.LITTLE_ENDIAN);
    out.put(0, (byte) 1).putInt(4, count).putLong(8, number).putInt(16, table);
    out.position(HEADER);
    out.put(rows.toByteArray());
    for (int row = 0; row <= count; row++) {
      out.putInt(HEADER + row * size);
    }
    out.put(joined.toByteArray());
    if (!commits.isEmpty()) {
      out.putInt(20, out.position());
      commits.forEach(out::putLong);
    }
    return out.array();
  }

  Message message(long number) {
    return Message.read(bytes(number));
  }

  static String text(RowData row) {
    return row.getRowKind().shortString() + row.getLong(0);
  }
}
