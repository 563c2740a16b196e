package io.tidemark.source.reader;

import io.tidemark.Frame;
import java.util.List;

/**
 * What comes from the core through the fetcher: rows, events, the end, or what fetching failed
 * with.
 */
final class Message {
  private static final int BATCH = 1;
  private static final int EVENTS = 2;
  private static final int END = 3;

  /** Rows, or null. */
  final Batch batch;

  /** Events for the enumerator, or none. */
  final List<byte[]> events;

  /** What fetching failed with, or null. */
  final RuntimeException failure;

  /** Whether nothing follows. */
  final boolean last;

  private Message(Batch batch, List<byte[]> events, RuntimeException failure, boolean last) {
    this.batch = batch;
    this.events = events;
    this.failure = failure;
    this.last = last;
  }

  /** Reads what {@code next0} returned. */
  static Message read(byte[] bytes) {
    switch (bytes[0]) {
      case BATCH:
        return rows(new Batch(bytes));
      case EVENTS:
        Frame frame = new Frame(bytes);
        frame.u8();
        return events(frame.list(Frame::bytes));
      case END:
        return end();
      default:
        throw new IllegalStateException("the core sent a message marked " + bytes[0]);
    }
  }

  static Message rows(Batch batch) {
    return new Message(batch, List.of(), null, false);
  }

  static Message events(List<byte[]> events) {
    return new Message(null, events, null, false);
  }

  static Message end() {
    return new Message(null, List.of(), null, true);
  }

  static Message failed(RuntimeException failure) {
    return new Message(null, List.of(), failure, true);
  }
}
