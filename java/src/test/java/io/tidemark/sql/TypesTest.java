package io.tidemark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.tidemark.workload.StandIn;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TimeZone;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Types at their ends and NULL, through the whole chain, in the snapshot and in the log. All of
 * them, with random values, are compared in tests/types.
 */
@Timeout(120)
class TypesTest {
  private static final String NINES = "9".repeat(28) + "." + "9".repeat(10);

  /**
   * A column, its type in Flink (and in the database, where that differs), and a value in each row.
   */
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
    {"FLAG", "BOOLEAN", "true", "false", "true", "false", null},
    {"SINGLE", "FLOAT|REAL", "1.5", "3.4028235E38", "-3.4028235E38", "0.0", null},
    {"BINARY64", "DOUBLE", "0.1", "1.7976931348623157E308", "-1.7976931348623157E308", "0.0", null},
    {"SEAL", "BYTES|BLOB", "\\x00ff27", "\\x" + "00".repeat(800), "\\x", "\\x27", null},
    {"STORY", "STRING|CLOB", "plain", "名前 𝄞".repeat(500), "", "'", null},
    {"ANY_NUMBER", "STRING|NUMBER", "0.5", "9".repeat(38), "-0.000000000001", "0", null},
    {"TREE", "STRING|JSON", "{\"b\": 1}", "[]", "null", "{\"a\":\"\\\\\"}", null},
    {
      "SPAN",
      "STRING|INTERVAL_DAY_TO_SECOND",
      "3 04:05:06.7",
      "99 23:59:59.999999",
      "-3 04:05:06.7",
      "0 00:00:00",
      null
    },
    {"AGE", "STRING|INTERVAL_YEAR_TO_MONTH", "1-02", "99-11", "-1-02", "0-00", null},
    {
      "SHIFT",
      "STRING|TIMETZ(6)",
      "10:20:30.12 +08:00",
      "23:59:59.999999 -11:30",
      "00:00:00 +00:00",
      "12:00:00 +05:45",
      null
    },
    {
      "NANO",
      "TIMESTAMP(9)|DATETIME2",
      "2024-02-29 12:34:56.123456789",
      "9999-12-31 23:59:59.999999999",
      "0001-01-01 00:00:00.000000000",
      "1582-10-10 00:00:00.000000001",
      null
    },
    {
      "ZONED",
      "TIMESTAMP_LTZ(6)|TIMESTAMPTZ(6)",
      "2024-02-29T12:34:56.123456Z",
      "9999-12-30T23:59:59.999999Z",
      "0002-01-01T00:00:00Z",
      "1969-12-31T23:59:59.999999Z",
      null
    },
    {
      "LOCAL",
      "TIMESTAMP_LTZ(6)|TIMESTAMP_LOCAL",
      "2024-02-29T12:34:56.123456Z",
      "9999-12-30T23:59:59.999999Z",
      "0002-01-01T00:00:00Z",
      "1986-05-03T17:30:00Z",
      null
    },
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

  private static final TimeZone HOME = TimeZone.getDefault();

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
      row.setField(n, value(flinkType(COLUMNS[n]), COLUMNS[n][2 + number]));
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
      case "BOOLEAN":
        return Boolean.valueOf(text);
      case "FLOAT":
        return Float.valueOf(text);
      case "DOUBLE":
        return Double.valueOf(text);
      case "BYTES":
        return bytes(text.substring(2));
      case "TIMESTAMP_LTZ":
        return Instant.parse(text);
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

  private static byte[] bytes(String hex) {
    byte[] bytes = new byte[hex.length() / 2];
    for (int n = 0; n < bytes.length; n++) {
      bytes[n] = (byte) Integer.parseInt(hex.substring(2 * n, 2 * n + 2), 16);
    }
    return bytes;
  }

  private static String flinkType(String[] column) {
    return column[1].replaceFirst("\\|.*", "");
  }

  private static String table() {
    return Arrays.stream(COLUMNS)
        .map(column -> "\"" + column[0] + "\" " + column[1].replaceFirst(".*\\|", ""))
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

  /**
   * In a zone that neither the server nor its sessions are in, with a summer time of its own: F25,
   * F45.
   */
  @BeforeAll
  static void liveElsewhere() {
    TimeZone.setDefault(TimeZone.getTimeZone("America/St_Johns"));
  }

  @AfterAll
  static void comeBack() {
    TimeZone.setDefault(HOME);
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
              .map(column -> "`" + column[0] + "` " + flinkType(column))
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
