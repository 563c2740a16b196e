package io.tidemark.workload;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.LongPredicate;

/**
 * What writers do to {@link KeyKinds}, and DDL beside them: columns of two tables come and go, at
 * moments from a seed, from the snapshot on; a table is truncated where the test allows it. No
 * column takes another's name: rows that a job reads behind that are an error of its own.
 */
public final class KindsWorkload extends Background implements Writers.Change {
  /** Not the first one, whose last row is the marker. */
  private static final List<String> CHANGING = List.of("VARCHAR", "SKEWED");

  /** The job may have ended: writers must not wait for this longer. */
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final KeyKinds kinds;
  private final String url;
  private final Random random;

  /** The column of a table that came last, if it has not gone. */
  private final Map<String, String> columns = new ConcurrentHashMap<>();

  private final List<Altered> altered = new CopyOnWriteArrayList<>();
  private volatile LongPredicate isOut;

  /** A statement that was committed. */
  public static final class Altered {
    public final long xid;
    public final String table;
    public final String statement;

    Altered(long xid, String table, String statement) {
      this.xid = xid;
      this.table = table;
      this.statement = statement;
    }
  }

  public KindsWorkload(String url, KeyKinds kinds, long seed) {
    super("ddl", "a table could not be altered");
    this.url = url;
    this.kinds = kinds;
    random = new Random(seed);
  }

  /**
   * From now on columns go, too, and rows by TRUNCATE. A row that is read behind a DROP of one of
   * its columns cannot be had whole, so a column goes only when what was written before is out.
   *
   * @param isOut whether changes of a transaction are in a completed checkpoint
   */
  public void dropWhenOut(LongPredicate isOut) {
    this.isOut = isOut;
  }

  /** What was done, in commit order. */
  public List<Altered> altered() {
    return List.copyOf(altered);
  }

  @Override
  public int apply(Connection connection, Random random) throws SQLException {
    KeyKinds.Kind kind = kinds.all().get(random.nextInt(kinds.all().size()));
    int number = 1 + random.nextInt(kinds.keys - 1);
    try (Statement statement = connection.createStatement()) {
      switch (random.nextInt(10)) {
        case 0:
        case 1:
        case 2:
          return statement.executeUpdate(KeyKinds.insert(kind, number, payload(random)));
        case 3:
        case 4:
          return statement.executeUpdate(
              "DELETE FROM " + kind.table() + " WHERE " + kind.isKey(number));
        case 5:
          int other = 1 + random.nextInt(kinds.keys - 1);
          return other == number ? 0 : statement.executeUpdate(move(kind, number, other));
        default:
          return statement.executeUpdate(update(kind, number, random));
      }
    }
  }

  private static String move(KeyKinds.Kind kind, int from, int to) {
    return "UPDATE "
        + kind.table()
        + " SET ("
        + KeyKinds.quoted(kind.names)
        + ") = "
        + kind.keyOf(to, true)
        + " WHERE "
        + kind.isKey(from)
        + " AND NOT EXISTS (SELECT 1 FROM "
        + kind.table()
        + " WHERE "
        + kind.isKey(to)
        + ")";
  }

  private String update(KeyKinds.Kind kind, int number, Random random) {
    String column = columns.get(kind.name);
    String more = "";
    if (column != null && random.nextBoolean()) {
      more = ", \"" + column + "\" = '" + column + " of " + random.nextInt(1000) + "'";
    }
    return "UPDATE "
        + kind.table()
        + " SET (\"N\", \"NOTE\", \"DOC\") = ROW("
        + (random.nextInt(3) == 0 ? payload(random) : text(random) + ", \"DOC\"")
        + ")"
        + more
        + " WHERE "
        + kind.isKey(number);
  }

  private static String payload(Random random) {
    int words = random.nextInt(4) == 0 ? -1 : random.nextInt(random.nextInt(5) == 0 ? 2000 : 20);
    return text(random)
        + ", "
        + (words < 0 ? "NULL" : "repeat('Größe ' || random(), " + words + ")");
  }

  private static String text(Random random) {
    String[] notes = {
      "it''s here", "", "北京, 上海", "x, y) VALUES (1", "'' AND \"N\" = 1", "line\nbreak", "NULL"
    };
    return random.nextInt()
        + ", "
        + (random.nextInt(6) == 0
            ? "NULL"
            : "'" + notes[random.nextInt(notes.length)] + " " + random.nextInt(1000) + "'");
  }

  /** At first columns only come. */
  @Override
  void run() throws Exception {
    try (Connection connection = DriverManager.getConnection(url);
        Connection marking = DriverManager.getConnection(url);
        Statement statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      for (int number = 0; !isStopping(); number++) {
        Thread.sleep(random.nextInt(700));
        try {
          if (isOut != null && random.nextInt(4) == 0) {
            truncate(statement);
          } else {
            String name = CHANGING.get(random.nextInt(CHANGING.size()));
            alter(statement, marking, kinds.kind(name), "X" + number);
          }
        } catch (SQLException e) {
          connection.rollback();
          if (!"40P01".equals(e.getSQLState())) {
            throw e;
          }
        }
      }
    }
  }

  private void alter(Statement statement, Connection marking, KeyKinds.Kind kind, String next)
      throws SQLException, InterruptedException {
    String table = "ALTER TABLE " + kind.table();
    String column = columns.get(kind.name);
    if (column == null) {
      commit(statement, kind, table + " ADD COLUMN \"" + next + "\" VARCHAR(40)");
      columns.put(kind.name, next);
      return;
    }
    if (isOut == null) {
      return;
    }
    // Nobody writes into it, those who read its values back do read.
    statement.execute("LOCK TABLE " + kind.table() + " IN EXCLUSIVE MODE");
    columns.remove(kind.name);
    long marker = kinds.marker(marking);
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!isOut.test(marker)) {
      if (isStopping() || System.nanoTime() > deadline) {
        columns.put(kind.name, column);
        statement.getConnection().rollback();
        return;
      }
      Thread.sleep(50);
    }
    commit(statement, kind, table + " DROP COLUMN \"" + column + "\"");
  }

  private void truncate(Statement statement) throws SQLException {
    KeyKinds.Kind kind = kinds.all().get(1 + random.nextInt(kinds.all().size() - 1));
    commit(statement, kind, "TRUNCATE TABLE " + kind.table());
  }

  private void commit(Statement statement, KeyKinds.Kind kind, String sql) throws SQLException {
    statement.execute(sql);
    long xid;
    try (ResultSet row = statement.executeQuery("SELECT pg_current_xact_id()::text")) {
      row.next();
      xid = row.getLong(1);
    }
    statement.getConnection().commit();
    altered.add(new Altered(xid, kind.name, sql));
  }
}
