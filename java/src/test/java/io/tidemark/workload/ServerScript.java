package io.tidemark.workload;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;

/** A throw-away server made by a script of {@code sql}; it ends with this process at the latest. */
public final class ServerScript implements AutoCloseable {
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
  public String value(String key) {
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

  /** Kills it as a power cut would. */
  public void kill() throws IOException {
    run(Map.of(), script, "kill", folder.toString());
  }

  /** Starts it again behind {@link #kill()}. */
  public void resume() throws IOException {
    run(Map.of(), script, "resume", folder.toString());
  }

  /** Stops all its processes where they are. */
  public void freeze() throws IOException {
    long postmaster = postmaster();
    signal("STOP", List.of(postmaster)); // so that it starts no more of them
    signal("STOP", children(postmaster));
  }

  /** Lets them go on. */
  public void thaw() throws IOException {
    long postmaster = postmaster();
    signal("CONT", children(postmaster));
    signal("CONT", List.of(postmaster));
  }

  private long postmaster() throws IOException {
    Path file = folder.resolve("data").resolve("postmaster.pid");
    return Long.parseLong(Files.readAllLines(file, StandardCharsets.UTF_8).get(0).trim());
  }

  private static List<Long> children(long process) {
    return ProcessHandle.of(process)
        .orElseThrow()
        .children()
        .map(ProcessHandle::pid)
        .collect(Collectors.toList());
  }

  private static void signal(String signal, List<Long> processes) throws IOException {
    List<String> command = new ArrayList<>(List.of("kill", "-" + signal));
    processes.forEach(process -> command.add(Long.toString(process)));
    Shell.run(Map.of(), command);
  }

  @Override
  public void close() throws IOException {
    run(Map.of(), script, "stop", folder.toString());
  }

  private static String run(Map<String, String> environment, Path script, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>(List.of("bash", script.toString()));
    command.addAll(List.of(arguments));
    return Shell.run(environment, command);
  }
}
