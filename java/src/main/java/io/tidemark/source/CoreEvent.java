package io.tidemark.source;

import org.apache.flink.api.connector.source.SourceEvent;

/** An event between the core of a reader and that of the enumerator, either way. */
public final class CoreEvent implements SourceEvent {
  private static final long serialVersionUID = 1L;

  private final byte[] bytes;

  public CoreEvent(byte[] bytes) {
    this.bytes = bytes;
  }

  public byte[] bytes() {
    return bytes;
  }
}
