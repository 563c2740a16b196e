package io.tidemark.cluster;

import io.tidemark.cluster.LargeTransactions.Cost;
import io.tidemark.cluster.LargeTransactions.End;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * What large transactions cost: memory of a TaskManager with a heap of 512 MB, and work at growing
 * sizes. Judged: what is resident minus what is committed to the heap is at most 400 MB, whatever
 * runs.
 */
public final class MemoryBench {
  private static final long LIMIT = 400L << 20;

  private MemoryBench() {}

  /**
   * Arguments: the most rows (10,000,000), from 100,000 on; then names and values of options of the
   * captured table.
   */
  public static void main(String[] args) throws Exception {
    long most = args.length > 0 ? Long.parseLong(args[0]) : 10_000_000;
    String[] options = args.length > 1 ? Arrays.copyOfRange(args, 1, args.length) : new String[0];
    Path folder = Files.createTempDirectory("tidemark-memory");
    long memory = 0;
    try (LargeTransactions run = new LargeTransactions(folder, options)) {
      for (long rows = 100_000; rows <= most; rows *= 10) {
        memory = Math.max(memory, one(run, rows, 100, End.COMMIT));
      }
      memory = Math.max(memory, one(run, most / 10, 1_000, End.COMMIT));
      memory = Math.max(memory, one(run, most / 10, 100, End.ROLLBACK));
    } finally {
      Files.deleteIfExists(folder.resolve("counts"));
      Files.deleteIfExists(folder.resolve("sink.jar"));
      Files.deleteIfExists(folder);
    }
    System.out.printf(
        "%d MB at most minus the committed heap: %s%n",
        memory >> 20, memory < LIMIT ? "flat" : "TOO MUCH, 400 MB are allowed");
    System.exit(memory < LIMIT ? 0 : 1);
  }

  private static long one(LargeTransactions run, long rows, int text, End end) throws Exception {
    Cost cost = run.run(rows, text, end);
    System.out.printf("%-8s %,11d rows of %,5d bytes: %s%n", end, rows, text, cost);
    return cost.minusCommitted;
  }
}
