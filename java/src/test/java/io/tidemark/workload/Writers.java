package io.tidemark.workload;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Concurrent writers: transactions of inserts, updates, deletes and key changes, with rollbacks and
 * savepoints, from a seed. A session that is lost is opened again.
 */
public final class Writers implements AutoCloseable {
  private final List<Thread> threads = new ArrayList<>();
  private final ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
  private final AtomicLong commits = new AtomicLong();
  private final AtomicLong changes = new AtomicLong();
  private final Change change;
  private volatile boolean stopping;

  /** Changes a row or none; returns how many it changed. */
  public interface Change {
    int apply(Connection connection, Random random) throws SQLException;
  }

  /** Errors that are part of a workload: deadlocks, keys that two writers chose at once, DDL. */
  private static final Set<String> EXPECTED = Set.of("40P01", "23505", "42703");

  /** Writers on {@link OrdersTable}, whose keys are drawn from 1 to {@code keys}. */
  public Writers(String url, int count, long keys, long seed, long pauseMillis) {
    this(url, count, (connection, random) -> change(connection, random, keys), seed, pauseMillis);
  }

  /**
   * @param url JDBC URL of the database
   * @param count writers at once
   * @param change what one does
   * @param seed of all random choices
   * @param pauseMillis between two transactions of a writer
   */
  public Writers(String url, int count, Change change, long seed, long pauseMillis) {
    this.change = change;
    for (int n = 0; n < count; n++) {
      Random random = new Random(seed * 31 + n);
      Thread thread = new Thread(() -> run(url, random, pauseMillis), "writer-" + n);
      thread.setDaemon(true);
      threads.add(thread);
    }
  }

  public void start() {
    threads.forEach(Thread::start);
  }

  public long commits() {
    return commits.get();
  }

  public long changes() {
    return changes.get();
  }

  /** Stops all writers and reports the first failure of one, if any. */
  @Override
  public void close() throws SQLException {
    stopping = true;
    try {
      for (Thread thread : threads) {
        thread.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new SQLException("interrupted", e);
    }
    Throwable failure = failures.peek();
    if (failure != null) {
      throw new SQLException("a writer failed", failure);
    }
  }

  private void run(String url, Random random, long pauseMillis) {
    try {
      while (!stopping) {
        try {
          session(url, random, pauseMillis);
        } catch (SQLException e) {
          if (!isLost(e)) {
            throw e;
          }
          Thread.sleep(100);
        }
      }
    } catch (SQLException | InterruptedException | RuntimeException e) {
      failures.add(e);
    }
  }

  /** Whether an error is that of a server that is down, going down or not up yet. */
  private static boolean isLost(SQLException error) {
    String state = error.getSQLState();
    return state != null && (state.startsWith("08") || state.startsWith("57P"));
  }

  /** Whether what failed may be done again: a deadlock, or a server that is not there. */
  public static boolean isPassing(SQLException error) {
    return isLost(error) || "40P01".equals(error.getSQLState());
  }

  private void session(String url, Random random, long pauseMillis)
      throws SQLException, InterruptedException {
    try (Connection connection = DriverManager.getConnection(url)) {
      connection.setAutoCommit(false);
      while (!stopping) {
        try {
          transaction(connection, random);
        } catch (SQLException e) {
          if (!EXPECTED.contains(e.getSQLState())) {
            throw e;
          }
          connection.rollback();
        }
        Thread.sleep(pauseMillis == 0 ? 0 : random.nextInt((int) pauseMillis * 2 + 1));
      }
    }
  }

  private void transaction(Connection connection, Random random) throws SQLException {
    int done = changes(connection, random, 1 + random.nextInt(6));
    if (random.nextInt(4) == 0) {
      Savepoint savepoint = connection.setSavepoint();
      int undone = changes(connection, random, 1 + random.nextInt(4));
      if (random.nextBoolean()) {
        connection.rollback(savepoint);
      } else {
        connection.releaseSavepoint(savepoint);
        done += undone;
      }
      done += changes(connection, random, random.nextInt(3));
    }
    if (random.nextInt(8) == 0) {
      connection.rollback();
    } else {
      connection.commit();
      commits.incrementAndGet();
      changes.addAndGet(done);
    }
  }

  private int changes(Connection connection, Random random, int count) throws SQLException {
    int done = 0;
    for (int n = 0; n < count; n++) {
      done += change.apply(connection, random);
    }
    return done;
  }

  private static int change(Connection connection, Random random, long keys) throws SQLException {
    long key = 1 + (long) (random.nextDouble() * keys);
    switch (random.nextInt(10)) {
      case 0:
      case 1:
      case 2:
        return update(
            connection,
            "INSERT INTO \"BIZ\".\"ORDERS\" VALUES (?, ?, ?, ?, CURRENT_DATE, LOCALTIMESTAMP) ON CONFLICT DO NOTHING",
            key,
            "customer " + random.nextInt(100),
            new java.math.BigDecimal(random.nextInt(1_000_000)).movePointLeft(2),
            random.nextInt(5) == 0 ? null : note(random));
      case 3:
      case 4:
        return update(connection, "DELETE FROM \"BIZ\".\"ORDERS\" WHERE \"ID\" = ?", key);
      case 5:
        return update(
            connection,
            "UPDATE \"BIZ\".\"ORDERS\" SET \"ID\" = ? WHERE \"ID\" = ?"
                + " AND NOT EXISTS (SELECT 1 FROM \"BIZ\".\"ORDERS\" WHERE \"ID\" = ?)",
            key,
            1 + (long) (random.nextDouble() * keys),
            key);
      default:
        return update(
            connection,
            "UPDATE \"BIZ\".\"ORDERS\" SET \"AMOUNT\" = ?, \"NOTE\" = ?, \"CHANGED\" = LOCALTIMESTAMP WHERE \"ID\" = ?",
            new java.math.BigDecimal(random.nextInt(1_000_000)).movePointLeft(2),
            random.nextInt(6) == 0 ? null : note(random),
            key);
    }
  }

  private static String note(Random random) {
    String[] notes = {
      "it's here", "", "北京, 上海", "x, y) VALUES (1", "' AND \"ID\" = 1", "line\nbreak", "NULL"
    };
    return notes[random.nextInt(notes.length)] + " " + random.nextInt(1000);
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
