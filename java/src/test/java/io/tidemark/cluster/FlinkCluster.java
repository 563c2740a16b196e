package io.tidemark.cluster;

import static org.junit.jupiter.api.Assertions.fail;

import io.tidemark.workload.Shell;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A Flink cluster of processes ({@code scripts/cluster/cluster.sh}) that a test kills; it ends with
 * this JVM at the latest.
 */
public final class FlinkCluster implements AutoCloseable {
  public static final String ZOOKEEPER = "zookeeper";
  public static final String JOB_MANAGER = "jobmanager";
  public static final List<String> TASK_MANAGERS = List.of("taskmanager-1", "taskmanager-2");

  private static final Duration PATIENCE = Duration.ofSeconds(240);
  private static final Pattern JOB = Pattern.compile("Job ID: ([0-9a-f]{32})");

  private final Path folder;
  private final Path script;
  private final Map<String, String> environment = new HashMap<>();
  private String job;
  private boolean hasDisksOfItsOwn;

  private FlinkCluster(Path folder, Path script) {
    this.folder = folder;
    this.script = script;
  }

  /**
   * Starts one of the Flink that tests run with.
   *
   * @param folder that is not there yet
   * @param configuration lines for its config.yaml
   */
  public static FlinkCluster start(Path folder, String... configuration) throws IOException {
    return start(folder, Map.of(), configuration);
  }

  /** The same with variables of the script's environment. */
  public static FlinkCluster start(
      Path folder, Map<String, String> environment, String... configuration) throws IOException {
    Path script =
        Path.of(System.getProperty("tidemark.test.basedir", "."), "scripts/cluster/cluster.sh");
    FlinkCluster cluster = new FlinkCluster(folder, script);
    cluster.environment.putAll(environment);
    String version = System.getProperty("tidemark.test.flink");
    if (version != null) {
      cluster.environment.put("FLINK_VERSION", version);
    }
    cluster.environment.put("FLINK_CONFIG", String.join("\n", configuration));
    cluster.hasDisksOfItsOwn = cluster.run("start").contains("DISKS=own");
    return cluster;
  }

  private String run(String command, String... arguments) throws IOException {
    List<String> all =
        new ArrayList<>(List.of("bash", script.toString(), command, folder.toString()));
    all.addAll(List.of(arguments));
    return Shell.run(environment, all);
  }

  /** Runs statements through the SQL client; the job of the last INSERT is the one to wait for. */
  public void submit(String sql, Path... jars) throws IOException {
    Path file = folder.resolve("job.sql");
    Files.writeString(file, sql, StandardCharsets.UTF_8);
    List<String> arguments = new ArrayList<>(List.of("-f", file.toString()));
    for (Path jar : jars) {
      arguments.addAll(List.of("-j", jar.toString()));
    }
    String said = run("client", arguments.toArray(String[]::new));
    Matcher matcher = JOB.matcher(said);
    if (said.contains("[ERROR]") || !matcher.find()) {
      throw new IOException("the SQL client refused the job:\n" + said);
    }
    job = matcher.group(1);
  }

  /** Cancels the job, and waits until it is gone. */
  public void cancel() throws Exception {
    request("PATCH", "/jobs/" + job, "");
    ends("CANCELED");
  }

  /** Stops the job with a savepoint, and returns its path. */
  public String stopWithSavepoint() throws Exception {
    String[] path = new String[1];
    await("the savepoint", () -> (path[0] = savepoint()) != null);
    ends("FINISHED");
    return path[0];
  }

  /** One attempt, null where the job was not fit for it. */
  private String savepoint() throws Exception {
    String trigger =
        value("request-id", request("POST", "/jobs/" + job + "/stop", "{\"drain\": false}"));
    String[] answer = new String[1];
    await(
        "the savepoint's end",
        () -> {
          answer[0] = request("GET", "/jobs/" + job + "/savepoints/" + trigger, "");
          return answer[0].contains("COMPLETED");
        });
    return value("location", answer[0]);
  }

  private void ends(String state) throws Exception {
    Pattern end = Pattern.compile(job + "\\) switched from state [A-Z]+ to " + state);
    await(
        "the job's end",
        () -> {
          try (Stream<String> lines = lines(JOB_MANAGER)) {
            return lines.anyMatch(line -> end.matcher(line).find());
          }
        });
  }

  private String request(String method, String path, String body) throws Exception {
    HttpResponse<String> response =
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(URI.create(rest() + path))
                    .method(method, HttpRequest.BodyPublishers.ofString(body))
                    .build(),
                HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() >= 300) {
      throw new IOException(method + " " + path + ": " + response.body());
    }
    return response.body();
  }

  private static String value(String key, String json) {
    Matcher matcher = Pattern.compile("\"" + key + "\":\"([^\"]*)\"").matcher(json);
    return matcher.find() ? matcher.group(1) : null;
  }

  private String rest() throws IOException {
    return run("rest").trim();
  }

  /** Kills a process without a last word. */
  public void kill(String name) throws IOException {
    List<Path> jars = unpacked(pid(name));
    ProcessHandle.of(pid(name)).ifPresent(ProcessHandle::destroyForcibly);
    for (Path jar : jars) {
      Files.deleteIfExists(jar);
    }
  }

  /** Jars that a process has put into a temporary folder, and would have deleted at its end. */
  private List<Path> unpacked(long process) {
    List<Path> jars = new ArrayList<>();
    try (Stream<Path> open = Files.list(Path.of("/proc/" + process + "/fd"))) {
      for (Path descriptor : open.collect(Collectors.toList())) {
        Path file = Files.readSymbolicLink(descriptor);
        if (file.toString().endsWith(".jar")
            && temporaryFolders().stream().anyMatch(file::startsWith)) {
          jars.add(file);
        }
      }
    } catch (IOException | UncheckedIOException e) {
      return jars; // a file was closed meanwhile, or the process is gone
    }
    return jars;
  }

  /** Stops a process where it is. */
  public void freeze(String name) throws IOException {
    Shell.run(Map.of(), List.of("kill", "-STOP", Long.toString(pid(name))));
  }

  /** Lets it go on, if it is still there. */
  public void thaw(String name) throws IOException {
    if (ProcessHandle.of(pid(name)).isPresent()) {
      Shell.run(Map.of(), List.of("kill", "-CONT", Long.toString(pid(name))));
    }
  }

  /** Starts a process that was killed. */
  public void launch(String name) throws IOException {
    run("launch", name);
  }

  /** The TaskManagers' temporary folders. */
  public List<Path> temporaryFolders() {
    return List.of(folder.resolve("temporary-1"), folder.resolve("temporary-2"));
  }

  /** Whether they are file systems of their own ({@code DISK_MB}). */
  public boolean hasDisksOfItsOwn() {
    return hasDisksOfItsOwn;
  }

  /** The newest value of a gauge of the job's first source, empty before it has one. */
  public OptionalLong gauge(String name) throws Exception {
    String source =
        value("id", request("GET", "/jobs/" + job, "").replaceFirst(".*\"vertices\"", ""));
    String metrics = "/jobs/" + job + "/vertices/" + source + "/metrics";
    Matcher matcher =
        Pattern.compile("\"id\":\"([^\"]*\\." + name + ")\"").matcher(request("GET", metrics, ""));
    if (!matcher.find()) {
      return OptionalLong.empty();
    }
    String id = URLEncoder.encode(matcher.group(1), StandardCharsets.UTF_8);
    String number = value("value", request("GET", metrics + "?get=" + id, ""));
    return number == null ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(number));
  }

  /** Id of a process. */
  public long pid(String name) throws IOException {
    Path file = folder.resolve(name + ".pid");
    return Long.parseLong(Files.readString(file, StandardCharsets.UTF_8).trim());
  }

  /** Number of the newest complete checkpoint of the job, 0 without one. */
  public long newestCheckpoint() {
    return checkpoint(path -> Files.exists(path.resolve("_metadata"))).orElse(0);
  }

  /** Where the job's checkpoint of a number is, while it is kept. */
  public String checkpoint(long number) {
    return folder.resolve("checkpoints").resolve(job).resolve("chk-" + number).toUri().toString();
  }

  /** A checkpoint that has begun and is not complete. */
  public OptionalLong openCheckpoint() {
    OptionalLong newest = checkpoint(path -> true);
    return newest.isPresent() && newest.getAsLong() > newestCheckpoint()
        ? newest
        : OptionalLong.empty();
  }

  private OptionalLong checkpoint(Predicate<Path> which) {
    Path checkpoints = folder.resolve("checkpoints").resolve(job);
    if (!Files.exists(checkpoints)) {
      return OptionalLong.empty();
    }
    try (Stream<Path> paths = Files.list(checkpoints)) {
      return paths
          .filter(path -> path.getFileName().toString().startsWith("chk-") && which.test(path))
          .mapToLong(path -> Long.parseLong(path.getFileName().toString().substring(4)))
          .max();
    } catch (IOException | UncheckedIOException e) {
      return checkpoint(which); // one was dropped while the folder was read
    }
  }

  /** How often the TaskManagers have logged a text. */
  public long logged(String text) {
    return TASK_MANAGERS.stream().mapToLong(name -> logged(name, text)).sum();
  }

  /** How often a process has logged a text, all its starts together. */
  public long logged(String name, String text) {
    try (Stream<String> lines = lines(name)) {
      return lines.filter(line -> line.contains(text)).count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The TaskManager that was the last to log a text. */
  public String lastToLog(String text) {
    return Collections.max(TASK_MANAGERS, Comparator.comparing(name -> last(name, text)));
  }

  private String last(String name, String text) {
    try (Stream<String> lines = lines(name)) {
      return lines.filter(line -> line.contains(text)).reduce("", (before, line) -> line);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Stream<String> lines(String name) throws IOException {
    return Files.lines(folder.resolve("logs").resolve(name + ".log"), StandardCharsets.ISO_8859_1);
  }

  /** Waits for a condition, which must come while the job can restart. */
  public void await(String what, Callable<Boolean> condition) throws Exception {
    await(what, Duration.ofMillis(50), condition);
  }

  /** The same for one that does not stay. */
  public void await(String what, Duration pause, Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    long looked = System.nanoTime();
    while (!condition.call()) {
      if (System.nanoTime() - looked > Duration.ofSeconds(2).toNanos()) {
        looked = System.nanoTime();
        if (logged(JOB_MANAGER, "to FAILED.") > 0
            && logged(JOB_MANAGER, job + ") switched from state FAILING to FAILED.") > 0) {
          fail("the job failed for good while waiting for " + what);
        }
      }
      if (System.nanoTime() > deadline) {
        fail("waited " + PATIENCE.toSeconds() + " s for " + what);
      }
      Thread.sleep(pause.toMillis());
    }
  }

  /** What went wrong in its processes lately, without stack frames. */
  public String log() throws IOException {
    StringBuilder all = new StringBuilder();
    try (Stream<Path> logs = Files.list(folder.resolve("logs"))) {
      for (Path log : logs.sorted().collect(Collectors.toList())) {
        List<String> lines =
            Files.readAllLines(log, StandardCharsets.ISO_8859_1).stream()
                .filter(
                    line ->
                        line.matches(".* (WARN|ERROR) .*|Caused by.*|.*(TM-\\d+|io\\.tidemark).*"))
                .filter(
                    line ->
                        !line.startsWith("\tat ")
                            && !line.matches(
                                ".*(Curator|ClientCnxn|ConnectionState|PluginConfig|Pekko|DelegationToken|ReliableDelivery|NettyTransport|MetricGroup|RecipientUnreachable).*"))
                .collect(Collectors.toList());
        all.append(log.getFileName()).append(":\n");
        lines
            .subList(Math.max(0, lines.size() - 30), lines.size())
            .forEach(line -> all.append("  ").append(line).append('\n'));
      }
    }
    return all.toString();
  }

  @Override
  public void close() throws IOException {
    run("stop");
  }
}
