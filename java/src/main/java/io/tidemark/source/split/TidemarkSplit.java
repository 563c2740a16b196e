package io.tidemark.source.split;

import io.tidemark.Frame;
import org.apache.flink.api.connector.source.SourceSplit;

/** A split of the core: Java knows its name and nothing else of it. */
public final class TidemarkSplit implements SourceSplit {
  private final String id;
  private final byte[] bytes;

  public TidemarkSplit(String id, byte[] bytes) {
    this.id = id;
    this.bytes = bytes;
  }

  /** Reads a split that the core hands over. */
  public static TidemarkSplit read(Frame frame) {
    return new TidemarkSplit(frame.text(), frame.bytes());
  }

  @Override
  public String splitId() {
    return id;
  }

  /** The core's form of it, which carries a version of its own. */
  public byte[] bytes() {
    return bytes;
  }

  @Override
  public String toString() {
    return id;
  }
}
