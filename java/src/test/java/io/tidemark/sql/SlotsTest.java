package io.tidemark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.workload.Postgres;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.flink.types.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** SQL jobs over the slots of a PostgreSQL server, as a user with the least rights. */
class SlotsTest {
  private static Postgres server;
  private static Connection database;

  @BeforeAll
  static void start() throws Exception {
    server = Postgres.start();
    database = DriverManager.getConnection(server.jdbcUrl());
  }

  @AfterAll
  static void stop() throws Exception {
    database.close();
    server.close();
  }

  private static void run(String... statements) throws SQLException {
    try (Statement statement = database.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    }
  }

  private static String table(String name, String plugin, String... more) {
    Map<String, String> options = server.connectionOptions();
    options.put("connector", "postgres-slot-cdc");
    options.put("schema-name", "shop");
    options.put("table-name", name);
    options.put("slot.name", name + "_" + plugin);
    options.put("publication.name", "tidemark");
    options.put("decoding.plugin.name", plugin);
    options.put("server-time-zone", "UTC");
    for (int n = 0; n < more.length; n += 2) {
      options.put(more[n], more[n + 1]);
    }
    return "CREATE TABLE orders (id BIGINT, amount DECIMAL(12, 2), note STRING, made TIMESTAMP_LTZ(6),"
        + " PRIMARY KEY (id) NOT ENFORCED) "
        + Postgres.with(options);
  }

  private static List<String> texts(List<Row> rows) {
    return rows.stream().map(Row::toString).collect(Collectors.toList());
  }

  @Test
  void rowsAndChangesComeOutOfASqlJob() throws Exception {
    run(
        "CREATE SCHEMA shop",
        "CREATE TABLE shop.orders (id bigint PRIMARY KEY, amount numeric(12, 2), note text, made timestamptz)",
        "ALTER TABLE shop.orders REPLICA IDENTITY FULL",
        "CREATE PUBLICATION tidemark FOR TABLE shop.orders",
        "GRANT USAGE ON SCHEMA shop TO tidemark",
        "GRANT SELECT ON shop.orders TO tidemark");
    for (String plugin : List.of("pgoutput", "test_decoding")) {
      run(
          "TRUNCATE shop.orders",
          "INSERT INTO shop.orders VALUES (1, 1.5, 'it''s', '2024-02-29 12:00:00+08'), (2, NULL, NULL, NULL)");
      try (SqlJob job = SqlJob.start(table("orders", plugin), "SELECT * FROM orders")) {
        assertEquals(
            List.of("+I[1, 1.50, it's, 2024-02-29T04:00:00Z]", "+I[2, null, null, null]"),
            texts(job.take(2)));
        SqlJob.gauge("scn", 0);
        run(
            "BEGIN; UPDATE shop.orders SET amount = 7 WHERE id = 2; DELETE FROM shop.orders WHERE id = 1; COMMIT");
        assertEquals(
            List.of(
                "-U[2, null, null, null]",
                "+U[2, 7.00, null, null]",
                "-D[1, 1.50, it's, 2024-02-29T04:00:00Z]"),
            texts(job.take(3)));
        SqlJob.await("the slot's move", () -> confirmed("orders_" + plugin));
      }
    }
  }

  /** Whether a slot has moved since it was made: a checkpoint confirmed it. */
  private static boolean confirmed(String slot) throws SQLException {
    try (Statement statement = database.createStatement();
        ResultSet found =
            statement.executeQuery(
                "SELECT confirmed_flush_lsn > restart_lsn FROM pg_replication_slots WHERE slot_name = '"
                    + slot
                    + "'")) {
      return found.next() && found.getBoolean(1);
    }
  }

  @Test
  void aNameThatIsNoSlotsIsRefusedWhereTheTableIsCreated() {
    String refusal = refusal(table("orders", "pgoutput", "slot.name", "Orders"));
    assertTrue(refusal.contains("option 'slot.name'"), refusal);
    refusal = refusal(table("orders", "pgoutput", "log.switch", "true"));
    assertTrue(refusal.contains("log.switch"), refusal);
    refusal = refusal(table("orders", "pgoutput", "scan.startup.mode", "earliest-offset"));
    assertTrue(refusal.contains("'postgres-slot-cdc' does not have"), refusal);
  }

  /**
   * The log has the key alone of a row that leaves; Flink puts the row in its place that it has by
   * the key, for columns that are NOT NULL too.
   */
  @Test
  void aDeleteThatHasTheKeyAloneTakesTheWholeRowAway() throws Exception {
    run(
        "CREATE SCHEMA IF NOT EXISTS keyed",
        "CREATE TABLE keyed.stock (id bigint PRIMARY KEY, code text NOT NULL, n int NOT NULL, note text)",
        "CREATE PUBLICATION keyed FOR TABLE keyed.stock",
        "GRANT USAGE ON SCHEMA keyed TO tidemark",
        "GRANT SELECT ON keyed.stock TO tidemark",
        "INSERT INTO keyed.stock VALUES (1, 'a', 5, NULL), (2, 'b', 7, 'x')");
    String table =
        table(
                "stock",
                "pgoutput",
                "schema-name",
                "keyed",
                "publication.name",
                "keyed",
                "changelog-mode",
                "upsert")
            .replaceFirst(
                "\\(.*?\\) WITH",
                "(id BIGINT, code STRING NOT NULL, n INT NOT NULL, note STRING, PRIMARY KEY (id) NOT ENFORCED) WITH");
    String query = "SELECT id, UPPER(code), n + 1, note FROM orders WHERE n > 1";
    try (SqlJob job = SqlJob.start(table, query)) {
      assertEquals(List.of("+I[1, A, 6, null]", "+I[2, B, 8, x]"), texts(job.take(2)));
      SqlJob.gauge("scn", 0);
      run(
          "BEGIN; UPDATE keyed.stock SET n = 8 WHERE id = 1; DELETE FROM keyed.stock WHERE id = 2;"
              + " UPDATE keyed.stock SET id = 3 WHERE id = 1; COMMIT");
      assertEquals(
          List.of(
              "-U[1, A, 6, null]",
              "+U[1, A, 9, null]",
              "-D[2, B, 8, x]",
              "-D[1, A, 9, null]",
              "+I[3, A, 9, null]"),
          texts(job.take(5)));
    }
  }

  private static String refusal(String table) {
    try (SqlJob job = SqlJob.start(table, "SELECT * FROM orders")) {
      return "it was not refused";
    } catch (Exception e) {
      StringBuilder messages = new StringBuilder();
      for (Throwable cause = e; cause != null; cause = cause.getCause()) {
        messages.append(cause.getMessage()).append('\n');
      }
      return messages.toString();
    }
  }
}
