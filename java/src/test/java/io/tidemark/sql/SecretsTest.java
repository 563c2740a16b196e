package io.tidemark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.workload.Postgres;
import io.tidemark.workload.StandIn;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.ExplainDetail;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.Appender;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.config.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The password of a job appears nowhere that a job, its failures and its checkpoints show. */
@Timeout(180)
class SecretsTest {
  private static final String SECRET = "Verborgen+7%pw";

  /** A password as it may stand somewhere. */
  private static List<String> forms(String secret) {
    byte[] bytes = secret.getBytes(StandardCharsets.UTF_8);
    StringBuilder hex = new StringBuilder();
    for (byte each : bytes) {
      hex.append(String.format("%02x", each));
    }
    return List.of(
        secret,
        URLEncoder.encode(secret, StandardCharsets.UTF_8),
        Base64.getEncoder().withoutPadding().encodeToString(bytes),
        hex.toString(),
        new String(secret.getBytes(StandardCharsets.UTF_16BE), StandardCharsets.ISO_8859_1));
  }

  private static void assertAbsent(String what, String text) {
    for (String form : forms(SECRET)) {
      assertTrue(!text.contains(form), what + " has the password: " + text);
    }
  }

  /** Takes all lines at TRACE, and keeps those that have the password. */
  private static final class Lines extends AbstractAppender implements AutoCloseable {
    private final LoggerContext context = (LoggerContext) LogManager.getContext(false);
    private final LoggerConfig root = context.getConfiguration().getRootLogger();
    private final Level usual = root.getLevel();
    private final List<Appender> others = new ArrayList<>(root.getAppenders().values());
    private final List<String> forms = forms(SECRET);
    private final ConcurrentLinkedQueue<String> found = new ConcurrentLinkedQueue<>();
    private final AtomicInteger own = new AtomicInteger();

    Lines() {
      super("secrets", null, null, true, Property.EMPTY_ARRAY);
      start();
      others.forEach(other -> root.removeAppender(other.getName()));
      others.forEach(other -> root.addAppender(other, usual, null));
      root.addAppender(this, Level.TRACE, null);
      root.setLevel(Level.TRACE);
      context.updateLoggers();
    }

    @Override
    public void append(LogEvent event) {
      String line = event.getLoggerName() + ": " + event.getMessage().getFormattedMessage();
      if (event.getThrown() != null) {
        line += trace(event.getThrown());
      }
      if (event.getLoggerName().startsWith("io.tidemark")) {
        own.incrementAndGet();
      }
      if (forms.stream().anyMatch(line::contains)) {
        found.add(line);
      }
    }

    @Override
    public void close() {
      root.removeAppender(getName());
      others.forEach(other -> root.removeAppender(other.getName()));
      others.forEach(other -> root.addAppender(other, null, null));
      root.setLevel(usual);
      context.updateLoggers();
      stop();
    }
  }

  private static String trace(Throwable thrown) {
    StringWriter out = new StringWriter();
    thrown.printStackTrace(new PrintWriter(out));
    return out.toString();
  }

  @Test
  void aPasswordAppearsNowhere(@TempDir Path folder) throws Exception {
    try (Lines lines = new Lines()) {
      try (StandIn standIn = StandIn.start(Map.of("TIDEMARK_PASSWORD", SECRET));
          Connection database = DriverManager.getConnection(standIn.jdbcUrl());
          Statement statement = database.createStatement()) {
        statement.execute("CREATE SCHEMA \"BIZ\"");
        statement.execute("CREATE TABLE \"BIZ\".\"T\" (\"ID\" BIGINT PRIMARY KEY)");
        statement.execute("INSERT INTO \"BIZ\".\"T\" VALUES (1)");
        run(folder, statement, "\"BIZ\".\"T\"", "ID", more -> standIn.with(with("T", more)));
      }
      try (Postgres server = Postgres.start(SECRET);
          Connection database = DriverManager.getConnection(server.jdbcUrl());
          Statement statement = database.createStatement()) {
        statement.execute("CREATE SCHEMA \"BIZ\"");
        statement.execute("CREATE TABLE \"BIZ\".t (id BIGINT PRIMARY KEY)");
        statement.execute("ALTER TABLE \"BIZ\".t REPLICA IDENTITY FULL");
        statement.execute("INSERT INTO \"BIZ\".t VALUES (1)");
        statement.execute("GRANT USAGE ON SCHEMA \"BIZ\" TO tidemark");
        statement.execute("GRANT SELECT ON \"BIZ\".t TO tidemark");
        run(
            folder,
            statement,
            "\"BIZ\".t",
            "id",
            more -> {
              Map<String, String> options = server.connectionOptions();
              options.put("connector", "postgres-slot-cdc");
              options.put("slot.name", "secrets");
              options.put("decoding.plugin.name", "test_decoding");
              String[] all = with("t", more);
              for (int n = 0; n < all.length; n += 2) {
                options.put(all[n], all[n + 1]);
              }
              return Postgres.with(options);
            });
      }
      assertTrue(lines.own.get() > 0, "the connector logged nothing");
      assertEquals("", String.join("\n", lines.found));
    }
  }

  /** The WITH clause of a table with further options. */
  private interface With {
    String clause(String... more);
  }

  private static String[] with(String table, String... more) {
    return Stream.concat(
            Stream.of("schema-name", "\"BIZ\"", "table-name", "\"" + table + "\""), Stream.of(more))
        .toArray(String[]::new);
  }

  private static void run(Path folder, Statement statement, String name, String column, With with)
      throws Exception {
    String columns = "CREATE TABLE t (" + column + " BIGINT) ";
    String query = "SELECT * FROM t";
    StreamTableEnvironment plan =
        StreamTableEnvironment.create(StreamExecutionEnvironment.getExecutionEnvironment());
    plan.executeSql(columns + with.clause());
    for (ExplainDetail detail : ExplainDetail.values()) {
      try {
        assertAbsent("a plan", plan.explainSql(query, detail));
      } catch (UnsupportedOperationException | org.apache.flink.table.api.TableException e) {
        assertAbsent("a refusal", trace(e)); // PLAN_ADVICE and the like
      }
    }
    Map<String, String> settings =
        Map.of(
            "execution.checkpointing.dir", folder.toUri().toString(),
            "state.checkpoints.dir", folder.toUri().toString(),
            "execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    try (SqlJob job = SqlJob.start(settings, columns + with.clause(), query)) {
      assertEquals(List.of(Row.of(1L)), job.take(1));
      SqlJob.gauge("scn", 0);
      statement.execute("INSERT INTO " + name + " VALUES (2)");
      assertEquals(List.of(Row.of(2L)), job.take(1));
      SqlJob.await("a checkpoint", () -> !checkpoints(folder).isEmpty());
    }
    List<Path> files = checkpoints(folder);
    assertTrue(!files.isEmpty());
    for (Path file : files) {
      assertAbsent(
          "a checkpoint", new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1));
    }
    String[][] failing = {
      {"password", SECRET + "x"},
      {"table-name", "NONE"},
      {"port", "1", "connect.max-retries", "0"},
      {"odbc.driver", "/no/such.so"},
    };
    for (String[] options : failing) {
      try (SqlJob job = SqlJob.start(columns + with.clause(options), query)) {
        String failure = job.failure();
        assertTrue(failure.contains("TM-"), failure);
        assertAbsent("a failure", failure);
      }
    }
    for (String[] options :
        new String[][] {{"scan.startup.mode", "sideways"}, {"odbc.PWD", "x"}, {"no.such", "x"}}) {
      Exception refusal =
          assertThrows(
              Exception.class, () -> SqlJob.start(columns + with.clause(options), query).close());
      assertAbsent("a refusal", trace(refusal));
    }
  }

  private static List<Path> checkpoints(Path folder) throws Exception {
    try (Stream<Path> files = Files.walk(folder)) {
      return files
          .filter(file -> file.getFileName().toString().equals("_metadata"))
          .collect(Collectors.toList());
    }
  }
}
