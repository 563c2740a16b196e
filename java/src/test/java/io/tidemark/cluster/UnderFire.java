package io.tidemark.cluster;

import io.tidemark.workload.DecodedTransaction;
import io.tidemark.workload.ServerScript;
import io.tidemark.workload.Writers;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
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

  /** Rows of a transaction that grows, by so many at once. */
  private static final int GROWING = 4_000;

  private static final int WRITERS = 4;
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
          Fault.FREEZE,
          Fault.DISK_FULL);

  /** Each has a fault, but where it is struck by a rescaling. */
  private static final List<Moment> MOMENTS =
      List.of(
          Moment.SNAPSHOT,
          Moment.SNAPSHOT,
          Moment.SNAPSHOT_READ,
          Moment.SNAPSHOT_READ,
          Moment.STREAM_BEGINS,
          Moment.STREAM,
          Moment.SPILLING,
          Moment.LARGE_COMMITTED,
          Moment.LARGE_COMMITTED,
          Moment.SPILLING,
          Moment.CHECKPOINT,
          Moment.CHECKPOINT_COMPLETE,
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
  private final Sessions sessions;
  private Moments moments;
  private Faults faults;
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

    /** Whether large transactions go to files of the reader. */
    boolean spills();

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
    sessions = new Sessions(database.jdbcUrl());
  }

  /** Runs the job through all faults, and judges it; returns what was done. */
  String run() throws Exception {
    long begun = System.nanoTime();
    List<Fault> order = new ArrayList<>(FAULTS);
    Collections.shuffle(order, random);
    for (int n = 0; n < MOMENTS.size(); n++) {
      if (RESCALINGS.contains(n)) {
        order.add(n, Fault.RESCALE);
      }
    }
    if (!database.spills()) {
      order.replaceAll(fault -> fault == Fault.DISK_FULL ? Fault.TASK_MANAGER : fault);
    }
    moments = new Moments(cluster, random);
    faults = new Faults(cluster, database.server(), sessions, bank, moments, random);
    CommittedFiles files = new CommittedFiles(folder, 0);
    BankJudge judge;
    try (Connection connection = sessions.connect()) {
      bank.create(connection, database.textType());
      judge = new BankJudge(connection, "judge");
    }
    database.prepare();
    List<DecodedTransaction<String>> decoded;
    try (Writers writers = new Writers(database.jdbcUrl(), WRITERS, bank, seed, 80)) {
      writers.start();
      submit("");
      for (int n = 0; n < order.size() && MOMENTS.get(n) != Moment.STREAM; n++) {
        strike(order.get(n), MOMENTS.get(n));
      }
      cluster.await("the stream", () -> !files.log().isEmpty());
      long marker = sessions.retried(bank::marker);
      for (int n = MOMENTS.indexOf(Moment.STREAM); n < order.size(); n++) {
        strike(order.get(n), MOMENTS.get(n));
        if (n % 2 == 0) {
          sessions.retried(this::alter);
        }
      }
      long after = writers.commits() + 100;
      cluster.await("100 commits more", () -> writers.commits() >= after);
      writers.close();
      try (Connection connection = sessions.connect()) {
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

  private boolean alter(Connection connection) throws SQLException {
    bank.alter(connection);
    return true;
  }

  /** Waits for the moment, does it, and waits until the job goes on. */
  private void strike(Fault fault, Moment moment) throws Exception {
    Callable<Boolean> fired =
        () -> {
          done.add(fault + " at " + moment + (moments.missed() ? ", just behind it" : ""));
          try {
            if (fault == Fault.RESCALE) {
              rescale();
            } else {
              faults.strike(fault);
            }
          } finally {
            moments.pass();
          }
          return true;
        };
    if (moment == Moment.SPILLING || moment == Moment.LARGE_COMMITTED) {
      withLarge(moment, fired);
    } else {
      moments.await(moment);
      fired.call();
    }
    long before = cluster.newestCheckpoint();
    long struck = System.nanoTime();
    // The second one began behind the fault.
    cluster.await("checkpoints behind " + fault, () -> cluster.newestCheckpoint() >= before + 2);
    String last = done.remove(done.size() - 1);
    done.add(String.format("%s (back in %.0f s)", last, (System.nanoTime() - struck) / 1e9));
  }

  /** Strikes while a large transaction is open or behind its commit. */
  private void withLarge(Moment moment, Callable<Boolean> fired) throws Exception {
    try (Connection connection = sessions.connect()) {
      connection.setAutoCommit(false);
      if (moment == Moment.SPILLING && database.spills()) {
        spill(connection);
      } else {
        bank.large(connection, LARGE);
        if (moment == Moment.LARGE_COMMITTED) {
          connection.commit();
        }
        moments.pause(1_000);
      }
      fired.call();
      connection.commit();
    } catch (SQLException e) {
      if (!Writers.isPassing(e)) {
        throw e;
      }
      // the server was what was struck
    }
  }

  /** Makes a transaction ever larger, until its file grows. */
  private void spill(Connection connection) throws Exception {
    long[] seen = {0};
    int[] looks = {0};
    cluster.await(
        "a large transaction's file that grows",
        Duration.ofMillis(20),
        () -> {
          if (looks[0]++ % 25 == 0) {
            bank.grow(connection, Bank.GROWING.get(0), GROWING);
          }
          long bytes = SpillFiles.bytes(cluster);
          boolean grows = seen[0] > 0 && bytes > seen[0];
          seen[0] = bytes;
          return grows;
        });
  }
}
