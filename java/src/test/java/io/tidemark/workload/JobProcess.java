package io.tidemark.workload;

import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.configuration.Configuration;

/**
 * A job in a process of its own that is killed and started again from its newest checkpoint: folder
 * {@code lines} has what it committed, {@code checkpoints} what it restores, {@code job.log} what
 * it said.
 */
public final class JobProcess implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(180);

  private final Path folder;
  private final Class<?> main;
  private final List<String> arguments;
  private Process process;
  private int starts;

  /**
   * @param main its class; arguments are folder of lines, folder of checkpoints, checkpoint to
   *     restore or -, one row in how many fails, seed, and those given here
   */
  public JobProcess(Path folder, Class<?> main, List<String> arguments) throws IOException {
    this.folder = folder;
    this.main = main;
    this.arguments = arguments;
    Files.createDirectory(lines());
    Files.createDirectory(checkpoints());
  }

  /** How such jobs are configured. */
  static Configuration configuration(String checkpoints, String restore, int parallelism) {
    Configuration configuration = new Configuration();
    configuration.setString("parallelism.default", Integer.toString(parallelism));
    configuration.setString("taskmanager.numberOfTaskSlots", Integer.toString(parallelism));
    configuration.setString("execution.checkpointing.interval", "300 ms");
    String folder = Path.of(checkpoints).toUri().toString();
    configuration.setString("execution.checkpointing.dir", folder);
    configuration.setString("state.checkpoints.dir", folder);
    configuration.setString(
        "execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    configuration.setString("execution.checkpointing.num-retained", "3");
    configuration.setString("restart-strategy.type", "fixed-delay");
    configuration.setString("restart-strategy.fixed-delay.attempts", "1000000");
    configuration.setString("restart-strategy.fixed-delay.delay", "50 ms");
    configuration.setString("rest.port", "0");
    if (!restore.equals("-")) {
      configuration.setString("execution.state-recovery.path", Path.of(restore).toUri().toString());
    }
    return configuration;
  }

  public Path lines() {
    return folder.resolve("lines");
  }

  private Path checkpoints() {
    return folder.resolve("checkpoints");
  }

  /** Starts it; {@code failOneIn}: one row in so many fails. */
  public void start(int failOneIn, long seed) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx512m");
    command.add("-Dlog4j2.configurationFile=job-log4j2.properties");
    command.addAll(List.of(System.getProperty("tidemark.test.jvm").trim().split("\\s+")));
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(main.getName());
    command.add(lines().toString());
    command.add(checkpoints().toString());
    command.add(newest().map(Path::toString).orElse("-"));
    command.add(Integer.toString(failOneIn));
    command.add(Long.toString(seed + starts++));
    command.addAll(arguments);
    process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(folder.resolve("job.log").toFile()))
            .start();
  }

  /**
   * Starts it unless it runs, and kills it so often, each time some checkpoints later and at a
   * moment that chance decides; then starts it once more.
   */
  public void startAndKill(int kills, int failOneIn, long seed) throws Exception {
    Random random = new Random(seed);
    for (int kill = 0; kill < kills; kill++) {
      long committed = newestCheckpoint();
      if (process == null || !process.isAlive()) {
        start(failOneIn, seed);
      }
      long wanted = committed + random.nextInt(6);
      await("checkpoint " + wanted, () -> newestCheckpoint() >= wanted);
      // The moment inside a checkpoint interval is what chance decides here; nothing waits for it.
      long until = System.nanoTime() + Duration.ofMillis(random.nextInt(700)).toNanos();
      while (System.nanoTime() < until) {
        Thread.onSpinWait();
      }
      process.destroyForcibly().waitFor();
    }
    start(failOneIn, seed);
  }

  /** Waits for a condition, which must come while the job runs. */
  public void await(String what, Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.call()) {
      if (!process.isAlive()) {
        fail("the job ended while waiting for " + what);
      }
      if (System.nanoTime() > deadline) {
        fail("waited " + PATIENCE.toSeconds() + " s for " + what);
      }
      Thread.sleep(50);
    }
  }

  /** Number of the newest complete checkpoint, 0 without one; they count on after a restore. */
  private long newestCheckpoint() throws IOException {
    return newest().map(JobProcess::number).orElse(0L);
  }

  /** The newest complete checkpoint of all starts. */
  private Optional<Path> newest() throws IOException {
    try (Stream<Path> paths = Files.walk(checkpoints(), 3)) {
      return paths
          .filter(path -> path.getFileName().toString().equals("_metadata"))
          .map(Path::getParent)
          .max(Comparator.comparingLong(JobProcess::number));
    } catch (UncheckedIOException e) {
      return newest(); // a checkpoint was dropped while the folder was read
    }
  }

  private static long number(Path checkpoint) {
    return Long.parseLong(checkpoint.getFileName().toString().substring("chk-".length()));
  }

  /** The end of what it said, without stack frames. */
  public String log() throws IOException {
    Path log = folder.resolve("job.log");
    if (!Files.exists(log)) {
      return "";
    }
    List<String> lines =
        Files.readAllLines(log, StandardCharsets.UTF_8).stream()
            .filter(line -> !line.startsWith("\tat ") && !line.contains("Driver does not support"))
            .collect(Collectors.toList());
    return String.join("\n", lines.subList(Math.max(0, lines.size() - 80), lines.size()));
  }

  @Override
  public void close() throws InterruptedException {
    if (process != null) {
      process.destroyForcibly().waitFor();
    }
  }
}
