package io.tidemark.bench;

import io.tidemark.sink.KeyedResult;
import io.tidemark.workload.OrdersTable;
import io.tidemark.workload.Postgres;
import io.tidemark.workload.Writers;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * What each connector loses of changes that are made while it reads its first chunks: how the sink
 * differs from the table after a later row has come.
 */
public final class SlotsLoss {
  /** The row that is written last of all. */
  private static final long LAST = 0;

  private static final long ROWS = 200_000;

  private SlotsLoss() {}

  /**
   * Argument: a seed (1). Or, for a run in a JVM of its own: {@code run}, the table's WITH clause
   * and its rows at first.
   */
  public static void main(String[] args) throws Exception {
    if (args.length == 3) {
      run(args[1], Long.parseLong(args[2]));
    }
    long seed = args.length > 0 ? Long.parseLong(args[0]) : 1;
    System.out.println(
        "One transaction of an insert (200001), an update (1) and a delete (2), open from the middle of a"
            + " chunk's SELECT until the chunk's rows are out");
    for (Contender contender : Contender.all()) {
      stage(
          contender,
          ROWS,
          (int) ROWS,
          (server, rows) -> new OpenTransaction(server, rows, contender));
    }
    System.out.printf("Eight writers, transactions of up to half a second, seed %d%n", seed);
    for (Contender contender : Contender.all()) {
      stage(contender, 20_000, 1000, (server, rows) -> new RandomWriters(server, rows, seed));
    }
    System.exit(0);
  }

  private interface Play {
    Scene scene(Postgres server, long rows) throws SQLException;
  }

  private static void stage(Contender contender, long rows, int chunk, Play play) throws Exception {
    try (Postgres server = Postgres.start();
        Scene scene = play.scene(server, rows)) {
      scene.start();
      FreshJvm.run(
          contender.classPath(),
          scene,
          SlotsLoss.class,
          "run",
          contender.with(
              server,
              SlotTables.ORDERS,
              "loss",
              Map.of(
                  "scan.startup.mode",
                  "initial",
                  "scan.incremental.snapshot.chunk.size",
                  Integer.toString(chunk))),
          Long.toString(rows));
      System.out.printf("%-10s %s%n", contender.title(), scene.verdict());
    }
  }

  /** The database's side; what the job says moves it on. */
  private abstract static class Scene implements Consumer<String>, AutoCloseable {
    final Postgres database;
    final Connection connection;
    final Statement server;
    private final Map<Long, String> seen = new HashMap<>();
    private volatile boolean out;

    Scene(Postgres database, long rows) throws SQLException {
      this.database = database;
      connection = DriverManager.getConnection(database.jdbcUrl());
      server = connection.createStatement();
      SlotTables.create(server);
      server.execute("INSERT INTO bench.orders " + OrdersTable.rows(1, rows));
      server.execute("ANALYZE");
    }

    /** What happens while the job runs, but for the last row. */
    abstract void play() throws Exception;

    void start() {
      Thread thread =
          new Thread(
              () -> {
                try {
                  play();
                  server.execute(
                      "INSERT INTO bench.orders (id, customer) VALUES (" + LAST + ", 'last')");
                } catch (Exception e) {
                  e.printStackTrace();
                  Runtime.getRuntime().halt(1);
                }
              },
              "scene");
      thread.setDaemon(true);
      thread.start();
    }

    /** Whether the rows that the table had at first are out. */
    boolean out() {
      return out;
    }

    /** {@code out}, and at the end every row of the sink. */
    @Override
    public void accept(String line) {
      if (line.equals("out")) {
        out = true;
      } else if (line.startsWith("row ")) {
        String[] words = line.split(" ", 3);
        seen.put(Long.parseLong(words[1]), words[2]);
      }
    }

    String verdict() throws SQLException {
      Map<String, List<Long>> faults = new TreeMap<>();
      int count = 0;
      try (ResultSet row =
          server.executeQuery("SELECT id, customer FROM bench.orders ORDER BY id")) {
        for (; row.next(); count++) {
          String there = seen.remove(row.getLong(1));
          if (!Objects.equals(there, row.getString(2))) {
            String fault = there == null ? "missing" : "not up to date";
            faults.computeIfAbsent(fault, f -> new ArrayList<>()).add(row.getLong(1));
          }
        }
      }
      if (!seen.isEmpty()) {
        faults.put("too many", new ArrayList<>(new TreeSet<>(seen.keySet())));
      }
      return String.format("%,d rows: ", count)
          + (faults.isEmpty()
              ? "all right"
              : faults.entrySet().stream()
                  .map(
                      fault ->
                          fault.getValue().size() + " " + fault.getKey() + " " + fault.getValue())
                  .collect(Collectors.joining(", ")));
    }

    @Override
    public void close() throws SQLException {
      connection.close();
    }
  }

  /**
   * It writes while the chunk's SELECT runs and commits when the chunk's rows have come out. A row
   * policy holds Flink CDC's SELECT in its middle meanwhile; Tidemark reads no table that has one,
   * and is not held.
   */
  private static final class OpenTransaction extends Scene {
    private static final long GATE = 4711;
    private final long rows;
    private final Connection holder;
    private final Statement gate;
    private final String reading;

    OpenTransaction(Postgres database, long rows, Contender contender) throws SQLException {
      super(database, rows);
      this.rows = rows;
      holder = DriverManager.getConnection(database.jdbcUrl());
      gate = holder.createStatement();
      if (contender == Contender.TIDEMARK) {
        reading =
            "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
                + " WHERE l.relation = 'bench.orders'::regclass AND l.granted AND a.usename <> current_user"
                + " AND a.backend_xmin IS NOT NULL";
        return;
      }
      server.execute(
          String.format(
              "CREATE FUNCTION bench.gate() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN"
                  + " PERFORM pg_advisory_lock_shared(%1$d); PERFORM pg_advisory_unlock_shared(%1$d);"
                  + " RETURN true; END $$",
              GATE));
      server.execute("ALTER TABLE bench.orders ENABLE ROW LEVEL SECURITY");
      // A row that no minimum, maximum or estimate looks at.
      server.execute(
          "CREATE POLICY held ON bench.orders USING (id <> " + rows / 2 + " OR bench.gate())");
      gate.execute("SELECT pg_advisory_lock(" + GATE + ")");
      reading = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    }

    @Override
    void play() throws Exception {
      Waiting.until("the chunk's SELECT", () -> SlotTables.number(server, reading) > 0);
      try (Connection open = DriverManager.getConnection(database.jdbcUrl());
          Statement transaction = open.createStatement()) {
        open.setAutoCommit(false);
        transaction.execute("INSERT INTO bench.orders " + OrdersTable.rows(rows + 1, rows + 1));
        transaction.execute("UPDATE bench.orders SET customer = 'changed' WHERE id = 1");
        transaction.execute("DELETE FROM bench.orders WHERE id = 2");
        gate.execute("SELECT pg_advisory_unlock(" + GATE + ")");
        // Others go on: a connector may read the log until a commit past its high watermark.
        while (!out()) {
          server.execute("INSERT INTO bench.ticks (written) VALUES (0)");
          Thread.sleep(50);
        }
        open.commit();
      }
    }

    @Override
    public void close() throws SQLException {
      holder.close();
      super.close();
    }
  }

  /** Writers until all chunks are out, and somewhat longer. */
  private static final class RandomWriters extends Scene {
    private static final int COMMITS_AFTERWARDS = 200;
    private final Writers writers;

    RandomWriters(Postgres database, long rows, long seed) throws SQLException {
      super(database, rows);
      writers =
          new Writers(
              database.jdbcUrl(),
              8,
              (connection, random) -> change(connection, random, rows + rows / 10),
              seed,
              20);
    }

    @Override
    void play() throws Exception {
      writers.start();
      Waiting.until("the chunks' rows", this::out);
      long enough = writers.commits() + COMMITS_AFTERWARDS;
      Waiting.until("later commits", () -> writers.commits() >= enough);
      writers.close();
    }

    private static int change(Connection connection, Random random, long keys) throws SQLException {
      long key = 1 + (long) (random.nextDouble() * keys);
      String value = "'by " + random.nextInt(1_000_000) + "'";
      try (Statement statement = connection.createStatement()) {
        if (random.nextInt(4) == 0) {
          statement.execute("SELECT pg_sleep(" + random.nextInt(100) / 1000.0 + ")");
        }
        switch (random.nextInt(4)) {
          case 0:
            return statement.executeUpdate("DELETE FROM bench.orders WHERE id = " + key);
          case 1:
            return statement.executeUpdate(
                "UPDATE bench.orders SET customer = " + value + " WHERE id = " + key);
          default:
            return statement.executeUpdate(
                "INSERT INTO bench.orders (id, customer) VALUES ("
                    + key
                    + ", "
                    + value
                    + ") ON CONFLICT (id) DO UPDATE SET customer = EXCLUDED.customer");
        }
      }
    }
  }

  private static void run(String with, long rows) throws Exception {
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
    JobClient job =
        tables
            .executeSql("INSERT INTO seen SELECT *, TO_TIMESTAMP_LTZ(0, 3) FROM captured")
            .getJobClient()
            .orElseThrow();
    KeyedResult.Content seen = KeyedResult.content("seen");
    // Deletes while the chunks are read leave fewer rows; they and the inserts end up close to
    // even.
    Waiting.until("the chunks' rows", () -> seen.changes() >= rows || SlotsJob.ended(job));
    System.out.println("out");
    Waiting.until("the last row", () -> seen.column(LAST, 0) != null || SlotsJob.ended(job));
    seen.ids().forEach(id -> System.out.println("row " + id + " " + seen.column(id, 0)));
    System.out.println("all");
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }
}
