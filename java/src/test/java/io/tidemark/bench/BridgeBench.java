package io.tidemark.bench;

import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalQueries;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToLongFunction;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.formats.common.TimeFormats;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;

/**
 * Rows in a driver's words become rows of Flink, every field of which is read: by the core, which
 * lays them out before they cross, and by Java, which gets the words and builds GenericRowData.
 * {@code benches/bridge/bridge.rs} is the native half.
 */
public final class BridgeBench {
  private static final int ROWS = 1000;
  private static final int NULL = 0xffff;
  private static final DateTimeFormatter MICROS =
      DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSS");

  private BridgeBench() {}

  /** Arguments: the native half's library, seconds of a round (1). */
  public static void main(String[] args) {
    System.load(args[0]);
    double seconds = args.length > 1 ? Double.parseDouble(args[1]) : 1;
    byte[] source = source();
    source0(source);
    ToLongFunction<Void> ours = nothing -> readBatch(batch0());
    List<ToLongFunction<Void>> inJava =
        List.of(
            nothing -> readRaw(raw0(), BridgeBench::asFormats),
            nothing -> readRaw(raw0(), BridgeBench::asDrivers),
            nothing -> readRaw(raw0(), BridgeBench::byHand));
    for (ToLongFunction<Void> other : inJava) {
      if (ours.applyAsLong(null) != other.applyAsLong(null)) {
        throw new IllegalStateException("the two sides read different values");
      }
    }
    List<ToLongFunction<Void>> sides = new ArrayList<>(List.of(ours, nothing -> batch0().length));
    sides.addAll(inJava);
    double[] best = new double[sides.size()];
    Arrays.fill(best, Double.MAX_VALUE);
    for (int round = 0; round < 4; round++) {
      for (int side = 0; side < best.length; side++) {
        best[side] = Math.min(best[side], nanos(sides.get(side), seconds));
      }
    }
    System.out.printf("fill, cross and read six fields, CPU ns a row, best of four rounds%n");
    System.out.printf("%-52s %8.0f%n", "laid out by the core, BinaryRowData", best[0]);
    System.out.printf("%-52s %8.0f%n", "  of that filled and crossed", best[1]);
    String[] names = {
      "built in Java as Flink's formats do it, java.time",
      "built in Java as JDBC drivers do it, java.sql",
      "built in Java, digits taken by hand"
    };
    for (int n = 0; n < names.length; n++) {
      System.out.printf("%-52s %8.0f  ratio %.1f%n", names[n], best[n + 2], best[n + 2] / best[0]);
    }
  }

  private static native void source0(byte[] source);

  private static native byte[] raw0();

  private static native byte[] batch0();

  private static double nanos(ToLongFunction<Void> side, double seconds) {
    // The whole process's, so that the collector's work counts where it is caused.
    Cpu cpu = new Cpu();
    long rows = 0;
    double used = 0;
    while (used < seconds) {
      for (int n = 0; n < 100; n++) {
        side.applyAsLong(null);
      }
      rows += 100 * ROWS;
      used = cpu.seconds();
    }
    return used * 1e9 / rows;
  }

  private static byte[] source() {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (int n = 0; n < ROWS; n++) {
      put(out, ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(n).array());
      put(out, text("customer " + n * 7 % 9973));
      put(out, text(BigDecimal.valueOf(n * 7919L % 1_000_000, 2).toPlainString()));
      put(out, n % 5 == 0 ? null : text("it's order " + n + " " + "x".repeat(n % 40)));
      put(out, text(LocalDate.of(2024, 1, 1).plusDays(n % 900).toString()));
      LocalDateTime changed = LocalDateTime.of(2024, 1, 1, 0, 0).plusNanos(n * 1_000_001_000L);
      put(out, text(changed.format(MICROS)));
    }
    return out.toByteArray();
  }

  private static byte[] text(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void put(ByteArrayOutputStream out, byte[] value) {
    int length = value == null ? NULL : value.length;
    out.write(length & 0xff);
    out.write(length >> 8);
    if (value != null) {
      out.write(value, 0, value.length);
    }
  }

  /** What a consumer of all columns touches. */
  private static long read(RowData row) {
    long sum = row.getLong(0);
    sum += row.getString(1).hashCode();
    sum += row.getDecimal(2, 12, 2).toUnscaledLong();
    sum += row.isNullAt(3) ? 0 : row.getString(3).hashCode();
    sum += row.getInt(4);
    TimestampData changed = row.getTimestamp(5, 6);
    return sum + changed.getMillisecond() + changed.getNanoOfMillisecond();
  }

  /** As {@code io.tidemark.source.reader.Batch} does it. */
  private static long readBatch(byte[] batch) {
    MemorySegment bytes = MemorySegmentFactory.wrap(batch);
    int table = bytes.getIntLittleEndian(16);
    long sum = 0;
    for (int n = 0; n < ROWS; n++) {
      int start = bytes.getIntLittleEndian(table + 4 * n);
      BinaryRowData row = new BinaryRowData(6);
      row.pointTo(bytes, start, bytes.getIntLittleEndian(table + 4 * n + 4) - start);
      sum += read(row);
    }
    return sum;
  }

  private interface Build {
    Object field(int field, byte[] raw, int start, int length);
  }

  private static long readRaw(byte[] raw, Build build) {
    ByteBuffer in = ByteBuffer.wrap(raw).order(ByteOrder.LITTLE_ENDIAN);
    long sum = 0;
    while (in.hasRemaining()) {
      GenericRowData row = new GenericRowData(6);
      for (int field = 0; field < 6; field++) {
        int length = in.getShort() & 0xffff;
        if (length == NULL) {
          continue;
        }
        int start = in.position();
        row.setField(
            field,
            field == 0 ? (Object) in.getLong(start) : build.field(field, raw, start, length));
        in.position(start + length);
      }
      sum += read(row);
    }
    return sum;
  }

  /** As {@code JsonToRowDataConverters} and {@code CsvToRowDataConverters} do it. */
  private static Object asFormats(int field, byte[] raw, int start, int length) {
    String text = new String(raw, start, length, StandardCharsets.UTF_8);
    switch (field) {
      case 2:
        return DecimalData.fromBigDecimal(new BigDecimal(text), 12, 2);
      case 4:
        LocalDate day =
            DateTimeFormatter.ISO_LOCAL_DATE.parse(text).query(TemporalQueries.localDate());
        return (int) day.toEpochDay();
      case 5:
        TemporalAccessor parsed = TimeFormats.SQL_TIMESTAMP_FORMAT.parse(text);
        LocalTime time = parsed.query(TemporalQueries.localTime());
        LocalDate date = parsed.query(TemporalQueries.localDate());
        return TimestampData.fromLocalDateTime(LocalDateTime.of(date, time));
      default:
        return StringData.fromString(text);
    }
  }

  /** As connectors build it from what a driver's getters return. */
  private static Object asDrivers(int field, byte[] raw, int start, int length) {
    String text = new String(raw, start, length, StandardCharsets.UTF_8);
    switch (field) {
      case 2:
        return DecimalData.fromBigDecimal(new BigDecimal(text), 12, 2);
      case 4:
        return (int) Date.valueOf(text).toLocalDate().toEpochDay();
      case 5:
        return TimestampData.fromTimestamp(Timestamp.valueOf(text));
      default:
        return StringData.fromString(text);
    }
  }

  /** As one would write it who wants no object more than the row keeps. */
  private static Object byHand(int field, byte[] raw, int start, int length) {
    switch (field) {
      case 2:
        long unscaled = 0;
        for (int at = start; at < start + length; at++) {
          unscaled = raw[at] == '.' ? unscaled : 10 * unscaled + raw[at] - '0';
        }
        return DecimalData.fromUnscaledLong(unscaled, 12, 2);
      case 4:
        return (int) days(raw, start);
      case 5:
        long seconds =
            86_400 * days(raw, start)
                + 3600 * number(raw, start + 11, 2)
                + 60 * number(raw, start + 14, 2)
                + number(raw, start + 17, 2);
        int nanos = 1000 * number(raw, start + 20, 6);
        return TimestampData.fromEpochMillis(1000 * seconds + nanos / 1_000_000, nanos % 1_000_000);
      default:
        return StringData.fromBytes(Arrays.copyOfRange(raw, start, start + length));
    }
  }

  private static long days(byte[] raw, int at) {
    return LocalDate.of(number(raw, at, 4), number(raw, at + 5, 2), number(raw, at + 8, 2))
        .toEpochDay();
  }

  private static int number(byte[] raw, int at, int digits) {
    int number = 0;
    for (int n = 0; n < digits; n++) {
      number = 10 * number + raw[at + n] - '0';
    }
    return number;
  }
}
