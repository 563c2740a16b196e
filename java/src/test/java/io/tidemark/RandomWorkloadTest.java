package io.tidemark;

import io.tidemark.workload.ArchiveLag;
import io.tidemark.workload.RandomWorkload;
import io.tidemark.workload.StandIn;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@link RandomWorkload} over a Dameng whose archives lag behind its log. */
class RandomWorkloadTest {
  private static final long ROWS = 4_000;
  private static final int KILLS = Integer.getInteger("tidemark.test.kills", 4);
  private static final long SEED = Long.getLong("tidemark.test.seed", 20261129L);

  @TempDir Path folder;

  @Test
  void changelogIsWholeAfterKills() throws Exception {
    try (StandIn standIn = StandIn.start()) {
      new RandomWorkload(folder, standIn.jdbcUrl(), ROWS, KILLS, SEED)
          .run(
              standIn.with("scan.incremental.snapshot.chunk.size", "500"),
              new ArchiveLag(standIn.jdbcUrl(), SEED));
    }
  }
}
