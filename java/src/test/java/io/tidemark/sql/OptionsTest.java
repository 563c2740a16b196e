package io.tidemark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.workload.StandIn;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.flink.types.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the options do: at the sink, in what the server gets, in a gauge, or in the refusal. */
@Timeout(120)
class OptionsTest {
  private static final String COLUMNS = "CREATE TABLE t (ID BIGINT, V STRING) ";
  private static final String QUERY = "SELECT ID, V FROM t";

  /** Would hide a fatal error that is taken for one that a restart can help. */
  private static final Map<String, String> RESTARTS =
      Map.of(
          "restart-strategy.type", "fixed-delay",
          "restart-strategy.fixed-delay.attempts", "1000000",
          "restart-strategy.fixed-delay.delay", "50 ms");

  /** Tables whose names a pattern would take for one another. */
  private static final List<String> NAMES =
      List.of(
          "\"BIZ\".\"T_1\"",
          "\"BIZ\".\"TX1\"",
          "\"BIZ\".\"T%\"",
          "\"BIZ\".\"t_1\"",
          "\"B_Z\".\"T_1\"",
          "\"B_Z\".\"it's 1; --\"");

  private static StandIn standIn;
  private static Connection connection;

  @BeforeAll
  static void start() throws Exception {
    standIn =
        StandIn.start(
            Map.of(
                "POSTGRES_OPTIONS",
                "log_statement = 'all'\nlog_connections = on\nlog_line_prefix = '%u|%a|'"));
    connection = DriverManager.getConnection(standIn.jdbcUrl());
    execute("CREATE SCHEMA \"BIZ\"", "CREATE SCHEMA \"B_Z\"");
    for (String name : NAMES) {
      execute(
          "CREATE TABLE " + name + " (\"ID\" BIGINT PRIMARY KEY, \"V\" VARCHAR(40))",
          "INSERT INTO " + name + " SELECT n, '" + text(name) + "' FROM generate_series(1, 10) n");
    }
  }

  @AfterAll
  static void stop() throws Exception {
    connection.close();
    standIn.close();
  }

  private static void execute(String... statements) throws Exception {
    try (Statement statement = connection.createStatement()) {
      for (String each : statements) {
        statement.execute(each);
      }
    }
  }

  private static String text(String name) {
    return name.replace("'", "''");
  }

  private static List<Row> tenRows(String name) {
    List<Row> rows = new ArrayList<>();
    for (long id = 1; id <= 10; id++) {
      rows.add(Row.of(id, name));
    }
    return rows;
  }

  /** What the server has logged of sessions with this application name. */
  private static List<String> log(String application) throws IOException {
    return standIn.log().stream()
        .filter(line -> line.startsWith("TIDEMARK|" + application + "|"))
        .collect(Collectors.toList());
  }

  @Test
  void initialReadsExactlyTheNamedTableInChunksAndThenItsLog() throws Exception {
    try (SqlJob job =
        SqlJob.start(
            COLUMNS
                + standIn.with(
                    "schema-name", "BIZ",
                    "table-name", "T_1",
                    "scan.startup.mode", "initial",
                    "scan.incremental.snapshot.chunk.size", "4",
                    "odbc.pqopt", "application_name=seen",
                    "odbc.UseDeclareFetch", "1"),
            QUERY)) {
      assertEquals(tenRows(NAMES.get(0)), job.take(10));
      for (String name : NAMES) {
        if (!name.equals(NAMES.get(0))) {
          execute("INSERT INTO " + name + " VALUES (11, 'of another table')");
        }
      }
      execute("INSERT INTO " + NAMES.get(0) + " VALUES (11, 'new')");
      assertEquals(List.of(Row.of(11L, "new")), job.take(1));

      assertEquals(3, SqlJob.gauge("chunksPlanned", 0));
      SqlJob.await("all chunks", () -> SqlJob.gauge("chunksDone", 0) == 3);
      List<String> log = log("seen");
      assertTrue(
          log.stream().anyMatch(line -> line.contains("LIMIT 5")),
          "a page is one row more: " + log);
      assertTrue(log.stream().anyMatch(line -> line.contains("LIMIT 1 OFFSET 4")), "" + log);
      assertTrue(log.stream().anyMatch(line -> line.contains("declare \"SQL_CUR")), "" + log);
    } finally {
      for (String name : NAMES) {
        execute("DELETE FROM " + name + " WHERE \"ID\" = 11");
      }
    }
  }

  @Test
  void snapshotEndsAndAttributesReachTheDriver() throws Exception {
    try (SqlJob job =
        SqlJob.start(
            COLUMNS
                + standIn.with(
                    "table-name", "T%",
                    "scan.startup.mode", "snapshot",
                    "odbc.pqopt", "application_name=snapshot",
                    "odbc.UseDeclareFetch", "0"),
            QUERY)) {
      assertEquals(tenRows(NAMES.get(2)), job.takeAll());
      List<String> log = log("snapshot");
      assertTrue(log.stream().anyMatch(line -> line.contains("LIMIT 8097")), "" + log);
      assertFalse(log.stream().anyMatch(line -> line.contains("declare \"SQL_CUR")), "" + log);
    }
  }

  @Test
  void theLogAloneIsReadFromWhereItIsAskedFor() throws Exception {
    execute(
        "CREATE TABLE \"BIZ\".\"LOGGED\" (\"ID\" BIGINT PRIMARY KEY, \"V\" VARCHAR(40))",
        "INSERT INTO \"BIZ\".\"LOGGED\" VALUES (1, 'a')");
    String scn = Long.toString(number("SELECT \"CUR_LSN\" FROM \"SYS\".\"V$RLOG\""));
    execute(
        "INSERT INTO \"BIZ\".\"LOGGED\" VALUES (2, 'b')",
        "INSERT INTO \"BIZ\".\"LOGGED\" VALUES (3, 'c')");
    String[] specific = {
      "table-name", "LOGGED",
      "scan.startup.mode", "specific-offset",
      "scan.startup.specific-offset.scn", scn
    };
    try (SqlJob job = SqlJob.start(COLUMNS + standIn.with(specific), QUERY)) {
      assertEquals(List.of(Row.of(2L, "b"), Row.of(3L, "c")), job.take(2));
    }
    String[] earliest = {"table-name", "LOGGED", "scan.startup.mode", "earliest-offset"};
    try (SqlJob job = SqlJob.start(COLUMNS + standIn.with(earliest), QUERY)) {
      assertEquals(List.of(Row.of(1L, "a"), Row.of(2L, "b"), Row.of(3L, "c")), job.take(3));
    }
    specific[5] = Long.toString(Long.MAX_VALUE);
    refused("TM-1001", "'scan.startup.specific-offset.scn': is 9223372036854775807", specific);
    String[] timestamp = {
      "table-name", "LOGGED",
      "scan.startup.mode", "timestamp",
      "scan.startup.timestamp-millis", "1000"
    };
    refused("TM-1001", "'scan.startup.timestamp-millis': is 1970-01-01", timestamp);
  }

  private static long number(String question) throws Exception {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(question)) {
      result.next();
      return result.getLong(1);
    }
  }

  @Test
  void aNameMayHoldQuotes() throws Exception {
    try (SqlJob job =
        SqlJob.start(
            COLUMNS
                + standIn.with(
                    "schema-name", "B_Z",
                    "table-name", "\"it''s 1; --\"",
                    "scan.startup.mode", "snapshot"),
            QUERY)) {
      assertEquals(tenRows(NAMES.get(5)), job.takeAll());
    }
  }

  @Test
  void aTableThatIsNotThereIsFatal() throws Exception {
    refused("TM-1002", "schema-name and table-name", "table-name", "T__");
    refused("TM-1002", "schema-name and table-name", "table-name", "T_%");
    refused("TM-1002", "schema-name and table-name", "schema-name", "B%", "table-name", "T_1");
  }

  @Test
  void aWrongPasswordIsFatalAtTheFirstTryAndNotShown() throws Exception {
    String failure =
        refused("TM-2001", "Check hostname, port, username and password", "password", "s3cret;}");
    assertFalse(failure.contains("s3cret"), failure);
    List<String> refusals =
        standIn.log().stream()
            .filter(line -> line.contains("password authentication failed"))
            .collect(Collectors.toList());
    assertEquals(1, refusals.size(), refusals.toString());
    refused("TM-2001", "NOBODY", "username", "NOBODY");
  }

  @Test
  void aDriverThatIsNotThereIsFatal() throws Exception {
    refused("TM-2001", "odbcinst -q -d", "odbc.driver", "No Such Driver");
  }

  @Test
  void hostAndPortAreThoseThatAreNamed() throws Exception {
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      String port = Integer.toString(free.getLocalPort());
      free.close();
      failed("TM-2001", port, "port", port);
    }
    failed("TM-2001", "127.0.0.9", "hostname", "127.0.0.9");
  }

  @Test
  void aServerThatNeverAnswersIsLeftAfterTheTimeoutThatIsSet() throws Exception {
    List<Socket> silent = Collections.synchronizedList(new ArrayList<>());
    try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) {
      Thread accept = new Thread(() -> acceptAll(server, silent));
      accept.start();
      String port = Integer.toString(server.getLocalPort());
      // It began to wait first, and waits when the other one has given up.
      String patient = COLUMNS + standIn.with("port", port, "connect.timeout", "1 h");
      try (SqlJob waiting = SqlJob.start(patient, QUERY)) {
        SqlJob.await("a connection", () -> !silent.isEmpty());
        failed("TM-2001", "connect.timeout", "port", port, "connect.timeout", "1 s");
        assertTrue(waiting.isRunning());
        server.close();
        accept.join();
        for (Socket socket : silent) {
          socket.close();
        }
        assertTrue(waiting.failure().contains("TM-2001"));
      }
    }
  }

  private static void acceptAll(ServerSocket server, List<Socket> into) {
    try {
      while (true) {
        into.add(server.accept());
      }
    } catch (IOException e) {
      // It is closed.
    }
  }

  @Test
  void checkpointsThatCannotKeepTheOrderAreRefused() throws Exception {
    String table = COLUMNS + standIn.with("table-name", "T_1");
    for (Map<String, String> settings :
        List.of(
            Map.of("execution.checkpointing.unaligned.enabled", "true"),
            Map.of(
                "execution.checkpointing.unaligned.enabled", "true",
                "execution.checkpointing.aligned-checkpoint-timeout", "10 s"))) {
      String failure = failure(settings, table);
      assertTrue(failure.contains("TM-1001"), failure);
      assertTrue(failure.contains("'execution.checkpointing.unaligned.enabled'"), failure);
    }
    String failure = failure(Map.of("execution.checkpointing.interval", ""), table);
    assertTrue(failure.contains("TM-1001"), failure);
    assertTrue(failure.contains("'execution.checkpointing.interval'"), failure);
  }

  private static String failure(Map<String, String> more, String table) throws Exception {
    Map<String, String> settings = new HashMap<>(RESTARTS);
    settings.put("parallelism.default", "2");
    settings.putAll(more);
    try (SqlJob job = SqlJob.start(settings, table, QUERY)) {
      return job.failure();
    }
  }

  /** A job that fails, though it may restart, says so with number and remedy. */
  private static String refused(String code, String remedy, String... options) throws Exception {
    return failure(RESTARTS, code, remedy, options);
  }

  /** A job that may not restart fails. */
  private static String failed(String code, String remedy, String... options) throws Exception {
    return failure(Map.of(), code, remedy, options);
  }

  private static String failure(
      Map<String, String> settings, String code, String remedy, String... options)
      throws Exception {
    try (SqlJob job = SqlJob.start(settings, COLUMNS + standIn.with(options), QUERY)) {
      String failure = job.failure();
      assertTrue(failure.contains(code), failure);
      assertTrue(failure.contains(remedy), failure);
      return failure;
    }
  }
}
