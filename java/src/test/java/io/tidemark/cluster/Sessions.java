package io.tidemark.cluster;

import io.tidemark.workload.Writers;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;

/** Sessions of the workload at a database that is struck. */
final class Sessions {
  private static final long PAUSE_MILLIS = 100;
  private final String jdbcUrl;

  /** What is done in one. */
  interface Work<T> {
    T at(Connection connection) throws SQLException;
  }

  Sessions(String jdbcUrl) {
    this.jdbcUrl = jdbcUrl;
  }

  Connection connect() throws SQLException {
    return DriverManager.getConnection(jdbcUrl);
  }

  /** Does it, again where the database was down. */
  <T> T retried(Work<T> work) throws Exception {
    while (true) {
      try (Connection connection = connect()) {
        return work.at(connection);
      } catch (SQLException e) {
        if (!Writers.isPassing(e)) {
          throw e;
        }
        Thread.sleep(PAUSE_MILLIS);
      }
    }
  }
}
