package io.tidemark;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Function;

/**
 * Takes apart what the core hands over, in the order in which it was written: little-endian
 * numbers, byte strings behind their length. {@code rust/bridge/frame.rs} is the other side.
 */
public final class Frame {
  private final ByteBuffer bytes;

  public Frame(byte[] bytes) {
    this.bytes = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** The items of a frame that is a list and nothing else; {@code null} is the empty list. */
  public static <T> List<T> list(byte[] bytes, Function<Frame, T> item) {
    return bytes == null ? List.of() : new Frame(bytes).list(item);
  }

  /** A list of byte strings for the core. */
  public static byte[] write(List<byte[]> items) {
    int size = 4 + items.stream().mapToInt(item -> 4 + item.length).sum();
    ByteBuffer out = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    out.putInt(items.size());
    items.forEach(item -> out.putInt(item.length).put(item));
    return out.array();
  }

  /** Numbers for the core, one behind the other. */
  public static byte[] numbers(Collection<Integer> numbers) {
    ByteBuffer out = ByteBuffer.allocate(4 * numbers.size()).order(ByteOrder.LITTLE_ENDIAN);
    numbers.forEach(out::putInt);
    return out.array();
  }

  public <T> List<T> list(Function<Frame, T> item) {
    int count = u32();
    List<T> items = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      items.add(item.apply(this));
    }
    return items;
  }

  public int u8() {
    return Byte.toUnsignedInt(bytes.get());
  }

  public int u32() {
    return bytes.getInt();
  }

  public long i64() {
    return bytes.getLong();
  }

  public byte[] bytes() {
    byte[] value = new byte[u32()];
    bytes.get(value);
    return value;
  }

  public String text() {
    return new String(bytes(), StandardCharsets.UTF_8);
  }
}
