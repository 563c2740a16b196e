package io.tidemark.cluster;

import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;

/**
 * Waits for moments of a job that another transaction has no part in. Where a moment would pass,
 * processes that would let it pass stand still until the fault is struck.
 */
final class Moments {
  /** What a reader logs. */
  static final String SNAPSHOT_READ = "the snapshot of this reader is read";

  static final String STREAM_BEGINS = "the stream begins at";

  private static final Duration SOON = Duration.ofMillis(1);

  /** How long ZooKeeper may stand still before the JobManager takes it for lost. */
  private static final Duration HELD = Duration.ofSeconds(2);

  /** A checkpoint may be complete before ZooKeeper stands still. */
  private static final int ATTEMPTS = 50;

  private final FlinkCluster cluster;
  private final Random random;
  private final long snapshotsRead;
  private final long streamsBegun;
  private final List<String> frozen = new ArrayList<>();
  private boolean missed;

  Moments(FlinkCluster cluster, Random random) {
    this.cluster = cluster;
    this.random = random;
    snapshotsRead = cluster.logged(SNAPSHOT_READ);
    streamsBegun = cluster.logged(STREAM_BEGINS);
  }

  /** Whether the job reads the log. */
  boolean streams() {
    return cluster.logged(STREAM_BEGINS) > streamsBegun;
  }

  /** Whether the last moment had passed before it could be held. */
  boolean missed() {
    return missed;
  }

  void await(Moment moment) throws Exception {
    missed = false;
    long newest = cluster.newestCheckpoint();
    switch (moment) {
      case SNAPSHOT:
        long wanted = newest + 1 + random.nextInt(2);
        cluster.await("checkpoint " + wanted, () -> cluster.newestCheckpoint() >= wanted);
        break;
      case SNAPSHOT_READ:
        cluster.await(
            "a reader's end of the snapshot",
            SOON,
            () -> cluster.logged(SNAPSHOT_READ) > snapshotsRead);
        break;
      case STREAM_BEGINS:
        streamBegins();
        break;
      case CHECKPOINT:
        cluster.await("a checkpoint", SOON, () -> cluster.openCheckpoint().isPresent());
        break;
      case CHECKPOINT_COMPLETE:
        completesUntold();
        break;
      default:
        pause(1_000);
    }
  }

  /** Lets everything go on. */
  void pass() throws IOException {
    for (String name : frozen) {
      cluster.thaw(name);
    }
    frozen.clear();
  }

  /** The moment inside a checkpoint interval is what chance decides; nothing waits for it. */
  void pause(int millis) throws InterruptedException {
    Thread.sleep(random.nextInt(millis));
  }

  private void freeze(String name) throws IOException {
    frozen.add(name);
    cluster.freeze(name);
  }

  /** No checkpoint is complete between the two, since the JobManager stands still. */
  private void streamBegins() throws Exception {
    long[] before = new long[1];
    cluster.await(
        "the begin of the stream",
        SOON,
        () -> {
          before[0] = cluster.newestCheckpoint();
          return streams();
        });
    freeze(FlinkCluster.JOB_MANAGER);
    missed = cluster.newestCheckpoint() > before[0];
  }

  private void completesUntold() throws Exception {
    for (int attempt = 1; !untold(); attempt++) {
      pass();
      if (attempt == ATTEMPTS) {
        fail("no checkpoint was complete while nobody could be told");
      }
      long newest = cluster.newestCheckpoint();
      cluster.await("one more checkpoint", () -> cluster.newestCheckpoint() > newest);
    }
  }

  /**
   * While ZooKeeper stands still the JobManager can write the metadata of a checkpoint that has
   * begun, but not note that it is complete; when it can, the TaskManagers stand still, so that its
   * notice reaches none.
   */
  private boolean untold() throws Exception {
    cluster.await("a checkpoint", SOON, () -> cluster.openCheckpoint().isPresent());
    freeze(FlinkCluster.ZOOKEEPER);
    long before = cluster.newestCheckpoint();
    if (cluster.openCheckpoint().isEmpty()) {
      return false;
    }
    if (!soon(() -> cluster.newestCheckpoint() > before)) {
      return false;
    }
    for (String name : FlinkCluster.TASK_MANAGERS) {
      freeze(name);
    }
    cluster.thaw(FlinkCluster.ZOOKEEPER);
    String complete = "Completed checkpoint " + cluster.newestCheckpoint() + " for job";
    // Unless the JobManager took ZooKeeper for lost after all.
    return soon(() -> cluster.logged(FlinkCluster.JOB_MANAGER, complete) > 0);
  }

  private static boolean soon(Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + HELD.toNanos();
    while (!condition.call()) {
      if (System.nanoTime() > deadline) {
        return false;
      }
      Thread.sleep(SOON.toMillis());
    }
    return true;
  }
}
