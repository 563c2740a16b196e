package io.tidemark.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The jars that a job needs. */
final class SinkJar {
  private static final Path TARGET =
      Path.of(System.getProperty("tidemark.test.basedir", "."), "java", "target");

  private SinkJar() {}

  /** The connector as it is built. */
  static Path connector() throws IOException {
    try (Stream<Path> files = Files.list(TARGET)) {
      return files
          .filter(
              file ->
                  file.getFileName().toString().matches("flink-connector-tidemark-[0-9.]+\\.jar"))
          .findFirst()
          .orElseThrow(() -> new IOException("no jar of the connector in " + TARGET));
    }
  }

  /** Writes a table sink, what it extends, and their nested classes as a jar of their own. */
  static Path write(Path jar, Class<?> sink) throws IOException {
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
      for (Class<?> part = sink; part != Object.class; part = part.getSuperclass()) {
        addNest(out, part);
      }
      out.putNextEntry(new JarEntry("META-INF/services/org.apache.flink.table.factories.Factory"));
      out.write(sink.getName().getBytes(StandardCharsets.UTF_8));
    }
    return jar;
  }

  private static void addNest(JarOutputStream out, Class<?> host) throws IOException {
    Path classes = TARGET.resolve("test-classes");
    Path folder = classes.resolve(host.getName().replace('.', '/')).getParent();
    List<Path> nest;
    try (Stream<Path> files = Files.list(folder)) {
      nest =
          files
              .filter(file -> file.getFileName().toString().startsWith(host.getSimpleName()))
              .collect(Collectors.toList());
    }
    for (Path file : nest) {
      out.putNextEntry(new JarEntry(classes.relativize(file).toString()));
      Files.copy(file, out);
    }
  }
}
