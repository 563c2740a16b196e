package io.tidemark.change;

import io.tidemark.source.reader.RecordFormat;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.core.memory.MemorySegment;

/** Records as {@link Change}. */
public final class ChangeFormat implements RecordFormat<Change> {
  private static final long serialVersionUID = 1L;

  private final ChangeSerializer serializer = new ChangeSerializer();

  @Override
  public Change read(MemorySegment bytes, int start, int size) {
    byte[] change = new byte[size];
    bytes.get(start, change);
    return serializer.read(change);
  }

  @Override
  public TypeInformation<Change> type() {
    return new ChangeTypeInfo();
  }
}
