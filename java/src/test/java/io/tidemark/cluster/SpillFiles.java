package io.tidemark.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What readers have in Flink's temporary folders. */
final class SpillFiles {
  private SpillFiles() {}

  /** Folders of readers in one of them. */
  static List<Path> rooms(Path temporary) {
    return list(temporary).stream()
        .filter(path -> path.getFileName().toString().startsWith("tidemark-spill-"))
        .collect(Collectors.toList());
  }

  /** The files in all of them. */
  static List<Path> of(FlinkCluster cluster) {
    return cluster.temporaryFolders().stream()
        .flatMap(temporary -> rooms(temporary).stream())
        .flatMap(room -> list(room).stream())
        .collect(Collectors.toList());
  }

  /** Their lengths together. */
  static long bytes(FlinkCluster cluster) {
    return of(cluster).stream().mapToLong(file -> file.toFile().length()).sum();
  }

  /** Empty if it is not there any more. */
  private static List<Path> list(Path folder) {
    try (Stream<Path> paths = Files.list(folder)) {
      return paths.collect(Collectors.toList());
    } catch (NoSuchFileException | NotDirectoryException e) {
      return List.of();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
