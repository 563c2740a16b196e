package io.tidemark.cluster;

import io.tidemark.workload.Writers;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Accounts in two tables, between which money moves: whatever is committed, the sum of all balances
 * is the same. Accounts come, go, change their keys and their notes, which are large objects. Every
 * change changes a value that is no large object: DM8 does not log others.
 */
final class Bank implements Writers.Change {
  static final String SCHEMA = "BANK";
  static final List<String> TABLES = List.of("CHECKING", "SAVINGS");

  /** Columns as a Flink DDL lists them. */
  static final String FLINK_COLUMNS =
      "ID BIGINT NOT NULL, OWNER STRING, BALANCE DECIMAL(14, 2), NOTE STRING";

  /** The accounts that are opened and closed in one transaction have their keys from here on. */
  private static final long LARGE = 1_000_000;

  /** The same of those that {@link #grow} changes, for two transactions at once. */
  static final List<Long> GROWING = List.of(2_000_000L, 3_000_000L);

  private static final BigDecimal OPENING = new BigDecimal("1000.00");
  private final int accounts;
  private final AtomicLong changes = new AtomicLong();
  private int columns;

  /**
   * @param accounts of each table at first; keys are drawn from 1 to twice as many
   */
  Bank(int accounts) {
    this.accounts = accounts;
  }

  static String quoted(String table) {
    return "\"" + SCHEMA + "\".\"" + table + "\"";
  }

  /** Makes the tables anew. */
  void create(Connection connection, String textType) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("CREATE SCHEMA \"BANK\"");
      for (String table : TABLES) {
        statement.execute(
            "CREATE TABLE "
                + quoted(table)
                + " (\"ID\" BIGINT PRIMARY KEY, \"OWNER\" VARCHAR(40), \"BALANCE\" DECIMAL(14,2), \"NOTE\" "
                + textType
                + ")");
        statement.execute("ALTER TABLE " + quoted(table) + " REPLICA IDENTITY FULL");
        statement.execute(
            "INSERT INTO "
                + quoted(table)
                + " SELECT n, 'owner ' || n, "
                + OPENING
                + ", CASE WHEN n % 7 = 0 THEN repeat('note ', (n % 300)::int) END FROM generate_series(1, "
                + accounts
                + ") n");
      }
    }
  }

  /** The sum of all balances, always. */
  BigDecimal total() {
    return OPENING.multiply(BigDecimal.valueOf((long) accounts * TABLES.size()));
  }

  @Override
  public int apply(Connection connection, Random random) throws SQLException {
    String table = TABLES.get(random.nextInt(2));
    long id = 1 + random.nextInt(2 * accounts);
    switch (random.nextInt(12)) {
      case 0:
        return update(
            connection,
            "INSERT INTO "
                + quoted(table)
                + " (\"ID\", \"OWNER\", \"BALANCE\", \"NOTE\") VALUES (?, ?, 0, ?) ON CONFLICT DO NOTHING",
            id,
            "new " + random.nextInt(1000),
            note(random));
      case 1:
        return close(connection, random, table, id);
      case 2:
        return update(
            connection,
            "UPDATE "
                + quoted(table)
                + " SET \"ID\" = ? WHERE \"ID\" = ? AND NOT EXISTS (SELECT 1 FROM "
                + quoted(table)
                + " WHERE \"ID\" = ?)",
            id,
            1L + random.nextInt(2 * accounts),
            id);
      case 3:
        return update(
            connection,
            "UPDATE " + quoted(table) + " SET \"NOTE\" = ?, \"OWNER\" = ? WHERE \"ID\" = ?",
            note(random),
            "owner since " + changes.incrementAndGet(),
            id);
      default:
        BigDecimal amount = new BigDecimal(1 + random.nextInt(10_000)).movePointLeft(2);
        if (move(connection, table, id, amount.negate()) == 0) {
          return 0;
        }
        return 1 + deposit(connection, random, table, id, amount);
    }
  }

  /** Puts an amount into any other account, or back. */
  private int deposit(Connection connection, Random random, String from, long id, BigDecimal amount)
      throws SQLException {
    for (int attempt = 0; attempt < 3; attempt++) {
      String table = TABLES.get(random.nextInt(2));
      int moved = move(connection, table, 1 + random.nextInt(2 * accounts), amount);
      if (moved > 0) {
        return moved;
      }
    }
    return move(connection, from, id, amount);
  }

  private int close(Connection connection, Random random, String table, long id)
      throws SQLException {
    BigDecimal balance;
    try (PreparedStatement statement =
        connection.prepareStatement(
            "DELETE FROM " + quoted(table) + " WHERE \"ID\" = ? RETURNING \"BALANCE\"")) {
      statement.setLong(1, id);
      try (ResultSet row = statement.executeQuery()) {
        if (!row.next()) {
          return 0;
        }
        balance = row.getBigDecimal(1);
      }
    }
    if (balance.signum() == 0) {
      return 1;
    }
    int moved = deposit(connection, random, table, id, balance);
    if (moved == 0) {
      moved =
          update(
              connection,
              "INSERT INTO " + quoted(table) + " (\"ID\", \"OWNER\", \"BALANCE\") VALUES (?, ?, ?)",
              id,
              "again",
              balance);
    }
    return 1 + moved;
  }

  private static int move(Connection connection, String table, long id, BigDecimal amount)
      throws SQLException {
    return update(
        connection,
        "UPDATE " + quoted(table) + " SET \"BALANCE\" = \"BALANCE\" + ? WHERE \"ID\" = ?",
        amount,
        id);
  }

  private static String note(Random random) {
    switch (random.nextInt(4)) {
      case 0:
        return null;
      case 1:
        return "it's short " + random.nextInt(1000);
      default:
        StringBuilder text = new StringBuilder();
        for (int n = 200 + random.nextInt(1500); n > 0; n--) {
          text.append((char) ('a' + random.nextInt(26)));
        }
        return text.toString();
    }
  }

  /**
   * Closes many accounts that have nothing or, without them, opens them; the transaction stays
   * open.
   */
  void large(Connection connection, int rows) throws SQLException {
    String table = quoted(TABLES.get(0));
    int closed =
        update(
            connection,
            "DELETE FROM " + table + " WHERE \"ID\" BETWEEN ? AND ?",
            LARGE,
            LARGE + rows - 1);
    if (closed == 0) {
      open(connection, LARGE, rows);
    }
  }

  /**
   * Changes as many others, which are opened where they are not there; so may be done again and
   * again.
   */
  void grow(Connection connection, long from, int rows) throws SQLException {
    open(connection, from, rows);
    update(
        connection,
        "UPDATE " + quoted(TABLES.get(0)) + " SET \"OWNER\" = ? WHERE \"ID\" BETWEEN ? AND ?",
        "one of many since " + changes.incrementAndGet(),
        from,
        from + rows - 1);
  }

  private static void open(Connection connection, long from, int rows) throws SQLException {
    update(
        connection,
        "INSERT INTO "
            + quoted(TABLES.get(0))
            + " (\"ID\", \"OWNER\", \"BALANCE\") SELECT n, 'one of many', 0 FROM generate_series(?, ?) n"
            + " ON CONFLICT DO NOTHING",
        from,
        from + rows - 1);
  }

  /** Adds a column that no job declared. */
  void alter(Connection connection) throws SQLException {
    String table = TABLES.get(columns % 2);
    try (Statement statement = connection.createStatement()) {
      statement.execute("ALTER TABLE " + quoted(table) + " ADD COLUMN \"X" + ++columns + "\" INT");
    }
  }

  /** Writes a row that nobody else writes, and returns its transaction. */
  long marker(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "INSERT INTO "
                    + quoted(TABLES.get(1))
                    + " (\"ID\", \"OWNER\", \"BALANCE\") VALUES (-1, 'marker', 0)"
                    + " RETURNING txid_current()::text")) {
      row.next();
      return row.getLong(1);
    }
  }

  /** Changes the marker's row. */
  void touch(Connection connection) throws SQLException {
    update(
        connection,
        "UPDATE " + quoted(TABLES.get(1)) + " SET \"OWNER\" = ? WHERE \"ID\" = -1",
        "marker since " + changes.incrementAndGet());
  }

  /** What stands in the tables: {@code ID|OWNER|BALANCE|NOTE} by {@code TABLE|ID}. */
  static Map<String, String> content(Connection connection) throws SQLException {
    Map<String, String> content = new TreeMap<>();
    try (Statement statement = connection.createStatement()) {
      for (String table : TABLES) {
        try (ResultSet row =
            statement.executeQuery(
                "SELECT \"ID\", \"OWNER\", \"BALANCE\", \"NOTE\" FROM " + quoted(table))) {
          while (row.next()) {
            content.put(
                table + "|" + row.getString(1),
                row.getString(1)
                    + "|"
                    + row.getString(2)
                    + "|"
                    + row.getString(3)
                    + "|"
                    + row.getString(4));
          }
        }
      }
    }
    return content;
  }

  private static int update(Connection connection, String sql, Object... values)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int n = 0; n < values.length; n++) {
        statement.setObject(n + 1, values[n]);
      }
      return statement.executeUpdate();
    }
  }
}
