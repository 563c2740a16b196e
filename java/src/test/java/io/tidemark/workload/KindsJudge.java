package io.tidemark.workload;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An independent reading of the log of {@link KeyKinds}: PostgreSQL's own decoding, as {@link
 * Judge} does it for one table. Changes are those of {@link ChangeLine}.
 */
public final class KindsJudge {
  private static final Pattern CHANGE =
      Pattern.compile(
          "table \"" + KeyKinds.SCHEMA + "\"\\.\"([^\"]+)\": (INSERT|UPDATE|DELETE|TRUNCATE): (.*)",
          Pattern.DOTALL);
  private final KeyKinds kinds;
  private final DecodedLog log;

  /** Makes the slot; every change from now on is judged. */
  public KindsJudge(Connection connection, KeyKinds kinds, String slot) throws SQLException {
    this.kinds = kinds;
    log = new DecodedLog(connection, slot);
  }

  /** All transactions that changed one of the tables, in commit order. */
  public List<DecodedTransaction<ChangeLine>> transactions(Connection connection)
      throws SQLException {
    return log.transactions(connection, this::change);
  }

  private void change(long xid, String data, List<ChangeLine> into) {
    Matcher change = CHANGE.matcher(data);
    if (!change.matches()) {
      return;
    }
    String table = change.group(1);
    String body = change.group(3);
    String transaction = Long.toString(xid);
    switch (change.group(2)) {
      case "INSERT":
        into.add(new ChangeLine(transaction, "CREATE", table, null, image(body, null)));
        break;
      case "TRUNCATE":
        into.add(new ChangeLine(transaction, "SCHEMA_CHANGE", table, null, null, "TRUNCATE"));
        break;
      case "DELETE":
        into.add(new ChangeLine(transaction, "DELETE", table, image(body, null), null));
        break;
      default:
        Map<String, String> before = image(body.substring("old-key: ".length()), Judge.NEW);
        Map<String, String> after = image(body.substring(Judge.split(body)), null);
        if (kinds.key(table, before).equals(kinds.key(table, after))) {
          into.add(new ChangeLine(transaction, "UPDATE", table, before, after));
        } else {
          into.add(new ChangeLine(transaction, "DELETE", table, before, null));
          into.add(new ChangeLine(transaction, "CREATE", table, null, after));
        }
    }
  }

  private static Map<String, String> image(String text, String until) {
    return Judge.columns(text, until, Values::ofText);
  }
}
