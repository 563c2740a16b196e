package io.tidemark.workload;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A throw-away PostgreSQL 15 as it is ({@code sql/kingbase/face.sh}, whose face is in another
 * database).
 */
public final class Postgres implements AutoCloseable {
  private static final String PLAIN = "plain";
  private final ServerScript server;
  private final String database;

  private Postgres(ServerScript server, String database) {
    this.server = server;
    this.database = database;
  }

  /** Starts one on a free port; it ends with this process at the latest. */
  public static Postgres start() throws IOException {
    return start(Map.of());
  }

  /** The same whose jobs connect with a password. */
  public static Postgres start(String password) throws IOException {
    return start(Map.of("TIDEMARK_PASSWORD", password));
  }

  private static Postgres start(Map<String, String> environment) throws IOException {
    return new Postgres(ServerScript.start("kingbase/face.sh", environment), PLAIN);
  }

  /** The database of the same server that has the face of KingbaseES. */
  public Postgres face() {
    return new Postgres(server, server.value("DATABASE"));
  }

  /** As the owner of the tables. */
  public String jdbcUrl() {
    return server.jdbcUrl(database);
  }

  /**
   * How a Flink table connects, as a user who may use slots and read tables: options that Tidemark
   * and Flink CDC have in common.
   */
  public Map<String, String> connectionOptions() {
    Map<String, String> options = new LinkedHashMap<>();
    options.put("hostname", "127.0.0.1");
    options.put("port", server.value("PORT"));
    options.put("username", server.value("USER"));
    options.put("password", server.value("PASSWORD"));
    options.put("database-name", database);
    return options;
  }

  /** A WITH clause. */
  public static String with(Map<String, String> options) {
    return options.entrySet().stream()
        .map(option -> "'" + option.getKey() + "' = '" + option.getValue() + "'")
        .collect(Collectors.joining(", ", "WITH (", ")"));
  }

  /** Drops a schema, and all slots of the database once nobody uses them any more. */
  public void clear(String schema) throws SQLException {
    String names = database.equals(PLAIN) ? "pg_" : "sys_";
    try (Connection connection = DriverManager.getConnection(jdbcUrl());
        Statement statement = connection.createStatement()) {
      statement.execute("DROP SCHEMA \"" + schema + "\" CASCADE");
      statement.execute(
          ("DO $$ BEGIN FOR n IN 1 .. 600 LOOP"
                  + " PERFORM @drop_replication_slot(slot_name) FROM @replication_slots"
                  + " WHERE database = current_database() AND NOT active AND NOT temporary;"
                  + " EXIT WHEN NOT EXISTS (SELECT FROM @replication_slots WHERE database = current_database());"
                  + " PERFORM @sleep(0.1); END LOOP; END $$")
              .replace("@", names));
    }
  }

  /** The server of its databases. */
  public ServerScript server() {
    return server;
  }

  /** Its data directory. */
  public Path data() {
    return server.folder().resolve("data");
  }

  @Override
  public void close() throws IOException {
    server.close();
  }
}
