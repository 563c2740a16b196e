package io.tidemark.savepoint;

import io.tidemark.TidemarkOptions;
import io.tidemark.TidemarkSource;
import io.tidemark.TidemarkSourceBuilder;
import io.tidemark.workload.StandIn;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;

/**
 * A stand-in for DM8 whose log is always the same: its incarnation, its positions and its contents
 * are prepared. What a savepoint says of one is true of any other.
 */
final class PreparedServer implements AutoCloseable {
  /** From here on the log is the fixtures'. */
  static final long BASE = 64L << 20;

  private static final long INCARNATION = 20261130;

  private final StandIn standIn;
  private final Connection connection;
  private final Statement server;

  /** Table {@code FIX.T} with the rows that a query gives; the log stands at the base. */
  PreparedServer(String rows) throws IOException, SQLException {
    standIn = StandIn.start(Map.of("SEGMENT_MB", "1"));
    connection = DriverManager.getConnection(standIn.jdbcUrl());
    server = connection.createStatement();
    execute(
        "CREATE OR REPLACE FUNCTION logminer.magic() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT "
            + INCARNATION
            + "::bigint'");
    execute("CREATE SCHEMA \"FIX\"");
    execute("CREATE TABLE \"FIX\".\"T\" (\"ID\" BIGINT PRIMARY KEY, \"V\" VARCHAR(40))");
    execute("INSERT INTO \"FIX\".\"T\" " + rows);
    execute("UPDATE logminer.setting SET value = 'prepared' WHERE name = 'serve'");
    if (end() >= BASE) {
      throw new IllegalStateException("the log is beyond the base: " + end());
    }
    advance(0);
  }

  TidemarkSourceBuilder source() {
    Map<String, String> options = standIn.tableOptions();
    TidemarkSourceBuilder builder =
        TidemarkSource.builder("dameng-cdc")
            .option(TidemarkOptions.HOSTNAME, options.remove("hostname"))
            .option(TidemarkOptions.PORT, Integer.valueOf(options.remove("port")))
            .option(TidemarkOptions.USERNAME, options.remove("username"))
            .option(TidemarkOptions.PASSWORD, options.remove("password"))
            .option(TidemarkOptions.SCHEMA_NAME, "FIX")
            .option(TidemarkOptions.TABLE_NAME, "T")
            .option(TidemarkOptions.SERVER_TIME_ZONE, "UTC");
    options.remove("schema-name");
    options.remove("table-name");
    return builder.options(Map.copyOf(options));
  }

  void execute(String sql) throws SQLException {
    server.execute(sql);
  }

  /** Where the log ends, relative to the base. */
  long position() throws SQLException {
    return end() - BASE;
  }

  /** Has the log go on up to a place relative to the base, at least. */
  void advance(long position) throws SQLException {
    execute(
        "DO $$ BEGIN WHILE logminer.bytes(pg_current_wal_insert_lsn()) < "
            + (BASE + position)
            + " LOOP PERFORM pg_logical_emit_message(false, 'next', ''), pg_switch_wal(); END LOOP; END $$");
  }

  private long end() throws SQLException {
    try (ResultSet row =
        server.executeQuery("SELECT logminer.bytes(pg_current_wal_insert_lsn())")) {
      row.next();
      return row.getLong(1);
    }
  }

  /** Puts a record into the log: 6 START, 1 INSERT, 2 DELETE, 3 UPDATE, 7 COMMIT. */
  void record(long position, long xid, int code, long id, String redo) throws SQLException {
    boolean row = code <= 3;
    String table =
        row
            ? "'FIX', 'T', 'AAAA"
                + id
                + "', '\"FIX\".\"T\"'::regclass::oid::integer, (SELECT version FROM logminer.table_version"
                + " WHERE table_oid = '\"FIX\".\"T\"'::regclass), '"
                + redo.replace("'", "''")
                + "'"
            : "NULL, NULL, NULL, NULL, NULL, NULL";
    execute(
        "INSERT INTO logminer.prepared (\"SCN\", \"XID\", \"OPERATION_CODE\", \"ROLL_BACK\", \"SEG_OWNER\","
            + " \"TABLE_NAME\", \"ROW_ID\", \"DATA_OBJ#\", \"DATA_OBJV#\", \"SQL_REDO\", \"RS_ID\", \"SSN\","
            + " \"CSF\", \"STATUS\", \"TIMESTAMP\") VALUES ("
            + (BASE + position)
            + ", int8send("
            + xid
            + "), "
            + code
            + ", 0, "
            + table
            + ", '0x1', 0, 0, 0, TIMESTAMP '2026-11-30 12:00:00')");
  }

  @Override
  public void close() throws Exception {
    connection.close();
    standIn.close();
  }
}
