package io.tidemark.savepoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Savepoints of every version since the first are restored for ever:
 * `src/test/resources/savepoints` has a folder for each, made by {@link MakeSavepoints}.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SavepointTest {
  private static final Path KEPT =
      Path.of(
          System.getProperty("tidemark.test.basedir", "."), "java/src/test/resources/savepoints");

  static List<Path> kept(String name) throws IOException {
    try (Stream<Path> versions = Files.list(KEPT)) {
      return versions
          .map(version -> version.resolve(name))
          .filter(Files::exists)
          .sorted()
          .collect(Collectors.toList());
    }
  }

  static List<Path> snapshots() throws IOException {
    List<Path> both = kept(PreparedScene.SNAPSHOT);
    both.addAll(kept(SlotScene.SNAPSHOT));
    return both;
  }

  static List<Path> streams() throws IOException {
    List<Path> both = kept(PreparedScene.STREAM);
    both.addAll(kept(SlotScene.STREAM));
    return both;
  }

  private static Scene after(String name) throws Exception {
    return name.startsWith("postgres") ? SlotScene.after(name) : PreparedScene.after(name);
  }

  /** Rows that were out when the savepoint was taken, and those that come behind it. */
  private static List<String> all(Path savepoint, int rows) throws Exception {
    List<String> before = Files.readAllLines(savepoint.resolve("rows"), StandardCharsets.UTF_8);
    assertFalse(before.isEmpty());
    try (Scene scene = after(savepoint.getFileName().toString());
        FixtureJob job = new FixtureJob(scene.source(), savepoint, 0)) {
      job.await(rows - before.size());
      List<String> all = new ArrayList<>(before);
      all.addAll(job.rows());
      return all;
    }
  }

  @ParameterizedTest
  @MethodSource("snapshots")
  void aHalfReadTableIsReadToItsEnd(Path savepoint) throws Exception {
    // Of the four rows that have changed, two were read before: an update (two rows) and a delete.
    List<String> rows = all(savepoint, 41 + 3);
    Map<Long, String> table = new HashMap<>();
    for (String row : rows) {
      String[] parts = row.split(" ", 3);
      long id = Long.parseLong(parts[1]);
      if (parts[0].startsWith("+")) {
        assertEquals(null, table.put(id, parts[2]), row + " came twice: " + rows);
      } else {
        assertTrue(table.remove(id, parts[2]), row + " was not there: " + rows);
      }
    }
    Map<Long, String> expected = new HashMap<>();
    LongStream.rangeClosed(2, 40).forEach(id -> expected.put(id, "old"));
    expected.putAll(Map.of(2L, "new", 39L, "new", 100L, "more"));
    assertEquals(expected, table);
  }

  @ParameterizedTest
  @MethodSource("streams")
  void transactionsThatWereOpenOrHalfOutComeWhole(Path savepoint) throws Exception {
    List<String> expected = new ArrayList<>(List.of("+I 1 old", "+I 2 old", "+I 3 old"));
    if (savepoint.endsWith(SlotScene.STREAM)) {
      expected.add("+I 300 out");
    } else {
      LongStream.range(300, 330).forEach(id -> expected.add("+I " + id + " half out"));
    }
    expected.addAll(List.of("+I 201 open before", "+I 202 open behind", "+I 400 after"));
    assertEquals(expected, all(savepoint, expected.size()));
  }
}
