package io.tidemark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.tidemark.workload.StandIn;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every type of the first width, at its ends and NULL, in the snapshot and in the log. */
@Timeout(120)
class TypesTest {
  private static final String NINES = "9".repeat(28) + "." + "9".repeat(10);

  /** A column, its type in both dialects, and a value in each row. */
  private static final String[][] COLUMNS = {
    {"ID", "BIGINT", "1", "2", "3", "4", "5"},
    {"MARK", "INT", "0", "0", "0", "0", "0"},
    {"BIG", "BIGINT", "42", "9223372036854775807", "-9223372036854775808", "0", null},
    {"WHOLE", "INT", "42", "2147483647", "-2147483648", "0", null},
    {"SMALL", "SMALLINT", "42", "32767", "-32768", "0", null},
    {"TINY", "TINYINT", "42", "127", "-128", "0", null},
    {"WIDE", "DECIMAL(38, 10)", "3.1400000000", NINES, "-" + NINES, "0.0000000001", null},
    {"MONEY", "DECIMAL(5, 2)", "1.50", "999.99", "-999.99", "0.00", null},
    {"DIGITS", "DECIMAL(38, 0)", "7", "9".repeat(38), "-" + "9".repeat(38), "0", null},
    {
      "WORDS",
      "VARCHAR(200)",
      "plain",
      "x".repeat(200),
      "",
      "it's \"quoted\" \\ || -- ; /*\n\t名前 𝄞 ä NULL",
      null
    },
    {"PADDED", "CHAR(10)", "ab", "0123456789", "", "ä b 名", null},
    {"DAY", "DATE", "2024-02-29", "9999-12-31", "0001-01-01", "1969-12-31", null},
    {"T0", "TIME(0)", "12:34:56", "23:59:59", "00:00:00", "00:00:01", null},
    {"T3", "TIME(3)", "01:02:03.040", "23:59:59.999", "00:00:00", "00:00:00.001", null},
    timestamps(0),
    timestamps(1),
    timestamps(2),
    timestamps(3),
    timestamps(4),
    timestamps(5),
    timestamps(6),
  };

  private static final int ROWS = 5;

  /** The SQL of Flink 1 takes every TIME(p) for TIME(0). */
  private static final ChronoUnit TIMES =
      System.getProperty("tidemark.test.flink").startsWith("1.")
          ? ChronoUnit.SECONDS
          : ChronoUnit.MILLIS;

  private static String[] timestamps(int digits) {
    int length = digits == 0 ? 19 : 20 + digits;
    return new String[] {
      "S" + digits,
      "TIMESTAMP(" + digits + ")",
      "2024-02-29 12:34:56.123456".substring(0, length),
      "9999-12-31 23:59:59.999999".substring(0, length),
      "0001-01-01 00:00:00.000000".substring(0, length),
      "1969-12-31 23:59:59.999999".substring(0, length),
      null
    };
  }

  private static Row row(RowKind kind, int number, int mark) {
    Row row = new Row(kind, COLUMNS.length);
    for (int n = 0; n < COLUMNS.length; n++) {
      row.setField(n, value(COLUMNS[n][1], COLUMNS[n][2 + number]));
    }
    row.setField(1, mark);
    return row;
  }

  private static Object value(String type, String text) {
    if (text == null) {
      return null;
    }
    switch (type.replaceFirst("\\(.*", "")) {
      case "BIGINT":
        return Long.valueOf(text);
      case "INT":
        return Integer.valueOf(text);
      case "SMALLINT":
        return Short.valueOf(text);
      case "TINYINT":
        return Byte.valueOf(text);
      case "DECIMAL":
        return new BigDecimal(text);
      case "DATE":
        return LocalDate.parse(text);
      case "TIME":
        return LocalTime.parse(text).truncatedTo(TIMES);
      case "TIMESTAMP":
        return LocalDateTime.parse(text.replace(' ', 'T'));
      default:
        return text;
    }
  }

  private static List<Row> all(int mark, RowKind... kinds) {
    return IntStream.range(0, ROWS)
        .boxed()
        .flatMap(number -> Arrays.stream(kinds).map(kind -> row(kind, number, mark)))
        .collect(Collectors.toList());
  }

  private static String table() {
    return Arrays.stream(COLUMNS)
        .map(column -> "\"" + column[0] + "\" " + column[1])
        .collect(
            Collectors.joining(
                ", ", "CREATE TABLE \"BIZ\".\"TYPES\" (", ", PRIMARY KEY (\"ID\"))"));
  }

  private static String insert(int number) {
    return Arrays.stream(COLUMNS)
        .map(
            column ->
                column[2 + number] == null
                    ? "NULL"
                    : "'" + column[2 + number].replace("'", "''") + "'")
        .collect(Collectors.joining(", ", "INSERT INTO \"BIZ\".\"TYPES\" VALUES (", ")"));
  }

  @Test
  void aValueIsTheSameInSnapshotAndLog() throws Exception {
    try (StandIn standIn = StandIn.start();
        Connection connection = DriverManager.getConnection(standIn.jdbcUrl());
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE SCHEMA \"BIZ\"");
      statement.execute(table());
      for (int number = 0; number < ROWS; number++) {
        statement.execute(insert(number));
      }
      String captured =
          Arrays.stream(COLUMNS)
              .map(column -> "`" + column[0] + "` " + column[1])
              .collect(Collectors.joining(", ", "CREATE TABLE types (", ") "));
      try (SqlJob job =
          SqlJob.start(captured + standIn.with("table-name", "TYPES"), "SELECT * FROM types")) {
        assertEquals(all(0, RowKind.INSERT), job.take(ROWS));

        // In the log: as the image before and after an update, of a delete, and of an insert.
        statement.execute("UPDATE \"BIZ\".\"TYPES\" SET \"MARK\" = 1");
        List<Row> updates = new ArrayList<>();
        for (int number = 0; number < ROWS; number++) {
          updates.add(row(RowKind.UPDATE_BEFORE, number, 0));
          updates.add(row(RowKind.UPDATE_AFTER, number, 1));
        }
        assertEquals(updates, job.take(2 * ROWS));
        statement.execute("DELETE FROM \"BIZ\".\"TYPES\"");
        assertEquals(all(1, RowKind.DELETE), job.take(ROWS));
        for (int number = 0; number < ROWS; number++) {
          statement.execute(insert(number));
        }
        assertEquals(all(0, RowKind.INSERT), job.take(ROWS));
      }
    }
  }
}
