package io.tidemark.workload;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/** A throw-away server made by a script of {@code sql}; it ends with this process at the latest. */
final class ServerScript implements AutoCloseable {
  private final Path script;
  private final Path folder;
  private final Map<String, String> connection;

  private ServerScript(Path script, Path folder, Map<String, String> connection) {
    this.script = script;
    this.folder = folder;
    this.connection = connection;
  }

  /**
   * Starts one on a free port.
   *
   * @param name of the script below {@code sql}
   * @param environment variables that it knows
   */
  static ServerScript start(String name, Map<String, String> environment) throws IOException {
    Path script = Path.of(System.getProperty("tidemark.test.basedir", "."), "sql").resolve(name);
    // Its server runs as another user where root runs the test, and must be able to reach its
    // folder.
    Path folder =
        Path.of(System.getProperty("java.io.tmpdir"), "tidemark-server-" + UUID.randomUUID());
    Map<String, String> connection = new HashMap<>();
    for (String line : run(environment, script, "start", folder.toString(), "0").split("\n")) {
      String[] pair = line.split("=", 2);
      if (pair.length == 2) {
        connection.put(pair[0], pair[1]);
      }
    }
    return new ServerScript(script, folder, connection);
  }

  /** What the script said of it: HOST, PORT, DATABASE, USER, PASSWORD, ADMIN, ADMIN_PASSWORD. */
  String value(String key) {
    return connection.get(key);
  }

  /** JDBC URL of one of its databases, as its superuser. */
  String jdbcUrl(String database) {
    return "jdbc:postgresql://127.0.0.1:"
        + value("PORT")
        + "/"
        + database
        + "?user="
        + value("ADMIN")
        + "&password="
        + value("ADMIN_PASSWORD");
  }

  /** Where it lives: {@code data}, {@code server.log}. */
  Path folder() {
    return folder;
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
