package io.tidemark.source.reader;

import java.io.Serializable;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.core.memory.MemorySegment;

/** Makes records for Flink of the bytes that the core wrote for each. Used by one thread. */
public interface RecordFormat<T> extends Serializable {
  /** A new object each: operators downstream may keep it. */
  T read(MemorySegment bytes, int start, int size);

  TypeInformation<T> type();
}
