package io.tidemark.cluster;

/** What is done to a job. */
enum Fault {
  TASK_MANAGER,
  TASK_MANAGERS,
  JOB_MANAGER,
  /** A session of the job's user at its database. */
  SESSION,
  /** All of them. */
  SESSIONS,
  /** The server is killed as by a power cut, and comes back. */
  DATABASE,
  /** All processes of the server stand still for a while. */
  FREEZE,
  /** There is no room for large transactions, until the job has failed by that. */
  DISK_FULL,
  /** None: the job is stopped with a savepoint, and goes on from it with another parallelism. */
  RESCALE
}
