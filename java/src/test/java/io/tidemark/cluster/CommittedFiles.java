package io.tidemark.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the FileSink of {@link ChangelogFiles} has committed. */
final class CommittedFiles {
  private final Path folder;
  private final Set<Path> read = new HashSet<>();
  private final List<BankRow> snapshot = new ArrayList<>();
  private final List<BankRow> log = new ArrayList<>();
  private final Set<Long> transactions = new HashSet<>();

  CommittedFiles(Path folder) {
    this.folder = folder;
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

  boolean has(long transaction) {
    look();
    return transactions.contains(transaction);
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
            BankRow row = new BankRow(line);
            (row.transaction == null ? snapshot : log).add(row);
            transactions.add(row.transaction);
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
