package io.tidemark.cluster;

import io.tidemark.workload.DecodedTransaction;
import io.tidemark.workload.ServerScript;
import io.tidemark.workload.Writers;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;

/**
 * A job over {@link Bank}, on a cluster of processes, into Flink's FileSink, while whatever can die
 * dies at a moment of a kind: what it committed is what {@link BankJudge} wants.
 */
final class UnderFire {
  private static final int ACCOUNTS = 1_500;
  private static final int LARGE = 8_000;
  private static final int WRITERS = 4;
  private static final Duration FREEZE =
      Duration.ofSeconds(Long.getLong("tidemark.test.freeze.seconds", 30));

  /** What a reader logs. */
  private static final String SNAPSHOT_READ = "the snapshot of this reader is read";

  private static final String STREAM_BEGINS = "the stream begins at";

  private static final long MINUTES = Long.getLong("tidemark.test.soak.minutes", 0);

  /** One of each, and those that Flink itself must survive once more. */
  private static final List<Fault> FAULTS =
      List.of(
          Fault.TASK_MANAGER,
          Fault.TASK_MANAGER,
          Fault.TASK_MANAGERS,
          Fault.JOB_MANAGER,
          Fault.JOB_MANAGER,
          Fault.SESSION,
          Fault.SESSIONS,
          Fault.DATABASE,
          Fault.FREEZE);

  /** Each has a fault, but where it is struck by a rescaling. */
  private static final List<Moment> MOMENTS =
      List.of(
          Moment.SNAPSHOT,
          Moment.SNAPSHOT,
          Moment.SNAPSHOT_READ,
          Moment.SNAPSHOT_READ,
          Moment.STREAM_BEGINS,
          Moment.STREAM,
          Moment.LARGE_OPEN,
          Moment.LARGE_COMMITTED,
          Moment.LARGE_COMMITTED,
          Moment.LARGE_OPEN,
          Moment.CHECKPOINT,
          Moment.CHECKPOINT_COMPLETE);

  /** By place in {@link #MOMENTS}. */
  private static final Set<Integer> RESCALINGS = Set.of(0, 3, 7);

  /** What a job has at first, and behind each rescaling. */
  private static final List<Integer> PARALLELISMS = List.of(1, 4, 2, 4);

  private final FlinkCluster cluster;
  private final Database database;
  private final Path folder;
  private final long seed;
  private final Random random;
  private final Bank bank = new Bank(ACCOUNTS);
  private final List<String> done = new ArrayList<>();
  private long snapshotsRead;
  private long streamsBegun;
  private int rescalings;

  /** The database under fire. */
  interface Database {
    ServerScript server();

    /** Of the tables' owner. */
    String jdbcUrl();

    /** The type of a large text. */
    String textType();

    /** A table's WITH clause. */
    String with();

    /** What there is to do before the job starts, and behind its end. */
    void prepare() throws Exception;

    void clear() throws Exception;
  }

  /**
   * @param folder for what the job commits, not there yet
   * @param seed of all random choices
   */
  UnderFire(FlinkCluster cluster, Database database, Path folder, long seed) {
    this.cluster = cluster;
    this.database = database;
    this.folder = folder;
    this.seed = seed;
    this.random = new Random(seed);
  }

  /** Runs the job through all faults, and judges it; returns what was done. */
  String run() throws Exception {
    long begun = System.nanoTime();
    List<Fault> faults = new ArrayList<>(FAULTS);
    Collections.shuffle(faults, random);
    for (int n = 0; n < MOMENTS.size(); n++) {
      if (RESCALINGS.contains(n)) {
        faults.add(n, Fault.RESCALE);
      }
    }
    snapshotsRead = cluster.logged(SNAPSHOT_READ);
    streamsBegun = cluster.logged(STREAM_BEGINS);
    CommittedFiles files = new CommittedFiles(folder, 0);
    BankJudge judge;
    try (Connection connection = connect()) {
      bank.create(connection, database.textType());
      judge = new BankJudge(connection, "judge");
    }
    database.prepare();
    List<DecodedTransaction<String>> decoded;
    try (Writers writers = new Writers(database.jdbcUrl(), WRITERS, bank, seed, 80)) {
      writers.start();
      submit("");
      for (int n = 0; n < faults.size() && MOMENTS.get(n) != Moment.STREAM; n++) {
        strike(faults.get(n), MOMENTS.get(n));
      }
      cluster.await("the stream", () -> !files.log().isEmpty());
      long marker = retried(bank::marker);
      for (int n = MOMENTS.indexOf(Moment.STREAM); n < faults.size(); n++) {
        strike(faults.get(n), MOMENTS.get(n));
        if (n % 2 == 0) {
          retried(this::alter);
        }
      }
      long after = writers.commits() + 100;
      cluster.await("100 commits more", () -> writers.commits() >= after);
      writers.close();
      try (Connection connection = connect()) {
        decoded = judge.transactions(connection);
        Map<String, String> tables = Bank.content(connection);
        DecodedTransaction<String> last = decoded.get(decoded.size() - 1);
        boolean complete = false;
        try {
          cluster.await("the last transaction", () -> files.rows(last.xid) >= last.changes.size());
          complete = true;
        } finally {
          BankJudge.judge(decoded, files, marker, bank.total(), tables, complete);
        }
        again(connection, judge, decoded);
      }
    } catch (AssertionError | Exception e) {
      throw new AssertionError(
          "seed " + seed + ", " + done + ": " + e.getMessage() + "\n" + cluster.log(), e);
    }
    database.clear();
    return String.format(
        "seed %d: %s; %d transactions, %d rows, %.0f s",
        seed, done, decoded.size(), files.log().size(), (System.nanoTime() - begun) / 1e9);
  }

  /** Goes on from an old checkpoint: what came behind it comes again. */
  private void again(
      Connection connection, BankJudge judge, List<DecodedTransaction<String>> decoded)
      throws Exception {
    int before = decoded.size();
    long kept = cluster.newestCheckpoint();
    bank.touch(connection);
    bank.touch(connection);
    cluster.await("checkpoints behind it", () -> cluster.newestCheckpoint() >= kept + 2);
    cluster.cancel();
    bank.touch(connection);
    decoded.addAll(judge.transactions(connection));
    CommittedFiles files = new CommittedFiles(folder, System.currentTimeMillis());
    submit(from(cluster.checkpoint(kept)));
    DecodedTransaction<String> last = decoded.get(decoded.size() - 1);
    cluster.await("its last row", () -> files.rows(last.xid) >= last.changes.size());
    BankJudge.judgeTail(decoded, files, before);
    cluster.cancel();
  }

  private static String from(String state) {
    return "SET 'execution.state-recovery.path' = '" + state + "';\n";
  }

  private void submit(String restore) throws IOException {
    int parallelism = PARALLELISMS.get(rescalings % PARALLELISMS.size());
    cluster.submit(
        "SET 'parallelism.default' = '" + parallelism + "';\n" + restore + sql(),
        SinkJar.connector(),
        SinkJar.write(folder.resolveSibling("sink.jar"), ChangelogFiles.class));
  }

  private void rescale() throws Exception {
    String savepoint = cluster.stopWithSavepoint();
    rescalings++;
    submit(from(savepoint));
  }

  private String sql() {
    return "CREATE TABLE accounts ("
        + Bank.FLINK_COLUMNS
        + ", table_name STRING NOT NULL METADATA VIRTUAL, transaction_id STRING METADATA VIRTUAL,"
        + " scn BIGINT METADATA VIRTUAL) "
        + database.with()
        + ";\nCREATE TABLE files (table_name STRING, transaction_id STRING, scn BIGINT, ID BIGINT, OWNER STRING,"
        + " BALANCE STRING, NOTE STRING) WITH ('connector' = 'changelog-files', 'path' = '"
        + folder.toUri()
        + "');\nINSERT INTO files SELECT table_name, transaction_id, scn, ID, OWNER, CAST(BALANCE AS STRING), NOTE"
        + " FROM accounts;\n";
  }

  /** Rounds with a seed each, one or as many as fit into the minutes that are asked for. */
  static void soak(FlinkCluster cluster, Database database, Path folder, long seed)
      throws Exception {
    long end = System.nanoTime() + Duration.ofMinutes(MINUTES).toNanos();
    int round = 0;
    do {
      UnderFire fire =
          new UnderFire(cluster, database, folder.resolve("round-" + round), seed + round);
      System.out.println(fire.run());
      round++;
    } while (System.nanoTime() < end);
  }

  private Connection connect() throws SQLException {
    return DriverManager.getConnection(database.jdbcUrl());
  }

  /** What is done at the database, again where it was down. */
  private interface Work<T> {
    T at(Connection connection) throws SQLException;
  }

  private <T> T retried(Work<T> work) throws Exception {
    while (true) {
      try (Connection connection = connect()) {
        return work.at(connection);
      } catch (SQLException e) {
        if (!Writers.isPassing(e)) {
          throw e;
        }
        Thread.sleep(100);
      }
    }
  }

  private boolean alter(Connection connection) throws SQLException {
    bank.alter(connection);
    return true;
  }

  /** Waits for the moment, does it, and waits until the job goes on. */
  private void strike(Fault fault, Moment moment) throws Exception {
    Callable<Boolean> fired =
        () -> {
          done.add(fault + " at " + moment);
          inject(fault);
          return true;
        };
    if (moment == Moment.LARGE_OPEN || moment == Moment.LARGE_COMMITTED) {
      withLarge(moment == Moment.LARGE_OPEN, fired);
    } else {
      await(moment);
      fired.call();
    }
    long before = cluster.newestCheckpoint();
    long struck = System.nanoTime();
    // The second one began behind the fault.
    cluster.await("checkpoints behind " + fault, () -> cluster.newestCheckpoint() >= before + 2);
    String last = done.remove(done.size() - 1);
    done.add(String.format("%s (back in %.0f s)", last, (System.nanoTime() - struck) / 1e9));
  }

  private void await(Moment moment) throws Exception {
    long newest = cluster.newestCheckpoint();
    Duration soon = Duration.ofMillis(1);
    switch (moment) {
      case SNAPSHOT:
        long wanted = newest + 1 + random.nextInt(2);
        cluster.await("checkpoint " + wanted, () -> cluster.newestCheckpoint() >= wanted);
        break;
      case SNAPSHOT_READ:
        cluster.await(
            "a reader's end of the snapshot",
            soon,
            () -> cluster.logged(SNAPSHOT_READ) > snapshotsRead);
        break;
      case STREAM_BEGINS:
        cluster.await(
            "the begin of the stream", soon, () -> cluster.logged(STREAM_BEGINS) > streamsBegun);
        break;
      case CHECKPOINT:
        cluster.await("a checkpoint", soon, () -> cluster.openCheckpoint().isPresent());
        break;
      case CHECKPOINT_COMPLETE:
        cluster.await("a checkpoint's end", soon, () -> cluster.newestCheckpoint() > newest);
        break;
      default:
        pause(1_000);
    }
  }

  /** The moment inside a checkpoint interval is what chance decides; nothing waits for it. */
  private void pause(int millis) throws InterruptedException {
    Thread.sleep(random.nextInt(millis));
  }

  /** Strikes while a large transaction is open or behind its commit. */
  private void withLarge(boolean open, Callable<Boolean> fired) throws Exception {
    try (Connection connection = connect()) {
      connection.setAutoCommit(false);
      bank.large(connection, LARGE);
      if (!open) {
        connection.commit();
      }
      pause(1_000);
      fired.call();
      connection.commit();
    } catch (SQLException e) {
      if (!Writers.isPassing(e)) {
        throw e;
      }
      // the server was what was struck
    }
  }

  private void inject(Fault fault) throws Exception {
    switch (fault) {
      case TASK_MANAGER:
        // Once the log is read, only one of them has anything to do.
        String any = FlinkCluster.TASK_MANAGERS.get(random.nextInt(2));
        boolean streams = cluster.logged(STREAM_BEGINS) > streamsBegun;
        restart(streams ? cluster.lastToLog(STREAM_BEGINS) : any);
        break;
      case TASK_MANAGERS:
        for (String name : FlinkCluster.TASK_MANAGERS) {
          cluster.kill(name);
        }
        for (String name : FlinkCluster.TASK_MANAGERS) {
          cluster.launch(name);
        }
        break;
      case JOB_MANAGER:
        restart(FlinkCluster.JOB_MANAGER);
        break;
      case RESCALE:
        rescale();
        break;
      case SESSION:
        retried(connection -> terminate(connection, 1));
        break;
      case SESSIONS:
        retried(connection -> terminate(connection, Integer.MAX_VALUE));
        break;
      case DATABASE:
        database.server().kill();
        database.server().resume();
        break;
      default:
        database.server().freeze();
        try {
          Thread.sleep(FREEZE.toMillis());
        } finally {
          database.server().thaw();
        }
    }
  }

  private void restart(String name) throws Exception {
    cluster.kill(name);
    cluster.launch(name);
  }

  private int terminate(Connection connection, int count) throws SQLException {
    List<Integer> sessions = new ArrayList<>();
    try (Statement statement = connection.createStatement()) {
      try (ResultSet row =
          statement.executeQuery(
              "SELECT pid FROM pg_stat_activity WHERE usename ILIKE 'tidemark'")) {
        while (row.next()) {
          sessions.add(row.getInt(1));
        }
      }
      Collections.shuffle(sessions, random);
      List<Integer> chosen = sessions.subList(0, Math.min(count, sessions.size()));
      for (int session : chosen) {
        statement.execute("SELECT pg_terminate_backend(" + session + ")");
      }
      return chosen.size();
    }
  }
}
