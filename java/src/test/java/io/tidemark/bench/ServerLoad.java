package io.tidemark.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * The most memory that a session of a server has had of its own, and the most that its spilled
 * transactions and temporary files took, seen every 20 ms.
 */
final class ServerLoad implements AutoCloseable {
  private final Path data;
  private final Path postmaster;
  private final Thread thread = new Thread(this::watch, "server-load");
  private volatile boolean stopping;
  private volatile long memory;
  private volatile long disk;

  ServerLoad(Path data) throws IOException {
    this.data = data;
    String pid = Files.readAllLines(data.resolve("postmaster.pid")).get(0);
    postmaster = Path.of("/proc", pid, "task", pid, "children");
    thread.setDaemon(true);
    thread.start();
  }

  /** In bytes. */
  long memory() {
    return memory;
  }

  /** In bytes. */
  long disk() {
    return disk;
  }

  private void watch() {
    while (!stopping) {
      try {
        for (String pid : Files.readString(postmaster).trim().split(" ")) {
          memory = Math.max(memory, anonymous(Path.of("/proc", pid, "status")));
        }
        disk =
            Math.max(
                disk, size(data.resolve("pg_replslot")) + size(data.resolve("base/pgsql_tmp")));
        Thread.sleep(20);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private static long anonymous(Path status) {
    try {
      return Heap.status(status, "RssAnon");
    } catch (IOException gone) {
      return 0;
    }
  }

  private static long size(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files.mapToLong(ServerLoad::length).sum();
    } catch (NoSuchFileException | UncheckedIOException gone) {
      return 0; // while it was read
    }
  }

  private static long length(Path file) {
    try {
      return Files.isRegularFile(file) ? Files.size(file) : 0;
    } catch (IOException gone) {
      return 0;
    }
  }

  @Override
  public void close() throws InterruptedException {
    stopping = true;
    thread.join();
  }
}
