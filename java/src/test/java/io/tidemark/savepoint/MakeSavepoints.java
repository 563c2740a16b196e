package io.tidemark.savepoint;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Makes the savepoints that are kept of a version: {@code make savepoints}. */
public final class MakeSavepoints {
  private static final long MILLIS_PER_ROW = 100;

  private MakeSavepoints() {}

  /** Argument: a folder that is not there, of the version. */
  public static void main(String[] args) throws Exception {
    Path version = Files.createDirectory(Path.of(args[0]));
    for (String name : List.of(PreparedScene.SNAPSHOT, PreparedScene.STREAM)) {
      try (Scene scene = PreparedScene.before(name)) {
        make(scene, version.resolve(name));
      }
    }
    for (String name : List.of(SlotScene.SNAPSHOT, SlotScene.STREAM)) {
      try (Scene scene = SlotScene.before(name)) {
        make(scene, version.resolve(name));
      }
    }
    // Flink's own threads may outlive its jobs.
    System.exit(0);
  }

  private static void make(Scene scene, Path folder) throws Exception {
    Files.createDirectory(folder);
    Path made = Files.createTempDirectory("tidemark-savepoint");
    List<String> rows;
    try (FixtureJob job = new FixtureJob(scene.source(), null, MILLIS_PER_ROW)) {
      job.await(scene.rowsBefore());
      scene.happens();
      job.await(scene.rowsAtSavepoint());
      Path savepoint = job.stop(made);
      rows = job.rows();
      Files.copy(savepoint.resolve("_metadata"), folder.resolve("_metadata"));
    }
    Files.writeString(
        folder.resolve("rows"), String.join("\n", rows) + "\n", StandardCharsets.UTF_8);
    delete(made);
    System.out.println(folder + ": " + rows.size() + " rows");
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).collect(Collectors.toList())) {
        Files.delete(path);
      }
    }
  }
}
