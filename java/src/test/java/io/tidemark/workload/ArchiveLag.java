package io.tidemark.workload;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.Random;

/**
 * Lets the archives stay behind the log for a while and come up again, and begins new ones, at
 * moments from a seed.
 */
public final class ArchiveLag extends Background {
  private final String url;
  private final Random random;

  public ArchiveLag(String url, long seed) {
    super("archive-lag", "the archives could not be held back");
    this.url = url;
    random = new Random(seed);
  }

  /** Behind it the archives follow the log. */
  @Override
  void run() throws Exception {
    try (Connection connection = DriverManager.getConnection(url);
        Statement statement = connection.createStatement()) {
      try {
        while (!isStopping()) {
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
    }
  }
}
