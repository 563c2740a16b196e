package io.tidemark;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.UUID;

/**
 * Loads the library from a file name that no other class loader has used: a JVM refuses a file that
 * another class loader of it has loaded, and Flink has a class loader a job.
 */
final class NativeLoader {
  /** A library to use instead of the one in the jar. */
  static final String PATH = "tidemark.native.path";

  /** Where to unpack instead of java.io.tmpdir, for hosts that mount it noexec. */
  static final String DIRECTORY = "tidemark.native.dir";

  private NativeLoader() {}

  static void load() {
    String resource = resource();
    Path directory = Paths.get(System.getProperty(DIRECTORY, System.getProperty("java.io.tmpdir")));
    try (InputStream in = open(resource)) {
      Path file = directory.resolve("tidemark-" + UUID.randomUUID() + ".so");
      try {
        Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
        System.load(file.toAbsolutePath().toString());
      } finally {
        // The mapping outlives the name, and a process that is killed leaves nothing behind.
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      throw failure("cannot unpack " + resource + " into " + directory + ": " + e, e);
    } catch (UnsatisfiedLinkError e) {
      throw failure(remedy(e.getMessage()), e);
    }
  }

  static InputStream open(String resource) throws IOException {
    String path = System.getProperty(PATH);
    if (path != null) {
      return Files.newInputStream(Paths.get(path));
    }
    InputStream in = NativeLoader.class.getResourceAsStream(resource);
    if (in == null) {
      throw failure(
          "the jar has no native library for this machine ("
              + resource
              + "). Build it with `mvn package` on such a machine, or name one with -D"
              + PATH
              + ".",
          null);
    }
    return in;
  }

  /** The library of this machine's system and processor in the jar. */
  static String resource() {
    String system = System.getProperty("os.name").toLowerCase(Locale.ROOT).split(" ")[0];
    String processor = System.getProperty("os.arch");
    String platform = system + "-" + (processor.equals("amd64") ? "x86_64" : processor);
    return "/native/" + platform + "/" + System.mapLibraryName("tidemark");
  }

  /** What can be done about a library that the JVM cannot link. */
  static String remedy(String message) {
    String remedy;
    if (message.contains("libodbc.so")) {
      remedy =
          "The ODBC driver manager is missing: install it (Debian: apt-get install unixodbc) and the database's ODBC"
              + " driver, on the JobManager and on every TaskManager.";
    } else if (message.contains("GLIBC")) {
      remedy =
          "The system's C library is older than the one it was built for: build it on this system.";
    } else if (message.contains("map segment") || message.contains("not permitted")) {
      remedy =
          "The directory does not allow execution: name another one with -D"
              + DIRECTORY
              + " in env.java.opts.all.";
    } else {
      remedy = "Check that the library fits this machine.";
    }
    return "cannot load the native library: " + message + ". " + remedy;
  }

  private static RuntimeException failure(String reason, Throwable cause) {
    return TidemarkException.of("TM-9004", "TM-9004 " + reason, false, cause);
  }
}
