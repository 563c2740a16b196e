package io.tidemark.change;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Takes the bytes of a change apart; {@code rust/row/change.rs} has the layout. */
final class ChangeReader {
  static final int OPERATION = 1;
  static final int COMMITTED = 2;
  static final int LOGGED = 10;

  private static final byte VERSION = 1;
  private static final int LOGGED_SIZE = 40;

  private final ByteBuffer bytes;

  ChangeReader(byte[] bytes, int at) {
    this.bytes = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    this.bytes.position(at);
  }

  /** Where the description of the table begins. Refuses a layout of a later release. */
  static int table(byte[] bytes) {
    if (bytes[0] != VERSION) {
      throw new IllegalStateException(
          "a change was written by a later release, in layout " + bytes[0]);
    }
    return LOGGED + 1 + (bytes[LOGGED] == 0 ? 0 : LOGGED_SIZE);
  }

  /** How long it is, its length among it. */
  static int tableSize(byte[] bytes, int start) {
    return 4 + new ChangeReader(bytes, start).bytes.getInt();
  }

  long i64() {
    return bytes.getLong();
  }

  int u32() {
    return bytes.getInt();
  }

  String text() {
    return new String(binary(), StandardCharsets.UTF_8);
  }

  /** An image by column, or null. */
  Map<String, Object> image(List<String> columns) {
    if (bytes.get() == 0) {
      return null;
    }
    Map<String, Object> image = new LinkedHashMap<>(2 * columns.size());
    for (String column : columns) {
      image.put(column, value());
    }
    return Collections.unmodifiableMap(image);
  }

  private Object value() {
    byte type = bytes.get();
    switch (type) {
      case 0:
        return null;
      case 1:
        return bytes.get() != 0;
      case 2:
        return bytes.getLong();
      case 3:
        return bytes.getFloat();
      case 4:
        return bytes.getDouble();
      case 5:
        return decimal();
      case 6:
        return new BigDecimal(text());
      case 7:
        return text();
      case 8:
        return binary();
      case 9:
        return LocalDate.ofEpochDay(bytes.getInt());
      case 10:
        return LocalTime.ofNanoOfDay(bytes.getLong());
      case 11:
        return LocalDateTime.ofEpochSecond(bytes.getLong(), bytes.getInt(), ZoneOffset.UTC);
      case 12:
        return Instant.ofEpochSecond(bytes.getLong(), bytes.getInt());
      default:
        throw new IllegalStateException("a change has a value of type " + type);
    }
  }

  private BigDecimal decimal() {
    int scale = bytes.get();
    long low = bytes.getLong();
    long high = bytes.getLong();
    if (high == low >> 63) {
      return BigDecimal.valueOf(low, scale);
    }
    byte[] unscaled = ByteBuffer.allocate(16).putLong(high).putLong(low).array();
    return new BigDecimal(new BigInteger(unscaled), scale);
  }

  private byte[] binary() {
    byte[] value = new byte[bytes.getInt()];
    bytes.get(value);
    return value;
  }
}
