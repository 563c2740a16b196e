package io.tidemark.workload;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BinaryOperator;

/**
 * An independent reading of the write-ahead log: what PostgreSQL's own {@code test_decoding} makes
 * of it through a slot that was there before the first change. It shares nothing with the LogMiner
 * of {@code sql/logminer} but the log.
 */
public final class Judge {
  private static final String TABLE = "table \"BIZ\".\"ORDERS\": ";

  /** What stands between the two images of an update. */
  public static final String NEW = " new-tuple: ";

  private static final BinaryOperator<String> PLAIN = (type, text) -> text;
  private final DecodedLog log;

  /** Makes the slot; every change from now on is judged. */
  public Judge(Connection connection, String slot) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("ALTER TABLE \"BIZ\".\"ORDERS\" REPLICA IDENTITY FULL");
    }
    log = new DecodedLog(connection, slot);
  }

  /**
   * All transactions that changed the table, in commit order. Their rows are {@code
   * kind|ID|CUSTOMER|AMOUNT|NOTE|ORDERED|CHANGED}.
   */
  public List<DecodedTransaction<String>> transactions(Connection connection) throws SQLException {
    return log.transactions(
        connection,
        (xid, line, into) -> {
          if (line.startsWith(TABLE)) {
            rows(line.substring(TABLE.length()), into);
          }
        });
  }

  /** One decoded change as the rows of a changelog. */
  static void rows(String change, List<String> into) {
    if (change.startsWith("INSERT: ")) {
      into.add("+I|" + tuple(change.substring(8)));
    } else if (change.startsWith("DELETE: ")) {
      into.add("-D|" + tuple(change.substring(8)));
    } else {
      String body = change.substring("UPDATE: old-key: ".length());
      Map<String, String> before = columns(body, NEW, PLAIN);
      Map<String, String> after = columns(body.substring(split(body)), null, PLAIN);
      boolean sameKey = before.get("ID").equals(after.get("ID"));
      into.add((sameKey ? "-U|" : "-D|") + join(before));
      into.add((sameKey ? "+U|" : "+I|") + join(after));
    }
  }

  private static String tuple(String text) {
    return join(columns(text, null, PLAIN));
  }

  private static String join(Map<String, String> columns) {
    StringBuilder row = new StringBuilder();
    for (String column : new String[] {"ID", "CUSTOMER", "AMOUNT", "NOTE", "ORDERED", "CHANGED"}) {
      row.append(row.length() == 0 ? "" : "|").append(columns.get(column));
    }
    return row.toString();
  }

  /**
   * Where the new tuple of an update begins: behind the marker, which must not stand inside a
   * quoted value.
   */
  public static int split(String body) {
    int at = 0;
    boolean quoted = false;
    String marker = NEW;
    for (; at < body.length(); at++) {
      char c = body.charAt(at);
      if (c == '\'') {
        quoted = !quoted;
      } else if (!quoted && body.startsWith(marker, at)) {
        return at + marker.length();
      }
    }
    throw new IllegalArgumentException("no new tuple in " + body);
  }

  /**
   * Reads {@code "NAME"[type]:value …} up to the end or an unquoted marker; SQL NULL is the Java
   * null, other values are what {@code read} makes of type and text.
   */
  public static Map<String, String> columns(
      String text, String until, BinaryOperator<String> read) {
    Map<String, String> columns = new LinkedHashMap<>();
    int at = 0;
    while (at < text.length() && !(until != null && text.startsWith(until, at))) {
      if (text.charAt(at) == ' ') {
        at++;
        continue;
      }
      int nameEnd = text.indexOf('[', at);
      String name = text.substring(at, nameEnd).replace("\"", "");
      int typeEnd = text.indexOf("]:", nameEnd);
      String type = text.substring(nameEnd + 1, typeEnd);
      at = typeEnd + 2;
      if (text.charAt(at) == '\'') {
        StringBuilder value = new StringBuilder();
        for (at++; ; at++) {
          char c = text.charAt(at);
          if (c != '\'') {
            value.append(c);
          } else if (at + 1 < text.length() && text.charAt(at + 1) == '\'') {
            value.append('\'');
            at++;
          } else {
            at++;
            break;
          }
        }
        columns.put(name, read.apply(type, value.toString()));
      } else {
        int end = text.indexOf(' ', at);
        end = end < 0 ? text.length() : end;
        String value = text.substring(at, end);
        columns.put(name, value.equals("null") ? null : read.apply(type, value));
        at = end;
      }
    }
    return columns;
  }
}
