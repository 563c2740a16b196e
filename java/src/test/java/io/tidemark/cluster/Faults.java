package io.tidemark.cluster;

import io.tidemark.workload.ServerScript;
import java.io.IOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Does to a job, its cluster and its database what a {@link Fault} says. */
final class Faults {
  private static final Duration FREEZE =
      Duration.ofSeconds(Long.getLong("tidemark.test.freeze.seconds", 30));

  /** What the job fails with where no folder takes a large transaction. */
  private static final String NO_ROOM = "TM-6001";

  /** Rows of a transaction that finds no room. */
  private static final int ROWS = 4_000;

  private final FlinkCluster cluster;
  private final ServerScript server;
  private final Sessions sessions;
  private final Bank bank;
  private final Moments moments;
  private final Random random;

  Faults(
      FlinkCluster cluster,
      ServerScript server,
      Sessions sessions,
      Bank bank,
      Moments moments,
      Random random) {
    this.cluster = cluster;
    this.server = server;
    this.sessions = sessions;
    this.bank = bank;
    this.moments = moments;
    this.random = random;
  }

  /** Strikes and, once that is done, lets the moment pass. */
  void strike(Fault fault) throws Exception {
    switch (fault) {
      case TASK_MANAGER:
        // Once the log is read, only one of them has anything to do.
        String any = FlinkCluster.TASK_MANAGERS.get(random.nextInt(2));
        restart(List.of(moments.streams() ? cluster.lastToLog(Moments.STREAM_BEGINS) : any));
        break;
      case TASK_MANAGERS:
        restart(FlinkCluster.TASK_MANAGERS);
        break;
      case JOB_MANAGER:
        restart(List.of(FlinkCluster.JOB_MANAGER));
        break;
      case SESSION:
        sessions.retried(connection -> terminate(connection, 1));
        break;
      case SESSIONS:
        sessions.retried(connection -> terminate(connection, Integer.MAX_VALUE));
        break;
      case DATABASE:
        server.kill();
        moments.pass();
        server.resume();
        break;
      case FREEZE:
        freeze();
        break;
      case DISK_FULL:
        fillDisk();
        break;
      default:
        throw new IllegalArgumentException(fault + " is none");
    }
  }

  private void restart(List<String> processes) throws Exception {
    for (String name : processes) {
      cluster.kill(name);
    }
    moments.pass();
    for (String name : processes) {
      cluster.launch(name);
    }
  }

  private void freeze() throws IOException, InterruptedException {
    server.freeze();
    try {
      moments.pass();
      Thread.sleep(FREEZE.toMillis());
    } finally {
      server.thaw();
    }
  }

  /** Has the job fail, since a large transaction finds no room. */
  private void fillDisk() throws Exception {
    FullDisk disk = new FullDisk(cluster);
    long failed = cluster.logged(NO_ROOM);
    try (Connection connection = sessions.connect()) {
      connection.setAutoCommit(false);
      disk.fill();
      moments.pass();
      bank.grow(connection, Bank.GROWING.get(1), ROWS);
      cluster.await("a full disk's error", () -> cluster.logged(NO_ROOM) > failed);
      if (random.nextBoolean()) {
        connection.commit();
      }
    } finally {
      disk.free();
    }
  }

  private int terminate(Connection connection, int count) throws SQLException {
    List<Integer> found = new ArrayList<>();
    try (Statement statement = connection.createStatement()) {
      try (ResultSet row =
          statement.executeQuery(
              "SELECT pid FROM pg_stat_activity WHERE usename ILIKE 'tidemark'")) {
        while (row.next()) {
          found.add(row.getInt(1));
        }
      }
      Collections.shuffle(found, random);
      List<Integer> chosen = found.subList(0, Math.min(count, found.size()));
      for (int session : chosen) {
        statement.execute("SELECT pg_terminate_backend(" + session + ")");
      }
      return chosen.size();
    }
  }
}
