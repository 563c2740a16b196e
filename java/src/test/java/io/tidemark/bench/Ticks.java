package io.tidemark.bench;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Writers that put rows into {@link SlotTables#TICKS} at a steady rate, each in its own
 * transaction.
 */
final class Ticks implements AutoCloseable {
  private static final int WRITERS = 4;
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean stopping;
  private volatile SQLException failure;

  Ticks(String url, int perSecond) {
    for (int n = 0; n < WRITERS; n++) {
      long period = TimeUnit.SECONDS.toNanos(WRITERS) / perSecond;
      long offset = period / WRITERS * n;
      threads.add(new Thread(() -> write(url, period, offset), "ticks-" + n));
    }
  }

  void start() {
    threads.forEach(Thread::start);
  }

  private void write(String url, long period, long offset) {
    try (Connection connection = DriverManager.getConnection(url);
        Statement statement = connection.createStatement()) {
      for (long due = System.nanoTime() + offset; !stopping; due += period) {
        for (long left; (left = due - System.nanoTime()) > 0; ) {
          LockSupport.parkNanos(left);
        }
        // The statement commits itself: the time is that of its commit, but for its own few µs.
        statement.execute(
            "INSERT INTO bench.ticks (written) VALUES ((extract(epoch FROM clock_timestamp()) * 1000000)::bigint)");
      }
    } catch (SQLException e) {
      failure = e;
    }
  }

  @Override
  public void close() throws Exception {
    stopping = true;
    for (Thread thread : threads) {
      thread.join();
    }
    if (failure != null) {
      throw failure;
    }
  }
}
