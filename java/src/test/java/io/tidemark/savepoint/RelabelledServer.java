package io.tidemark.savepoint;

import io.tidemark.TidemarkOptions;
import io.tidemark.TidemarkSource;
import io.tidemark.TidemarkSourceBuilder;
import io.tidemark.workload.Postgres;
import io.tidemark.workload.Shell;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * A PostgreSQL that says of itself that it is the one which savepoints were made on: its system
 * identifier, where its log begins, and the number of its next transaction are prepared.
 */
final class RelabelledServer implements AutoCloseable {
  private static final long IDENTIFIER = 20261130;

  /** A segment of 16 MB, far behind what making a server writes. */
  private static final String FIRST_SEGMENT = "000000010000000000000040";

  /** Where {@code pg_control} may have its checksum: it differs between versions. */
  private static final int CHECKSUM_FROM = 200;

  private static final int CHECKSUM_TO = 500;

  private final Postgres postgres;
  private final List<Connection> connections = new ArrayList<>();
  private final Statement statement;

  /**
   * Table {@code fix.t} with the rows that a query gives.
   *
   * @param nextTransaction below 32,768: their states' first page is there
   */
  RelabelledServer(String rows, long nextTransaction) throws IOException, SQLException {
    postgres = Postgres.start();
    try (Connection connection = DriverManager.getConnection(postgres.jdbcUrl());
        Statement before = connection.createStatement()) {
      before.execute("CHECKPOINT");
    }
    postgres.server().kill();
    relabel(postgres.data().resolve("global/pg_control"));
    reset(postgres.data(), nextTransaction);
    postgres.server().resume();
    statement = session().createStatement();
    for (String sql :
        List.of(
            "CREATE SCHEMA fix",
            "CREATE TABLE fix.t (\"ID\" bigint PRIMARY KEY, \"V\" text)",
            "ALTER TABLE fix.t REPLICA IDENTITY FULL",
            "INSERT INTO fix.t " + rows,
            "CREATE PUBLICATION fix FOR TABLE fix.t",
            "GRANT USAGE ON SCHEMA fix TO tidemark",
            "GRANT SELECT ON fix.t TO tidemark")) {
      execute(sql);
    }
  }

  private static void relabel(Path file) throws IOException {
    byte[] control = Files.readAllBytes(file);
    ByteBuffer bytes = ByteBuffer.wrap(control).order(ByteOrder.nativeOrder());
    for (int at = CHECKSUM_FROM; at < CHECKSUM_TO; at += 4) {
      if (bytes.getInt(at) == checksum(control, at)) {
        bytes.putLong(0, IDENTIFIER);
        bytes.putInt(at, checksum(control, at));
        Files.write(file, control);
        return;
      }
    }
    throw new IOException("no checksum in " + file);
  }

  private static int checksum(byte[] control, int length) {
    CRC32C checksum = new CRC32C();
    checksum.update(control, 0, length);
    return (int) checksum.getValue();
  }

  private static void reset(Path data, long nextTransaction) throws IOException {
    List<String> command = new ArrayList<>();
    if (System.getProperty("user.name").equals("root")) {
      command.addAll(
          List.of("setpriv", "--reuid", Files.getOwner(data).getName(), "--clear-groups"));
    }
    String programs = System.getenv().getOrDefault("PG_BIN", "/usr/lib/postgresql/15/bin");
    command.addAll(
        List.of(
            programs + "/pg_resetwal",
            "-f",
            "-l",
            FIRST_SEGMENT,
            "-x",
            Long.toString(nextTransaction),
            data.toString()));
    Shell.run(Map.of(), command);
  }

  TidemarkSourceBuilder source() {
    Map<String, String> options = postgres.connectionOptions();
    return TidemarkSource.builder("postgres-slot-cdc")
        .option(TidemarkOptions.HOSTNAME, options.get("hostname"))
        .option(TidemarkOptions.PORT, Integer.valueOf(options.get("port")))
        .option(TidemarkOptions.USERNAME, options.get("username"))
        .option(TidemarkOptions.PASSWORD, options.get("password"))
        .option(TidemarkOptions.DATABASE_NAME, options.get("database-name"))
        .option(TidemarkOptions.SCHEMA_NAME, "fix")
        .option(TidemarkOptions.TABLE_NAME, "t")
        .option(TidemarkOptions.SLOT_NAME, "fix")
        .option(TidemarkOptions.PUBLICATION_NAME, "fix");
  }

  /** One more session, as the owner of the table. */
  Connection session() throws SQLException {
    Connection connection = DriverManager.getConnection(postgres.jdbcUrl());
    connections.add(connection);
    return connection;
  }

  void execute(String sql) throws SQLException {
    statement.execute(sql);
  }

  /** Has the log go on by so many segments. */
  void advance(int segments) throws SQLException {
    for (int n = 0; n < segments; n++) {
      execute("SELECT pg_logical_emit_message(false, 'next', ''), pg_switch_wal()");
    }
  }

  @Override
  public void close() throws Exception {
    for (Connection connection : connections) {
      connection.close();
    }
    postgres.close();
  }
}
