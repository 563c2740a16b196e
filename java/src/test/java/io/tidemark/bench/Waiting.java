package io.tidemark.bench;

import java.time.Duration;

/** Waits for what must come. */
final class Waiting {
  private static final Duration PATIENCE = Duration.ofMinutes(30);

  private Waiting() {}

  interface Condition {
    boolean holds() throws Exception;
  }

  static void until(String what, Condition condition) throws Exception {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.holds()) {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("waited in vain for " + what);
      }
      Thread.sleep(5);
    }
  }
}
