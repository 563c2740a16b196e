package io.tidemark.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Runs a main class in a JVM of its own, with this one's options. */
final class FreshJvm {
  private FreshJvm() {}

  /** Called by such a main class: it is not to outlive who started it. */
  static void endWithParent() {
    Thread watch =
        new Thread(
            () -> {
              try {
                while (System.in.read() >= 0) {
                  continue; // nothing is ever sent
                }
              } catch (IOException e) {
                // The pipe is gone, and so is its other end.
              }
              Runtime.getRuntime().halt(1);
            },
            "parent");
    watch.setDaemon(true);
    watch.start();
  }

  /** Its last line, on the class path of this JVM. */
  static String run(Class<?> main, String... arguments) throws IOException {
    return run(System.getProperty("java.class.path"), line -> {}, main, arguments);
  }

  /**
   * Its last line.
   *
   * @param lines is told each line as it comes
   */
  static String run(String classPath, Consumer<String> lines, Class<?> main, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(ProcessHandle.current().info().command().orElse("java"));
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(List.of("-cp", classPath, main.getName()));
    command.addAll(List.of(arguments));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try (BufferedReader reader =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      String last = null;
      for (String line; (line = reader.readLine()) != null; ) {
        last = line;
        lines.accept(line);
      }
      if (process.waitFor() != 0 || last == null) {
        throw new IllegalStateException("the run failed: " + last);
      }
      return last;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    } finally {
      process.destroyForcibly();
    }
  }
}
