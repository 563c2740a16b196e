package io.tidemark.source.split;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.tidemark.source.enumerator.EnumeratorStateSerializer;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class TidemarkSplitSerializerTest {
  @Test
  void aSplitSurvives() throws IOException {
    TidemarkSplitSerializer serializer = new TidemarkSplitSerializer();
    TidemarkSplit split = new TidemarkSplit("c:S.größe:61", new byte[] {1, 0, -1});
    TidemarkSplit read =
        serializer.deserialize(serializer.getVersion(), serializer.serialize(split));
    assertEquals(split.splitId(), read.splitId());
    assertArrayEquals(split.bytes(), read.bytes());
  }

  @Test
  void theStateOfTheEnumeratorSurvives() throws IOException {
    EnumeratorStateSerializer serializer = new EnumeratorStateSerializer();
    byte[] state = {1, 2, 3};
    assertArrayEquals(
        state, serializer.deserialize(serializer.getVersion(), serializer.serialize(state)));
  }

  @Test
  void aLaterVersionIsRefused() {
    assertThrows(
        IOException.class, () -> new TidemarkSplitSerializer().deserialize(2, new byte[8]));
    assertThrows(
        IOException.class, () -> new EnumeratorStateSerializer().deserialize(2, new byte[8]));
  }
}
