package io.tidemark.savepoint;

import io.tidemark.TidemarkSourceBuilder;

/** A job in a state that is worth keeping, and the server that it is kept for. */
interface Scene extends AutoCloseable {
  /** The folder of its savepoint. */
  String name();

  TidemarkSourceBuilder source();

  /** How many rows are out when something is to happen, and what. */
  int rowsBefore();

  void happens() throws Exception;

  /** How many rows are out when the savepoint is taken. */
  int rowsAtSavepoint();
}
