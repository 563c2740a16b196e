package io.tidemark.cluster;

import io.tidemark.workload.Postgres;
import io.tidemark.workload.ServerScript;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@link UnderFire} on PostgreSQL. */
class PostgresUnderFireTest {
  private static final long SEED = Long.getLong("tidemark.test.seed", 20261130L);

  @TempDir Path folder;

  @Test
  void nothingIsLostOrDoubledWhateverDies() throws Exception {
    try (Postgres postgres = Postgres.start();
        FlinkCluster cluster = FlinkCluster.start(folder.resolve("cluster"))) {
      UnderFire.soak(cluster, new Plain(postgres), folder, SEED);
    }
  }

  private static final class Plain implements UnderFire.Database {
    private final Postgres postgres;

    Plain(Postgres postgres) {
      this.postgres = postgres;
    }

    @Override
    public ServerScript server() {
      return postgres.server();
    }

    @Override
    public String jdbcUrl() {
      return postgres.jdbcUrl();
    }

    @Override
    public String textType() {
      return "TEXT";
    }

    @Override
    public String with() {
      Map<String, String> options = postgres.connectionOptions();
      options.put("connector", "postgres-slot-cdc");
      options.put("schema-name", '"' + Bank.SCHEMA + '"');
      options.put("table-name", '"' + String.join("\"|\"", Bank.TABLES) + '"');
      options.put("slot.name", "bank");
      options.put("publication.name", "bank");
      options.put("scan.lsn-commit.checkpoints-num-delay", "8");
      options.put("odbc.driver", "PostgreSQL Unicode");
      options.put("scan.incremental.snapshot.chunk.size", "50");
      options.put("scan.snapshot.round.bytes", "8 kb");
      options.put("transaction.fragment.rows", "1000");
      options.put("socket.timeout", "60 s");
      return Postgres.with(options);
    }

    @Override
    public boolean spills() {
      return false;
    }

    @Override
    public void prepare() throws SQLException {
      String tables = Bank.TABLES.stream().map(Bank::quoted).collect(Collectors.joining(", "));
      try (Connection connection = DriverManager.getConnection(jdbcUrl());
          Statement statement = connection.createStatement()) {
        statement.execute("CREATE PUBLICATION bank FOR TABLE " + tables);
      }
    }

    @Override
    public void clear() throws SQLException {
      try (Connection connection = DriverManager.getConnection(jdbcUrl());
          Statement statement = connection.createStatement()) {
        statement.execute("DROP PUBLICATION bank");
      }
      postgres.clear(Bank.SCHEMA);
    }
  }
}
