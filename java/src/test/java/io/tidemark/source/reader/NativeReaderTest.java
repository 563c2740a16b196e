package io.tidemark.source.reader;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.tidemark.Native;
import io.tidemark.TidemarkException;
import java.util.List;
import java.util.Map;
import org.apache.flink.runtime.execution.SuppressRestartsException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class NativeReaderTest {
  @Test
  void useOfAHandleThatIsNotOpenIsAnException() {
    Native.load();
    NativeReader reader = new NativeReader(99_999);
    List<Executable> calls =
        List.of(
            reader::start,
            () -> reader.next(0),
            () -> reader.addSplits(List.of()),
            () -> reader.consumed(1),
            () -> reader.snapshot(1, 0, 0),
            () -> reader.checkpointComplete(1),
            reader::metrics,
            reader::noMoreSplits);
    for (Executable call : calls) {
      assertEquals("TM-9001", assertThrows(TidemarkException.class, call).code());
    }
    reader.cancel();
    reader.close();
    reader.close();
    assertEquals(Map.of(), reader.metrics());
  }

  @Test
  void damagedEventsAreRefused() {
    Native.load();
    NativeReader reader = new NativeReader(99_999);
    SuppressRestartsException e =
        assertThrows(SuppressRestartsException.class, () -> reader.handle(new byte[] {9, 9}));
    assertEquals("TM-5001", ((TidemarkException) e.getCause()).code());
  }
}
