package io.tidemark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.runtime.execution.SuppressRestartsException;
import org.apache.flink.runtime.throwable.ThrowableClassifier;
import org.apache.flink.runtime.throwable.ThrowableType;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;
import org.junit.jupiter.api.Test;

class NativeTest {
  @Test
  void aPanicIsAnExceptionWithItsTextAndPlace() {
    TidemarkException e =
        assertThrows(TidemarkException.class, () -> Native.panic("formatted größe 5"));
    assertEquals("TM-9002", e.code());
    assertTrue(e.getMessage().contains("panic: formatted größe 5 (rust/"), e.getMessage());
    assertTrue(e.isRetryable());
    // The library goes on working.
    assertTrue(Native.options().startsWith("["));
  }

  @Test
  void aPanicIsLoggedThroughSlf4j() {
    List<String> lines = new ArrayList<>();
    AbstractAppender appender =
        new AbstractAppender("lines", null, null, false, Property.EMPTY_ARRAY) {
          @Override
          public void append(LogEvent event) {
            lines.add(
                event.getLevel()
                    + " "
                    + event.getLoggerName()
                    + " "
                    + event.getMessage().getFormattedMessage());
          }
        };
    appender.start();
    Logger logger = (Logger) LogManager.getLogger("io.tidemark.bridge.throw");
    logger.addAppender(appender);
    try {
      Native.drainLog();
      lines.clear();
      assertThrows(TidemarkException.class, () -> Native.panic("seen in the log"));
      Native.drainLog();
    } finally {
      logger.removeAppender(appender);
    }
    assertEquals(1, lines.size(), lines.toString());
    assertTrue(
        lines
            .get(0)
            .matches("ERROR io\\.tidemark\\.bridge\\.throw panic in thread .*: seen in the log"),
        lines.toString());
  }

  @Test
  void anInvalidOptionIsFatalAndNamed() {
    TidemarkSourceBuilder job = Jobs.minimal().option(TidemarkOptions.PORT, 70000);
    SuppressRestartsException e = assertThrows(SuppressRestartsException.class, job::validate);
    TidemarkException cause = (TidemarkException) e.getCause();
    assertEquals("TM-1001", cause.code());
    assertTrue(cause.getMessage().contains("option 'port': is 70000"), cause.getMessage());
    assertTrue(
        ThrowableClassifier.findThrowableOfThrowableType(e, ThrowableType.NonRecoverableError)
            .isPresent());
  }

  @Test
  void anotherBuildIsRefused() {
    Native.refuseOtherBuild("0.1.0 abc", "0.1.0 abc");
    SuppressRestartsException e =
        assertThrows(
            SuppressRestartsException.class,
            () -> Native.refuseOtherBuild("0.1.0 abc", "0.1.0 def"));
    assertTrue(e.getCause().getMessage().contains("'0.1.0 abc'"));
    assertTrue(e.getCause().getMessage().contains("'0.1.0 def'"));
  }
}
