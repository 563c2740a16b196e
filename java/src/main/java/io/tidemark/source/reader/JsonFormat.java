package io.tidemark.source.reader;

import java.nio.charset.StandardCharsets;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.core.memory.MemorySegment;

/** Records that are JSON, as the core wrote it. */
public final class JsonFormat implements RecordFormat<String> {
  private static final long serialVersionUID = 1L;

  @Override
  public String read(MemorySegment bytes, int start, int size) {
    return new String(bytes.getArray(), start, size, StandardCharsets.UTF_8);
  }

  @Override
  public TypeInformation<String> type() {
    return Types.STRING;
  }
}
