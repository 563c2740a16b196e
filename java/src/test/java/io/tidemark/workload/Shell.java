package io.tidemark.workload;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Commands that end by themselves. */
public final class Shell {
  private Shell() {}

  /**
   * Runs one and returns what it printed; it fails with all that it said.
   *
   * @param environment variables beside those of this process; {@code WATCH_PID} is its id
   */
  public static String run(Map<String, String> environment, List<String> command)
      throws IOException {
    Path errors = Files.createTempFile("tidemark", ".log");
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
