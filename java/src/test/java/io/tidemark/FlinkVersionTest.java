package io.tidemark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.flink.runtime.util.EnvironmentInformation;
import org.junit.jupiter.api.Test;

class FlinkVersionTest {
  @Test
  void theTestsRunOnTheFlinkThatTheBuildNames() {
    assertEquals(System.getProperty("tidemark.test.flink"), EnvironmentInformation.getVersion());
  }
}
