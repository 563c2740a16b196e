package io.tidemark.bench;

import io.tidemark.sink.KeyedResult;
import io.tidemark.workload.OrdersTable;
import io.tidemark.workload.Postgres;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * What each connector loses of a transaction that is open while a chunk of its table is read and
 * commits afterwards: prints, for each, the rows that the table has and the sink has not, and the
 * other way round. Nothing is left to timing: a row policy holds the chunk's SELECT in its middle
 * until the transaction has written, and it commits when the chunk's rows have come out.
 */
public final class SlotsLoss {
  private static final long ROWS = 1000;

  /** Within the reach of no minimum, maximum or estimate that cuts chunks. */
  private static final long HELD = ROWS / 2;

  private static final long GATE = 4711;

  private SlotsLoss() {}

  /** No arguments; or, for a run in a JVM of its own: {@code run} and the table's WITH clause. */
  public static void main(String[] args) throws Exception {
    if (args.length == 2) {
      run(args[1]);
    }
    System.out.printf(
        "A transaction of an insert, an update and a delete, open from the middle of a chunk's SELECT"
            + " until the chunk's rows are out%n");
    for (Contender contender : Contender.all()) {
      try (Postgres server = Postgres.start();
          Connection connection = DriverManager.getConnection(server.jdbcUrl());
          Connection other = DriverManager.getConnection(server.jdbcUrl());
          Connection gate = DriverManager.getConnection(server.jdbcUrl())) {
        Scene scene = new Scene(connection, other, gate);
        String lost =
            FreshJvm.run(
                contender.classPath(),
                scene,
                SlotsLoss.class,
                "run",
                contender.with(
                    server, SlotTables.ORDERS, "loss", Map.of("scan.startup.mode", "initial")));
        System.out.printf("%-10s %s%n", contender.title(), lost);
      }
    }
    System.exit(0);
  }

  /** The database's side; what the job says moves it on. */
  private static final class Scene implements Consumer<String> {
    private final Statement server;
    private final Connection open;
    private final Statement transaction;
    private final Statement gate;
    private final Thread acts = new Thread(this::play, "scene");

    Scene(Connection connection, Connection open, Connection gate) throws SQLException {
      server = connection.createStatement();
      this.open = open;
      transaction = open.createStatement();
      this.gate = gate.createStatement();
      SlotTables.create(server);
      server.execute("INSERT INTO bench.orders " + OrdersTable.rows(1, ROWS));
      server.execute("ANALYZE");
      server.execute(
          "CREATE FUNCTION bench.gate() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN"
              + " PERFORM pg_advisory_lock_shared("
              + GATE
              + "); PERFORM pg_advisory_unlock_shared("
              + GATE
              + "); RETURN true; END $$");
      server.execute("ALTER TABLE bench.orders ENABLE ROW LEVEL SECURITY");
      server.execute(
          "CREATE POLICY held ON bench.orders USING (id <> " + HELD + " OR bench.gate())");
      this.gate.execute("SELECT pg_advisory_lock(" + GATE + ")");
      open.setAutoCommit(false);
      acts.setDaemon(true);
      acts.start();
    }

    private volatile boolean out;

    /** The job says when the chunk's rows are out. */
    @Override
    public void accept(String line) {
      out |= line.equals("out");
    }

    private void play() {
      try {
        Waiting.until(
            "the chunk's SELECT",
            () ->
                SlotTables.number(
                        server,
                        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
                    > 0);
        transaction.execute("INSERT INTO bench.orders " + OrdersTable.rows(ROWS + 1, ROWS + 1));
        transaction.execute("UPDATE bench.orders SET customer = 'changed' WHERE id = 1");
        transaction.execute("DELETE FROM bench.orders WHERE id = 2");
        gate.execute("SELECT pg_advisory_unlock(" + GATE + ")");
        // Others go on: a connector may read the log until a commit past its high watermark.
        while (!out) {
          server.execute("INSERT INTO bench.ticks (written) VALUES (0)");
          Thread.sleep(100);
        }
        open.commit();
        server.execute("INSERT INTO bench.orders (id, customer) VALUES (0, 'last')");
      } catch (Exception e) {
        e.printStackTrace();
        Runtime.getRuntime().halt(1);
      }
    }
  }

  private static void run(String with) throws Exception {
    FreshJvm.endWithParent();
    Configuration configuration = new Configuration();
    configuration.setString("parallelism.default", "1");
    configuration.setString("rest.port", "0");
    configuration.setString("execution.checkpointing.interval", "500 ms");
    configuration.setString("restart-strategy.type", "disable");
    StreamTableEnvironment tables =
        StreamTableEnvironment.create(
            StreamExecutionEnvironment.getExecutionEnvironment(configuration));
    tables.executeSql("CREATE TABLE captured (" + SlotTables.ORDERS_COLUMNS + ") " + with);
    tables.executeSql(
        "CREATE TABLE seen ("
            + SlotTables.ORDERS_COLUMNS
            + ", op_ts TIMESTAMP_LTZ(3)) WITH ('connector' = 'keyed-result', 'name' = 'seen')");
    tables.executeSql("INSERT INTO seen SELECT *, TO_TIMESTAMP_LTZ(0, 3) FROM captured");
    KeyedResult.Content seen = KeyedResult.content("seen");
    Waiting.until("the chunk's rows", () -> seen.changes() >= ROWS);
    System.out.println("out");
    Waiting.until("the last row", () -> seen.column(0, 0) != null);
    System.out.println(
        String.join(
            ", ",
            seen.column(ROWS + 1, 0) == null ? "lost the insert" : "has the insert",
            "changed".equals(seen.column(1, 0)) ? "has the update" : "lost the update",
            seen.column(2, 0) == null ? "has the delete" : "lost the delete"));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }
}
