package io.tidemark.workload;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;

/** A throw-away stand-in ({@code sql/logminer/stand-in.sh}) for one test. */
public final class StandIn implements AutoCloseable {
  private final Path script;
  private final Path folder;
  private final Map<String, String> connection;

  private StandIn(Path script, Path folder, Map<String, String> connection) {
    this.script = script;
    this.folder = folder;
    this.connection = connection;
  }

  /** Starts one on a free port; it ends with this process at the latest. */
  public static StandIn start() throws IOException {
    return start(Map.of());
  }

  /** The same with variables of the script's environment. */
  public static StandIn start(Map<String, String> environment) throws IOException {
    Path script =
        Path.of(System.getProperty("tidemark.test.basedir", "."), "sql", "logminer", "stand-in.sh");
    // Its server runs as another user where root runs the test, and must be able to reach its
    // folder.
    Path folder =
        Path.of(System.getProperty("java.io.tmpdir"), "tidemark-stand-in-" + UUID.randomUUID());
    Map<String, String> connection = new HashMap<>();
    for (String line : run(environment, script, "start", folder.toString(), "0").split("\n")) {
      String[] pair = line.split("=", 2);
      if (pair.length == 2) {
        connection.put(pair[0], pair[1]);
      }
    }
    return new StandIn(script, folder, connection);
  }

  /** As the owner of the tables. */
  public String jdbcUrl() {
    return "jdbc:postgresql://127.0.0.1:"
        + connection.get("PORT")
        + "/"
        + connection.get("DATABASE")
        + "?user="
        + connection.get("ADMIN")
        + "&password="
        + connection.get("ADMIN_PASSWORD");
  }

  /**
   * What a Flink table over {@link OrdersTable} has to say in its WITH clause, besides its
   * connector.
   */
  public Map<String, String> tableOptions() {
    Map<String, String> options = new LinkedHashMap<>();
    options.put("hostname", "127.0.0.1");
    options.put("port", connection.get("PORT"));
    options.put("username", connection.get("USER"));
    options.put("password", connection.get("PASSWORD"));
    options.put("schema-name", OrdersTable.SCHEMA);
    options.put("table-name", OrdersTable.NAME);
    options.put("odbc.driver", "PostgreSQL Unicode");
    options.put("odbc.DATABASE", connection.get("DATABASE"));
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

  /** What the server has logged. */
  public List<String> log() throws IOException {
    return Files.readAllLines(folder.resolve("server.log"), StandardCharsets.UTF_8);
  }

  @Override
  public void close() throws IOException {
    run(Map.of(), script, "stop", folder.toString());
  }

  private static String run(Map<String, String> environment, Path script, String... arguments)
      throws IOException {
    String[] command = new String[arguments.length + 2];
    command[0] = "bash";
    command[1] = script.toString();
    System.arraycopy(arguments, 0, command, 2, arguments.length);
    Path errors = Files.createTempFile("stand-in", ".log");
    try {
      ProcessBuilder builder = new ProcessBuilder(command).redirectError(errors.toFile());
      builder.environment().putAll(environment);
      builder.environment().put("WATCH_PID", Long.toString(ProcessHandle.current().pid()));
      Process process = builder.start();
      StringBuilder printed = new StringBuilder();
      try (BufferedReader reader =
          new BufferedReader(
              new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
        for (String line; (line = reader.readLine()) != null; ) {
          printed.append(line).append('\n');
        }
      }
      if (process.waitFor() != 0) {
        throw new IOException(
            String.join(" ", command)
                + " failed:\n"
                + printed
                + Files.readString(errors, StandardCharsets.UTF_8));
      }
      return printed.toString();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    } finally {
      Files.delete(errors);
    }
  }
}
