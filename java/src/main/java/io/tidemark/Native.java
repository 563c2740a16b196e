package io.tidemark;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Properties;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The Rust core as a whole: loaded once a class loader, of this build or not at all. */
public final class Native {
  private static final String ROOT_LOGGER = "io.tidemark";

  private static RuntimeException failure;
  private static boolean loaded;

  private Native() {}

  /**
   * Loads the core; does nothing from the second time on, or throws again what the first time
   * threw.
   */
  public static synchronized void load() {
    if (failure != null) {
      throw failure;
    }
    if (loaded) {
      return;
    }
    try {
      NativeLoader.load();
      refuseOtherBuild(start0(logLevel()), identity());
      loaded = true;
    } catch (RuntimeException e) {
      failure = e;
      throw e;
    }
  }

  /** The table of options as JSON: what the core reads, with types, defaults and ranges. */
  public static String options() {
    load();
    return options0();
  }

  /** Throws if a configuration is not valid; the exception names the option. */
  public static void validate(String config) {
    load();
    validate0(config);
  }

  /**
   * Writes what the core has logged. Cheap when there is nothing; called on Flink's threads only.
   */
  public static void drainLog() {
    for (LogLine line : Frame.list(drainLog0(), LogLine::new)) {
      line.write();
    }
  }

  /** Panics in the core, for the test that this is an exception. */
  static void panic(String text) {
    load();
    panic0(text);
  }

  static void refuseOtherBuild(String library, String classes) {
    if (!library.equals(classes)) {
      throw TidemarkException.of(
          "TM-9003",
          "TM-9003 the native library is of build '"
              + library
              + "', the classes are of build '"
              + classes
              + "'. Use the library that is in the jar: leave out -D"
              + NativeLoader.PATH
              + ", or build both anew.",
          false);
    }
  }

  /** What the build wrote beside the classes. */
  static String identity() {
    try (InputStream in = Native.class.getResourceAsStream("tidemark-build.properties")) {
      Properties properties = new Properties();
      properties.load(in);
      return properties.getProperty("identity");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int logLevel() {
    Logger logger = LoggerFactory.getLogger(ROOT_LOGGER);
    List<Boolean> enabled =
        List.of(
            logger.isErrorEnabled(),
            logger.isWarnEnabled(),
            logger.isInfoEnabled(),
            logger.isDebugEnabled(),
            logger.isTraceEnabled());
    return enabled.lastIndexOf(true) + 1;
  }

  private static final class LogLine {
    private final int level;
    private final String target;
    private final String text;

    LogLine(Frame frame) {
      level = frame.u8();
      target = frame.text();
      text = frame.text();
    }

    void write() {
      String name =
          target.startsWith("tidemark") ? target.substring("tidemark".length()) : "::" + target;
      Logger logger = LoggerFactory.getLogger(ROOT_LOGGER + name.replace("::", "."));
      switch (level) {
        case 1:
          logger.error(text);
          break;
        case 2:
          logger.warn(text);
          break;
        case 3:
          logger.info(text);
          break;
        case 4:
          logger.debug(text);
          break;
        default:
          logger.trace(text);
      }
    }
  }

  private static native String start0(int logLevel);

  private static native byte[] drainLog0();

  private static native String options0();

  private static native void validate0(String config);

  private static native void panic0(String text);
}
