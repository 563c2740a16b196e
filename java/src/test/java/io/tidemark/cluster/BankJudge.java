package io.tidemark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.workload.DecodedLog;
import io.tidemark.workload.DecodedTransaction;
import io.tidemark.workload.Judge;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Compares what a job committed with PostgreSQL's own decoding of its log: the rows make the
 * tables; every transaction behind the largest point stands in them once, whole, in commit order,
 * and leaves the sum of all balances as it was; there is nothing that was rolled back.
 */
final class BankJudge {
  private static final Pattern CHANGE =
      Pattern.compile(
          "table \"" + Bank.SCHEMA + "\"\\.\"([^\"]+)\": (INSERT|UPDATE|DELETE): (.*)",
          Pattern.DOTALL);
  private final DecodedLog log;

  /** All changes from now on are judged. */
  BankJudge(Connection connection, String slot) throws SQLException {
    log = new DecodedLog(connection, slot);
  }

  /**
   * The transactions of the bank's tables, in commit order, their rows as {@link BankRow#stable}.
   */
  List<DecodedTransaction<String>> transactions(Connection connection) throws SQLException {
    return log.transactions(connection, (xid, line, into) -> rows(line, into));
  }

  private static void rows(String line, List<String> into) {
    Matcher change = CHANGE.matcher(line);
    if (!change.matches()) {
      return;
    }
    String table = change.group(1);
    String body = change.group(3);
    switch (change.group(2)) {
      case "INSERT":
        into.add("+I|" + row(table, columns(body, null)));
        break;
      case "DELETE":
        into.add("-D|" + row(table, columns(body, null)));
        break;
      default:
        Map<String, String> before = columns(body.substring("old-key: ".length()), Judge.NEW);
        Map<String, String> after = columns(body.substring(Judge.split(body)), null);
        boolean sameKey = before.get("ID").equals(after.get("ID"));
        into.add((sameKey ? "-U|" : "-D|") + row(table, before));
        into.add((sameKey ? "+U|" : "+I|") + row(table, after));
    }
  }

  private static Map<String, String> columns(String text, String until) {
    return Judge.columns(text, until, (type, value) -> value);
  }

  private static String row(String table, Map<String, String> columns) {
    return table
        + "|"
        + columns.get("ID")
        + "|"
        + columns.get("OWNER")
        + "|"
        + columns.get("BALANCE");
  }

  /**
   * Judges it all.
   *
   * @param marker a transaction behind the largest point
   * @param total the sum of all balances
   * @param complete whether all is there; else what is there must be right so far
   */
  static void judge(
      List<DecodedTransaction<String>> decoded,
      CommittedFiles files,
      long marker,
      BigDecimal total,
      Map<String, String> tables,
      boolean complete) {
    Map<String, String> state = new HashMap<>();
    for (BankRow row : files.snapshot()) {
      apply(state, row, "the snapshot");
    }
    Map<Long, Integer> order = new HashMap<>();
    for (int n = 0; n < decoded.size(); n++) {
      order.put(decoded.get(n).xid, n);
    }
    int markerAt = order.get(marker);
    int expected = markerAt;
    int last = -1;
    List<BankRow> rows = files.log();
    for (int at = 0; at < rows.size(); ) {
      Long xid = rows.get(at).transaction;
      List<BankRow> changes = new ArrayList<>();
      for (; at < rows.size() && rows.get(at).transaction.equals(xid); at++) {
        changes.add(rows.get(at));
      }
      Integer position = order.get(xid);
      check(position != null, xid, changes, null, "never committed");
      DecodedTransaction<String> whole = decoded.get(position);
      check(position > last, xid, changes, whole, "comes twice or out of commit order");
      last = position;
      if (position >= markerAt) {
        if (expected < position) {
          DecodedTransaction<String> missing = decoded.get(expected);
          check(false, missing.xid, List.of(), missing, "is missing, before " + xid);
        }
        if (!complete && at == rows.size()) {
          return; // it may be half out
        }
        List<String> stable = changes.stream().map(row -> row.stable).collect(Collectors.toList());
        check(stable.equals(whole.changes), xid, changes, whole, "is not whole");
        expected++;
      }
      for (BankRow row : changes) {
        apply(state, row, "transaction " + xid);
      }
      if (position >= markerAt) {
        BigDecimal moved =
            changes.stream()
                .map(row -> row.puts() ? row.balance() : row.balance().negate())
                .reduce(BigDecimal.ZERO, BigDecimal::add);
        check(moved.signum() == 0, xid, changes, whole, "changes the total by " + moved);
      }
    }
    if (!complete) {
      return;
    }
    assertEquals(decoded.size(), expected, "transactions at the end are missing");
    assertEquals(lines(tables), lines(state));
    assertEquals(
        total,
        tables.values().stream()
            .map(row -> new BigDecimal(row.split("\\|", 4)[2]))
            .reduce(BigDecimal.ZERO, BigDecimal::add));
  }

  /**
   * Judges what a job committed to a new place, from an old checkpoint on: every transaction from
   * there to the end, the first one from where the checkpoint stood in it.
   *
   * @param from the first one that must be among them
   */
  static void judgeTail(List<DecodedTransaction<String>> decoded, CommittedFiles files, int from) {
    assertEquals(List.of(), files.snapshot());
    List<BankRow> rows = files.log();
    int at = rows.size();
    int first = decoded.size();
    for (int n = decoded.size() - 1; at > 0; n--) {
      DecodedTransaction<String> whole = decoded.get(n);
      int begin = Math.max(0, at - whole.changes.size());
      List<BankRow> changes = rows.subList(begin, at);
      List<String> stable = changes.stream().map(row -> row.stable).collect(Collectors.toList());
      int behind = whole.changes.size() - stable.size();
      boolean same = stable.equals(whole.changes.subList(behind, whole.changes.size()));
      check(same, whole.xid, changes, whole, "is not whole behind the checkpoint");
      at = begin;
      first = n;
    }
    assertTrue(first <= from, "a transaction behind the checkpoint did not come again");
  }

  private static void check(
      boolean holds,
      long xid,
      List<BankRow> changes,
      DecodedTransaction<String> whole,
      String what) {
    if (!holds) {
      throw new AssertionError(
          "transaction "
              + xid
              + " "
              + what
              + "\nin the log:\n  "
              + (whole == null ? "nothing" : String.join("\n  ", head(whole.changes)))
              + "\nin the sink:\n  "
              + String.join(
                  "\n  ",
                  head(
                      changes.stream()
                          .map(row -> row.when + " " + row.stable)
                          .collect(Collectors.toList()))));
    }
  }

  private static List<String> head(List<String> lines) {
    List<String> head = new ArrayList<>(lines.subList(0, Math.min(lines.size(), 40)));
    head.add(lines.size() + " rows in all");
    return head;
  }

  private static void apply(Map<String, String> state, BankRow row, String of) {
    String there = row.puts() ? state.put(row.key, row.values) : state.remove(row.key);
    String wanted = row.puts() ? null : BankRow.withoutNote(row.values);
    if (!Objects.equals(BankRow.withoutNote(there), wanted)) {
      throw new AssertionError(
          row.stable + " of " + of + ", written " + row.when + ", comes where there is " + there);
    }
  }

  private static String lines(Map<String, String> rows) {
    return new TreeMap<>(rows)
        .entrySet().stream()
            .map(row -> row.getKey() + ": " + row.getValue())
            .collect(Collectors.joining("\n"));
  }
}
