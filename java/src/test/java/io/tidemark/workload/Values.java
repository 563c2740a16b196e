package io.tidemark.workload;

import java.math.BigDecimal;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.util.Map;
import java.util.TreeMap;

/** Values and rows as one line of text, equal if and only if the values are. */
final class Values {
  private static final char COLUMN = '\u0001';
  private static final DateTimeFormatter DATE_TIME =
      DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSSSSS");
  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss.SSSSSSSSS");

  private static final DateTimeFormatter WITH_OFFSET =
      new DateTimeFormatterBuilder()
          .appendPattern("uuuu-MM-dd HH:mm:ss")
          .appendFraction(ChronoField.NANO_OF_SECOND, 0, 9, true)
          .appendPattern("[xxx][x]")
          .toFormatter();

  private Values() {}

  /** A value as a change has it. */
  static String of(Object value) {
    if (value == null) {
      return null;
    }
    if (value instanceof BigDecimal) {
      return number((BigDecimal) value);
    }
    if (value instanceof byte[]) {
      StringBuilder hex = new StringBuilder("\\x");
      for (byte each : (byte[]) value) {
        hex.append(String.format("%02x", each));
      }
      return hex.toString();
    }
    if (value instanceof LocalDateTime) {
      return cut(((LocalDateTime) value).format(DATE_TIME));
    }
    if (value instanceof LocalTime) {
      return cut(((LocalTime) value).format(TIME));
    }
    return value.toString().replace("\n", "\\n");
  }

  /** A value as PostgreSQL prints it, by the name of its type. */
  static String ofText(String type, String text) {
    if (text == null) {
      return null;
    }
    switch (type) {
      case "numeric":
        return number(new BigDecimal(text));
      case "character":
      case "bpchar":
        return text.replaceFirst(" +$", "");
      case "timestamp with time zone":
      case "timestamptz":
        return OffsetDateTime.parse(text, WITH_OFFSET).toInstant().toString();
      case "boolean":
      case "bool":
        return Boolean.toString(text.startsWith("t"));
      default:
        return text.replace("\n", "\\n");
    }
  }

  private static String number(BigDecimal number) {
    return number.signum() == 0 ? "0" : number.stripTrailingZeros().toPlainString();
  }

  private static String cut(String time) {
    return time.replaceFirst("\\.?0+$", "");
  }

  /** A row on one line. */
  static String line(Map<String, String> row) {
    StringBuilder line = new StringBuilder();
    row.forEach(
        (name, value) -> {
          line.append(line.length() == 0 ? "" : String.valueOf(COLUMN)).append(name);
          if (value != null) {
            line.append('=').append(value);
          }
        });
    return line.toString();
  }

  /** Takes such a line apart. */
  static Map<String, String> row(String line) {
    Map<String, String> row = new TreeMap<>();
    for (String column : line.split(String.valueOf(COLUMN))) {
      int at = column.indexOf('=');
      row.put(at < 0 ? column : column.substring(0, at), at < 0 ? null : column.substring(at + 1));
    }
    return row;
  }
}
