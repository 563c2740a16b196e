package io.tidemark.datastream;

import io.tidemark.TidemarkOptions;
import io.tidemark.TidemarkSource;
import io.tidemark.TidemarkSourceBuilder;
import io.tidemark.workload.StandIn;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Predicate;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.CloseableIterator;

/** A DataStream job over a source of ours; its records are taken as they come out. */
final class StreamJob<T> implements AutoCloseable {
  private final CloseableIterator<T> records;

  private StreamJob(CloseableIterator<T> records) {
    this.records = records;
  }

  /** Runs a job at a parallelism, with checkpoints, which may restart. */
  static <T> StreamJob<T> start(
      int parallelism, Function<StreamExecutionEnvironment, TidemarkSource<T>> source)
      throws Exception {
    return start(parallelism, source, new Failing<>(record -> false, 0));
  }

  /** The same with a function behind the source, which may fail. */
  static <T> StreamJob<T> start(
      int parallelism,
      Function<StreamExecutionEnvironment, TidemarkSource<T>> source,
      Failing<T> failing)
      throws Exception {
    Configuration configuration = new Configuration();
    configuration.setString("parallelism.default", Integer.toString(parallelism));
    configuration.setString("taskmanager.numberOfTaskSlots", Integer.toString(parallelism));
    configuration.setString("execution.checkpointing.interval", "50 ms");
    configuration.setString("restart-strategy.type", "fixed-delay");
    configuration.setString("restart-strategy.fixed-delay.attempts", "3");
    configuration.setString("restart-strategy.fixed-delay.delay", "50 ms");
    configuration.setString("rest.port", "0");
    StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    TidemarkSource<T> built = source.apply(environment);
    return new StreamJob<>(
        environment
            .fromSource(built, WatermarkStrategy.noWatermarks(), "source")
            .map(failing)
            .returns(built.getProducedType())
            .executeAndCollect());
  }

  /** A source over the stand-in. */
  static TidemarkSourceBuilder builder(StandIn standIn, String tables) {
    Map<String, String> options = standIn.tableOptions();
    TidemarkSourceBuilder builder =
        TidemarkSource.builder("dameng-cdc")
            .option(TidemarkOptions.HOSTNAME, options.remove("hostname"))
            .option(TidemarkOptions.PORT, Integer.valueOf(options.remove("port")))
            .option(TidemarkOptions.USERNAME, options.remove("username"))
            .option(TidemarkOptions.PASSWORD, options.remove("password"))
            .option(TidemarkOptions.SCHEMA_NAME, options.remove("schema-name"))
            .option(TidemarkOptions.TABLE_NAME, tables)
            .option(TidemarkOptions.SERVER_TIME_ZONE, "UTC");
    options.remove("table-name");
    return builder.options(Map.copyOf(options));
  }

  /** The next records, which must come. */
  List<T> take(int count) {
    List<T> taken = new ArrayList<>();
    while (taken.size() < count && records.hasNext()) {
      taken.add(records.next());
    }
    return taken;
  }

  @Override
  public void close() throws Exception {
    records.close();
  }

  /** Fails at records that a predicate knows, so many times in all attempts together. */
  static final class Failing<T> implements MapFunction<T, T> {
    private static final long serialVersionUID = 1L;

    /** Attempts of a job are objects of their own, in this process. */
    private static final Map<String, AtomicInteger> LEFT = new ConcurrentHashMap<>();

    private final String id = UUID.randomUUID().toString();
    private final SerializablePredicate<T> predicate;

    Failing(SerializablePredicate<T> predicate, int times) {
      this.predicate = predicate;
      LEFT.put(id, new AtomicInteger(times));
    }

    /** How many failures are still to come. */
    int left() {
      return Math.max(0, LEFT.get(id).get());
    }

    @Override
    public T map(T record) {
      if (LEFT.get(id).get() > 0 && predicate.test(record) && LEFT.get(id).getAndDecrement() > 0) {
        throw new IllegalStateException("a subtask fails, as the test asked for");
      }
      return record;
    }
  }

  /** A predicate that travels in a job. */
  interface SerializablePredicate<T> extends Predicate<T>, java.io.Serializable {}
}
