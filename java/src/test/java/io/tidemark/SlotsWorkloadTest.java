package io.tidemark;

import io.tidemark.workload.OrdersTable;
import io.tidemark.workload.Postgres;
import io.tidemark.workload.RandomWorkload;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@link RandomWorkload} through logical slots, with both plugins and the face of KingbaseES. */
class SlotsWorkloadTest {
  private static final long ROWS = 2_000;
  private static final int KILLS = Integer.getInteger("tidemark.test.kills", 2);
  private static final long SEED = Long.getLong("tidemark.test.seed", 20261130L);
  private static Postgres server;

  @TempDir Path folder;

  @BeforeAll
  static void start() throws IOException {
    server = Postgres.start();
  }

  @AfterAll
  static void stop() throws IOException {
    server.close();
  }

  @Test
  void changelogIsWholeAfterKillsWithPgoutput() throws Exception {
    run(server, "postgres-slot-cdc", "pgoutput", KILLS);
  }

  @Test
  void changelogIsWholeAfterKillsWithTestDecoding() throws Exception {
    // The plugin's kills are rather those of the face.
    run(server, "postgres-slot-cdc", "test_decoding", (KILLS + 1) / 2);
  }

  @Test
  void changelogIsWholeAfterKillsOnKingbase() throws Exception {
    run(server.face(), "kingbase-cdc", "test_decoding", KILLS);
  }

  private void run(Postgres database, String connector, String plugin, int kills) throws Exception {
    Map<String, String> options = new LinkedHashMap<>(database.connectionOptions());
    options.put("connector", connector);
    // Names that need their quotes.
    options.put("schema-name", '"' + OrdersTable.SCHEMA + '"');
    options.put("table-name", '"' + OrdersTable.NAME + '"');
    options.put("slot.name", "workload_" + plugin);
    options.put("decoding.plugin.name", plugin);
    if (plugin.equals("pgoutput")) {
      options.put("publication.name", "workload");
    }
    options.put("odbc.driver", "PostgreSQL Unicode");
    options.put("scan.incremental.snapshot.chunk.size", "500");
    try (Connection owner = DriverManager.getConnection(database.jdbcUrl());
        Statement statement = owner.createStatement()) {
      new RandomWorkload(folder, database.jdbcUrl(), ROWS, kills, SEED)
          .run(Postgres.with(options), new Publication(statement, plugin.equals("pgoutput")));
    } finally {
      database.clear(OrdersTable.SCHEMA);
    }
  }

  /** The job's user may not make it. */
  private static final class Publication implements RandomWorkload.Disturbance {
    private final Statement owner;
    private final boolean wanted;

    Publication(Statement owner, boolean wanted) {
      this.owner = owner;
      this.wanted = wanted;
    }

    @Override
    public void start() throws SQLException {
      if (wanted) {
        owner.execute("CREATE PUBLICATION workload FOR TABLE \"BIZ\".\"ORDERS\"");
      }
    }

    @Override
    public void close() throws SQLException {
      owner.execute("DROP PUBLICATION IF EXISTS workload");
    }
  }
}
