package consumer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.tidemark.RowMetadata;
import io.tidemark.TidemarkOptions;
import io.tidemark.TidemarkSource;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.DataType;
import org.apache.flink.util.CloseableIterator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A DataStream job of somebody who has the connector from a Maven repository. */
class OrdersJobTest {
  private static final int ROWS = 3000;
  private static final DataType COLUMNS =
      DataTypes.ROW(
          DataTypes.FIELD("ID", DataTypes.BIGINT().notNull()),
          DataTypes.FIELD("CUSTOMER", DataTypes.STRING()),
          DataTypes.FIELD("AMOUNT", DataTypes.DECIMAL(12, 2)));

  private static final Path FOLDER =
      Path.of(System.getProperty("java.io.tmpdir"), "tidemark-consumer-" + UUID.randomUUID());
  private static final Map<String, String> DATABASE = new HashMap<>();

  @BeforeAll
  static void startDatabase() throws Exception {
    for (String line : standIn("start", FOLDER.toString(), "0").split("\n")) {
      String[] pair = line.split("=", 2);
      if (pair.length == 2) {
        DATABASE.put(pair[0], pair[1]);
      }
    }
    execute(
        "CREATE SCHEMA IF NOT EXISTS \"BIZ\"",
        "CREATE TABLE \"BIZ\".\"ORDERS\" (\"ID\" BIGINT PRIMARY KEY, \"CUSTOMER\" VARCHAR(40), \"AMOUNT\" DECIMAL(12,2))",
        "INSERT INTO \"BIZ\".\"ORDERS\" SELECT n, 'customer ' || n, n / 100.0 FROM generate_series(1, "
            + ROWS
            + ") n");
  }

  @AfterAll
  static void stopDatabase() throws Exception {
    standIn("stop", FOLDER.toString());
  }

  private static String standIn(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of("bash", System.getProperty("stand-in")));
    Collections.addAll(command, arguments);
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
    builder.environment().put("WATCH_PID", Long.toString(ProcessHandle.current().pid()));
    Process process = builder.start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), String.join(" ", command));
    return printed;
  }

  private static void execute(String... statements) throws SQLException {
    String url =
        String.format(
            "jdbc:postgresql://127.0.0.1:%s/%s", DATABASE.get("PORT"), DATABASE.get("DATABASE"));
    try (Connection connection =
            DriverManager.getConnection(
                url, DATABASE.get("ADMIN"), DATABASE.get("ADMIN_PASSWORD"));
        Statement statement = connection.createStatement()) {
      for (String each : statements) {
        statement.execute(each);
      }
    }
  }

  @Test
  void aJobTakesTheTableAndThenItsChanges() throws Exception {
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
    environment.setParallelism(2);
    environment.enableCheckpointing(200);
    TidemarkSource<RowData> orders =
        TidemarkSource.builder("dameng-cdc")
            .option(TidemarkOptions.HOSTNAME, "127.0.0.1")
            .option(TidemarkOptions.PORT, Integer.valueOf(DATABASE.get("PORT")))
            .option(TidemarkOptions.USERNAME, DATABASE.get("USER"))
            .option(TidemarkOptions.PASSWORD, DATABASE.get("PASSWORD"))
            .option(TidemarkOptions.SCHEMA_NAME, "BIZ")
            .option(TidemarkOptions.TABLE_NAME, "ORDERS")
            .option(TidemarkOptions.SCAN_INCREMENTAL_SNAPSHOT_CHUNK_SIZE, 500)
            .option(TidemarkOptions.ODBC_DRIVER, "PostgreSQL Unicode")
            .odbc("DATABASE", DATABASE.get("DATABASE"))
            .odbc("UseDeclareFetch", "1")
            .odbc("Protocol", "7.4-1")
            .odbc("BoolsAsChar", "0")
            .columns(COLUMNS)
            .metadata(RowMetadata.TABLE_NAME)
            .build(environment);
    try (CloseableIterator<String> rows =
        environment
            .fromSource(orders, WatermarkStrategy.noWatermarks(), "orders")
            .map(OrdersJobTest::text)
            .returns(Types.STRING)
            .executeAndCollect()) {
      List<String> expected = new ArrayList<>();
      for (int id = 1; id <= ROWS; id++) {
        expected.add(String.format("+I %d customer %d %d.%02d ORDERS", id, id, id / 100, id % 100));
      }
      List<String> snapshot = take(rows, ROWS);
      Collections.sort(expected);
      Collections.sort(snapshot);
      assertEquals(expected, snapshot);

      execute(
          "UPDATE \"BIZ\".\"ORDERS\" SET \"AMOUNT\" = 0.5 WHERE \"ID\" = 7",
          "DELETE FROM \"BIZ\".\"ORDERS\" WHERE \"ID\" = 8",
          "INSERT INTO \"BIZ\".\"ORDERS\" VALUES (-1, NULL, NULL)");
      assertEquals(
          List.of(
              "-U 7 customer 7 0.07 ORDERS",
              "+U 7 customer 7 0.50 ORDERS",
              "-D 8 customer 8 0.08 ORDERS",
              "+I -1 null null ORDERS"),
          take(rows, 4));
    }
  }

  private static List<String> take(CloseableIterator<String> rows, int count) {
    List<String> taken = new ArrayList<>();
    while (taken.size() < count) {
      taken.add(rows.next());
    }
    return taken;
  }

  private static String text(RowData row) {
    return String.format(
        "%s %d %s %s %s",
        row.getRowKind().shortString(),
        row.getLong(0),
        row.isNullAt(1) ? null : row.getString(1),
        row.isNullAt(2) ? null : row.getDecimal(2, 12, 2),
        row.getString(3));
  }
}
