package io.tidemark.workload;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** What {@code test_decoding} makes of a log through a slot, from its making on. */
public final class DecodedLog {
  private final String slot;

  /** What the names of the server's own functions begin with. */
  private final String prefix;

  /** Makes the slot. */
  public DecodedLog(Connection connection, String slot) throws SQLException {
    this.slot = slot;
    try (Statement statement = connection.createStatement()) {
      try (ResultSet row = statement.executeQuery("SELECT to_regclass('sys_class') IS NOT NULL")) {
        row.next();
        prefix = row.getBoolean(1) ? "sys_" : "pg_";
      }
      statement.execute(
          "SELECT " + prefix + "create_logical_replication_slot('" + slot + "', 'test_decoding')");
    }
  }

  /** Takes a line for a change of a transaction, if it is one that counts. */
  public interface Change<C> {
    void read(long xid, String line, List<C> into);
  }

  /** The transactions since the last call that have a change that counts, in commit order. */
  public <C> List<DecodedTransaction<C>> transactions(Connection connection, Change<C> change)
      throws SQLException {
    List<DecodedTransaction<C>> transactions = new ArrayList<>();
    DecodedTransaction<C> current = null;
    try (Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "SELECT xid::text, data, (lsn - '0/0')::text FROM "
                    + prefix
                    + "logical_slot_get_changes('"
                    + slot
                    + "', NULL, NULL)")) {
      while (row.next()) {
        String data = row.getString(2);
        if (data.startsWith("BEGIN")) {
          current = new DecodedTransaction<>(Long.parseLong(row.getString(1)));
        } else if (data.startsWith("COMMIT")) {
          if (current != null && !current.changes.isEmpty()) {
            current.commit = row.getLong(3);
            transactions.add(current);
          }
          current = null;
        } else if (current != null) {
          change.read(current.xid, data, current.changes);
        }
      }
    }
    return transactions;
  }
}
