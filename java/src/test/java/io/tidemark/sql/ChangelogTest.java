package io.tidemark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.demo.Gauges;
import io.tidemark.workload.OrdersTable;
import io.tidemark.workload.StandIn;
import java.io.IOException;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What a query gets of a changelog: kinds, metadata, instants, and only the columns that it names.
 * The server stands in Shanghai.
 */
@Timeout(120)
class ChangelogTest {
  private static final ZoneId SHANGHAI = ZoneId.of("Asia/Shanghai");
  private static final String TABLE =
      "CREATE TABLE orders (ID BIGINT, CUSTOMER STRING, AMOUNT DECIMAL(12, 2), NOTE STRING, ORDERED DATE,"
          + " CHANGED TIMESTAMP_LTZ(6),"
          + " tab STRING METADATA FROM 'table_name' VIRTUAL,"
          + " sch STRING METADATA FROM 'schema_name' VIRTUAL,"
          + " db STRING METADATA FROM 'database_name' VIRTUAL,"
          + " op_ts TIMESTAMP_LTZ(3) METADATA VIRTUAL,"
          + " row_kind STRING METADATA VIRTUAL,"
          + " scn BIGINT METADATA VIRTUAL,"
          + " transaction_id STRING METADATA VIRTUAL,"
          + " PRIMARY KEY (ID) NOT ENFORCED) ";

  private StandIn standIn;
  private Connection connection;
  private Statement statement;

  @BeforeEach
  void start() throws Exception {
    standIn =
        StandIn.start(
            Map.of(
                "TIME_ZONE",
                SHANGHAI.getId(),
                "POSTGRES_OPTIONS",
                "log_statement = 'all'\nlog_line_prefix = '%u|'\ntrack_commit_timestamp = on"));
    connection = DriverManager.getConnection(standIn.jdbcUrl());
    statement = connection.createStatement();
    OrdersTable.create(connection, 3);
  }

  @AfterEach
  void stop() throws Exception {
    connection.close();
    standIn.close();
  }

  @Test
  void kindsAndMetadataAreThoseOfTheTransactionsAndOnlyWhatIsNamedIsRead() throws Exception {
    String query =
        "SELECT AMOUNT, CHANGED, tab, sch, db, op_ts, row_kind, scn, transaction_id FROM orders";
    try (SqlJob job =
        SqlJob.start(TABLE + standIn.with("server-time-zone", SHANGHAI.getId()), query)) {
      List<Row> snapshot = new ArrayList<>();
      for (int id = 1; id <= 3; id++) {
        snapshot.add(row(RowKind.INSERT, amount(id), changed(id, SHANGHAI)));
      }
      assertEquals(snapshot, job.take(3));

      check(
          job,
          List.of("UPDATE \"BIZ\".\"ORDERS\" SET \"AMOUNT\" = 5 WHERE \"ID\" = 1"),
          row(RowKind.UPDATE_BEFORE, amount(1), changed(1, SHANGHAI)),
          row(RowKind.UPDATE_AFTER, "5.00", changed(1, SHANGHAI)));
      check(
          job,
          List.of("UPDATE \"BIZ\".\"ORDERS\" SET \"ID\" = 100 WHERE \"ID\" = 2"),
          row(RowKind.DELETE, amount(2), changed(2, SHANGHAI)),
          row(RowKind.INSERT, amount(2), changed(2, SHANGHAI)));
      long fetched = SqlJob.gauge("currentFetchEventTimeLag", -1);
      assertTrue(fetched >= 0 && fetched < 60_000, "lag " + fetched);
      // Flink's own, from the rows' timestamps.
      long emitted = SqlJob.gauge("currentEmitEventTimeLag", -1);
      assertTrue(emitted >= 0 && emitted < 60_000, "lag " + emitted);
      Instant since = Instant.now();
      check(
          job,
          List.of(
              "INSERT INTO \"BIZ\".\"ORDERS\" (\"ID\", \"CHANGED\") VALUES (7, '2024-07-01 00:00:00.000001')",
              "UPDATE \"BIZ\".\"ORDERS\" SET \"AMOUNT\" = -1 WHERE \"ID\" = 7",
              "UPDATE \"BIZ\".\"ORDERS\" SET \"NOTE\" = 'what is not read changes'  WHERE \"ID\" = 7",
              "DELETE FROM \"BIZ\".\"ORDERS\" WHERE \"ID\" = 3"),
          row(RowKind.INSERT, null, summer(SHANGHAI)),
          row(RowKind.UPDATE_BEFORE, null, summer(SHANGHAI)),
          row(RowKind.UPDATE_AFTER, "-1.00", summer(SHANGHAI)),
          row(RowKind.UPDATE_BEFORE, "-1.00", summer(SHANGHAI)),
          row(RowKind.UPDATE_AFTER, "-1.00", summer(SHANGHAI)),
          row(RowKind.DELETE, amount(3), changed(3, SHANGHAI)));
      // The gauge moves with the newest change, by no more than has passed since then.
      SqlJob.await("a lag since " + since, () -> lag() >= 0 && lag() <= elapsed(since));

      List<String> selects = selects();
      assertFalse(selects.isEmpty());
      for (String select : selects) {
        assertTrue(
            select.contains("SELECT \"ID\", \"AMOUNT\", \"CHANGED\" FROM \"BIZ\".\"ORDERS\"")
                || select.contains("SELECT \"ID\" FROM \"BIZ\".\"ORDERS\""),
            select);
      }
    }
  }

  @Test
  void latestOffsetSeesWhatComesAndTheServersZoneIsTheOneThatIsNamed() throws Exception {
    ZoneId newYork = ZoneId.of("America/New_York");
    statement.execute("DELETE FROM \"BIZ\".\"ORDERS\" WHERE \"ID\" = 1");
    try (SqlJob job =
        SqlJob.start(
            TABLE
                + standIn.with(
                    "server-time-zone", newYork.getId(), "scan.startup.mode", "latest-offset"),
            "SELECT ID, CHANGED, op_ts FROM orders")) {
      SqlJob.gauge("scn", 0);
      statement.execute(
          "INSERT INTO \"BIZ\".\"ORDERS\" (\"ID\", \"CHANGED\") VALUES (7, '2024-07-01 00:00:00.000001')");
      Row only = job.take(1).get(0);
      long xid = xidOf(7);
      Instant shown = committed(xid).atZone(SHANGHAI).toLocalDateTime().atZone(newYork).toInstant();
      assertEquals(Row.ofKind(RowKind.INSERT, 7L, summer(newYork), shown), only);
      assertEquals(List.of(), selects(), "a page was read");
    }
  }

  @Test
  void aLargeTransactionComesInFragmentsOfWhichTheLastSaysSo() throws Exception {
    String table =
        "CREATE TABLE orders (ID BIGINT, transaction_id STRING METADATA VIRTUAL,"
            + " fragment INT METADATA VIRTUAL, last_fragment BOOLEAN METADATA VIRTUAL,"
            + " PRIMARY KEY (ID) NOT ENFORCED) ";
    try (SqlJob job =
        SqlJob.start(
            table + standIn.with("transaction.fragment.rows", "10"),
            "SELECT ID, transaction_id, fragment, last_fragment FROM orders")) {
      List<Row> expected = new ArrayList<>();
      for (long id = 1; id <= 3; id++) {
        expected.add(Row.of(id, null, null, null));
      }
      assertEquals(expected, job.take(3));
      statement.execute(
          "INSERT INTO \"BIZ\".\"ORDERS\" (\"ID\") SELECT g FROM generate_series(11, 35) g");
      String xid = Long.toString(xidOf(11));
      expected.clear();
      for (int nth = 0; nth < 25; nth++) {
        expected.add(Row.of(11L + nth, xid, nth / 10 + 1, nth >= 20));
      }
      assertEquals(expected, job.take(25));
    }
  }

  /**
   * Runs a transaction and compares its rows, and their metadata with what the server says of it.
   */
  private void check(SqlJob job, List<String> statements, Row... expected) throws Exception {
    connection.setAutoCommit(false);
    for (String each : statements) {
      statement.execute(each);
    }
    long xid = number("SELECT pg_current_xact_id()::text::bigint");
    long before = number("SELECT pg_current_wal_insert_lsn() - '0/0'");
    connection.commit();
    connection.setAutoCommit(true);
    long after = number("SELECT pg_current_wal_insert_lsn() - '0/0'");
    Instant committed = committed(xid);

    List<Row> rows = job.take(expected.length);
    for (Row row : rows) {
      long scn = row.<Long>getFieldAs(7);
      assertTrue(before <= scn && scn <= after, before + " <= " + scn + " <= " + after);
      assertEquals(rows.get(0).getField(7), scn, "one commit, one scn");
    }
    for (Row row : expected) {
      row.setField(5, committed);
      row.setField(7, rows.get(0).getField(7));
      row.setField(8, Long.toString(xid));
    }
    assertEquals(List.of(expected), rows);
  }

  private static Row row(RowKind kind, String amount, Instant changed) {
    return Row.ofKind(
        kind,
        amount == null ? null : new BigDecimal(amount),
        changed,
        OrdersTable.NAME,
        OrdersTable.SCHEMA,
        "DAMENG",
        Instant.EPOCH,
        kind.shortString(),
        null,
        null);
  }

  /** As {@link OrdersTable} makes them. */
  private static String amount(int id) {
    return BigDecimal.valueOf(id * 7919L % 1_000_000, 2).toString();
  }

  private static Instant changed(int id, ZoneId zone) {
    return LocalDateTime.of(2024, 1, 1, 0, 0)
        .plus(id * 1_000_001L, ChronoUnit.MICROS)
        .atZone(zone)
        .toInstant();
  }

  private static Instant summer(ZoneId zone) {
    return LocalDateTime.of(2024, 7, 1, 0, 0, 0, 1000).atZone(zone).toInstant();
  }

  private static long lag() {
    return (Long) Gauges.value("currentFetchEventTimeLag");
  }

  private static long elapsed(Instant since) {
    return since.until(Instant.now(), ChronoUnit.MILLIS) + 1;
  }

  private long xidOf(long id) throws SQLException {
    return number("SELECT xmin::text::bigint FROM \"BIZ\".\"ORDERS\" WHERE \"ID\" = " + id);
  }

  /** When a transaction committed, as the server itself noted, in the precision of op_ts. */
  private Instant committed(long xid) throws SQLException {
    try (ResultSet row =
        statement.executeQuery("SELECT pg_xact_commit_timestamp('" + xid + "'::xid)")) {
      row.next();
      return row.getObject(1, OffsetDateTime.class).toInstant().truncatedTo(ChronoUnit.MILLIS);
    }
  }

  private long number(String query) throws SQLException {
    try (ResultSet row = statement.executeQuery(query)) {
      row.next();
      return row.getLong(1);
    }
  }

  /**
   * The statements on the table, but for the one at the start that tries the grant and has no rows.
   */
  private List<String> selects() throws IOException {
    return standIn.log().stream()
        .filter(line -> line.startsWith("TIDEMARK|") && line.contains("FROM \"BIZ\".\"ORDERS\""))
        .filter(line -> !line.contains("SELECT 1 FROM \"BIZ\".\"ORDERS\" WHERE 1 = 0"))
        .collect(Collectors.toList());
  }
}
