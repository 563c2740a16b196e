package io.tidemark.cluster;

/** When a fault comes. */
enum Moment {
  SNAPSHOT,
  /** A reader has read its last page; the gate is shut. */
  SNAPSHOT_READ,
  /** The stream split has been given out, in no checkpoint yet; none comes before the fault. */
  STREAM_BEGINS,
  STREAM,
  /** A large transaction is open, and its file grows; where transactions have none, it is open. */
  SPILLING,
  /** A large transaction goes out. */
  LARGE_COMMITTED,
  /** A checkpoint has begun. */
  CHECKPOINT,
  /** A checkpoint is complete, and none that it concerns was told. */
  CHECKPOINT_COMPLETE
}
