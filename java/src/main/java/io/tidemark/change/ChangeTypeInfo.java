package io.tidemark.change;

import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.serialization.SerializerConfig;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;

/** The type of {@link Change}: no Kryo. */
public final class ChangeTypeInfo extends TypeInformation<Change> {
  private static final long serialVersionUID = 1L;

  @Override
  public boolean isBasicType() {
    return false;
  }

  @Override
  public boolean isTupleType() {
    return false;
  }

  @Override
  public int getArity() {
    return 1;
  }

  @Override
  public int getTotalFields() {
    return 1;
  }

  @Override
  public Class<Change> getTypeClass() {
    return Change.class;
  }

  @Override
  public boolean isKeyType() {
    return false;
  }

  @Override
  public TypeSerializer<Change> createSerializer(SerializerConfig config) {
    return new ChangeSerializer();
  }

  // Flink 1.20 asks for it, 2.x does not have it.
  @Override
  @SuppressWarnings("deprecation")
  public TypeSerializer<Change> createSerializer(ExecutionConfig config) {
    return new ChangeSerializer();
  }

  @Override
  public String toString() {
    return "Change";
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ChangeTypeInfo;
  }

  @Override
  public int hashCode() {
    return ChangeTypeInfo.class.hashCode();
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof ChangeTypeInfo;
  }
}
