package io.tidemark.cluster;

import io.tidemark.workload.ServerScript;
import io.tidemark.workload.StandIn;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@link UnderFire} on the stand-in for DM8. */
class DamengUnderFireTest {
  private static final long SEED = Long.getLong("tidemark.test.seed", 20261130L);

  @TempDir Path folder;

  @Test
  void nothingIsLostOrDoubledWhateverDies() throws Exception {
    try (StandIn standIn = StandIn.start();
        FlinkCluster cluster =
            FlinkCluster.start(folder.resolve("cluster"), Map.of("DISK_MB", "2048"))) {
      UnderFire.soak(cluster, new Dameng(standIn), folder, SEED);
    }
  }

  private static final class Dameng implements UnderFire.Database {
    private final StandIn standIn;

    Dameng(StandIn standIn) {
      this.standIn = standIn;
    }

    @Override
    public ServerScript server() {
      return standIn.server();
    }

    @Override
    public String jdbcUrl() {
      return standIn.jdbcUrl();
    }

    @Override
    public String textType() {
      return "CLOB";
    }

    @Override
    public String with() {
      return standIn.with(
          "schema-name", Bank.SCHEMA,
          "table-name", String.join("|", Bank.TABLES),
          "scan.incremental.snapshot.chunk.size", "50",
          "scan.snapshot.round.bytes", "8 kb",
          // On a busy machine a call over all that a long standstill left would hit the timeout
          // each time.
          "log.window.bytes", "16 mb",
          "transaction.memory", "1 mb",
          "transaction.fragment.rows", "1000",
          "socket.timeout", "60 s");
    }

    @Override
    public boolean spills() {
      return true;
    }

    @Override
    public void prepare() throws SQLException {
      execute("CALL logminer.as_dm8()");
    }

    @Override
    public void clear() throws SQLException {
      execute("DROP SCHEMA \"BANK\" CASCADE");
      execute("SELECT pg_drop_replication_slot('judge')");
    }

    private void execute(String sql) throws SQLException {
      try (Connection connection = DriverManager.getConnection(jdbcUrl());
          Statement statement = connection.createStatement()) {
        statement.execute(sql);
      }
    }
  }
}
