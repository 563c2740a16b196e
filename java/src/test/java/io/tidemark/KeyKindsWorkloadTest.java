package io.tidemark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.sink.CommittedLines;
import io.tidemark.workload.ArchiveLag;
import io.tidemark.workload.ChangeLine;
import io.tidemark.workload.ChangesJob;
import io.tidemark.workload.DecodedTransaction;
import io.tidemark.workload.JobProcess;
import io.tidemark.workload.KeyKinds;
import io.tidemark.workload.KindsJudge;
import io.tidemark.workload.KindsWorkload;
import io.tidemark.workload.StandIn;
import io.tidemark.workload.Writers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A table for every kind of key in one source, with large values, DDL, archives that stay behind,
 * and the job's process killed and restored at random moments: the committed changes make the
 * tables, and every transaction after the largest point stands in them once, whole and in commit
 * order over all tables, as PostgreSQL's own decoding of its log has it.
 */
class KeyKindsWorkloadTest {
  private static final int KEYS = 80;
  private static final int KILLS = Integer.getInteger("tidemark.test.kills", 1);
  private static final long SEED = Long.getLong("tidemark.test.seed", 20261130L);

  private static final Pattern ALTER =
      Pattern.compile("ALTER TABLE \\S+ (ADD|DROP) COLUMN \"(X[0-9]+)\".*");

  @TempDir Path folder;

  @Test
  void changesAreWholeAfterKills() throws Exception {
    KeyKinds kinds = new KeyKinds(KEYS);
    try (StandIn standIn = StandIn.start();
        Connection connection = DriverManager.getConnection(standIn.jdbcUrl());
        JobProcess job = new JobProcess(folder, ChangesJob.class, options(standIn))) {
      kinds.create(connection);
      KindsJudge judge = new KindsJudge(connection, kinds, "judge");
      try (Statement statement = connection.createStatement()) {
        statement.execute("CALL logminer.as_dm8()");
      }
      try (ArchiveLag lag = new ArchiveLag(standIn.jdbcUrl(), SEED);
          KindsWorkload workload = new KindsWorkload(standIn.jdbcUrl(), kinds, SEED);
          Writers writers = new Writers(standIn.jdbcUrl(), 6, workload, SEED, 20)) {
        writers.start();
        lag.start();
        workload.start();
        job.startAndKill(KILLS, 1500, SEED);
        Committed committed = new Committed(job.lines());
        job.await("the log phase", committed::hasLog);
        long marker = kinds.marker(connection);
        job.await("the marker", () -> committed.has(marker));
        workload.dropWhenOut(committed::has);
        job.startAndKill(KILLS, 1500, SEED + KILLS);
        long after = writers.commits() + 200;
        job.await("200 commits more", () -> writers.commits() >= after);
        writers.close();
        workload.close();
        Map<String, Map<String, String>> tables = kinds.content(connection);
        List<DecodedTransaction<ChangeLine>> decoded = judge.transactions(connection);
        try {
          long last = decoded.get(decoded.size() - 1).xid;
          job.await("the last transaction", () -> committed.has(last));
        } finally {
          judge(kinds, decoded, log(job.lines()), marker);
          shapes(workload.altered(), log(job.lines()), marker);
        }
        assertEquals(lines(tables), lines(apply(kinds, job.lines())));
      } catch (AssertionError | Exception e) {
        throw new AssertionError("seed " + SEED + ": " + e.getMessage() + "\n" + job.log(), e);
      }
    }
  }

  private static List<String> options(StandIn standIn) {
    Map<String, String> options = new TreeMap<>(standIn.tableOptions());
    options.put("schema-name", KeyKinds.SCHEMA);
    options.put("table-name", ".*");
    options.put("include.schema.changes", "true");
    options.put("scan.incremental.snapshot.chunk.size", "15");
    return options.entrySet().stream()
        .map(option -> option.getKey() + "=" + option.getValue())
        .collect(Collectors.toList());
  }

  /** Changes of the log, in order: they stand on one subtask at a time. */
  private static List<ChangeLine> log(Path lines) throws IOException {
    List<ChangeLine> log = new ArrayList<>();
    for (List<String> subtask : CommittedLines.read(lines).values()) {
      List<ChangeLine> changes =
          subtask.stream()
              .map(ChangeLine::read)
              .filter(change -> change.transaction != null)
              .collect(Collectors.toList());
      assertTrue(changes.isEmpty() || log.isEmpty(), "two subtasks read the log");
      log.addAll(changes);
    }
    return log;
  }

  /** The transactions that are in completed checkpoints. */
  private static final class Committed {
    private final Path lines;
    private final Set<Path> read = new HashSet<>();
    private final Set<String> transactions = new HashSet<>();

    Committed(Path lines) {
      this.lines = lines;
    }

    synchronized boolean has(long xid) {
      read();
      return transactions.contains(Long.toString(xid));
    }

    synchronized boolean hasLog() {
      read();
      return transactions.stream().anyMatch(transaction -> !transaction.equals("null"));
    }

    /** Reads what has come since; every file is read once. */
    private void read() {
      try (Stream<Path> files = Files.list(lines)) {
        for (Path file : files.collect(Collectors.toList())) {
          if (file.toString().endsWith(".committed") && read.add(file)) {
            for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
              transactions.add(ChangeLine.transaction(line));
            }
          }
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Applies all changes strictly, rows of the snapshot first. */
  private static Map<String, Map<String, String>> apply(KeyKinds kinds, Path lines)
      throws IOException {
    Map<String, Map<String, String>> state = new TreeMap<>();
    for (List<String> subtask : CommittedLines.read(lines).values()) {
      for (String line : subtask) {
        ChangeLine change = ChangeLine.read(line);
        if (change.operation.equals("READ")) {
          apply(kinds, state, change);
        }
      }
    }
    for (ChangeLine change : log(lines)) {
      apply(kinds, state, change);
    }
    return state;
  }

  private static void apply(
      KeyKinds kinds, Map<String, Map<String, String>> state, ChangeLine change) {
    if (change.isTruncate()) {
      state.keySet().removeIf(key -> key.startsWith(change.table + "|"));
    }
    if (change.before != null) {
      Map<String, String> there = state.remove(kinds.key(change.table, change.before));
      assertNotNull(there, () -> "there is no row for " + change);
      assertEquals(
          kinds.stable(change.table, there),
          kinds.stable(change.table, change.before),
          () -> "another row is there for " + change);
    }
    if (change.after != null) {
      Map<String, String> there = state.put(kinds.key(change.table, change.after), change.after);
      assertTrue(there == null, () -> "a row is there already for " + change);
    }
  }

  /** Rows without the columns that come and go. */
  private static String lines(Map<String, Map<String, String>> rows) {
    return rows.entrySet().stream()
        .map(
            row -> {
              Map<String, String> values = new TreeMap<>(row.getValue());
              values.keySet().removeIf(column -> column.matches("X[0-9]+"));
              return row.getKey() + ": " + values;
            })
        .collect(Collectors.joining("\n"));
  }

  /** Compares the changes with the log's own transactions. */
  private static void judge(
      KeyKinds kinds,
      List<DecodedTransaction<ChangeLine>> decoded,
      List<ChangeLine> all,
      long marker) {
    List<ChangeLine> log =
        all.stream()
            .filter(change -> !change.isSchemaChange() || change.isTruncate())
            .collect(Collectors.toList());
    Map<Long, Integer> order = new HashMap<>();
    for (int n = 0; n < decoded.size(); n++) {
      order.put(decoded.get(n).xid, n);
    }
    int markerAt = order.get(marker);
    int expected = markerAt;
    int last = -1;
    for (int at = 0; at < log.size(); ) {
      String id = log.get(at).transaction;
      List<ChangeLine> changes = new ArrayList<>();
      for (; at < log.size() && log.get(at).transaction.equals(id); at++) {
        changes.add(log.get(at));
      }
      Integer position = order.get(Long.parseLong(id));
      assertNotNull(position, "transaction " + id + " never committed");
      assertTrue(position > last, "transaction " + id + " comes twice or out of commit order");
      last = position;
      if (position >= markerAt) {
        assertEquals(
            expected, position, "a transaction after the largest point is missing before " + id);
        expected++;
        List<ChangeLine> whole = decoded.get(position).changes;
        assertEquals(
            texts(kinds, whole), texts(kinds, changes), "transaction " + id + " is not whole");
        for (int n = 0; n < whole.size(); n++) {
          changing(whole.get(n), changes.get(n));
        }
      }
    }
    assertEquals(decoded.size(), expected, "transactions at the end are missing");
  }

  private static String texts(KeyKinds kinds, List<ChangeLine> changes) {
    return changes.stream()
        .map(
            change ->
                change.operation
                    + " "
                    + change.table
                    + " "
                    + (change.before == null ? "" : kinds.stable(change.table, change.before))
                    + " -> "
                    + (change.after == null ? "" : kinds.stable(change.table, change.after)))
        .collect(Collectors.joining("\n"));
  }

  /** Columns that come and go are there when they were there, with their own values. */
  private static void changing(ChangeLine whole, ChangeLine change) {
    assertEquals(changing(whole.after), changing(change.after), () -> "columns of " + change);
    // PostgreSQL's decoding leaves NULLs out of an image of before.
    Map<String, String> before = changing(change.before);
    before.values().removeIf(Objects::isNull);
    Map<String, String> expected = changing(whole.before);
    expected.values().removeIf(Objects::isNull);
    assertEquals(expected, before, () -> "columns of before of " + change);
  }

  private static Map<String, String> changing(Map<String, String> image) {
    Map<String, String> changing = image == null ? new TreeMap<>() : new TreeMap<>(image);
    changing.keySet().removeIf(column -> !column.matches("X[0-9]+"));
    return changing;
  }

  /**
   * Behind the largest point each statement goes out once, in order, in front of the first row of
   * the new shape and behind the last one of the old.
   */
  private static void shapes(
      List<KindsWorkload.Altered> altered, List<ChangeLine> log, long marker) {
    int begin = 0;
    while (!log.get(begin).transaction.equals(Long.toString(marker))) {
      begin++;
    }
    List<ChangeLine> behind = log.subList(begin, log.size());
    List<String> came =
        behind.stream()
            .filter(ChangeLine::isSchemaChange)
            .map(change -> change.transaction + " " + change.table + " " + change.statement)
            .collect(Collectors.toList());
    List<String> done =
        altered.stream()
            .map(change -> change.xid + " " + change.table + " " + change.statement)
            .collect(Collectors.toList());
    assertTrue(done.size() >= came.size(), () -> "statements that nobody made: " + came);
    assertEquals(done.subList(done.size() - came.size(), done.size()), came, "statements");
    Map<String, Set<String>> columns = new HashMap<>();
    for (ChangeLine change : behind) {
      Matcher alter = ALTER.matcher(change.statement);
      if (alter.matches()) {
        boolean comes = alter.group(1).equals("ADD");
        columns.put(change.table, comes ? Set.of(alter.group(2)) : Set.of());
      } else if (!change.isSchemaChange() && columns.containsKey(change.table)) {
        Map<String, String> image = change.after == null ? change.before : change.after;
        assertEquals(
            columns.get(change.table), changing(image).keySet(), () -> "shape of " + change);
      }
    }
  }
}
