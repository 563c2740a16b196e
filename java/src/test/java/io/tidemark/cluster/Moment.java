package io.tidemark.cluster;

/** When a fault comes. */
enum Moment {
  SNAPSHOT,
  /** A reader has read its last page; the gate is shut. */
  SNAPSHOT_READ,
  /** The stream split has been given out, in no checkpoint yet. */
  STREAM_BEGINS,
  STREAM,
  /** A large transaction is open, and spilled. */
  LARGE_OPEN,
  /** A large transaction goes out. */
  LARGE_COMMITTED,
  /** A checkpoint has begun. */
  CHECKPOINT,
  /** A checkpoint is complete, and nobody was told. */
  CHECKPOINT_COMPLETE
}
