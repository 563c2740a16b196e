package io.tidemark.source.reader;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.RowType;

/**
 * Rows, which the core lays out as Flink does: a view of the bytes, nothing is copied or decoded.
 */
public final class RowFormat implements RecordFormat<RowData> {
  private static final long serialVersionUID = 1L;

  private final RowType rowType;
  private final int arity;

  public RowFormat(RowType rowType) {
    this.rowType = rowType;
    arity = rowType.getFieldCount();
  }

  @Override
  public RowData read(MemorySegment bytes, int start, int size) {
    BinaryRowData row = new BinaryRowData(arity);
    row.pointTo(bytes, start, size);
    return row;
  }

  @Override
  public TypeInformation<RowData> type() {
    return InternalTypeInfo.of(rowType);
  }
}
