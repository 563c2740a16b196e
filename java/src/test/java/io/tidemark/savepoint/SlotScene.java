package io.tidemark.savepoint;

import io.tidemark.TidemarkOptions;
import io.tidemark.TidemarkSourceBuilder;
import java.sql.Connection;
import java.sql.Statement;

/** Those of slots. */
final class SlotScene implements Scene {
  static final String SNAPSHOT = "postgres-snapshot";
  static final String STREAM = "postgres-stream";
  private static final int ROWS = 40;

  private final String name;
  private final RelabelledServer server;

  private SlotScene(String name, RelabelledServer server) {
    this.name = name;
    this.server = server;
  }

  private static SlotScene at(String name, long nextTransaction) throws Exception {
    int rows = name.equals(SNAPSHOT) ? ROWS : 3;
    String query = "SELECT n, 'old' FROM generate_series(1, " + rows + ") n";
    return new SlotScene(name, new RelabelledServer(query, nextTransaction));
  }

  /** As it is until the savepoint: the job's positions are in the second segment or behind it. */
  static SlotScene before(String name) throws Exception {
    SlotScene scene = at(name, 10_000);
    scene.server.advance(1);
    return scene;
  }

  /** As it is when the job goes on: its slot, and what is open, stand in the first segment. */
  static SlotScene after(String name) throws Exception {
    SlotScene scene = at(name, 20_000);
    scene.server.execute("SELECT pg_create_logical_replication_slot('fix', 'pgoutput')");
    if (name.equals(SNAPSHOT)) {
      scene.server.advance(4);
      scene.changedMeanwhile();
    } else {
      Connection open = scene.open();
      scene.server.advance(4);
      try (Statement statement = open.createStatement()) {
        statement.execute("INSERT INTO fix.t VALUES (202, 'open behind')");
      }
      open.commit();
      scene.server.execute("INSERT INTO fix.t VALUES (400, 'after')");
    }
    return scene;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public TidemarkSourceBuilder source() {
    return server.source().option(TidemarkOptions.SCAN_INCREMENTAL_SNAPSHOT_CHUNK_SIZE, 4);
  }

  @Override
  public int rowsBefore() {
    return name.equals(SNAPSHOT) ? 1 : 3;
  }

  @Override
  public int rowsAtSavepoint() {
    return name.equals(SNAPSHOT) ? 14 : 4;
  }

  @Override
  public void happens() throws Exception {
    if (name.equals(STREAM)) {
      open();
      server.execute("INSERT INTO fix.t VALUES (300, 'out')");
    }
  }

  /** A transaction that stays open. */
  private Connection open() throws Exception {
    Connection session = server.session();
    session.setAutoCommit(false);
    try (Statement statement = session.createStatement()) {
      statement.execute("INSERT INTO fix.t VALUES (201, 'open before')");
    }
    return session;
  }

  /** Of what the savepoint has and of what it has not. */
  private void changedMeanwhile() throws Exception {
    server.execute(
        "BEGIN; UPDATE fix.t SET \"V\" = 'new' WHERE \"ID\" IN (2, 39); INSERT INTO fix.t VALUES (100, 'more');"
            + " DELETE FROM fix.t WHERE \"ID\" = 1; COMMIT");
  }

  @Override
  public void close() throws Exception {
    server.close();
  }
}
