package io.tidemark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.cluster.LargeTransactions.Cost;
import io.tidemark.cluster.LargeTransactions.End;
import java.nio.file.Path;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@link LargeTransactions} so large that they do not fit into {@code transaction.memory}. */
class LargeTransactionsTest {
  /** Beside the heap; what the connector takes is far below, but JVMs differ. */
  private static final long LIMIT = 400L << 20;

  /** Of {@code transaction.memory}: what fits into it need not be spilled. */
  private static final long BUDGET = 1 << 20;

  @TempDir Path folder;

  @Test
  void memoryIsFlatAndWorkIsLinear() throws Exception {
    try (LargeTransactions run =
        new LargeTransactions(
            folder, "transaction.memory", "1 mb", "transaction.fragment.rows", "1000")) {
      Cost first = run.run(20_000, 100, End.COMMIT);
      Cost many = run.run(100_000, 100, End.COMMIT);
      Cost wide = run.run(20_000, 1_000, End.COMMIT);
      Cost undone = run.run(20_000, 100, End.ROLLBACK);
      String all = first + "\n" + many + "\n" + wide + "\n" + undone;
      System.out.println(all);
      assertLinear(all, first.rows, many.rows, first.read, many.read, 0);
      assertLinear(all, first.rows, many.rows, first.spilled, many.spilled, BUDGET);
      assertEquals(first.spilled, undone.spilled, 0.2 * first.spilled, all);
      assertTrue(wide.spilled > 20_000L * 1_000 && wide.spilled < 20_000L * 1_400, all);
      long most =
          LongStream.of(first.besideHeap, many.besideHeap, wide.besideHeap, undone.besideHeap)
              .max()
              .orElseThrow();
      assertTrue(most < LIMIT, all);
      // The first one has the JVM warm up; the others are larger than all that may come on top.
      assertTrue(most < first.besideHeap + (64L << 20), all);
      for (Path temporary : run.cluster().temporaryFolders()) {
        assertEquals(
            1, SpillFiles.rooms(temporary).size(), "each temporary folder is used in its turn");
      }
      run.cluster().cancel();
      for (Path temporary : run.cluster().temporaryFolders()) {
        assertEquals(0, SpillFiles.rooms(temporary).size(), "nothing is left behind");
      }
    }
  }

  /** Of the work for each transaction, up to {@code spared} was not needed. */
  private static void assertLinear(
      String all, long rows, long more, long work, long moreWork, long spared) {
    double least = (double) work / rows * more - spared;
    double most = (double) (work + spared) / rows * more;
    assertTrue(moreWork > 0.95 * least && moreWork < 1.05 * most, all);
  }
}
