package io.tidemark.workload;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** A throw-away stand-in ({@code sql/logminer/stand-in.sh}) for one test. */
public final class StandIn implements AutoCloseable {
  private final Path script;
  private final Path folder;
  private final int port;

  private StandIn(Path script, Path folder, int port) {
    this.script = script;
    this.folder = folder;
    this.port = port;
  }

  /** Starts one on a free port. */
  public static StandIn start(Path folder) throws IOException, InterruptedException {
    Path script = Path.of(System.getProperty("tidemark.test.basedir", "."), "sql", "logminer", "stand-in.sh");
    String printed = run(script, "start", folder.toString(), "0");
    for (String line : printed.split("\n")) {
      if (line.startsWith("PORT=")) {
        return new StandIn(script, folder, Integer.parseInt(line.substring(5).trim()));
      }
    }
    throw new IOException("the stand-in printed no port: " + printed);
  }

  public String jdbcUrl() {
    return "jdbc:postgresql://127.0.0.1:" + port + "/dm?user=SYSDBA&password=SYSDBA";
  }

  /** What a Flink table over {@link OrdersTable} has to say in its WITH clause. */
  public Map<String, String> tableOptions() {
    Map<String, String> options = new LinkedHashMap<>();
    options.put("connector", "dameng-cdc");
    options.put("hostname", "127.0.0.1");
    options.put("port", Integer.toString(port));
    options.put("username", "TIDEMARK");
    options.put("password", "TIDEMARK");
    options.put("schema-name", OrdersTable.SCHEMA);
    options.put("table-name", OrdersTable.NAME);
    options.put("odbc.driver", "PostgreSQL Unicode");
    options.put("odbc.PORT", Integer.toString(port));
    options.put("odbc.DATABASE", "dm");
    options.put("odbc.UseDeclareFetch", "1");
    options.put("odbc.Fetch", "1000");
    options.put("odbc.Protocol", "7.4-1");
    options.put("odbc.BoolsAsChar", "0");
    return options;
  }

  @Override
  public void close() throws IOException, InterruptedException {
    run(script, "stop", folder.toString());
  }

  private static String run(Path script, String... arguments) throws IOException, InterruptedException {
    String[] command = new String[arguments.length + 2];
    command[0] = "bash";
    command[1] = script.toString();
    System.arraycopy(arguments, 0, command, 2, arguments.length);
    Path errors = Files.createTempFile("stand-in", ".log");
    try {
      Process process = new ProcessBuilder(command).redirectError(errors.toFile()).start();
      StringBuilder printed = new StringBuilder();
      try (BufferedReader reader =
          new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
        for (String line; (line = reader.readLine()) != null; ) {
          printed.append(line).append('\n');
        }
      }
      if (process.waitFor() != 0) {
        throw new IOException(
            String.join(" ", command) + " failed:\n" + printed + Files.readString(errors, StandardCharsets.UTF_8));
      }
      return printed.toString();
    } finally {
      Files.delete(errors);
    }
  }
}
