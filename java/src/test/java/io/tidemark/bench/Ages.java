package io.tidemark.bench;

import java.util.Arrays;

/** When rows were written and when they came, in microseconds since 1970. */
final class Ages {
  private long[] written = new long[1024];
  private long[] came = new long[1024];
  private int count;

  synchronized void add(long writtenMicros, long cameMicros) {
    if (count == written.length) {
      written = Arrays.copyOf(written, count * 2);
      came = Arrays.copyOf(came, count * 2);
    }
    written[count] = writtenMicros;
    came[count++] = cameMicros;
  }

  synchronized int count() {
    return count;
  }

  /** When the first row came, 0 before. */
  synchronized long first() {
    return count == 0 ? 0 : came[0];
  }

  /** The ages of the rows that were written in a period, in ascending order. */
  synchronized long[] between(long fromMicros, long toMicros) {
    long[] ages = new long[count];
    int taken = 0;
    for (int n = 0; n < count; n++) {
      if (written[n] >= fromMicros && written[n] < toMicros) {
        ages[taken++] = came[n] - written[n];
      }
    }
    ages = Arrays.copyOf(ages, taken);
    Arrays.sort(ages);
    return ages;
  }
}
