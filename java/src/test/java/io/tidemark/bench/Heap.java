package io.tidemark.bench;

import com.sun.management.GarbageCollectionNotificationInfo;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

/**
 * The heap bytes that this process has allocated since this was made, by what its collections freed
 * (counting by thread would lose threads that have ended), and the memory that it has had.
 */
final class Heap {
  private final Set<String> pools =
      ManagementFactory.getMemoryPoolMXBeans().stream()
          .filter(pool -> pool.getType() == MemoryType.HEAP)
          .map(MemoryPoolMXBean::getName)
          .collect(Collectors.toSet());
  private long freed;
  private long told;
  private final long created = ManagementFactory.getRuntimeMXBean().getUptime();
  private final long collectionsBefore = collections();
  private final long since = used();

  Heap() {
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      ((NotificationEmitter) collector)
          .addNotificationListener(
              (notification, handback) -> {
                if (notification
                    .getType()
                    .equals(GarbageCollectionNotificationInfo.GARBAGE_COLLECTION_NOTIFICATION)) {
                  collected(
                      GarbageCollectionNotificationInfo.from(
                          (CompositeData) notification.getUserData()));
                }
              },
              null,
              null);
    }
  }

  private synchronized void collected(GarbageCollectionNotificationInfo collection) {
    if (collection.getGcInfo().getStartTime() < created) {
      return;
    }
    told++;
    freed +=
        sum(collection.getGcInfo().getMemoryUsageBeforeGc())
            - sum(collection.getGcInfo().getMemoryUsageAfterGc());
  }

  private long sum(Map<String, MemoryUsage> usage) {
    return usage.entrySet().stream()
        .filter(pool -> pools.contains(pool.getKey()))
        .mapToLong(pool -> pool.getValue().getUsed())
        .sum();
  }

  private static long used() {
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  long allocated() throws InterruptedException {
    // A collection is told of some time after it.
    for (int waited = 0; !allTold() && waited < 1000; waited++) {
      Thread.sleep(1);
    }
    synchronized (this) {
      return freed + used() - since;
    }
  }

  private synchronized boolean allTold() {
    return told >= collections() - collectionsBefore;
  }

  private static long collections() {
    return ManagementFactory.getGarbageCollectorMXBeans().stream()
        .mapToLong(GarbageCollectorMXBean::getCollectionCount)
        .sum();
  }

  /** The most memory that the process has had at once, in bytes (Linux: VmHWM). */
  static long peak() throws IOException {
    return status(Path.of("/proc/self/status"), "VmHWM");
  }

  /** A figure in kB of a process's status file, in bytes; 0 where it does not stand. */
  static long status(Path file, String name) throws IOException {
    return Files.readAllLines(file).stream()
        .filter(line -> line.startsWith(name + ":"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * 1024)
        .findFirst()
        .orElse(0);
  }
}
