package io.tidemark.bench;

import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * One run of a connector in a JVM of its own: a whole SQL job at parallelism 1 into a counting
 * sink. Its last line is a {@link Run}.
 */
public final class SlotsJob {
  private final Cpu cpu = new Cpu();
  private final Heap heap = new Heap();
  private final long begin = System.nanoTime();

  private SlotsJob() {}

  /**
   * Arguments: columns and WITH clause of the captured table, then {@code bounded}; {@code until}
   * and how many rows are to come; or {@code ages}, the seconds that do not count and those that
   * do.
   */
  public static void main(String[] args) throws Exception {
    FreshJvm.endWithParent();
    Configuration configuration = new Configuration();
    configuration.setString("parallelism.default", "1");
    configuration.setString("rest.port", "0");
    configuration.setString("execution.checkpointing.interval", "2 s");
    configuration.setString("restart-strategy.type", "disable");
    StreamTableEnvironment tables =
        StreamTableEnvironment.create(
            StreamExecutionEnvironment.getExecutionEnvironment(configuration));
    boolean ages = args[2].equals("ages");
    tables.executeSql("CREATE TABLE captured (" + args[0] + ") " + args[1]);
    tables.executeSql(
        "CREATE TABLE counted ("
            + args[0]
            + ") WITH ('connector' = 'counting'"
            + (ages ? ", 'clock' = '1'" : "")
            + ")");
    SlotsJob run = new SlotsJob();
    JobClient job =
        tables
            .executeSql("INSERT INTO counted SELECT * FROM captured")
            .getJobClient()
            .orElseThrow();
    switch (args[2]) {
      case "bounded":
        job.getJobExecutionResult().get();
        run.counted();
        break;
      case "until":
        long rows = Long.parseLong(args[3]);
        Waiting.until(rows + " rows", () -> CountingSink.rows() >= rows || ended(job));
        run.counted();
        break;
      default:
        Waiting.until("the first row", () -> CountingSink.ages().first() > 0 || ended(job));
        Thread.sleep(1000 * Long.parseLong(args[3]));
        new SlotsJob().aged(1000 * Long.parseLong(args[4]));
    }
    System.out.flush();
    // The job of a stream has no end, and a connector's threads may outlive it.
    Runtime.getRuntime().halt(0);
  }

  private void counted() throws Exception {
    Run run = new Run();
    run.rows = CountingSink.rows();
    run.sum = CountingSink.sum();
    run.whole = (System.nanoTime() - begin) / 1e9;
    run.behindFirst = (CountingSink.lastNanos() - CountingSink.firstNanos()) / 1e9;
    print(run);
  }

  /** Lets some time pass and tells of the rows that were written in it. */
  private void aged(long millis) throws Exception {
    Ages ages = CountingSink.ages();
    Run run = new Run();
    int before = ages.count();
    long from = System.currentTimeMillis() * 1000;
    Thread.sleep(millis);
    long to = System.currentTimeMillis() * 1000;
    run.rows = ages.count() - before;
    // What was written in that time may still be on its way.
    Waiting.until("a later row", () -> ages.between(to, Long.MAX_VALUE).length > 0);
    long[] counted = ages.between(from, to);
    run.medianAge = at(counted, 0.5);
    run.age99 = at(counted, 0.99);
    print(run);
  }

  private void print(Run run) throws Exception {
    run.cpu = cpu.seconds();
    run.allocated = heap.allocated();
    run.peak = Heap.peak();
    System.out.println(run);
  }

  /** False while it runs; throws what it ended with. */
  static boolean ended(JobClient job) throws Exception {
    if (job.getJobExecutionResult().isDone()) {
      job.getJobExecutionResult().get();
      throw new IllegalStateException("the job ended");
    }
    return false;
  }

  private static long at(long[] sorted, double part) {
    return sorted.length == 0 ? 0 : sorted[(int) (part * (sorted.length - 1))];
  }

  /** What a run measured, as one line. */
  static final class Run {
    long rows;

    /** The sum of their keys. */
    long sum;

    /** Seconds from the job's submission to its end, and from the first row to the last. */
    double whole;

    double behindFirst;

    /** Processor seconds of the JVM, heap bytes allocated, the most memory that the process had. */
    double cpu;

    long allocated;
    long peak;

    /** Microseconds from commit to sink. */
    long medianAge;

    long age99;

    static Run parse(String line) {
      String[] words = line.split(" ");
      Run run = new Run();
      run.rows = Long.parseLong(words[0]);
      run.sum = Long.parseLong(words[1]);
      run.whole = Double.parseDouble(words[2]);
      run.behindFirst = Double.parseDouble(words[3]);
      run.cpu = Double.parseDouble(words[4]);
      run.allocated = Long.parseLong(words[5]);
      run.peak = Long.parseLong(words[6]);
      run.medianAge = Long.parseLong(words[7]);
      run.age99 = Long.parseLong(words[8]);
      return run;
    }

    @Override
    public String toString() {
      return Stream.of(rows, sum, whole, behindFirst, cpu, allocated, peak, medianAge, age99)
          .map(Object::toString)
          .collect(Collectors.joining(" "));
    }
  }
}
