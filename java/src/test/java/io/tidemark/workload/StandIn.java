package io.tidemark.workload;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A throw-away stand-in ({@code sql/logminer/stand-in.sh}) for one test. */
public final class StandIn implements AutoCloseable {
  private final ServerScript server;

  private StandIn(ServerScript server) {
    this.server = server;
  }

  /** Starts one on a free port; it ends with this process at the latest. */
  public static StandIn start() throws IOException {
    return start(Map.of());
  }

  /** The same with variables of the script's environment. */
  public static StandIn start(Map<String, String> environment) throws IOException {
    return new StandIn(ServerScript.start("logminer/stand-in.sh", environment));
  }

  /** As the owner of the tables. */
  public String jdbcUrl() {
    return server.jdbcUrl(server.value("DATABASE"));
  }

  /**
   * What a Flink table over {@link OrdersTable} has to say in its WITH clause, besides its
   * connector.
   */
  public Map<String, String> tableOptions() {
    Map<String, String> options = new LinkedHashMap<>();
    options.put("hostname", "127.0.0.1");
    options.put("port", server.value("PORT"));
    options.put("username", server.value("USER"));
    options.put("password", server.value("PASSWORD"));
    options.put("schema-name", OrdersTable.SCHEMA);
    options.put("table-name", OrdersTable.NAME);
    options.put("odbc.driver", "PostgreSQL Unicode");
    options.put("odbc.DATABASE", server.value("DATABASE"));
    options.put("odbc.UseDeclareFetch", "1");
    options.put("odbc.Fetch", "1000");
    options.put("odbc.Protocol", "7.4-1");
    options.put("odbc.BoolsAsChar", "0");
    return options;
  }

  /** The whole WITH clause. */
  public String with(String... more) {
    Map<String, String> options = tableOptions();
    options.put("connector", "dameng-cdc");
    for (int n = 0; n < more.length; n += 2) {
      options.put(more[n], more[n + 1]);
    }
    return options.entrySet().stream()
        .map(option -> "'" + option.getKey() + "' = '" + option.getValue() + "'")
        .collect(Collectors.joining(", ", "WITH (", ")"));
  }

  /** The server that plays it. */
  public ServerScript server() {
    return server;
  }

  /** What the server has logged. */
  public List<String> log() throws IOException {
    return Files.readAllLines(server.folder().resolve("server.log"), StandardCharsets.UTF_8);
  }

  @Override
  public void close() throws IOException {
    server.close();
  }
}
