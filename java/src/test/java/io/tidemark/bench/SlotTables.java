package io.tidemark.bench;

import io.tidemark.workload.OrdersTable;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** The tables of the slots benches, their publication and their slots. */
final class SlotTables {
  static final String SCHEMA = "bench";
  static final String ORDERS = "orders";
  static final String TICKS = "ticks";

  /** Columns of {@link #ORDERS} as a Flink DDL lists them. */
  static final String ORDERS_COLUMNS =
      "id BIGINT NOT NULL, customer STRING, amount DECIMAL(12, 2), note STRING, ordered DATE,"
          + " changed TIMESTAMP(6), PRIMARY KEY (id) NOT ENFORCED";

  /** Columns of {@link #TICKS}: when a row was written, in microseconds since 1970. */
  static final String TICKS_COLUMNS =
      "id BIGINT NOT NULL, written BIGINT, PRIMARY KEY (id) NOT ENFORCED";

  private SlotTables() {}

  /** Makes both, empty, and the publication. */
  static void create(Statement server) throws SQLException {
    server.execute("CREATE SCHEMA bench");
    server.execute(
        "CREATE TABLE bench.orders (id bigint PRIMARY KEY, customer varchar(40), amount numeric(12,2),"
            + " note varchar(200), ordered date, changed timestamp(6))");
    server.execute("CREATE TABLE bench.ticks (id bigserial PRIMARY KEY, written bigint)");
    for (String table : List.of(ORDERS, TICKS)) {
      server.execute("ALTER TABLE bench." + table + " REPLICA IDENTITY FULL");
    }
    server.execute(
        "CREATE PUBLICATION " + Contender.PUBLICATION + " FOR TABLE bench.orders, bench.ticks");
  }

  /** Inserts rows in transactions of {@code size}. */
  static void insert(Statement server, long rows, long size) throws SQLException {
    server.execute(
        "DO $$ BEGIN FOR done IN 0 .. "
            + (rows / size - 1)
            + " LOOP INSERT INTO bench.orders "
            + OrdersTable.rows(
                "done * " + size + "::bigint + 1", "(done + 1) * " + size + "::bigint")
            + "; COMMIT; END LOOP; END $$");
  }

  /** Makes slots for {@code count} runs. */
  static List<String> slots(Connection connection, int count) throws SQLException {
    List<String> slots = new ArrayList<>();
    for (int n = 1; n <= count; n++) {
      slots.add("run_" + n);
      try (Statement statement = connection.createStatement()) {
        statement.execute("SELECT pg_create_logical_replication_slot('run_" + n + "', 'pgoutput')");
      }
    }
    return slots;
  }

  /** Drops what slots a run has left, once nobody uses them any more. */
  static void dropSlots(Statement server, String like) throws Exception {
    String those = " FROM pg_replication_slots WHERE slot_name LIKE '" + like + "'";
    Waiting.until(
        "the end of " + like, () -> number(server, "SELECT count(*)" + those + " AND active") == 0);
    server.execute("SELECT pg_drop_replication_slot(slot_name)" + those);
  }

  static long number(Statement server, String query) throws SQLException {
    try (ResultSet row = server.executeQuery(query)) {
      row.next();
      return row.getLong(1);
    }
  }
}
