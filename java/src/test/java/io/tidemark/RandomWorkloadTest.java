package io.tidemark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.sink.CommittedLines;
import io.tidemark.workload.ArchiveLag;
import io.tidemark.workload.ChangelogJob;
import io.tidemark.workload.JobProcess;
import io.tidemark.workload.Judge;
import io.tidemark.workload.OrdersTable;
import io.tidemark.workload.StandIn;
import io.tidemark.workload.Writers;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Eight writers, parallelism 4, the job's process killed and restored at random moments, subtasks
 * failing in between: the committed changelog makes the table, and every transaction after the
 * largest point stands in it once, whole and in commit order, as an independent reading of the
 * write-ahead log has it.
 */
class RandomWorkloadTest {
  private static final long ROWS = 4_000;
  private static final int KILLS = Integer.getInteger("tidemark.test.kills", 4);
  private static final long SEED = Long.getLong("tidemark.test.seed", 20261129L);

  @TempDir Path folder;

  @Test
  void changelogIsWholeAfterKills() throws Exception {
    try (StandIn standIn = StandIn.start();
        Connection connection = DriverManager.getConnection(standIn.jdbcUrl());
        JobProcess job =
            new JobProcess(
                folder,
                ChangelogJob.class,
                List.of(standIn.with("scan.incremental.snapshot.chunk.size", "500")))) {
      OrdersTable.create(connection, ROWS);
      Judge judge = new Judge(connection, "judge");
      Writers writers = new Writers(standIn.jdbcUrl(), 8, ROWS + ROWS / 10, SEED, 15);
      writers.start();
      try (writers;
          ArchiveLag lag = new ArchiveLag(standIn.jdbcUrl(), SEED)) {
        lag.start();
        job.startAndKill(KILLS, 4000, SEED);
        job.await("the stream", () -> !stream(job.lines()).isEmpty());
        long marker = markerTransaction(connection);
        long after = writers.commits() + 200;
        job.await("200 commits more", () -> writers.commits() >= after);
        writers.close();
        OrdersTable.Checksum table = OrdersTable.checksum(connection);
        try {
          job.await("the table's last state", () -> checksum(apply(job.lines())).equals(table));
        } catch (Mismatch mismatch) {
          throw mismatch.with(judge.transactions(connection), job.lines());
        }
        judge(judge.transactions(connection), stream(job.lines()), marker);
      } catch (AssertionError | Exception e) {
        throw new AssertionError("seed " + SEED + ": " + e.getMessage() + "\n" + job.log(), e);
      }
    }
  }

  private static long markerTransaction(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("BEGIN");
      statement.execute(
          "INSERT INTO \"BIZ\".\"ORDERS\" (\"ID\", \"CUSTOMER\") VALUES (-1, 'marker')");
      long xid;
      try (ResultSet row = statement.executeQuery("SELECT pg_current_xact_id()::text")) {
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
    AssertionError with(List<Judge.Transaction> log, Path lines) throws IOException {
      StringBuilder history = new StringBuilder(getMessage());
      history.append("\nin the log:");
      for (Judge.Transaction transaction : log) {
        for (String row : transaction.rows) {
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
  private static void judge(List<Judge.Transaction> log, List<String> stream, long marker) {
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
          log.get(position).rows.stream()
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
