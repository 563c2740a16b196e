package io.tidemark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.flink.runtime.execution.SuppressRestartsException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NativeLoaderTest {
  private static final Pattern COPY = Pattern.compile("tidemark-[0-9a-f-]{36}\\.so");
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @TempDir Path folder;

  /** Loads our classes anew, as Flink does for each job. */
  private static final class JobClassLoader extends URLClassLoader {
    JobClassLoader() {
      super(new URL[] {classes()}, NativeLoaderTest.class.getClassLoader());
    }

    private static URL classes() {
      return Native.class.getProtectionDomain().getCodeSource().getLocation();
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith("io.tidemark.")) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> known = findLoadedClass(name);
        return known != null ? known : findClass(name);
      }
    }

    @Override
    public URL getResource(String name) {
      URL own = findResource(name);
      return own != null ? own : super.getResource(name);
    }
  }

  @Test
  void eachClassLoaderHasItsOwnCopyAndGivesItBack() throws Exception {
    Native.load();
    Set<String> before = mappedCopies();
    WeakReference<ClassLoader> one = new WeakReference<>(useInAnotherLoader());
    WeakReference<ClassLoader> two = new WeakReference<>(useInAnotherLoader());
    awaitUnmapped(newSince(before));
    assertEquals(null, one.get());
    assertEquals(null, two.get());
    assertTrue(Native.options().contains("hostname"), "the copy in use goes on working");
  }

  private static ClassLoader useInAnotherLoader() throws Exception {
    ClassLoader loader = new JobClassLoader();
    Class<?> other = Class.forName("io.tidemark.Native", true, loader);
    assertNotSame(Native.class, other);
    Set<String> before = mappedCopies();
    Method options = other.getMethod("options");
    assertEquals(Native.options(), options.invoke(null));
    options.invoke(null);
    assertEquals(1, newSince(before).size(), "a copy is mapped once a class loader");
    return loader;
  }

  private static void awaitUnmapped(Set<String> copies) throws Exception {
    Instant deadline = Instant.now().plus(PATIENCE);
    while (!Collections.disjoint(copies, mappedCopies()) && Instant.now().isBefore(deadline)) {
      System.gc();
      Thread.sleep(20);
    }
    assertTrue(Collections.disjoint(copies, mappedCopies()), "a collected loader's copy is mapped");
  }

  private static Set<String> newSince(Set<String> before) throws IOException {
    Set<String> copies = mappedCopies();
    copies.removeAll(before);
    return copies;
  }

  /**
   * The files of the library that this process has mapped; their names are gone, the mappings are
   * not.
   */
  private static Set<String> mappedCopies() throws IOException {
    try (var lines = Files.lines(Paths.get("/proc/self/maps"))) {
      return lines
          .map(COPY::matcher)
          .filter(Matcher::find)
          .map(Matcher::group)
          .collect(Collectors.toSet());
    }
  }

  @Test
  void aReaderThatNobodyClosedDoesNotKeepItsCopy() throws Exception {
    Set<String> before = mappedCopies();
    int threads = readerThreads();
    WeakReference<ClassLoader> loader = new WeakReference<>(startReaderInAnotherLoader());
    // It gives itself its name once it runs.
    Instant deadline = Instant.now().plus(PATIENCE);
    while (readerThreads() == threads && Instant.now().isBefore(deadline)) {
      Thread.sleep(5);
    }
    assertEquals(threads + 1, readerThreads());
    awaitUnmapped(newSince(before));
    assertEquals(null, loader.get());
    assertEquals(threads, readerThreads(), "its thread has ended");
  }

  /**
   * As Flink does: enumerators and gauges on threads that outlive the job, a reader on one that
   * does not.
   */
  private static ClassLoader startReaderInAnotherLoader() throws Exception {
    ClassLoader loader = new JobClassLoader();
    String config = Jobs.minimal().config("aligned", "rows");
    Class<?> enumerators =
        Class.forName("io.tidemark.source.enumerator.NativeEnumerator", true, loader);
    Object enumerator =
        enumerators
            .getMethod("open", String.class, int.class, byte[].class)
            .invoke(null, config, 2, null);
    enumerators.getMethod("metrics").invoke(enumerator);
    Class<?> readers = Class.forName("io.tidemark.source.reader.NativeReader", true, loader);
    FutureTask<Object> task =
        new FutureTask<>(
            () -> {
              Object reader =
                  readers
                      .getMethod("open", String.class, int.class, String[].class)
                      .invoke(null, config, 0, new String[0]);
              readers.getMethod("start").invoke(reader);
              return reader;
            });
    Thread thread = new Thread(task);
    thread.start();
    readers.getMethod("metrics").invoke(task.get());
    thread.join();
    return loader;
  }

  /** How many threads of readers this process has; the kernel keeps 15 characters of a name. */
  private static int readerThreads() throws IOException {
    int count = 0;
    try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Paths.get("/proc/self/task"))) {
      for (Path task : tasks) {
        try {
          count += Files.readString(task.resolve("comm")).trim().equals("tidemark-reader") ? 1 : 0;
        } catch (IOException e) {
          continue; // The thread has ended since the folder was read.
        }
      }
    }
    return count;
  }

  @Test
  void aMissingDriverManagerIsNamedWithItsRemedy() throws Exception {
    // To the linker this is a machine without the library: it looks for a version that no machine
    // has.
    String message = refusal("libodbc.so.2", "libodbc.so.9");
    assertTrue(message.startsWith("TM-9004 cannot load the native library"), message);
    assertTrue(message.contains("libodbc.so.9: cannot open shared object file"), message);
    assertTrue(message.contains("apt-get install unixodbc"), message);
  }

  @Test
  void aLibraryOfAnotherBuildIsRefused() throws Exception {
    String identity = Native.identity();
    String other = identity.substring(0, identity.length() - 1) + "x";
    String message = refusal(identity, other);
    assertTrue(message.startsWith("TM-9003"), message);
    assertTrue(message.contains("'" + identity + "'") && message.contains("'" + other + "'"));
  }

  /**
   * What loading says of a library in which one text stands instead of another of the same length.
   */
  private String refusal(String text, String instead) throws Exception {
    Path copy = folder.resolve("libtidemark.so");
    try (InputStream library = NativeLoader.open(NativeLoader.resource())) {
      // Each byte is a character of this set, there and back.
      String bytes = new String(library.readAllBytes(), StandardCharsets.ISO_8859_1);
      assertTrue(bytes.contains(text));
      Files.write(copy, bytes.replace(text, instead).getBytes(StandardCharsets.ISO_8859_1));
    }
    System.setProperty(NativeLoader.PATH, copy.toString());
    try {
      Method load =
          Class.forName("io.tidemark.Native", true, new JobClassLoader()).getMethod("load");
      Throwable first =
          assertThrows(InvocationTargetException.class, () -> load.invoke(null)).getCause();
      Throwable second =
          assertThrows(InvocationTargetException.class, () -> load.invoke(null)).getCause();
      assertSame(first, second, "it is said again, and not tried again");
      assertInstanceOf(SuppressRestartsException.class, first);
      return first.getCause().getMessage();
    } finally {
      System.clearProperty(NativeLoader.PATH);
    }
  }

  @Test
  void whatTheJvmCannotLinkHasARemedy() {
    assertTrue(
        NativeLoader.remedy(
                "/tmp/tidemark-1.so: libodbc.so.2: cannot open shared object file: No such file or directory")
            .matches(".*libodbc\\.so\\.2.*apt-get install unixodbc.*driver.*every TaskManager.*"));
    assertTrue(
        NativeLoader.remedy("/tmp/t.so: failed to map segment from shared object")
            .contains("-Dtidemark.native.dir"));
    assertTrue(
        NativeLoader.remedy("version `GLIBC_2.34' not found (required by /tmp/t.so)")
            .contains("C library"));
  }
}
