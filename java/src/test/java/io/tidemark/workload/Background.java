package io.tidemark.workload;

/** What goes on beside the writers, on a thread of its own, until it is closed. */
abstract class Background implements RandomWorkload.Disturbance {
  private final Thread thread;
  private final String failed;
  private volatile boolean stopping;
  private volatile Exception failure;

  /**
   * @param name the thread's
   * @param failed what to say where it goes wrong
   */
  Background(String name, String failed) {
    this.failed = failed;
    thread = new Thread(this::runAll, name);
    thread.setDaemon(true);
  }

  /** Goes on until it is stopping. */
  abstract void run() throws Exception;

  final boolean isStopping() {
    return stopping;
  }

  @Override
  public final void start() {
    thread.start();
  }

  private void runAll() {
    try {
      run();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Exception e) {
      failure = e;
    }
  }

  /** Ends it, and reports what went wrong, if anything. */
  @Override
  public final void close() {
    stopping = true;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (failure != null) {
      throw new IllegalStateException(failed, failure);
    }
  }
}
