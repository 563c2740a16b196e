package io.tidemark.datastream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.RowMetadata;
import io.tidemark.TidemarkException;
import io.tidemark.TidemarkOptions;
import io.tidemark.TidemarkSourceBuilder;
import io.tidemark.change.Change;
import io.tidemark.change.Change.Operation;
import io.tidemark.sql.SqlJob;
import io.tidemark.workload.StandIn;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Instant;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.flink.runtime.execution.SuppressRestartsException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.RowData;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What DataStream jobs get, over one stand-in: several tables in one source, in the snapshot and in
 * the log. Each test has tables of its own.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DataStreamTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  private static StandIn standIn;
  private static Connection connection;

  @BeforeAll
  static void start() throws Exception {
    standIn = StandIn.start();
    connection = DriverManager.getConnection(standIn.jdbcUrl());
    execute("CREATE SCHEMA \"BIZ\"");
  }

  @AfterAll
  static void stop() throws Exception {
    connection.close();
    standIn.close();
  }

  private static void execute(String... statements) throws Exception {
    try (Statement statement = connection.createStatement()) {
      for (String each : statements) {
        statement.execute(each);
      }
    }
  }

  /** Runs statements in one transaction and returns its number. */
  private static String transaction(String... statements) throws Exception {
    connection.setAutoCommit(false);
    try {
      execute(statements);
      try (Statement statement = connection.createStatement();
          ResultSet row = statement.executeQuery("SELECT pg_current_xact_id()::text")) {
        row.next();
        String xid = row.getString(1);
        connection.commit();
        return xid;
      }
    } finally {
      connection.setAutoCommit(true);
    }
  }

  /** Orders and their lines, three and four of them; names begin with the prefix. */
  private static void createOrders(String prefix) throws Exception {
    execute(
        "CREATE TABLE \"BIZ\".\"%_ORDERS\" (\"ID\" BIGINT PRIMARY KEY, \"AMOUNT\" DECIMAL(12,2), \"CHANGED\" TIMESTAMP(6))"
            .replace("%", prefix),
        "CREATE TABLE \"BIZ\".\"%_LINES\" (\"ORDER_ID\" BIGINT, \"LINE\" INT, \"ITEM\" VARCHAR(40), PRIMARY KEY (\"ORDER_ID\", \"LINE\"))"
            .replace("%", prefix),
        "INSERT INTO \"BIZ\".\"%_ORDERS\" SELECT n, n + 0.5, TIMESTAMP '2024-01-31 09:30:00' FROM generate_series(1, 3) n"
            .replace("%", prefix),
        "INSERT INTO \"BIZ\".\"%_LINES\" SELECT 1, n, 'item ' || n FROM generate_series(1, 4) n"
            .replace("%", prefix));
  }

  /** A transaction over both tables: an update, a key change, a delete, two inserts. */
  private static String changeOrders(String prefix) throws Exception {
    String orders = "\"BIZ\".\"" + prefix + "_ORDERS\"";
    String lines = "\"BIZ\".\"" + prefix + "_LINES\"";
    return transaction(
        "INSERT INTO " + orders + " VALUES (4, NULL, NULL)",
        "UPDATE " + orders + " SET \"AMOUNT\" = 20 WHERE \"ID\" = 2",
        "UPDATE " + lines + " SET \"LINE\" = 9 WHERE \"LINE\" = 4",
        "DELETE FROM " + lines + " WHERE \"LINE\" = 1",
        "UPDATE " + orders + " SET \"ID\" = 30 WHERE \"ID\" = 3",
        "INSERT INTO " + lines + " VALUES (4, 1, 'it''s \"new\"')");
  }

  private static List<JsonNode> parse(List<String> records) throws Exception {
    List<JsonNode> parsed = new ArrayList<>();
    for (String record : records) {
      parsed.add(JSON.readTree(record));
    }
    return parsed;
  }

  private static String brief(JsonNode event) {
    JsonNode transaction = event.get("transaction");
    return String.format(
        "%s %s %s -> %s%s",
        event.get("op").asText(),
        event.get("source").get("table").asText(),
        event.get("before"),
        event.get("after"),
        transaction.isNull()
            ? ""
            : " #"
                + transaction.get("total_order")
                + "/"
                + transaction.get("data_collection_order"));
  }

  @Test
  void jsonHasEveryTableInBothPhasesAndTheTransactionsBlock() throws Exception {
    createOrders("J");
    TidemarkSourceBuilder builder = StreamJob.builder(standIn, "J_.*");
    try (StreamJob<String> job = StreamJob.start(1, builder::buildJson)) {
      List<JsonNode> snapshot = parse(job.take(7));
      List<String> expected = new ArrayList<>();
      for (int n = 1; n <= 4; n++) {
        expected.add(
            String.format(
                "r J_LINES null -> {\"ORDER_ID\":1,\"LINE\":%d,\"ITEM\":\"item %d\"}", n, n));
      }
      for (int n = 1; n <= 3; n++) {
        expected.add(
            String.format(
                "r J_ORDERS null -> {\"ID\":%d,\"AMOUNT\":\"%d.50\",\"CHANGED\":\"2024-01-31 09:30:00.000000\"}",
                n, n));
      }
      assertEquals(
          expected,
          snapshot.stream().map(DataStreamTest::brief).sorted().collect(Collectors.toList()));
      for (JsonNode event : snapshot) {
        JsonNode source = event.get("source");
        assertEquals("true", source.get("snapshot").asText());
        assertEquals(0, source.get("ts_ms").asLong());
        assertTrue(source.get("scn").isNull() && source.get("txId").isNull());
      }

      long before = System.currentTimeMillis();
      String xid = changeOrders("J");
      List<JsonNode> changes = parse(job.take(8));
      assertEquals(
          List.of(
              "c J_ORDERS null -> {\"ID\":4,\"AMOUNT\":null,\"CHANGED\":null} #1/1",
              "u J_ORDERS {\"ID\":2,\"AMOUNT\":\"2.50\",\"CHANGED\":\"2024-01-31 09:30:00.000000\"}"
                  + " -> {\"ID\":2,\"AMOUNT\":\"20.00\",\"CHANGED\":\"2024-01-31 09:30:00.000000\"} #2/2",
              "d J_LINES {\"ORDER_ID\":1,\"LINE\":4,\"ITEM\":\"item 4\"} -> null #3/1",
              "c J_LINES null -> {\"ORDER_ID\":1,\"LINE\":9,\"ITEM\":\"item 4\"} #4/2",
              "d J_LINES {\"ORDER_ID\":1,\"LINE\":1,\"ITEM\":\"item 1\"} -> null #5/3",
              "d J_ORDERS {\"ID\":3,\"AMOUNT\":\"3.50\",\"CHANGED\":\"2024-01-31 09:30:00.000000\"} -> null #6/3",
              "c J_ORDERS null -> {\"ID\":30,\"AMOUNT\":\"3.50\",\"CHANGED\":\"2024-01-31 09:30:00.000000\"} #7/4",
              "c J_LINES null -> {\"ORDER_ID\":4,\"LINE\":1,\"ITEM\":\"it's \\\"new\\\"\"} #8/4"),
          changes.stream().map(DataStreamTest::brief).collect(Collectors.toList()));
      long recordScn = 0;
      for (JsonNode event : changes) {
        JsonNode source = event.get("source");
        assertEquals("false", source.get("snapshot").asText());
        assertEquals("dameng", source.get("connector").asText());
        assertEquals("DAMENG", source.get("db").asText());
        assertEquals("BIZ", source.get("schema").asText());
        assertEquals(xid, source.get("txId").asText());
        assertEquals(xid, event.get("transaction").get("id").asText());
        assertTrue(source.get("scn").isTextual());
        long scn = source.get("scn").asLong();
        long commit = source.get("commit_scn").asLong();
        assertTrue(recordScn <= scn && scn <= commit, recordScn + " <= " + scn + " <= " + commit);
        recordScn = scn;
        long committed = source.get("ts_ms").asLong();
        long made = event.get("ts_ms").asLong();
        // The server's clock is this machine's.
        assertTrue(before <= committed && committed <= made, before + " " + committed + " " + made);
        assertTrue(made <= System.currentTimeMillis());
      }
    }
  }

  private static Map<String, Object> order(long id, String amount) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("ID", id);
    row.put("AMOUNT", amount == null ? null : new BigDecimal(amount));
    row.put("CHANGED", amount == null ? null : LocalDateTime.of(2024, 1, 31, 9, 30));
    return row;
  }

  private static Map<String, Object> line(long order, long line, String item) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("ORDER_ID", order);
    row.put("LINE", line);
    row.put("ITEM", item);
    return row;
  }

  private static List<Object> brief(Change change) {
    return Arrays.asList(
        change.operation(),
        change.table(),
        change.before(),
        change.after(),
        change.totalOrder(),
        change.dataCollectionOrder());
  }

  @Test
  void changesHaveEveryTableInBothPhasesAndGoThroughKeyedStreams() throws Exception {
    createOrders("C");
    TidemarkSourceBuilder builder = StreamJob.builder(standIn, "C_.*");
    try (StreamJob<Change> job = StreamJob.start(2, builder::buildChanges)) {
      List<Change> snapshot = job.take(7);
      snapshot.sort(
          Comparator.comparing(Change::table)
              .thenComparing(change -> change.after().values().toString()));
      List<List<Object>> expected = new ArrayList<>();
      for (int n = 1; n <= 4; n++) {
        expected.add(
            Arrays.asList(Operation.READ, "C_LINES", null, line(1, n, "item " + n), 0L, 0L));
      }
      for (int n = 1; n <= 3; n++) {
        expected.add(Arrays.asList(Operation.READ, "C_ORDERS", null, order(n, n + ".50"), 0L, 0L));
      }
      assertEquals(
          expected, snapshot.stream().map(DataStreamTest::brief).collect(Collectors.toList()));
      assertTrue(snapshot.get(0).isSnapshot());
      assertEquals(Instant.EPOCH, snapshot.get(0).committed());
      assertNull(snapshot.get(0).transactionId());

      Instant before = Instant.now();
      String xid = changeOrders("C");
      List<Change> changes = job.take(8);
      assertEquals(
          List.of(
              Arrays.asList(Operation.CREATE, "C_ORDERS", null, order(4, null), 1L, 1L),
              Arrays.asList(
                  Operation.UPDATE, "C_ORDERS", order(2, "2.50"), order(2, "20.00"), 2L, 2L),
              Arrays.asList(Operation.DELETE, "C_LINES", line(1, 4, "item 4"), null, 3L, 1L),
              Arrays.asList(Operation.CREATE, "C_LINES", null, line(1, 9, "item 4"), 4L, 2L),
              Arrays.asList(Operation.DELETE, "C_LINES", line(1, 1, "item 1"), null, 5L, 3L),
              Arrays.asList(Operation.DELETE, "C_ORDERS", order(3, "3.50"), null, 6L, 3L),
              Arrays.asList(Operation.CREATE, "C_ORDERS", null, order(30, "3.50"), 7L, 4L),
              Arrays.asList(Operation.CREATE, "C_LINES", null, line(4, 1, "it's \"new\""), 8L, 4L)),
          changes.stream().map(DataStreamTest::brief).collect(Collectors.toList()));
      for (Change change : changes) {
        assertEquals(xid, change.transactionId());
        assertEquals("DAMENG", change.database());
        assertEquals("BIZ", change.schema());
        assertFalse(change.isSnapshot());
        assertTrue(change.scn() <= change.commitScn());
        assertFalse(change.committed().isBefore(before.minusMillis(1)), change.committed() + "");
      }
    }
  }

  /**
   * The subtask behind the source fails in the middle of a transaction, again and again: every
   * event is there once, with the number that it would have had.
   */
  @Test
  void aRestartInsideATransactionLosesAndDoublesNothing() throws Exception {
    execute(
        "CREATE TABLE \"BIZ\".\"R_A\" (\"ID\" BIGINT PRIMARY KEY, \"N\" INT)",
        "CREATE TABLE \"BIZ\".\"R_B\" (\"ID\" BIGINT PRIMARY KEY, \"N\" INT)",
        "INSERT INTO \"BIZ\".\"R_A\" VALUES (0, 0)",
        "INSERT INTO \"BIZ\".\"R_B\" VALUES (0, 0)");
    StreamJob.Failing<Change> failing =
        new StreamJob.Failing<>(change -> change.totalOrder() % 700 == 650, 3);
    TidemarkSourceBuilder builder =
        StreamJob.builder(standIn, "R_A|R_B").option(TidemarkOptions.TRANSACTION_FRAGMENT_ROWS, 7);
    try (StreamJob<Change> job = StreamJob.start(1, builder::buildChanges, failing)) {
      // What commits behind them comes from the log.
      assertEquals(List.of(Operation.READ), distinct(job.take(2), Change::operation));
      String insert = "INSERT INTO \"BIZ\".\"R_%s\" SELECT n, 0 FROM generate_series(1, 500) n";
      String update = "UPDATE \"BIZ\".\"R_%s\" SET \"N\" = 1 WHERE \"ID\" > 0";
      String move = "UPDATE \"BIZ\".\"R_%s\" SET \"ID\" = \"ID\" + 1000 WHERE \"ID\" > 250";
      List<String> xids = new ArrayList<>();
      for (int n = 0; n < 2; n++) {
        xids.add(
            transaction(
                String.format(insert, "A"),
                String.format(insert, "B"),
                String.format(update, "A"),
                String.format(move, "B"),
                "DELETE FROM \"BIZ\".\"R_A\" WHERE \"ID\" > 0",
                "DELETE FROM \"BIZ\".\"R_B\" WHERE \"ID\" > 0"));
      }
      for (String xid : xids) {
        List<Change> changes = job.take(3000);
        assertEquals(List.of(xid), distinct(changes, Change::transactionId));
        assertEquals(numbers(3000), orders(changes, Change::totalOrder));
        for (String table : List.of("R_A", "R_B")) {
          List<Change> of =
              changes.stream()
                  .filter(each -> each.table().equals(table))
                  .collect(Collectors.toList());
          assertEquals(numbers(1500), orders(of, Change::dataCollectionOrder));
        }
        long updates =
            changes.stream().filter(each -> each.operation() == Operation.UPDATE).count();
        assertEquals(500, updates);
      }
      assertEquals(0, failing.left());
    }
  }

  private static <T> List<T> distinct(
      List<Change> changes, java.util.function.Function<Change, T> of) {
    return changes.stream().map(of).distinct().collect(Collectors.toList());
  }

  private static List<Long> orders(
      List<Change> changes, java.util.function.ToLongFunction<Change> of) {
    return changes.stream().mapToLong(of).boxed().collect(Collectors.toList());
  }

  private static List<Long> numbers(long last) {
    return LongStream.rangeClosed(1, last).boxed().collect(Collectors.toList());
  }

  /** A TRUNCATE is an event among the others, in the order of the log, and no failure. */
  @Test
  void changesOfShapeStandAmongTheChangesOfTheirTable() throws Exception {
    execute(
        "UPDATE logminer.setting SET value = 'on' WHERE name = 'ddl'",
        "CREATE TABLE \"BIZ\".\"S_A\" (\"ID\" BIGINT PRIMARY KEY)",
        "INSERT INTO \"BIZ\".\"S_A\" VALUES (0)");
    TidemarkSourceBuilder builder =
        StreamJob.builder(standIn, "S_A").option(TidemarkOptions.INCLUDE_SCHEMA_CHANGES, true);
    try (StreamJob<String> json = StreamJob.start(1, builder::buildJson);
        StreamJob<Change> changes = StreamJob.start(1, builder::buildChanges)) {
      json.take(1);
      changes.take(1);
      execute(
          "INSERT INTO \"BIZ\".\"S_A\" VALUES (1)",
          "TRUNCATE TABLE \"BIZ\".\"S_A\"",
          "INSERT INTO \"BIZ\".\"S_A\" VALUES (2)");
      List<Change> taken = changes.take(3);
      assertEquals(
          List.of(Operation.CREATE, Operation.SCHEMA_CHANGE, Operation.CREATE),
          taken.stream().map(Change::operation).collect(Collectors.toList()));
      assertEquals("TRUNCATE TABLE \"BIZ\".\"S_A\"", taken.get(1).statement());
      assertEquals(Map.of("ID", 2L), taken.get(2).after());

      List<JsonNode> events = parse(json.take(3));
      assertEquals("1", events.get(0).get("after").get("ID").asText());
      JsonNode truncated = events.get(1);
      assertNull(truncated.get("op"));
      assertEquals("TRUNCATE TABLE \"BIZ\".\"S_A\"", truncated.get("ddl").asText());
      assertEquals("S_A", truncated.get("source").get("table").asText());
      assertEquals(taken.get(1).transactionId(), truncated.get("source").get("txId").asText());
      assertEquals("2", events.get(2).get("after").get("ID").asText());
    }
  }

  @Test
  void upsertLeavesOutTheRowsBefore() throws Exception {
    createOrders("U");
    TidemarkSourceBuilder builder =
        StreamJob.builder(standIn, "U_LINES")
            .option(TidemarkOptions.CHANGELOG_MODE, "upsert")
            .primaryKey(List.of("LINE", "ORDER_ID"))
            .columns(
                DataTypes.ROW(
                    DataTypes.FIELD("ORDER_ID", DataTypes.BIGINT()),
                    DataTypes.FIELD("LINE", DataTypes.INT()),
                    DataTypes.FIELD("ITEM", DataTypes.STRING())))
            .metadata(RowMetadata.ROW_KIND);
    try (StreamJob<RowData> job = StreamJob.start(1, builder::build)) {
      assertEquals(
          List.of("+I 1 1 item 1", "+I 1 2 item 2", "+I 1 3 item 3", "+I 1 4 item 4"),
          texts(job.take(4)));
      execute(
          "UPDATE \"BIZ\".\"U_LINES\" SET \"ITEM\" = 'new' WHERE \"LINE\" < 3",
          "UPDATE \"BIZ\".\"U_LINES\" SET \"LINE\" = 7 WHERE \"LINE\" = 3",
          "DELETE FROM \"BIZ\".\"U_LINES\" WHERE \"LINE\" = 4");
      assertEquals(
          List.of("+U 1 1 new", "+U 1 2 new", "-D 1 3 item 3", "+I 1 7 item 3", "-D 1 4 item 4"),
          texts(job.take(5)));
    }
  }

  private static List<String> texts(List<RowData> rows) {
    return rows.stream()
        .map(
            row -> {
              assertEquals(row.getRowKind().shortString(), row.getString(3).toString());
              return String.format(
                  "%s %d %d %s",
                  row.getRowKind().shortString(), row.getLong(0), row.getInt(1), row.getString(2));
            })
        .collect(Collectors.toList());
  }

  /** Flink makes the rows before from its own state of the declared key. */
  @Test
  void inSqlUpsertIsKeptByTheTablesKeyAndNoOther() throws Exception {
    execute(
        "CREATE TABLE \"BIZ\".\"K_T\" (\"ID\" BIGINT PRIMARY KEY, \"V\" VARCHAR(40))",
        "INSERT INTO \"BIZ\".\"K_T\" VALUES (1, 'a'), (2, 'b')");
    String table =
        "CREATE TABLE t (ID BIGINT, V STRING, PRIMARY KEY (%s) NOT ENFORCED) "
            + standIn.with("table-name", "K_T", "changelog-mode", "upsert");
    String query = "SELECT ID, V FROM t";
    try (SqlJob job = SqlJob.start(String.format(table, "ID"), query)) {
      assertEquals(List.of(Row.of(1L, "a"), Row.of(2L, "b")), job.take(2));
      execute(
          "UPDATE \"BIZ\".\"K_T\" SET \"V\" = 'c' WHERE \"ID\" = 1",
          "UPDATE \"BIZ\".\"K_T\" SET \"ID\" = 3 WHERE \"ID\" = 2",
          "DELETE FROM \"BIZ\".\"K_T\" WHERE \"ID\" = 1");
      assertEquals(
          List.of(
              Row.ofKind(RowKind.UPDATE_BEFORE, 1L, "a"),
              Row.ofKind(RowKind.UPDATE_AFTER, 1L, "c"),
              Row.ofKind(RowKind.DELETE, 2L, "b"),
              Row.ofKind(RowKind.INSERT, 3L, "b"),
              Row.ofKind(RowKind.DELETE, 1L, "c")),
          job.take(5));
    }
    try (SqlJob job = SqlJob.start(String.format(table, "V"), query)) {
      String failure = job.failure();
      assertTrue(
          failure.contains("the declared PRIMARY KEY (V) must be the table's key (ID)"), failure);
    }
  }

  @Test
  void columnsAreDeclaredForRowsAlone() {
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
    TidemarkSourceBuilder builder =
        StreamJob.builder(standIn, "J_.*")
            .columns(DataTypes.ROW(DataTypes.FIELD("ID", DataTypes.BIGINT())));
    SuppressRestartsException e =
        assertThrows(SuppressRestartsException.class, () -> builder.buildJson(environment));
    TidemarkException cause = (TidemarkException) e.getCause();
    assertTrue(cause.getMessage().contains("are declared for rows alone"), cause.getMessage());
  }
}
