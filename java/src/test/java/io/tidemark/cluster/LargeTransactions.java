package io.tidemark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.tidemark.cluster.RowCounts.Counts;
import io.tidemark.workload.StandIn;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * One large transaction after the other, beside which small ones commit, through a whole job in a
 * TaskManager with a heap of 512 MB; and what each costs. The stand-in serves contents that are
 * made, so that ten million rows need not be written first.
 */
final class LargeTransactions implements AutoCloseable {
  /** A small one commits after so many rows of the large one. */
  static final int SMALL_EVERY = 1_000;

  private static final int SEGMENT = 1 << 20;

  /** Scns for a row and what may stand behind it. */
  private static final int STEP = 8;

  private static final long SMALL = 1_000_000_000L;
  private static final long MARKER = 2_000_000_000L;
  private static final long XIDS = 1_000_000_000L;

  private final StandIn standIn;
  private final FlinkCluster cluster;
  private final Connection connection;
  private final Statement server;
  private final Path counts;
  private final List<ProcessMemory> memories = new ArrayList<>();
  private int number;

  /** Where the last one ends. */
  private long endScn;

  /** How the transaction ends. */
  enum End {
    COMMIT,
    ROLLBACK
  }

  /** What one of them cost. */
  static final class Cost {
    /** Rows of the large transaction. */
    final long rows;

    /** Records that the server was made to read. */
    long read;

    /** Bytes that were written to files. */
    long spilled;

    double cpuSeconds;

    /** The most at once in any TaskManager, in bytes. */
    long resident;

    /** The same without what is of the heap. */
    long besideHeap;

    /** The same without all that is committed to the heap. */
    long minusCommitted;

    private Cost(long rows) {
      this.rows = rows;
    }

    @Override
    public String toString() {
      return String.format(
          "%,11d records read, %,7d MB spilled, %6.1f s of CPU, MB at most: %4d resident, %4d beside the heap, %4d minus the committed heap",
          read, spilled >> 20, cpuSeconds, resident >> 20, besideHeap >> 20, minusCommitted >> 20);
    }
  }

  /**
   * Starts everything.
   *
   * @param folder that is there
   * @param options of the captured table beside the connection's: names and values
   */
  LargeTransactions(Path folder, String... options) throws Exception {
    standIn = StandIn.start(Map.of("SEGMENT_MB", Integer.toString(SEGMENT >> 20)));
    cluster = FlinkCluster.start(folder.resolve("cluster"), "metrics.fetcher.update-interval: 500");
    counts = folder.resolve("counts");
    connection = DriverManager.getConnection(standIn.jdbcUrl());
    server = connection.createStatement();
    server.execute("CREATE SCHEMA \"BIG\"");
    server.execute("CREATE TABLE \"BIG\".\"T\" (\"ID\" BIGINT PRIMARY KEY, \"V\" VARCHAR(2000))");
    server.execute("UPDATE logminer.setting SET value = 'prepared' WHERE name = 'serve'");
    List<String> with = new ArrayList<>(List.of(options));
    with.addAll(
        List.of("schema-name", "BIG", "table-name", "T", "scan.startup.mode", "latest-offset"));
    cluster.submit(
        "SET 'parallelism.default' = '1';\n"
            + "CREATE TABLE captured (ID BIGINT NOT NULL, V STRING, transaction_id STRING METADATA VIRTUAL) "
            + standIn.with(with.toArray(String[]::new))
            + ";\nCREATE TABLE counted (id BIGINT, v STRING, transaction_id STRING)"
            + " WITH ('connector' = 'row-counts', 'path' = '"
            + counts
            + "');\nINSERT INTO counted SELECT ID, V, transaction_id FROM captured;\n",
        SinkJar.connector(),
        SinkJar.write(folder.resolve("sink.jar"), RowCounts.class));
    cluster.await("the log", () -> cluster.gauge("scn").orElse(0) > 0);
    for (String name : FlinkCluster.TASK_MANAGERS) {
      memories.add(new ProcessMemory(cluster.pid(name)));
    }
  }

  /** Runs a transaction of so many rows with a text of so many characters. */
  Cost run(long rows, int text, End end) throws Exception {
    number++;
    long small = rows / SMALL_EVERY;
    Counts before = Counts.read(counts);
    long[] begun = {read(), spilled()};
    double cpu = 0;
    for (ProcessMemory memory : memories) {
      memory.reset();
      cpu -= memory.cpuSeconds();
    }
    long records = prepare(rows, text, end);
    long marker = MARKER + number;
    awaitRow(marker);
    Cost cost = new Cost(rows);
    for (ProcessMemory memory : memories) {
      cpu += memory.cpuSeconds();
      cost.resident = Math.max(cost.resident, memory.resident());
      cost.minusCommitted = Math.max(cost.minusCommitted, memory.minusCommitted());
      cost.besideHeap = Math.max(cost.besideHeap, memory.besideHeap());
    }
    cost.cpuSeconds = cpu;
    boolean commits = end == End.COMMIT;
    long out = commits ? rows : 0;
    Counts after = Counts.read(counts);
    assertEquals(out + small + 1, after.rows - before.rows, "rows");
    assertEquals(
        (commits ? sum(rows) : 0) + SMALL * small + SMALL_EVERY * sum(small) + marker,
        after.sum - before.sum,
        "sum of keys");
    assertEquals(out * text + small + 1, after.characters - before.characters, "characters");
    assertEquals(
        (commits ? 1 : 0) + small + 1, after.transactions - before.transactions, "transactions");
    cluster.await("the end of its files", () -> SpillFiles.of(cluster).isEmpty());
    cluster.await("the server's count", () -> read() - begun[0] >= records);
    cost.read = read() - begun[0];
    // Until then gauges may be those of before.
    cluster.await("fresh gauges", () -> cluster.gauge("scn").orElse(0) >= endScn);
    cost.spilled = spilled() - begun[1];
    return cost;
  }

  private static long sum(long last) {
    return last * (last + 1) / 2;
  }

  /** Puts a transaction into the log, and returns how many records that makes. */
  private long prepare(long rows, int text, End end) throws SQLException {
    long base = number("SELECT logminer.bytes(pg_current_wal_insert_lsn())") / SEGMENT * SEGMENT;
    // What making them writes must not reach them.
    base += 4L * SEGMENT;
    long xid = number * XIDS;
    String object =
        "(SELECT '\"BIG\".\"T\"'::regclass::oid::integer), (SELECT version FROM logminer.table_version"
            + " WHERE table_oid = '\"BIG\".\"T\"'::regclass)";
    String into =
        "INSERT INTO logminer.prepared (\"SCN\", \"XID\", \"OPERATION_CODE\", \"ROLL_BACK\", \"SEG_OWNER\","
            + " \"TABLE_NAME\", \"ROW_ID\", \"DATA_OBJ#\", \"DATA_OBJV#\", \"SQL_REDO\", \"RS_ID\", \"SSN\","
            + " \"CSF\", \"STATUS\", \"TIMESTAMP\")"
            + " SELECT %s, int8send(%s), code, 0, owner, name, row_id, object, version, redo, '0x1', 0, 0, 0, localtimestamp FROM ";
    String bare = "NULL, NULL, NULL, NULL::integer, NULL::integer, NULL";
    String row =
        "'BIG', 'T', 'AAAA' || %1$s, "
            + object
            + ", 'INSERT INTO \"BIG\".\"T\"(\"ID\", \"V\") VALUES(' || %1$s || ', ''' || %2$s || ''')'";
    String columns = "(k, xid, code, owner, name, row_id, object, version, redo)";
    server.execute(
        String.format(into, base, xid)
            + "(VALUES (6, "
            + bare
            + ")) r(code, owner, name, row_id, object, version, redo)");
    String of = "SELECT %d, %s, %d, %s";
    String smallXid = xid + " + n";
    server.execute(
        String.format(into, base + " + n * " + STEP + " + k", "xid")
            + "generate_series(1::bigint, "
            + rows
            + ") n CROSS JOIN LATERAL ("
            + String.format(of, 0, xid, 1, String.format(row, "n", "repeat('x', " + text + ")"))
            + " UNION ALL SELECT s.* FROM (VALUES "
            + String.format(
                "(1, %s, 6, %s), (2, %1$s, 1, %s), (3, %1$s, 7, %2$s)",
                smallXid, bare, String.format(row, "(n + " + SMALL + ")", "'s'"))
            + ") s WHERE n % "
            + SMALL_EVERY
            + " = 0) r"
            + columns);
    long last = base + (rows + 1) * STEP;
    endScn = last;
    int code = end == End.COMMIT ? 7 : 36;
    server.execute(
        String.format(into, last + " + k", "xid")
            + "(VALUES "
            + String.format(
                "(0, %d, %d, %s), (1, %d, 6, %3$s), (2, %4$d, 1, %s), (3, %4$d, 7, %3$s)",
                xid, code, bare, xid + rows + 1, String.format(row, MARKER + number, "'m'"))
            + ") r"
            + columns);
    server.execute(
        "DO $$ BEGIN WHILE logminer.bytes(pg_current_wal_insert_lsn()) <= "
            + (last + STEP)
            + " LOOP PERFORM pg_logical_emit_message(false, 'next', ''), pg_switch_wal(); END LOOP; END $$");
    return 1 + rows + 3 * (rows / SMALL_EVERY) + 4;
  }

  private long number(String sql) throws SQLException {
    try (ResultSet row = server.executeQuery(sql)) {
      row.next();
      return row.getLong(1);
    }
  }

  private long read() throws SQLException {
    return number(
        "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables"
            + " WHERE schemaname = 'logminer' AND relname = 'prepared'");
  }

  private long spilled() throws Exception {
    return cluster.gauge("spilledBytesTotal").orElse(0);
  }

  /** However long that takes, as long as anything moves. */
  private void awaitRow(long id) throws Exception {
    while (Counts.read(counts).last != id) {
      long seen = moved();
      cluster.await(
          "row " + id + " or one more", () -> Counts.read(counts).last == id || moved() != seen);
    }
  }

  private long moved() throws Exception {
    return Counts.read(counts).rows + spilled();
  }

  FlinkCluster cluster() {
    return cluster;
  }

  @Override
  public void close() throws Exception {
    for (ProcessMemory memory : memories) {
      memory.close();
    }
    connection.close();
    cluster.close();
    standIn.close();
  }
}
