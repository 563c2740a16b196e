package io.tidemark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Field;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.junit.jupiter.api.Test;

class CheckpointingTest {
  private final StreamExecutionEnvironment environment =
      StreamExecutionEnvironment.getExecutionEnvironment();

  private String checkpointing() throws Exception {
    Field config = TidemarkSource.class.getDeclaredField("config");
    config.setAccessible(true);
    String json = (String) config.get(Jobs.minimal().build(environment));
    return json.replaceAll(".*\"checkpointing\":\"(\\w+)\".*", "$1");
  }

  @Test
  void theSourceKnowsHowTheJobTakesCheckpoints() throws Exception {
    assertEquals("disabled", checkpointing());
    environment.enableCheckpointing(1000);
    assertEquals("aligned", checkpointing());
    environment.getCheckpointConfig().enableUnalignedCheckpoints();
    assertEquals("unaligned", checkpointing());
  }
}
