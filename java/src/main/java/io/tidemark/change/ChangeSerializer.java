package io.tidemark.change;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** Writes the bytes of a change as they came from the core, behind their length. */
public final class ChangeSerializer extends TypeSerializer<Change> {
  private static final long serialVersionUID = 1L;

  private transient ChangeTable.Cache tables;

  @Override
  public boolean isImmutableType() {
    return true;
  }

  @Override
  public TypeSerializer<Change> duplicate() {
    return new ChangeSerializer();
  }

  @Override
  public Change createInstance() {
    return null;
  }

  @Override
  public Change copy(Change from) {
    return from;
  }

  @Override
  public Change copy(Change from, Change reuse) {
    return from;
  }

  @Override
  public int getLength() {
    return -1;
  }

  @Override
  public void serialize(Change change, DataOutputView target) throws IOException {
    target.writeInt(change.bytes().length);
    target.write(change.bytes());
  }

  @Override
  public Change deserialize(DataInputView source) throws IOException {
    byte[] bytes = new byte[source.readInt()];
    source.readFully(bytes);
    return read(bytes);
  }

  @Override
  public Change deserialize(Change reuse, DataInputView source) throws IOException {
    return deserialize(source);
  }

  @Override
  public void copy(DataInputView source, DataOutputView target) throws IOException {
    // Not target.write(source, length): some of Flink's targets refuse what their buffer has no
    // room for.
    byte[] bytes = new byte[source.readInt()];
    source.readFully(bytes);
    target.writeInt(bytes.length);
    target.write(bytes);
  }

  /** A change from the bytes that the core wrote. */
  Change read(byte[] bytes) {
    if (tables == null) {
      tables = new ChangeTable.Cache();
    }
    return new Change(bytes, tables.of(bytes));
  }

  @Override
  public TypeSerializerSnapshot<Change> snapshotConfiguration() {
    return new Snapshot();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ChangeSerializer;
  }

  @Override
  public int hashCode() {
    return ChangeSerializer.class.hashCode();
  }

  /** Says in a job's state that changes stand there; the bytes say of which layout they are. */
  public static final class Snapshot extends SimpleTypeSerializerSnapshot<Change> {
    public Snapshot() {
      super(ChangeSerializer::new);
    }
  }
}
