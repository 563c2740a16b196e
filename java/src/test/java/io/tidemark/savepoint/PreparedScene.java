package io.tidemark.savepoint;

import io.tidemark.TidemarkOptions;
import io.tidemark.TidemarkSourceBuilder;
import java.util.List;

/** Those of mined logs. */
final class PreparedScene implements Scene {
  static final String SNAPSHOT = "dameng-snapshot";
  static final String STREAM = "dameng-stream";
  private static final long MB = 1 << 20;
  private static final int ROWS = 40;

  private final String name;
  private final PreparedServer server;

  private PreparedScene(String name, PreparedServer server) {
    this.name = name;
    this.server = server;
  }

  /** As it is until the savepoint. */
  static PreparedScene before(String name) throws Exception {
    int rows = name.equals(SNAPSHOT) ? ROWS : 3;
    return new PreparedScene(
        name, new PreparedServer("SELECT n, 'old' FROM generate_series(1, " + rows + ") n"));
  }

  /** As it is when the job goes on: more has happened meanwhile. */
  static PreparedScene after(String name) throws Exception {
    PreparedScene scene = before(name);
    if (name.equals(SNAPSHOT)) {
      scene.changedMeanwhile();
    } else {
      scene.happens();
      scene.committedMeanwhile();
    }
    return scene;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public TidemarkSourceBuilder source() {
    return server
        .source()
        .option(TidemarkOptions.SCAN_INCREMENTAL_SNAPSHOT_CHUNK_SIZE, 4)
        .option(TidemarkOptions.TRANSACTION_FRAGMENT_ROWS, 10);
  }

  @Override
  public int rowsBefore() {
    return name.equals(SNAPSHOT) ? 1 : 3;
  }

  @Override
  public int rowsAtSavepoint() {
    return 14;
  }

  /** What stands in the log below a megabyte was there before the job read it. */
  @Override
  public void happens() throws Exception {
    if (server.position() >= MB) {
      throw new IllegalStateException("the log is too far on: " + server.position());
    }
    if (name.equals(SNAPSHOT)) {
      return;
    }
    // One that stays open, and one that is half out at the savepoint.
    server.record(MB + 10, 901, 6, 0, null);
    insert(MB + 20, 901, 201, "open before");
    server.record(MB + 30, 902, 6, 0, null);
    for (int n = 0; n < 30; n++) {
      insert(MB + 40 + n, 902, 300 + n, "half out");
    }
    server.record(MB + 90, 902, 7, 0, null);
    server.advance(3 * MB);
  }

  private void committedMeanwhile() throws Exception {
    insert(3 * MB + 10, 901, 202, "open behind");
    server.record(3 * MB + 20, 901, 7, 0, null);
    server.record(3 * MB + 30, 903, 6, 0, null);
    insert(3 * MB + 40, 903, 400, "after");
    server.record(3 * MB + 50, 903, 7, 0, null);
    server.advance(5 * MB);
  }

  /** Of what the savepoint has and of what it has not. */
  private void changedMeanwhile() throws Exception {
    server.record(2 * MB, 901, 6, 0, null);
    for (int id : List.of(2, 39)) {
      server.execute("UPDATE \"FIX\".\"T\" SET \"V\" = 'new' WHERE \"ID\" = " + id);
      server.record(
          2 * MB + id,
          901,
          3,
          id,
          "UPDATE \"FIX\".\"T\" SET \"V\" = 'new' WHERE \"ID\" = " + id + " AND \"V\" = 'old'");
    }
    server.execute("INSERT INTO \"FIX\".\"T\" VALUES (100, 'more')");
    insert(2 * MB + 50, 901, 100, "more");
    server.execute("DELETE FROM \"FIX\".\"T\" WHERE \"ID\" = 1");
    server.record(
        2 * MB + 60, 901, 2, 1, "DELETE FROM \"FIX\".\"T\" WHERE \"ID\" = 1 AND \"V\" = 'old'");
    server.record(2 * MB + 70, 901, 7, 0, null);
    server.advance(4 * MB);
  }

  private void insert(long position, long xid, long id, String value) throws Exception {
    server.record(
        position,
        xid,
        1,
        id,
        "INSERT INTO \"FIX\".\"T\"(\"ID\", \"V\") VALUES(" + id + ", '" + value + "')");
  }

  @Override
  public void close() throws Exception {
    server.close();
  }
}
