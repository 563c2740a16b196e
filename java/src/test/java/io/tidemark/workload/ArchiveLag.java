package io.tidemark.workload;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;

/**
 * Lets the archives stay behind the log for a while and come up again, and begins new ones, at
 * moments from a seed.
 */
public final class ArchiveLag implements RandomWorkload.Disturbance {
  private final Thread thread;
  private volatile boolean stopping;
  private volatile SQLException failure;

  public ArchiveLag(String url, long seed) {
    thread = new Thread(() -> run(url, new Random(seed)), "archive-lag");
    thread.setDaemon(true);
  }

  @Override
  public void start() {
    thread.start();
  }

  private void run(String url, Random random) {
    try (Connection connection = DriverManager.getConnection(url);
        Statement statement = connection.createStatement()) {
      try {
        while (!stopping) {
          statement.execute("CALL logminer.hold()");
          Thread.sleep(random.nextInt(600));
          statement.execute("CALL logminer.release()");
          Thread.sleep(random.nextInt(1200));
          if (random.nextInt(3) == 0) {
            statement.execute("CALL logminer.switch()");
          }
        }
      } finally {
        statement.execute("CALL logminer.release()");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (SQLException e) {
      failure = e;
    }
  }

  /** From here on the archives follow the log; reports what went wrong, if anything. */
  @Override
  public void close() throws SQLException {
    stopping = true;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (failure != null) {
      throw new SQLException("the archives could not be held back", failure);
    }
  }
}
