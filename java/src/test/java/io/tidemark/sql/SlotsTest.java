package io.tidemark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.workload.Postgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.types.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
    String columns =
        name.equals("orders")
            ? "id BIGINT, amount DECIMAL(12, 2), note STRING, made TIMESTAMP_LTZ(6)"
            : "id BIGINT";
    Map<String, String> options = server.connectionOptions();
    options.put("connector", "postgres-slot-cdc");
    options.put("schema-name", "shop");
    options.put("table-name", name);
    options.put("slot.name", name + "_" + plugin);
    if (plugin.equals("pgoutput")) {
      options.put("publication.name", name.equals("orders") ? "tidemark" : "tidemark_" + name);
    }
    options.put("decoding.plugin.name", plugin);
    options.put("server-time-zone", "UTC");
    for (int n = 0; n < more.length; n += 2) {
      options.put(more[n], more[n + 1]);
    }
    return "CREATE TABLE orders ("
        + columns
        + ", PRIMARY KEY (id) NOT ENFORCED) "
        + Postgres.with(options);
  }

  private static List<String> texts(List<Row> rows) {
    return rows.stream().map(Row::toString).collect(Collectors.toList());
  }

  @Test
  void rowsAndChangesComeOutOfASqlJob() throws Exception {
    run(
        "CREATE SCHEMA IF NOT EXISTS shop",
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

  /** A table of one column in a publication of its own, with so many rows. */
  private static void captured(String name, int rows) throws SQLException {
    run(
        "CREATE SCHEMA IF NOT EXISTS shop",
        "GRANT USAGE ON SCHEMA shop TO tidemark",
        "CREATE TABLE shop." + name + " (id bigint PRIMARY KEY)",
        "ALTER TABLE shop." + name + " REPLICA IDENTITY FULL",
        "INSERT INTO shop." + name + " SELECT generate_series(1, " + rows + ")",
        "GRANT SELECT ON shop." + name + " TO tidemark",
        "CREATE PUBLICATION tidemark_" + name + " FOR TABLE shop." + name);
  }

  /** What the server says of a slot. */
  private static String ask(String what, String slot) throws SQLException {
    try (Statement statement = database.createStatement();
        ResultSet found =
            statement.executeQuery(
                "SELECT " + what + " FROM pg_replication_slots WHERE slot_name = '" + slot + "'")) {
      found.next();
      return found.getString(1);
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

  /**
   * F53, through Flink: nothing is left of a bounded job, and the gauges say what its slot holds
   * back.
   */
  @Test
  void aBoundedJobTakesItsSlotAlong() throws Exception {
    captured("bounded", 20);
    List<Row> rows;
    try (SqlJob job =
        SqlJob.start(
            table("bounded", "pgoutput", "scan.startup.mode", "snapshot"),
            "SELECT id FROM orders")) {
      rows = job.takeAll();
    }
    assertEquals(20, rows.size());
    SqlJob.await("the slot's end", () -> ask("count(*)", "bounded_pgoutput").equals("0"));
  }

  @Test
  void whatASlotHoldsBackAndWhatRoomItHasAreGauges() throws Exception {
    captured("gauged", 3);
    run("ALTER SYSTEM SET max_slot_wal_keep_size = '4GB'", "SELECT pg_reload_conf()");
    try (SqlJob job = SqlJob.start(table("gauged", "test_decoding"), "SELECT id FROM orders")) {
      job.take(3);
      long room = SqlJob.gauge("archiveHeadroomBytes", -1);
      assertTrue(room > 3L << 30 && room <= (4L << 30) + (64 << 20), "" + room);
      assertTrue(SqlJob.gauge("slotRetainedBytes", -1) >= 0);
      run(
          "CREATE TABLE shop.noise (n int, v text)",
          "INSERT INTO shop.noise SELECT n, repeat('x', 1000) FROM generate_series(1, 4000) n",
          "INSERT INTO shop.gauged VALUES (4)");
      job.take(1);
    } finally {
      run("ALTER SYSTEM RESET max_slot_wal_keep_size", "SELECT pg_reload_conf()");
    }
  }

  /** Another restart would find the same: Flink must not try it. */
  @Test
  void aSlotThatWasMovedBeyondTheStateEndsTheJobForGood(@TempDir Path folder) throws Exception {
    captured("ahead", 3);
    String directory = folder.toUri().toString();
    Map<String, String> settings = new HashMap<>();
    settings.put("execution.checkpointing.dir", directory);
    settings.put("state.checkpoints.dir", directory);
    settings.put(
        "execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    String table = table("ahead", "pgoutput", "scan.lsn-commit.checkpoints-num-delay", "1");
    try (SqlJob job = SqlJob.start(settings, table, "SELECT id FROM orders")) {
      job.take(3);
      SqlJob.await("the slot's move", () -> confirmed("ahead_pgoutput"));
    }
    run("INSERT INTO shop.ahead VALUES (4)");
    SqlJob.await("the session's end", () -> ask("count(*)", "ahead_pgoutput_r").equals("0"));
    run("SELECT pg_replication_slot_advance('ahead_pgoutput', pg_current_wal_lsn())");
    settings.put("execution.state-recovery.path", newest(folder).toUri().toString());
    // The operator that collects a SELECT's rows has another identity in each job of Flink 2.
    settings.put("execution.state-recovery.ignore-unclaimed-state", "true");
    settings.put("restart-strategy.type", "fixed-delay");
    settings.put("restart-strategy.fixed-delay.attempts", "1000000");
    settings.put("restart-strategy.fixed-delay.delay", "50 ms");
    try (SqlJob job = SqlJob.start(settings, table, "SELECT id FROM orders")) {
      String failure = job.failure();
      assertTrue(
          failure.contains("TM-3010 slot 'ahead_pgoutput' was confirmed up to LSN"), failure);
    }
  }

  /** The newest complete checkpoint of a folder. */
  private static Path newest(Path folder) throws IOException {
    try (Stream<Path> paths = Files.walk(folder, 3)) {
      return paths
          .filter(path -> path.getFileName().toString().equals("_metadata"))
          .map(Path::getParent)
          .max(Comparator.comparingLong(SlotsTest::number))
          .orElseThrow();
    }
  }

  private static long number(Path checkpoint) {
    return Long.parseLong(checkpoint.getFileName().toString().substring("chk-".length()));
  }

  /** Types of the Oracle mode, '' as NULL, system names under sys_ alone, no pgoutput. */
  @Test
  void aTableOfKingbaseComesOutOfASqlJob() throws Exception {
    Postgres face = server.face();
    try (Connection owner = DriverManager.getConnection(face.jdbcUrl());
        Statement statement = owner.createStatement()) {
      statement.execute(
          "CREATE TABLE goods (id number(10) PRIMARY KEY, price number(12, 2), name varchar2(20), note clob,"
              + " made date, data blob, n tinyint, f binary_float, g binary_double, stamp timestamp(3))");
      statement.execute("ALTER TABLE goods REPLICA IDENTITY FULL");
      statement.execute(
          "INSERT INTO goods VALUES (1, 1.5, 'it''s', 'long', timestamp '2024-02-29 10:11:12', '\\x00ff', 7, 0.5, 0.25,"
              + " timestamp '2024-02-29 10:11:12.345'), (2, NULL, '', '', NULL, NULL, NULL, NULL, NULL, NULL)");
      Map<String, String> options = face.connectionOptions();
      options.put("connector", "kingbase-cdc");
      options.put("schema-name", "public");
      options.put("table-name", "goods");
      options.put("slot.name", "goods");
      options.put("odbc.driver", "PostgreSQL Unicode");
      String goods =
          "CREATE TABLE goods (id BIGINT, price DECIMAL(12, 2), name STRING, note STRING, made TIMESTAMP(0), data BYTES,"
              + " n TINYINT, f FLOAT, g DOUBLE, stamp TIMESTAMP(3), PRIMARY KEY (id) NOT ENFORCED) ";
      String first =
          "[1, 1.50, it's, long, 2024-02-29T10:11:12, [0, -1], 7, 0.5, 0.25, 2024-02-29T10:11:12.345]";
      String nulls = ", null, null, null, null, null, null, null, null, null]";
      try (SqlJob job = SqlJob.start(goods + Postgres.with(options), "SELECT * FROM goods")) {
        assertEquals(List.of("+I" + first, "+I[2" + nulls), texts(job.take(2)));
        SqlJob.gauge("scn", 0);
        statement.execute(
            "INSERT INTO goods VALUES (3, NULL, '', '', NULL, NULL, NULL, NULL, NULL, NULL)");
        statement.execute("UPDATE goods SET id = 4 WHERE id = 1");
        statement.execute("UPDATE goods SET note = '' WHERE id = 4");
        assertEquals(
            List.of(
                "+I[3" + nulls,
                "-D" + first,
                "+I" + first.replace("[1,", "[4,"),
                "-U" + first.replace("[1,", "[4,"),
                "+U" + first.replace("[1,", "[4,").replace("long", "null")),
            texts(job.take(5)));
      }
      options.put("decoding.plugin.name", "pgoutput");
      options.put("slot.name", "other");
      try (SqlJob job = SqlJob.start(goods + Postgres.with(options), "SELECT * FROM goods")) {
        String failure = job.failure();
        assertTrue(failure.contains("it has test_decoding"), failure);
      }
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
    refusal = refusal(table("orders", "test_decoding", "publication.name", "tidemark"));
    assertTrue(refusal.contains("option 'publication.name': means something only where"), refusal);
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
