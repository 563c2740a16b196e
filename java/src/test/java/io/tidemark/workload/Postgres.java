package io.tidemark.workload;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A throw-away PostgreSQL 15 as it is ({@code sql/kingbase/face.sh}, whose face is in another
 * database).
 */
public final class Postgres implements AutoCloseable {
  private static final String DATABASE = "plain";
  private final ServerScript server;

  private Postgres(ServerScript server) {
    this.server = server;
  }

  /** Starts one on a free port; it ends with this process at the latest. */
  public static Postgres start() throws IOException {
    return new Postgres(ServerScript.start("kingbase/face.sh", Map.of()));
  }

  /** As the owner of the tables. */
  public String jdbcUrl() {
    return server.jdbcUrl(DATABASE);
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
    options.put("database-name", DATABASE);
    return options;
  }

  /** A WITH clause. */
  public static String with(Map<String, String> options) {
    return options.entrySet().stream()
        .map(option -> "'" + option.getKey() + "' = '" + option.getValue() + "'")
        .collect(Collectors.joining(", ", "WITH (", ")"));
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
