package io.tidemark.datastream;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.tidemark.TidemarkOptions;
import io.tidemark.sql.SqlJob;
import io.tidemark.workload.StandIn;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.apache.flink.table.types.utils.TypeConversions;
import org.apache.flink.types.Row;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Flink's {@code debezium-json} reads the JSON form as the rows of the SQL table. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DebeziumJsonTest {
  private static final String NINES = "9".repeat(28) + "." + "9".repeat(10);
  private static final String STRING = "STRING";

  /** A column, its types in the database and in Flink, and a value in each row. */
  private static final String[][] COLUMNS = {
    {"ID", "BIGINT", "BIGINT", "1", "9223372036854775807", "-9223372036854775808"},
    {"WHOLE", "INT", "INT", "42", "-2147483648", null},
    {"SMALL", "SMALLINT", "SMALLINT", "42", "32767", null},
    {"TINY", "TINYINT", "TINYINT", "42", "-128", null},
    {"WIDE", "DECIMAL(38, 10)", "DECIMAL(38, 10)", "3.14", NINES, null},
    {"DIGITS", "DECIMAL(38, 0)", "DECIMAL(38, 0)", "-7", "9".repeat(38), null},
    {"MONEY", "DECIMAL(5, 2)", "DECIMAL(5, 2)", "-0.5", "999.99", null},
    {"PRECISE", "DOUBLE", "DOUBLE", "0.1", "-1.7976931348623157E308", null},
    {"WORDS", "VARCHAR(200)", STRING, "it's \"quoted\" \\ /* </script>", "\b\f\n\r\t 名前 𝄞", null},
    {"PADDED", "CHAR(10)", STRING, "ab", "", null},
    {"NOTE", "CLOB", STRING, "x".repeat(5000), "é", null},
    {"BORN", "DATE", "DATE", "2024-02-29", "9999-12-31", null},
    {"CLOCK", "TIME(0)", "TIME(0)", "12:34:56", "23:59:59", null},
    {"S0", "TIMESTAMP(0)", "TIMESTAMP(0)", "2024-02-29 12:34:56", "0001-01-01 00:00:00", null},
    {
      "S3",
      "TIMESTAMP(3)",
      "TIMESTAMP(3)",
      "2024-02-29 12:34:56.120",
      "9999-12-31 23:59:59.999",
      null
    },
    {
      "S6",
      "TIMESTAMP(6)",
      "TIMESTAMP(6)",
      "2024-02-29 12:34:56.000001",
      "1969-12-31 23:59:59.999999",
      null
    },
  };

  private static final int ROWS = 3;

  private static String flinkColumns() {
    return Arrays.stream(COLUMNS)
        .map(column -> column[0] + " " + column[2])
        .collect(Collectors.joining(", ", "(", ", PRIMARY KEY (ID) NOT ENFORCED)"));
  }

  private static DataType rowType() {
    ClassLoader loader = DebeziumJsonTest.class.getClassLoader();
    return DataTypes.ROW(
        Arrays.stream(COLUMNS)
            .map(
                column ->
                    DataTypes.FIELD(
                        column[0],
                        TypeConversions.fromLogicalToDataType(
                            LogicalTypeParser.parse(column[2], loader))))
            .collect(Collectors.toList()));
  }

  private static String insert(int row) {
    return Arrays.stream(COLUMNS)
        .map(column -> column[3 + row])
        .map(value -> value == null ? "NULL" : "'" + value.replace("'", "''") + "'")
        .collect(Collectors.joining(", ", "INSERT INTO \"BIZ\".\"T\" VALUES (", ")"));
  }

  @Test
  void theRowsAreThoseOfTheSqlTableInSnapshotAndLog() throws Exception {
    try (StandIn standIn = StandIn.start();
        Connection connection = DriverManager.getConnection(standIn.jdbcUrl());
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE SCHEMA \"BIZ\"");
      statement.execute(
          Arrays.stream(COLUMNS)
              .map(column -> '"' + column[0] + "\" " + column[1])
              .collect(
                  Collectors.joining(
                      ", ", "CREATE TABLE \"BIZ\".\"T\" (", ", PRIMARY KEY (\"ID\"))")));
      for (int row = 0; row < ROWS; row++) {
        statement.execute(insert(row));
      }
      String columns =
          Arrays.stream(COLUMNS).map(column -> column[0]).collect(Collectors.joining(", "));
      try (SqlJob sql =
              SqlJob.start(
                  "CREATE TABLE t "
                      + flinkColumns()
                      + standIn.with("table-name", "T", "server-time-zone", "UTC"),
                  "SELECT " + columns + " FROM t");
          StreamJob<String> byDefault =
              StreamJob.start(1, StreamJob.builder(standIn, "T")::buildJson);
          StreamJob<String> otherwise =
              StreamJob.start(
                  1,
                  StreamJob.builder(standIn, "T")
                          .option(TidemarkOptions.DECIMAL_HANDLING_MODE, "precise")
                          .option(TidemarkOptions.TIME_PRECISION_MODE, "iso-8601")
                      ::buildJson)) {
        // The same in all three: a row is one record, an update two rows of one record.
        compare(sql, byDefault, otherwise, ROWS, ROWS);

        List<String> statements = new ArrayList<>();
        for (String[] column : COLUMNS) {
          if (!column[0].equals("ID")) {
            String value = column[4].replace("'", "''");
            statements.add(
                "UPDATE \"BIZ\".\"T\" SET \""
                    + column[0]
                    + "\" = '"
                    + value
                    + "' WHERE \"ID\" = 1");
          }
        }
        for (String each : statements) {
          statement.execute(each);
        }
        compare(sql, byDefault, otherwise, 2 * statements.size(), statements.size());

        statement.execute("UPDATE \"BIZ\".\"T\" SET \"ID\" = 5 WHERE \"ID\" < 0");
        statement.execute("DELETE FROM \"BIZ\".\"T\"");
        statement.execute(insert(0));
        compare(sql, byDefault, otherwise, 2 + ROWS + 1, 2 + ROWS + 1);
      }
    }
  }

  private static void compare(
      SqlJob sql, StreamJob<String> byDefault, StreamJob<String> otherwise, int rows, int records)
      throws Exception {
    List<Row> expected = sql.take(rows);
    assertEquals(rows, expected.size());
    assertEquals(
        expected, DebeziumJson.read(byDefault.take(records), rowType(), Map.of()), "by default");
    assertEquals(
        expected,
        DebeziumJson.read(
            otherwise.take(records), rowType(), Map.of("timestamp-format.standard", "ISO-8601")),
        "precise, iso-8601");
  }
}
