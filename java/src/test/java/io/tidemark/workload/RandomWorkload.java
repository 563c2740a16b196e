package io.tidemark.workload;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.sink.CommittedLines;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Eight writers, parallelism 4, the job's process killed and restored at random moments, subtasks
 * failing in between: the committed changelog makes the table, and every transaction after the
 * largest point stands in it once, whole and in commit order, as an independent reading of the
 * write-ahead log has it.
 */
public final class RandomWorkload {
  private static final int WRITERS = 8;
  private static final int COMMITS_AFTER_THE_MARKER = 200;

  private final Path folder;
  private final String jdbcUrl;
  private final long rows;
  private final int kills;
  private final long seed;

  /**
   * @param folder for what the job leaves
   * @param jdbcUrl of the database, as the owner of the table
   * @param rows of the table at first
   * @param kills how often the job's process is killed
   * @param seed of all random choices
   */
  public RandomWorkload(Path folder, String jdbcUrl, long rows, int kills, long seed) {
    this.folder = folder;
    this.jdbcUrl = jdbcUrl;
    this.rows = rows;
    this.kills = kills;
    this.seed = seed;
  }

  /** What goes on beside the writers. */
  public interface Disturbance extends AutoCloseable {
    void start() throws Exception;
  }

  /**
   * Runs the job over a table that is made for it, and judges what it committed.
   *
   * @param with the WITH clause of the captured table
   */
  public void run(String with, Disturbance beside) throws Exception {
    try (Connection connection = DriverManager.getConnection(jdbcUrl);
        JobProcess job = new JobProcess(folder, ChangelogJob.class, List.of(with))) {
      OrdersTable.create(connection, rows);
      Judge judge = new Judge(connection, "judge");
      Writers writers = new Writers(jdbcUrl, WRITERS, rows + rows / 10, seed, 15);
      writers.start();
      try (writers;
          beside) {
        beside.start();
        job.startAndKill(kills, 4000, seed);
        job.await("the stream", () -> !stream(job.lines()).isEmpty());
        long marker = markerTransaction(connection);
        long after = writers.commits() + COMMITS_AFTER_THE_MARKER;
        job.await(COMMITS_AFTER_THE_MARKER + " commits more", () -> writers.commits() >= after);
        writers.close();
        OrdersTable.Checksum table = OrdersTable.checksum(connection);
        try {
          job.await("the table's last state", () -> checksum(apply(job.lines())).equals(table));
        } catch (Mismatch mismatch) {
          throw mismatch.with(judge.transactions(connection), job.lines());
        }
        judge(judge.transactions(connection), stream(job.lines()), marker);
      } catch (AssertionError | Exception e) {
        throw new AssertionError("seed " + seed + ": " + e.getMessage() + "\n" + job.log(), e);
      }
    }
  }

  private static long markerTransaction(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("BEGIN");
      statement.execute(
          "INSERT INTO \"BIZ\".\"ORDERS\" (\"ID\", \"CUSTOMER\") VALUES (-1, 'marker')");
      long xid;
      try (ResultSet row = statement.executeQuery("SELECT txid_current()::text")) {
        row.next();
        xid = row.getLong(1);
      }
      statement.execute("COMMIT");
      return xid;
    }
  }

  /** Rows of the stream, in order: they stand on one subtask at a time. */
  private static List<String> stream(Path lines) throws IOException {
    List<String> stream = new ArrayList<>();
    for (List<String> subtask : CommittedLines.read(lines).values()) {
      List<String> rows =
          subtask.stream().filter(line -> !line.startsWith("null|")).collect(Collectors.toList());
      if (!rows.isEmpty()) {
        assertTrue(stream.isEmpty() || rows.isEmpty(), "two subtasks stream");
        stream.addAll(rows);
      }
    }
    return stream;
  }

  /** Applies the changelog strictly: snapshot rows, then the stream. */
  private static Map<String, String> apply(Path lines) throws IOException {
    Map<String, String> state = new HashMap<>();
    for (List<String> subtask : CommittedLines.read(lines).values()) {
      for (String line : subtask) {
        if (line.startsWith("null|")) {
          apply(state, line);
        }
      }
    }
    for (String line : stream(lines)) {
      apply(state, line);
    }
    return state;
  }

  private static void apply(Map<String, String> state, String line) {
    String[] parts = line.split("\\|", 3);
    String row = parts[2];
    String key = row.substring(0, row.indexOf('|'));
    boolean puts = parts[1].equals("+I") || parts[1].equals("+U");
    String there = puts ? state.put(key, row) : state.remove(key);
    if (!Objects.equals(there, puts ? null : row)) {
      throw new Mismatch(key, line + " comes where there is " + there);
    }
  }

  /** A row that does not follow from the rows before it. */
  private static final class Mismatch extends AssertionError {
    private static final long serialVersionUID = 1L;
    private final String key;

    Mismatch(String key, String what) {
      super(what);
      this.key = key;
    }

    /** Adds what log and changelog have of the key. */
    AssertionError with(List<DecodedTransaction<String>> log, Path lines) throws IOException {
      StringBuilder history = new StringBuilder(getMessage());
      history.append("\nin the log:");
      for (DecodedTransaction<String> transaction : log) {
        for (String row : transaction.changes) {
          if (row.startsWith(key + "|", 3)) {
            history.append("\n  ").append(transaction.xid).append(' ').append(row);
          }
        }
      }
      history.append("\nin the changelog, by subtask:");
      CommittedLines.read(lines)
          .forEach(
              (subtask, all) -> {
                for (String line : all) {
                  if (line.split("\\|")[2].equals(key)) {
                    history.append("\n  ").append(subtask).append(": ").append(line);
                  }
                }
              });
      return new AssertionError(history.toString());
    }
  }

  private static OrdersTable.Checksum checksum(Map<String, String> state) {
    OrdersTable.Checksum sum = new OrdersTable.Checksum();
    state.values().forEach(row -> OrdersTable.addLine(sum, row));
    return sum;
  }

  /** Compares the stream with the log's own transactions. */
  private static void judge(
      List<DecodedTransaction<String>> log, List<String> stream, long marker) {
    Map<Long, Integer> order = new HashMap<>();
    for (int n = 0; n < log.size(); n++) {
      order.put(log.get(n).xid, n);
    }
    int last = -1;
    Set<Long> seen = new HashSet<>();
    int markerAt = order.get(marker);
    int expected = markerAt;
    for (int at = 0; at < stream.size(); ) {
      String id = stream.get(at).substring(0, stream.get(at).indexOf('|'));
      long xid = Long.parseLong(id);
      List<String> rows = new ArrayList<>();
      for (; at < stream.size() && stream.get(at).startsWith(id + "|"); at++) {
        rows.add(stream.get(at).substring(id.length() + 1));
      }
      Integer position = order.get(xid);
      assertNotNull(position, "transaction " + xid + " never committed");
      assertTrue(seen.add(xid), "transaction " + xid + " comes twice");
      assertTrue(position > last, "transaction " + xid + " comes out of commit order");
      last = position;
      List<String> whole =
          log.get(position).changes.stream()
              .map(row -> row.replace("\n", "\\n"))
              .collect(Collectors.toList());
      if (position >= markerAt) {
        assertEquals(
            expected, position, "a transaction after the largest point is missing before " + xid);
        assertEquals(whole, rows, "transaction " + xid + " is not whole");
        expected++;
      }
    }
    assertEquals(log.size(), expected, "transactions at the end are missing");
  }
}
