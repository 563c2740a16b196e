package io.tidemark.source.enumerator;

import io.tidemark.Frame;
import io.tidemark.source.split.TidemarkSplit;

/** What the core's enumerator wants done. */
final class Action {
  /** The kinds, in the order of their numbers. */
  enum Kind {
    ASSIGN,
    SEND,
    NO_MORE_SPLITS,
    CUT
  }

  final Kind kind;
  final int subtask;
  final TidemarkSplit split;
  final byte[] event;

  Action(Kind kind, int subtask, TidemarkSplit split, byte[] event) {
    this.kind = kind;
    this.subtask = subtask;
    this.split = split;
    this.event = event;
  }

  static Action read(Frame frame) {
    Kind kind = Kind.values()[frame.u8()];
    int subtask = frame.u32();
    TidemarkSplit split = kind == Kind.ASSIGN ? TidemarkSplit.read(frame) : null;
    byte[] event = kind == Kind.SEND ? frame.bytes() : null;
    return new Action(kind, subtask, split, event);
  }
}
