package io.tidemark.source.split;

import io.tidemark.Frame;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** Name and bytes. The version here is that of this pair; the bytes carry the core's own. */
public final class TidemarkSplitSerializer implements SimpleVersionedSerializer<TidemarkSplit> {
  private static final int VERSION = 1;

  @Override
  public int getVersion() {
    return VERSION;
  }

  @Override
  public byte[] serialize(TidemarkSplit split) {
    byte[] id = split.splitId().getBytes(StandardCharsets.UTF_8);
    return Frame.write(List.of(id, split.bytes()));
  }

  @Override
  public TidemarkSplit deserialize(int version, byte[] serialized) throws IOException {
    if (version != VERSION) {
      throw new IOException("a split of version " + version + " was written by a later release");
    }
    List<byte[]> parts = Frame.list(serialized, Frame::bytes);
    return new TidemarkSplit(new String(parts.get(0), StandardCharsets.UTF_8), parts.get(1));
  }
}
