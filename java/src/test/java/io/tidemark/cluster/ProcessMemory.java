package io.tidemark.cluster;

import io.tidemark.workload.Shell;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The memory of another JVM (Linux), as the kernel counts it: what is resident, and what of that is
 * not of its heap. Looks several times a second until it is closed.
 */
final class ProcessMemory implements AutoCloseable {
  private static final Pattern RANGE = Pattern.compile("0x([0-9a-f]+)");
  private static final Pattern MAPPING = Pattern.compile("^([0-9a-f]+)-([0-9a-f]+) (....) .*");
  private static final long PAUSE_MILLIS = 200;
  private final long process;
  private final long heapBegin;
  private final long heapEnd;
  private final Thread watching = new Thread(this::watch, "memory of a process");
  private volatile boolean closed;
  private volatile Exception failure;
  private long resident;
  private long besideHeap;
  private long minusCommitted;
  private long looks;

  /** Begins to look. */
  ProcessMemory(long process) throws IOException {
    this.process = process;
    // Both generations of the serial collector: where they begin, what is theirs now, and what is
    // reserved.
    String heap = Shell.run(Map.of(), List.of("jcmd", Long.toString(process), "GC.heap_info"));
    long begin = Long.MAX_VALUE;
    long end = 0;
    for (String line : heap.split("\n")) {
      if (line.contains(" generation ") && line.contains("total")) {
        Matcher address = RANGE.matcher(line);
        while (address.find()) {
          long at = Long.parseUnsignedLong(address.group(1), 16);
          begin = Math.min(begin, at);
          end = Math.max(end, at);
        }
      }
    }
    if (end == 0) {
      throw new IOException("no generations in:\n" + heap);
    }
    heapBegin = begin;
    heapEnd = end;
    look();
    watching.setDaemon(true);
    watching.start();
  }

  /** The most that was resident at once, in bytes. */
  synchronized long resident() {
    return resident;
  }

  /** The most that was resident at once beside the heap, in bytes. */
  synchronized long besideHeap() {
    return besideHeap;
  }

  /**
   * The same, with all of the heap that is committed taken for resident: what Flink counts with.
   */
  synchronized long minusCommitted() {
    return minusCommitted;
  }

  /** Forgets what was. */
  synchronized void reset() throws IOException {
    resident = 0;
    besideHeap = 0;
    minusCommitted = 0;
    look();
  }

  /** Processor time that the process has taken, in seconds. */
  double cpuSeconds() throws IOException {
    String stat = Files.readString(Path.of("/proc/" + process + "/stat"), StandardCharsets.UTF_8);
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / 100.0;
  }

  private void watch() {
    try {
      while (!closed) {
        look();
        Thread.sleep(PAUSE_MILLIS);
      }
    } catch (IOException | InterruptedException e) {
      failure = closed ? null : e;
    }
  }

  private synchronized void look() throws IOException {
    long all = 0;
    long heap = 0;
    long committed = 0;
    boolean inHeap = false;
    for (String line :
        Files.readAllLines(Path.of("/proc/" + process + "/smaps"), StandardCharsets.ISO_8859_1)) {
      Matcher mapping = MAPPING.matcher(line);
      if (mapping.matches()) {
        long at = Long.parseUnsignedLong(mapping.group(1), 16);
        inHeap = Long.compareUnsigned(at, heapBegin) >= 0 && Long.compareUnsigned(at, heapEnd) < 0;
        if (inHeap && mapping.group(3).startsWith("rw")) {
          committed += Long.parseUnsignedLong(mapping.group(2), 16) - at;
        }
      } else if (line.startsWith("Rss:")) {
        long bytes = Long.parseLong(line.replaceAll("\\D", "")) * 1024;
        all += bytes;
        heap += inHeap ? bytes : 0;
      }
    }
    looks++;
    minusCommitted = Math.max(minusCommitted, all - committed);
    resident = Math.max(resident, all);
    besideHeap = Math.max(besideHeap, all - heap);
  }

  @Override
  public void close() throws IOException {
    closed = true;
    if (failure != null) {
      throw new IOException("after " + looks + " looks", failure);
    }
  }
}
