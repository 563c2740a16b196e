package io.tidemark.bench;

import io.tidemark.bench.SlotsJob.Run;
import io.tidemark.workload.OrdersTable;
import io.tidemark.workload.Postgres;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * PostgreSQL through a logical slot, Tidemark's postgres-slot-cdc beside Flink CDC's postgres-cdc:
 * whole SQL jobs at parallelism 1 into a counting sink, each run in a JVM of its own, both orders.
 */
public final class SlotsBench {
  private final Postgres server;
  private final Connection connection;
  private final Statement statement;
  private final Map<String, String> more;

  private SlotsBench(Postgres server, Connection connection, Map<String, String> more)
      throws Exception {
    this.server = server;
    this.connection = connection;
    this.more = more;
    statement = connection.createStatement();
    SlotTables.create(statement);
  }

  /**
   * Arguments: {@code snapshot}, {@code stream}, {@code latency} or {@code memory}; its number
   * (rows; for latency, seconds that count); then options for Tidemark's table as {@code
   * name=value}.
   */
  public static void main(String[] args) throws Exception {
    Map<String, String> more = new LinkedHashMap<>();
    for (int n = 2; n < args.length; n++) {
      String[] option = args[n].split("=", 2);
      more.put(option[0], option[1]);
    }
    try (Postgres server = Postgres.start();
        Connection connection = DriverManager.getConnection(server.jdbcUrl())) {
      SlotsBench bench = new SlotsBench(server, connection, more);
      long number = args.length > 1 ? Long.parseLong(args[1]) : 0;
      switch (args[0]) {
        case "snapshot":
          bench.snapshot(number == 0 ? 1_000_000 : number);
          break;
        case "stream":
          bench.stream(number == 0 ? 1_000_000 : number);
          break;
        case "latency":
          bench.latency(number == 0 ? 20 : number);
          break;
        case "memory":
          bench.memory(number == 0 ? 5_000_000 : number);
          break;
        default:
          throw new IllegalArgumentException(args[0]);
      }
    }
    System.exit(0);
  }

  private void snapshot(long rows) throws Exception {
    statement.execute("INSERT INTO bench.orders " + OrdersTable.rows(1, rows));
    statement.execute("VACUUM ANALYZE");
    for (String size : new String[] {"", "100000"}) {
      System.out.printf(
          "%,d rows, six columns, %s%n",
          rows, size.isEmpty() ? "each at its default chunk size" : "chunks of " + size);
      Map<String, String> options = new LinkedHashMap<>();
      options.put("scan.startup.mode", "snapshot");
      if (!size.isEmpty()) {
        options.put("scan.incremental.snapshot.chunk.size", size);
      }
      Table table = new Table();
      int n = 0;
      for (Contender contender : Contender.bothOrders()) {
        Run run =
            job(
                contender,
                SlotTables.ORDERS,
                SlotTables.ORDERS_COLUMNS,
                "run_" + ++n,
                options,
                "bounded");
        SlotTables.dropSlots(statement, "run_%");
        table.add(contender, run, rows);
      }
      table.ratio();
    }
  }

  private void stream(long rows) throws Exception {
    for (long size : new long[] {1000, 10}) {
      statement.execute("TRUNCATE bench.orders");
      List<Contender> order = Contender.bothOrders();
      List<String> slots = SlotTables.slots(connection, order.size() + 1);
      System.out.printf("%,d inserts in transactions of %,d, standing in the log%n", rows, size);
      SlotTables.insert(statement, rows, size);
      double limit = rows / serverAlone(slots.get(order.size()));
      Table table = new Table();
      for (int n = 0; n < order.size(); n++) {
        Run run =
            job(
                order.get(n),
                SlotTables.ORDERS,
                SlotTables.ORDERS_COLUMNS,
                slots.get(n),
                Map.of("scan.startup.mode", "committed-offset"),
                "until",
                Long.toString(rows));
        SlotTables.dropSlots(statement, slots.get(n));
        table.add(order.get(n), run, rows);
      }
      SlotTables.dropSlots(statement, "run_%");
      System.out.printf(
          "%-10s %,14.0f rows/s: get_binary_changes counted in SQL, the limit%n", "server", limit);
      table.ratio();
      table.toLimit(rows / limit);
    }
  }

  /** Seconds that the server takes to decode what the slot has, without sending it. */
  private double serverAlone(String slot) throws Exception {
    long begin = System.nanoTime();
    SlotTables.number(
        statement,
        "SELECT count(*) + sum(length(data)) FROM pg_logical_slot_get_binary_changes('"
            + slot
            + "', NULL, NULL, 'proto_version', '1', 'publication_names', '"
            + Contender.PUBLICATION
            + "')");
    return (System.nanoTime() - begin) / 1e9;
  }

  private void latency(long seconds) throws Exception {
    System.out.printf("1,000 transactions of one row a second, for %d s%n", seconds);
    System.out.printf(
        "%-10s %12s %12s %14s %14s%n", "", "median, ms", "99 %, ms", "CPU, µs/row", "heap, B/row");
    for (Contender contender : Contender.bothOrders()) {
      String slot = SlotTables.slots(connection, 1).get(0);
      Run run;
      try (Ticks ticks = new Ticks(server.jdbcUrl(), 1000)) {
        ticks.start();
        run =
            job(
                contender,
                SlotTables.TICKS,
                SlotTables.TICKS_COLUMNS,
                slot,
                Map.of("scan.startup.mode", "committed-offset"),
                "ages",
                "10",
                Long.toString(seconds));
      }
      SlotTables.dropSlots(statement, slot);
      System.out.printf(
          "%-10s %12.1f %12.1f %14.1f %,14d   (%,d rows)%n",
          contender.title(),
          run.medianAge / 1e3,
          run.age99 / 1e3,
          run.cpu * 1e6 / run.rows,
          run.allocated / run.rows,
          run.rows);
    }
  }

  private void memory(long rows) throws Exception {
    List<Contender> order = Contender.bothOrders();
    List<String> slots = SlotTables.slots(connection, order.size());
    SlotTables.insert(statement, rows, rows);
    System.out.printf("one transaction of %,d inserts, standing in the log%n", rows);
    Table table = new Table();
    for (int n = 0; n < order.size(); n++) {
      try (ServerLoad load = new ServerLoad(server.data())) {
        Run run =
            job(
                order.get(n),
                SlotTables.ORDERS,
                SlotTables.ORDERS_COLUMNS,
                slots.get(n),
                Map.of("scan.startup.mode", "committed-offset"),
                "until",
                Long.toString(rows));
        SlotTables.dropSlots(statement, slots.get(n));
        table.add(order.get(n), run, rows);
        System.out.printf(
            "%-10s client %,d MB at most; a session of the server %,d MB, its spilled and temporary files %,d MB%n",
            "", run.peak >> 20, load.memory() >> 20, load.disk() >> 20);
      }
    }
  }

  private Run job(
      Contender contender,
      String table,
      String columns,
      String slot,
      Map<String, String> options,
      String... until)
      throws Exception {
    Map<String, String> all = new LinkedHashMap<>(options);
    if (contender == Contender.TIDEMARK) {
      all.putAll(more);
    }
    List<String> arguments = new ArrayList<>();
    arguments.add(columns);
    arguments.add(contender.with(server, table, slot, all));
    arguments.addAll(List.of(until));
    return Run.parse(
        FreshJvm.run(
            contender.classPath(), line -> {}, SlotsJob.class, arguments.toArray(new String[0])));
  }

  /** Lines of runs that must bring the same rows, and how their rates compare. */
  private static final class Table {
    private final Map<Contender, List<Run>> runs = new EnumMap<>(Contender.class);
    private long sum = -1;

    Table() {
      System.out.printf(
          "%-10s %14s %14s %12s %12s%n",
          "", "whole, rows/s", "rows, rows/s", "CPU, µs/row", "heap, B/row");
    }

    void add(Contender contender, Run run, long rows) {
      if (run.rows != rows || sum >= 0 && run.sum != sum) {
        throw new IllegalStateException(
            contender.title() + " brought " + run.rows + " rows, keys' sum " + run.sum);
      }
      sum = run.sum;
      runs.computeIfAbsent(contender, c -> new ArrayList<>()).add(run);
      System.out.printf(
          "%-10s %,14.0f %,14.0f %12.2f %,12d%n",
          contender.title(),
          rows / run.whole,
          rows / run.behindFirst,
          run.cpu * 1e6 / rows,
          run.allocated / rows);
    }

    void ratio() {
      if (runs.size() == 2) {
        System.out.printf(
            "ratio of the rates: %.2f whole, %.2f from the first row to the last%n",
            ratio(run -> run.whole), ratio(run -> run.behindFirst));
      }
    }

    /** {@code seconds}: what the server alone takes. */
    void toLimit(double seconds) {
      runs.forEach(
          (contender, all) ->
              System.out.printf(
                  "%s takes %.2f times as long as the server alone%n",
                  contender.title(),
                  all.stream().mapToDouble(run -> run.behindFirst).average().orElse(0) / seconds));
    }

    private double ratio(ToDoubleFunction<Run> seconds) {
      return runs.get(Contender.FLINK_CDC).stream().mapToDouble(seconds).sum()
          / runs.get(Contender.TIDEMARK).stream().mapToDouble(seconds).sum();
    }
  }
}
