package io.tidemark.bench;

import io.tidemark.workload.OrdersTable;
import io.tidemark.workload.StandIn;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * The rows of a table through a whole SQL job at parallelism 1 into a counting sink: this connector
 * in {@code scan.startup.mode = snapshot}, and Flink's JDBC source over the same table of the same
 * server. Each run has a JVM of its own; both orders.
 */
public final class SnapshotBench {
  private static final String OURS = "Tidemark";
  private static final String PEER = "JDBC";

  private SnapshotBench() {}

  /**
   * Arguments: rows (1,000,000); then options of the connector as {@code name=value}. Or, for a run
   * in a JVM of its own: {@code run} and the table's WITH clause.
   */
  public static void main(String[] args) throws Exception {
    if (args.length == 2 && args[0].equals("run")) {
      FreshJvm.endWithParent();
      System.out.println(run(args[1]));
      return;
    }
    long rows = args.length > 0 ? Long.parseLong(args[0]) : 1_000_000;
    List<String> options = new ArrayList<>(List.of("scan.startup.mode", "snapshot"));
    for (int n = 1; n < args.length; n++) {
      options.addAll(List.of(args[n].split("=", 2)));
    }
    try (StandIn standIn = StandIn.start()) {
      try (Connection connection = DriverManager.getConnection(standIn.jdbcUrl());
          Statement statement = connection.createStatement()) {
        OrdersTable.create(connection, 0);
        // Loaded without being logged: the log is no part of this.
        statement.execute("SET session_replication_role = replica");
        OrdersTable.fill(connection, rows);
        statement.execute("VACUUM ANALYZE");
        // The JDBC dialect quotes no names; a plain view costs the server nothing.
        statement.execute(
            "CREATE VIEW orders AS SELECT \"ID\" AS id, \"CUSTOMER\" AS customer, \"AMOUNT\" AS amount,"
                + " \"NOTE\" AS note, \"ORDERED\" AS ordered, \"CHANGED\" AS changed FROM \"BIZ\".\"ORDERS\"");
      }
      compare(rows, standIn.with(options.toArray(new String[0])), jdbc(standIn));
    }
  }

  /** As one who wants the rows to stream configures it: without these it holds all of them. */
  private static String jdbc(StandIn standIn) {
    return "WITH ('connector' = 'jdbc', 'url' = '"
        + standIn.jdbcUrl()
        + "', 'table-name' = 'orders', 'scan.fetch-size' = '1000', 'scan.auto-commit' = 'false')";
  }

  private static void compare(long rows, String ours, String peer) throws Exception {
    System.out.printf("%,d rows, six columns, parallelism 1, each run in a JVM of its own%n", rows);
    System.out.printf("%-10s %14s %14s %12s%n", "", "whole, rows/s", "rows, rows/s", "CPU, µs/row");
    Run[] runs = new Run[4];
    String[] names = {OURS, PEER, PEER, OURS};
    for (int n = 0; n < runs.length; n++) {
      runs[n] =
          new Run(FreshJvm.run(SnapshotBench.class, "run", names[n].equals(OURS) ? ours : peer));
      Run run = runs[n];
      if (run.rows != rows || run.sum != runs[0].sum) {
        throw new IllegalStateException(
            names[n] + " brought " + run.rows + " rows, keys' sum " + run.sum);
      }
      System.out.printf(
          "%-10s %,14.0f %,14.0f %12.2f%n",
          names[n], rows / run.whole, rows / run.behindFirst, run.cpu * 1e6 / rows);
    }
    System.out.printf(
        "ratio of the rates: %.2f whole, %.2f from the first row to the last%n",
        (runs[1].whole + runs[2].whole) / (runs[0].whole + runs[3].whole),
        (runs[1].behindFirst + runs[2].behindFirst) / (runs[0].behindFirst + runs[3].behindFirst));
  }

  /** Times in seconds. */
  private static final class Run {
    final long rows;
    final long sum;
    final double whole;
    final double behindFirst;
    final double cpu;

    Run(String line) {
      String[] words = line.split(" ");
      rows = Long.parseLong(words[0]);
      sum = Long.parseLong(words[1]);
      whole = Double.parseDouble(words[2]);
      behindFirst = Double.parseDouble(words[3]);
      cpu = Double.parseDouble(words[4]);
    }
  }

  private static String run(String with) throws Exception {
    Configuration configuration = new Configuration();
    configuration.setString("parallelism.default", "1");
    configuration.setString("rest.port", "0");
    StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
    tables.executeSql("CREATE TABLE orders (" + OrdersTable.FLINK_COLUMNS + ") " + with);
    tables.executeSql(
        "CREATE TABLE counted (" + OrdersTable.FLINK_COLUMNS + ") WITH ('connector' = 'counting')");
    Cpu cpu = new Cpu();
    long begin = System.nanoTime();
    tables.executeSql("INSERT INTO counted SELECT * FROM orders").await();
    long end = System.nanoTime();
    return CountingSink.rows()
        + " "
        + CountingSink.sum()
        + " "
        + (end - begin) / 1e9
        + " "
        + (end - CountingSink.firstNanos()) / 1e9
        + " "
        + cpu.seconds();
  }
}
