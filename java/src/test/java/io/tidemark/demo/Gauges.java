package io.tidemark.demo;

import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricConfig;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.reporter.MetricReporter;
import org.apache.flink.metrics.reporter.MetricReporterFactory;

/** Keeps the gauges of the jobs in this JVM, by name: for the progress line, and for tests. */
public final class Gauges implements MetricReporterFactory {
  private static final Map<String, Gauge<?>> GAUGES = new ConcurrentHashMap<>();

  /** Chunks done and planned, as the enumerator counts them. */
  static String chunks() {
    return value("chunksDone") + "/" + value("chunksPlanned");
  }

  /** The value of the newest gauge of this name, or {@code -} if no job has one. */
  public static Object value(String name) {
    Gauge<?> gauge = GAUGES.get(name);
    return gauge == null ? "-" : gauge.getValue();
  }

  @Override
  public MetricReporter createMetricReporter(Properties properties) {
    return new MetricReporter() {
      @Override
      public void open(MetricConfig config) {}

      @Override
      public void close() {}

      @Override
      public void notifyOfAddedMetric(Metric metric, String name, MetricGroup group) {
        if (metric instanceof Gauge) {
          GAUGES.put(name, (Gauge<?>) metric);
        }
      }

      @Override
      public void notifyOfRemovedMetric(Metric metric, String name, MetricGroup group) {
        GAUGES.remove(name, metric);
      }
    };
  }
}
