package io.tidemark.source.reader;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.connector.base.source.reader.synchronization.FutureCompletingBlockingQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread that asks the core for messages, and the short queue in which they wait for the task
 * thread.
 */
final class Fetcher implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(Fetcher.class);

  /** One is being emitted, one waits, one is being made: more would only hold memory. */
  private static final int WAITING_MESSAGES = 1;

  private static final long POLL_MILLIS = 1000;
  private static final long JOIN_MILLIS = TimeUnit.SECONDS.toMillis(30);

  private final ReaderCore core;
  private final Thread thread;
  private final FutureCompletingBlockingQueue<Message> waiting =
      new FutureCompletingBlockingQueue<>(WAITING_MESSAGES);
  private volatile boolean closed;

  Fetcher(ReaderCore core, int subtask) {
    this.core = core;
    thread = new Thread(this, "tidemark-fetcher-" + subtask);
    thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  /** The next message, or null. Behind an end or a failure nothing follows. */
  Message poll() {
    return waiting.poll();
  }

  /** Complete when {@link #poll()} has something. */
  CompletableFuture<Void> available() {
    return waiting.getAvailabilityFuture();
  }

  /** Has the task thread poll, though nothing came. */
  void wakeTask() {
    waiting.notifyAvailable();
  }

  @Override
  public void run() {
    try {
      boolean more = true;
      while (more && !closed) {
        Message message = next();
        if (message != null) {
          more = waiting.put(0, message) && !message.last;
        }
      }
    } catch (InterruptedException e) {
      LOG.debug("The fetcher was interrupted.", e);
    }
  }

  private Message next() {
    try {
      return core.next(POLL_MILLIS);
    } catch (RuntimeException e) {
      return Message.failed(e);
    } catch (Error e) {
      return Message.failed(new IllegalStateException("fetching failed", e));
    }
  }

  /** Wakes the thread wherever it waits, and gives it some time to end. */
  void close() {
    closed = true;
    core.cancel();
    waiting.wakeUpPuttingThread(0);
    try {
      thread.join(JOIN_MILLIS);
    } catch (InterruptedException e) {
      // Flink cancels the task: it does not want to wait, and closes in any case.
      Thread.currentThread().interrupt();
    }
    if (thread.isAlive()) {
      LOG.warn(
          "{} does not come back from the database; it is left behind with its connection.",
          thread.getName());
    }
  }
}
