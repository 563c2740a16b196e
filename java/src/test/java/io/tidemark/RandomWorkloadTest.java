package io.tidemark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.tidemark.sink.CommittedLines;
import io.tidemark.workload.ChangelogJob;
import io.tidemark.workload.Judge;
import io.tidemark.workload.OrdersTable;
import io.tidemark.workload.StandIn;
import io.tidemark.workload.Writers;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
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
    Random random = new Random(SEED);
    Path lines = Files.createDirectory(folder.resolve("lines"));
    Path checkpoints = Files.createDirectory(folder.resolve("checkpoints"));
    try (StandIn standIn = StandIn.start();
        Connection connection = DriverManager.getConnection(standIn.jdbcUrl())) {
      OrdersTable.create(connection, ROWS);
      Judge judge = new Judge(connection, "judge");
      Writers writers = new Writers(standIn.jdbcUrl(), 8, ROWS + ROWS / 10, SEED, 15);
      writers.start();
      Process job = null;
      try {
        long marker = 0;
        for (int kill = 0; kill <= KILLS; kill++) {
          long committed = newestCheckpoint(checkpoints);
          job = start(standIn, lines, checkpoints, kill);
          if (kill < KILLS) {
            long wanted = committed + random.nextInt(6);
            Process running = job;
            await("checkpoint " + wanted, running, () -> newestCheckpoint(checkpoints) >= wanted);
            // The moment inside a checkpoint interval is what chance decides here; nothing waits
            // for it.
            long until = System.nanoTime() + Duration.ofMillis(random.nextInt(700)).toNanos();
            while (System.nanoTime() < until) {
              Thread.onSpinWait();
            }
            job.destroyForcibly().waitFor();
          }
        }
        await("the stream", job, () -> !stream(lines).isEmpty());
        marker = markerTransaction(connection);
        long after = writers.commits() + 200;
        await("200 commits more", job, () -> writers.commits() >= after);
        writers.close();
        OrdersTable.Checksum table = OrdersTable.checksum(connection);
        try {
          await("the table's last state", job, () -> checksum(apply(lines)).equals(table));
        } catch (Mismatch mismatch) {
          throw mismatch.with(judge.transactions(connection), lines);
        }
        judge(judge.transactions(connection), stream(lines), marker);
      } finally {
        writers.close();
        if (job != null) {
          job.destroyForcibly().waitFor();
        }
      }
    } catch (AssertionError | Exception e) {
      throw new AssertionError("seed " + SEED + ": " + e.getMessage() + "\n" + log(), e);
    }
  }

  private Process start(StandIn standIn, Path lines, Path checkpoints, int round)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx512m");
    command.add("-Dlog4j2.configurationFile=job-log4j2.properties");
    command.addAll(List.of(System.getProperty("tidemark.test.jvm").trim().split("\\s+")));
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(ChangelogJob.class.getName());
    command.add(lines.toString());
    command.add(checkpoints.toString());
    command.add(newest(checkpoints).map(Path::toString).orElse("-"));
    command.add("4000");
    command.add(Long.toString(SEED + round));
    command.add(standIn.with("scan.incremental.snapshot.chunk.size", "500"));
    File log = folder.resolve("job.log").toFile();
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(log))
        .start();
  }

  private String log() throws IOException {
    Path log = folder.resolve("job.log");
    if (!Files.exists(log)) {
      return "";
    }
    List<String> lines =
        Files.readAllLines(log, StandardCharsets.UTF_8).stream()
            .filter(line -> !line.startsWith("\tat ") && !line.contains("Driver does not support"))
            .collect(Collectors.toList());
    return String.join("\n", lines.subList(Math.max(0, lines.size() - 80), lines.size()));
  }

  private static void await(String what, Process job, Callable<Boolean> condition)
      throws Exception {
    long deadline = System.nanoTime() + Duration.ofSeconds(120).toNanos();
    while (!condition.call()) {
      if (!job.isAlive()) {
        fail("the job ended while waiting for " + what);
      }
      if (System.nanoTime() > deadline) {
        fail("waited 120 s for " + what);
      }
      Thread.sleep(50);
    }
  }

  /** Number of the newest complete checkpoint, 0 without one; they count on after a restore. */
  private static long newestCheckpoint(Path checkpoints) throws IOException {
    return newest(checkpoints).map(RandomWorkloadTest::number).orElse(0L);
  }

  /** The newest complete checkpoint of all jobs. */
  private static Optional<Path> newest(Path checkpoints) throws IOException {
    try (Stream<Path> paths = Files.walk(checkpoints, 3)) {
      return paths
          .filter(path -> path.getFileName().toString().equals("_metadata"))
          .map(Path::getParent)
          .max(Comparator.comparingLong(RandomWorkloadTest::number));
    } catch (UncheckedIOException e) {
      return newest(checkpoints); // a checkpoint was dropped while the folder was read
    }
  }

  private static long number(Path checkpoint) {
    return Long.parseLong(checkpoint.getFileName().toString().substring("chk-".length()));
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
