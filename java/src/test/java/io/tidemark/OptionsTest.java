package io.tidemark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;

class OptionsTest {
  @Test
  void javaAndTheCoreHaveTheSameOptions() throws Exception {
    Map<String, String> core = new TreeMap<>();
    for (JsonNode option : new ObjectMapper().readTree(Native.options())) {
      String name = option.get("name").asText();
      String type = option.get("type").asText();
      if (type.equals("properties")) {
        assertEquals(TidemarkOptions.ODBC_PREFIX, name + ".");
        continue;
      }
      String need = option.path("required").asBoolean() ? "required" : "optional";
      core.put(
          option.get("of").asText() + " " + name,
          need + " " + javaType(type) + " " + option.path("default").asText("null"));
    }
    Map<String, String> java = new TreeMap<>();
    put(java, "every", "required", TidemarkOptions.REQUIRED);
    put(java, "every", "optional", TidemarkOptions.OPTIONAL);
    put(java, "mining", "optional", TidemarkOptions.MINING_OPTIONAL);
    put(java, "slots", "required", TidemarkOptions.SLOTS_REQUIRED);
    put(java, "slots", "optional", TidemarkOptions.SLOTS_OPTIONAL);
    assertEquals(core, java);
  }

  private static void put(
      Map<String, String> all, String of, String need, List<ConfigOption<?>> options) {
    options.forEach(option -> all.put(of + " " + option.key(), need + " " + of(option)));
  }

  private static String javaType(String type) {
    switch (type) {
      case "integer":
        return "Integer";
      case "long":
        return "Long";
      case "duration":
        return "Duration";
      case "bytes":
        return "MemorySize";
      case "flag":
        return "Boolean";
      default:
        return "String";
    }
  }

  private static String of(ConfigOption<?> option) {
    Object byDefault = option.defaultValue();
    Object read = read(option);
    if (byDefault instanceof Duration) {
      byDefault = ((Duration) byDefault).toMillis();
    } else if (byDefault instanceof MemorySize) {
      byDefault = ((MemorySize) byDefault).getBytes();
    }
    return read.getClass().getSimpleName() + " " + byDefault;
  }

  /** The class of an option's values is not public, but what it reads a text as is. */
  private static Object read(ConfigOption<?> option) {
    try {
      return Configuration.fromMap(Map.of(option.key(), "7")).get(option);
    } catch (IllegalArgumentException e) {
      return Configuration.fromMap(Map.of(option.key(), "true")).get(option);
    }
  }
}
