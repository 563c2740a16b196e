package io.tidemark;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeChecks;

/** The job as the core reads it: the JSON form of {@code rust/config}. */
final class JobConfig {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final ObjectNode job = JSON.createObjectNode();

  JobConfig(String connector, String checkpointing, String form) {
    job.put("connector", connector);
    job.put("checkpointing", checkpointing);
    job.put("form", form);
  }

  void options(Map<String, Object> options) {
    ObjectNode node = job.putObject("options");
    options.forEach((name, value) -> put(node, name, value));
  }

  void columns(RowType columns, List<RowMetadata> metadata) {
    ArrayNode node = job.putArray("columns");
    for (RowType.RowField field : columns.getFields()) {
      put(node.addObject(), field.getName(), field.getType());
    }
    for (RowMetadata each : metadata) {
      ObjectNode column = node.addObject();
      put(column, each.key(), each.dataType().getLogicalType());
      column.put("metadata", each.key());
    }
  }

  void primaryKey(List<String> names) {
    ArrayNode node = job.putArray("primary-key");
    names.forEach(node::add);
  }

  /** All of it, the password too: for the core alone, so that nothing prints it by accident. */
  String json() {
    return job.toString();
  }

  private static void put(ObjectNode options, String name, Object value) {
    if (value instanceof Integer) {
      options.put(name, (Integer) value);
    } else if (value instanceof Long) {
      options.put(name, (Long) value);
    } else if (value instanceof Duration) {
      options.put(name, ((Duration) value).toMillis());
    } else if (value instanceof MemorySize) {
      options.put(name, ((MemorySize) value).getBytes());
    } else if (value instanceof Boolean) {
      options.put(name, (Boolean) value);
    } else {
      options.put(name, (String) value);
    }
  }

  private static void put(ObjectNode column, String name, LogicalType type) {
    column.put("name", name);
    column.put("type", type.getTypeRoot().name());
    column.put("nullable", type.isNullable());
    switch (type.getTypeRoot()) {
      case DECIMAL:
        column.put("precision", LogicalTypeChecks.getPrecision(type));
        column.put("scale", LogicalTypeChecks.getScale(type));
        break;
      case TIME_WITHOUT_TIME_ZONE:
      case TIMESTAMP_WITHOUT_TIME_ZONE:
      case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
        column.put("precision", LogicalTypeChecks.getPrecision(type));
        break;
      case CHAR:
      case VARCHAR:
      case BINARY:
      case VARBINARY:
        column.put("length", LogicalTypeChecks.getLength(type));
        break;
      default:
        break;
    }
  }
}
