package io.tidemark.bench;

import io.tidemark.demo.Gauges;
import io.tidemark.workload.OrdersTable;
import io.tidemark.workload.StandIn;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * Rows a second, and processor time a row, from the log through a whole SQL job into a counting
 * sink. The stand-in serves contents that were mined beforehand, so that its own mining does not
 * count.
 */
public final class LogBench {
  private static final long PATIENCE_NANOS = Duration.ofMinutes(2).toNanos();
  private static final int ROUNDS = 4;

  private LogBench() {}

  /** Argument: rows changed in a round (100,000), in transactions of a thousand. */
  public static void main(String[] args) throws Exception {
    long rows = args.length > 0 ? Long.parseLong(args[0]) : 100_000;
    try (StandIn standIn = StandIn.start();
        Connection connection = DriverManager.getConnection(standIn.jdbcUrl());
        Statement server = connection.createStatement()) {
      OrdersTable.create(connection, 0);
      server.execute("UPDATE logminer.setting SET value = 'prepared' WHERE name = 'serve'");
      JobClient job = start(standIn);
      System.out.printf(
          "%,d changes a round, half of them updates (two rows), six columns, served from a prepared table%n",
          rows);
      System.out.printf("%-8s %14s %14s%n", "", "rows/s", "CPU, µs/row");
      try {
        for (int round = 1; round <= ROUNDS; round++) {
          long low = scn(server);
          change(server, round, rows);
          round(server, round, low, rows);
        }
      } finally {
        job.cancel().get();
      }
    }
    // Flink's own threads may outlive its jobs.
    System.exit(0);
  }

  private static JobClient start(StandIn standIn) throws Exception {
    Configuration configuration = new Configuration();
    configuration.setString("parallelism.default", "1");
    configuration.setString("rest.port", "0");
    configuration.setString("metrics.reporters", "gauges");
    configuration.setString("metrics.reporter.gauges.factory.class", Gauges.class.getName());
    StreamTableEnvironment tables =
        StreamTableEnvironment.create(
            StreamExecutionEnvironment.getExecutionEnvironment(configuration));
    tables.executeSql(
        "CREATE TABLE orders ("
            + OrdersTable.FLINK_COLUMNS
            + ") "
            + standIn.with("scan.startup.mode", "latest-offset"));
    tables.executeSql(
        "CREATE TABLE counted (" + OrdersTable.FLINK_COLUMNS + ") WITH ('connector' = 'counting')");
    JobClient job =
        tables.executeSql("INSERT INTO counted SELECT * FROM orders").getJobClient().orElseThrow();
    // What is written from now on is to be read, so the log must be open.
    await(() -> Gauges.value("scn") instanceof Long && (Long) Gauges.value("scn") > 0);
    return job;
  }

  /** Half of the rows come, the other half become others. */
  private static void change(Statement server, int round, long rows) throws SQLException {
    for (long done = 0; done < rows / 2; done += 500) {
      long first = round * rows + done;
      server.execute("BEGIN");
      server.execute(
          "INSERT INTO \"BIZ\".\"ORDERS\" SELECT n, 'customer ' || n % 9973, (n * 7919 % 1000000) / 100.0,"
              + " CASE WHEN n % 5 = 0 THEN NULL ELSE 'it''s order ' || n END, DATE '2024-01-01' + (n % 900)::int,"
              + " TIMESTAMP '2024-01-01 00:00:00' + n * INTERVAL '1.000001 s'"
              + " FROM generate_series("
              + first
              + "::bigint, "
              + (first + 499)
              + ") n");
      server.execute(
          "UPDATE \"BIZ\".\"ORDERS\" SET \"AMOUNT\" = \"AMOUNT\" + 1, \"NOTE\" = 'paid' WHERE \"ID\" BETWEEN "
              + first
              + " AND "
              + (first + 499));
      server.execute("COMMIT");
    }
  }

  /** Serves the changes since {@code low} and measures until the last of them has come. */
  private static void round(Statement server, int round, long low, long rows) throws Exception {
    long before = CountingSink.rows();
    // An update is two rows.
    long expected = round * (rows / 2 + rows);
    // In one transaction: the job never sees the setting under which the log can be mined.
    server.execute("BEGIN");
    server.execute("UPDATE logminer.setting SET value = 'log' WHERE name = 'serve'");
    server.execute("CALL logminer.prepare(" + low + ", 0)");
    server.execute("UPDATE logminer.setting SET value = 'prepared' WHERE name = 'serve'");
    Cpu cpu = new Cpu();
    server.execute("COMMIT");
    long begin = System.nanoTime();
    await(() -> CountingSink.rows() >= expected);
    // With it the pause of half a second at most, after which the job looks at its idle log again.
    double seconds = (System.nanoTime() - begin) / 1e9;
    long came = CountingSink.rows() - before;
    System.out.printf(
        "round %-2d %,14.0f %14.2f%n", round, came / seconds, cpu.seconds() * 1e6 / came);
  }

  private static long scn(Statement server) throws SQLException {
    try (ResultSet row =
        server.executeQuery(
            "SELECT logminer.scn(pg_current_wal_insert_lsn(), logminer.granularity())")) {
      row.next();
      return row.getLong(1);
    }
  }

  private interface Condition {
    boolean holds() throws Exception;
  }

  private static void await(Condition condition) throws Exception {
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    while (!condition.holds()) {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("waited in vain");
      }
      Thread.sleep(1);
    }
  }
}
