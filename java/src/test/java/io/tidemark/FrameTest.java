package io.tidemark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class FrameTest {
  @Test
  void aListIsReadAsItWasWritten() {
    List<byte[]> items = List.of(new byte[] {1, 2, 3}, new byte[0], new byte[] {-1});
    List<byte[]> read = Frame.list(Frame.write(items), Frame::bytes);
    assertEquals(3, read.size());
    for (int i = 0; i < 3; i++) {
      assertArrayEquals(items.get(i), read.get(i));
    }
    assertEquals(List.of(), Frame.list(null, Frame::bytes));
  }

  @Test
  void numbersAreLittleEndian() {
    Frame frame = new Frame(new byte[] {(byte) 200, 1, 2, 0, 0, -2, -1, -1, -1, -1, -1, -1, -1});
    assertEquals(200, frame.u8());
    assertEquals(513, frame.u32());
    assertEquals(-2, frame.i64());
  }
}
