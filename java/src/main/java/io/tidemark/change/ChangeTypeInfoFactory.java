package io.tidemark.change;

import java.lang.reflect.Type;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.TypeInfoFactory;
import org.apache.flink.api.common.typeinfo.TypeInformation;

/** Tells Flink the type of {@link Change} wherever it meets the class. */
public final class ChangeTypeInfoFactory extends TypeInfoFactory<Change> {
  @Override
  public TypeInformation<Change> createTypeInfo(
      Type type, Map<String, TypeInformation<?>> parameters) {
    return new ChangeTypeInfo();
  }
}
