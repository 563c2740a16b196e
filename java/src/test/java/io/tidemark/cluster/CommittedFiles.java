package io.tidemark.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the FileSink of {@link ChangelogFiles} has committed. */
final class CommittedFiles {
  private final Path folder;
  private final String since;
  private final Set<Path> read = new HashSet<>();
  private final List<BankRow> snapshot = new ArrayList<>();
  private final List<BankRow> log = new ArrayList<>();
  private final Map<Long, Integer> rows = new HashMap<>();

  /**
   * @param since rows that were written before are passed over: milliseconds since the epoch
   */
  CommittedFiles(Path folder, long since) {
    this.folder = folder;
    this.since = String.format("%013d", since);
  }

  /** Rows of the snapshot, in no order. */
  List<BankRow> snapshot() {
    look();
    return snapshot;
  }

  /** Rows of the log, in the order that they were written in. */
  List<BankRow> log() {
    look();
    log.sort(Comparator.comparing(row -> row.when));
    return log;
  }

  /** How many rows a transaction has so far. */
  int rows(long transaction) {
    look();
    return rows.getOrDefault(transaction, 0);
  }

  /** Reads what has come since; a committed file does not change. */
  private void look() {
    if (!Files.exists(folder)) {
      return;
    }
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.collect(Collectors.toList())) {
        if (file.getFileName().toString().startsWith("part-") && read.add(file)) {
          for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
            if (line.compareTo(since) < 0) {
              continue;
            }
            BankRow row = new BankRow(line);
            (row.transaction == null ? snapshot : log).add(row);
            rows.merge(row.transaction, 1, Integer::sum);
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
