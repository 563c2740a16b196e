package io.tidemark.source;

import io.tidemark.Frame;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;

/**
 * The core's gauges in a metric group of Flink. One call asks for all of them, at most once a
 * second.
 */
public final class CoreGauges {
  private static final long FRESH_NANOS = 1_000_000_000L;

  private final Supplier<Map<String, Long>> source;
  private Map<String, Long> values;
  private long readAt = System.nanoTime();

  private CoreGauges(Supplier<Map<String, Long>> source) {
    this.source = source;
    this.values = source.get();
  }

  /**
   * Registers a gauge for each name that {@code source} has. An empty map, which a closed core
   * gives, leaves the values as they were.
   */
  public static CoreGauges register(MetricGroup group, Supplier<Map<String, Long>> source) {
    CoreGauges gauges = new CoreGauges(source);
    for (String name : gauges.values.keySet()) {
      group.gauge(name, (Gauge<Long>) () -> gauges.value(name, 0));
    }
    return gauges;
  }

  /** Reads what the core hands over. */
  public static Map<String, Long> decode(byte[] bytes) {
    Map<String, Long> values = new HashMap<>();
    Frame.list(bytes, frame -> values.put(frame.text(), frame.i64()));
    return values;
  }

  /** The value of a gauge, or what to say where there is none. */
  public synchronized long value(String name, long otherwise) {
    long now = System.nanoTime();
    if (now - readAt >= FRESH_NANOS) {
      Map<String, Long> fresh = source.get();
      values = fresh.isEmpty() ? values : fresh;
      readAt = now;
    }
    return values.getOrDefault(name, otherwise);
  }
}
