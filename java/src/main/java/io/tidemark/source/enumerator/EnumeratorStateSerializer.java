package io.tidemark.source.enumerator;

import java.io.IOException;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** The enumerator's state is the core's bytes as they are; they carry a version of their own. */
public final class EnumeratorStateSerializer implements SimpleVersionedSerializer<byte[]> {
  private static final int VERSION = 1;

  @Override
  public int getVersion() {
    return VERSION;
  }

  @Override
  public byte[] serialize(byte[] state) {
    return state;
  }

  @Override
  public byte[] deserialize(int version, byte[] serialized) throws IOException {
    if (version != VERSION) {
      throw new IOException(
          "an enumerator state of version " + version + " was written by a later release");
    }
    return serialized;
  }
}
