package io.tidemark.cluster;

import java.math.BigDecimal;

/** A line of {@link ChangelogFiles} over {@link Bank}. */
final class BankRow {
  /** Orders the rows of the log. */
  final String when;

  /** Null in rows of the snapshot. */
  final Long transaction;

  /** {@code kind|TABLE|ID|OWNER|BALANCE}: what the log holds whole. */
  final String stable;

  /** {@code TABLE|ID}. */
  final String key;

  /** {@code ID|OWNER|BALANCE|NOTE}. */
  final String values;

  BankRow(String line) {
    String[] parts = line.split("\\|", 9);
    when = parts[0];
    transaction = parts[3].equals("null") ? null : Long.valueOf(parts[3]);
    key = parts[2] + "|" + parts[5];
    stable = parts[1] + "|" + key + "|" + parts[6] + "|" + parts[7];
    values = parts[5] + "|" + parts[6] + "|" + parts[7] + "|" + parts[8];
  }

  boolean puts() {
    return stable.startsWith("+");
  }

  /** The row without what the log need not hold of it. */
  static String withoutNote(String values) {
    return values == null ? null : values.substring(0, nth(values, 3));
  }

  BigDecimal balance() {
    return new BigDecimal(stable.substring(stable.lastIndexOf('|') + 1));
  }

  private static int nth(String text, int n) {
    int at = -1;
    for (; n > 0; n--) {
      at = text.indexOf('|', at + 1);
    }
    return at;
  }
}
