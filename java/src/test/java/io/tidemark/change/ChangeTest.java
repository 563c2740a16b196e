package io.tidemark.change;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.change.Change.Operation;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.junit.jupiter.api.Test;

/** What the core writes ({@code tests/row/events.rs}) is read as it was meant. */
class ChangeTest {
  private static final Path FIXTURE =
      Paths.get(System.getProperty("tidemark.test.basedir"), "tests/fixtures/changes.tsv");
  private static final String NAME =
      "say \"hm\\\" \b\f\n\r\t\0\u001f\u007f 葡萄 \ud83c\udf47 \u2028</script>";

  private static List<byte[]> fixture() throws Exception {
    List<byte[]> changes = new ArrayList<>();
    for (String line : Files.readAllLines(FIXTURE, StandardCharsets.UTF_8)) {
      if (!line.startsWith("#")) {
        String hex = line.split("\t")[1];
        byte[] bytes = new byte[hex.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
          bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        }
        changes.add(bytes);
      }
    }
    return changes;
  }

  private static Map<String, Object> first() {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("ID", Long.MAX_VALUE);
    row.put("BIT", true);
    row.put("TINY", -128L);
    row.put("SMALL", -32768L);
    row.put("INT", 7L);
    row.put("PRICE", new BigDecimal("-0.50"));
    row.put("WIDE", new BigDecimal("99999999999999999999999999999999999999"));
    row.put("SMALLEST", new BigDecimal("-0.00000000000000000000000000000000000001"));
    row.put("ANY", new BigDecimal("12.5"));
    row.put("REAL", 0.1f);
    row.put("DOUBLE", 1e300);
    row.put("CODE", "ab");
    row.put("NAME", NAME);
    row.put("NOTE", "é");
    row.put("RAW", new byte[] {0, -1, 16});
    row.put("BLOB", new byte[] {0, -1, 16, -2});
    row.put("DAY", LocalDate.of(2024, 2, 29));
    row.put("AT", LocalTime.of(23, 59, 59, 123_456_000));
    row.put("SECONDS", LocalDateTime.of(2024, 1, 31, 9, 30, 15));
    row.put("CHANGED", LocalDateTime.of(2024, 1, 31, 9, 30, 15, 500_000_000));
    row.put("NANOS", LocalDateTime.of(2024, 1, 31, 9, 30, 15, 123_456_789));
    row.put("ZONED", Instant.parse("2024-01-31T01:30:15.125Z"));
    row.put("a\"b\\\n葡", 1L);
    return row;
  }

  private static Map<String, Object> second() {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("ID", Long.MIN_VALUE);
    row.put("BIT", false);
    row.put("TINY", 127L);
    row.put("SMALL", null);
    row.put("INT", (long) Integer.MIN_VALUE);
    row.put("PRICE", new BigDecimal("1234567890.10"));
    row.put("WIDE", BigDecimal.ZERO);
    row.put("SMALLEST", new BigDecimal("0.50000000000000000000000000000000000000"));
    row.put("ANY", new BigDecimal("-15000000000000000000000000000000000000000"));
    row.put("REAL", Float.NaN);
    row.put("DOUBLE", Double.NEGATIVE_INFINITY);
    row.put("CODE", "");
    row.put("NAME", "x  ");
    row.put("NOTE", null);
    row.put("RAW", new byte[0]);
    row.put("BLOB", new byte[] {'a'});
    row.put("DAY", LocalDate.of(1, 1, 1));
    row.put("AT", LocalTime.MIDNIGHT);
    row.put("SECONDS", LocalDateTime.of(1969, 12, 31, 23, 59, 59));
    row.put("CHANGED", LocalDateTime.of(9999, 12, 31, 23, 59, 59, 999_999_000));
    row.put("NANOS", LocalDateTime.of(9999, 12, 31, 23, 59, 59, 999_999_999));
    row.put("ZONED", Instant.EPOCH);
    row.put("a\"b\\\n葡", 2L);
    return row;
  }

  private static void assertImage(Map<String, Object> expected, Map<String, Object> image) {
    if (expected == null) {
      assertNull(image);
      return;
    }
    assertEquals(new ArrayList<>(expected.keySet()), new ArrayList<>(image.keySet()));
    expected.forEach(
        (column, value) -> {
          if (value instanceof byte[]) {
            assertArrayEquals((byte[]) value, (byte[]) image.get(column), column);
          } else {
            assertEquals(value, image.get(column), column);
          }
        });
    assertThrows(UnsupportedOperationException.class, () -> image.put("ID", 1L));
  }

  @Test
  void everyTypeOfTheCoreIsItsNaturalType() throws Exception {
    List<byte[]> fixture = fixture();
    ChangeSerializer serializer = new ChangeSerializer();
    Operation[] operations = {Operation.READ, Operation.CREATE, Operation.UPDATE, Operation.DELETE};
    for (int i = 0; i < operations.length; i++) {
      Change change = serializer.read(fixture.get(i));
      assertEquals(operations[i], change.operation());
      assertEquals("DAMENG", change.database());
      assertEquals("BIZ", change.schema());
      assertEquals("ORDERS", change.table());
      assertEquals(new ArrayList<>(first().keySet()), change.columns());
      assertNull(change.statement());
      assertTrue(change.toString().startsWith(operations[i] + " BIZ.ORDERS "), change.toString());
    }
    Change read = serializer.read(fixture.get(0));
    assertTrue(read.isSnapshot());
    assertEquals(Instant.EPOCH, read.committed());
    assertNull(read.transactionId());
    assertNull(read.scn());
    assertNull(read.commitScn());
    assertEquals(0, read.totalOrder());
    assertEquals(0, read.dataCollectionOrder());
    assertImage(null, read.before());
    assertImage(first(), read.after());

    assertImage(second(), serializer.read(fixture.get(1)).after());

    Change update = serializer.read(fixture.get(2));
    assertEquals(Instant.parse("2024-01-31T01:50:15.123456Z"), update.committed());
    assertEquals("77", update.transactionId());
    assertEquals(9_007_199_254_740_993L, update.scn());
    assertEquals(-1L, update.commitScn());
    assertEquals(2, update.totalOrder());
    assertEquals(1, update.dataCollectionOrder());
    assertImage(first(), update.before());
    assertImage(second(), update.after());

    Change delete = serializer.read(fixture.get(3));
    assertEquals(2, delete.dataCollectionOrder());
    assertImage(second(), delete.before());
    assertImage(null, delete.after());
  }

  @Test
  void aChangeOfShapeIsItsStatement() throws Exception {
    Change change = new ChangeSerializer().read(fixture().get(4));
    String statement = "ALTER TABLE \"BIZ\".ORDERS\n\tADD PRICE DECIMAL(12, 2) -- '葡'";
    assertEquals(Operation.SCHEMA_CHANGE, change.operation());
    assertEquals(statement, change.statement());
    assertEquals("77", change.transactionId());
    assertEquals(0, change.totalOrder());
    assertNull(change.before());
    assertNull(change.after());
    assertEquals("SCHEMA_CHANGE BIZ.ORDERS: " + statement, change.toString());
  }

  @Test
  void flinkKnowsTheTypeWhereverItMeetsTheClass() {
    assertInstanceOf(ChangeTypeInfo.class, TypeInformation.of(Change.class));
    assertEquals(
        new TupleTypeInfo<>(Types.STRING, new ChangeTypeInfo()),
        TypeInformation.of(new TypeHint<Tuple2<String, Change>>() {}));
    assertInstanceOf(
        ChangeSerializer.class,
        TypeInformation.of(Change.class).createSerializer(new SerializerConfigImpl()));
  }

  @Test
  void aChangeComesThroughEverySerializerAsItWas() throws Exception {
    TypeSerializer<Change> serializer = new ChangeSerializer();
    DataOutputSerializer out = new DataOutputSerializer(64);
    List<Change> changes = new ArrayList<>();
    for (byte[] bytes : fixture()) {
      changes.add(new ChangeSerializer().read(bytes));
      serializer.serialize(changes.get(changes.size() - 1), out);
    }
    DataOutputSerializer copied = new DataOutputSerializer(64);
    DataInputDeserializer source = new DataInputDeserializer(out.getCopyOfBuffer());
    for (int i = 0; i < changes.size(); i++) {
      serializer.copy(source, copied);
    }
    DataInputDeserializer in = new DataInputDeserializer(copied.getCopyOfBuffer());
    TypeSerializer<Change> restored = serializer.snapshotConfiguration().restoreSerializer();
    for (Change change : changes) {
      Change back = restored.duplicate().deserialize(in);
      assertEquals(change, back);
      assertEquals(change.hashCode(), back.hashCode());
      assertImage(change.before(), back.before());
      assertImage(change.after(), back.after());
      assertSame(change, serializer.copy(change));
    }
    assertEquals(0, in.available());

    ByteArrayOutputStream java = new ByteArrayOutputStream();
    new ObjectOutputStream(java).writeObject(changes.get(2));
    Change back =
        (Change) new ObjectInputStream(new ByteArrayInputStream(java.toByteArray())).readObject();
    assertImage(first(), back.before());
    assertEquals("ORDERS", back.table());
  }

  @Test
  void aLayoutOfALaterReleaseIsRefused() throws Exception {
    byte[] later = fixture().get(0);
    later[0] = 2;
    IllegalStateException e =
        assertThrows(IllegalStateException.class, () -> new ChangeSerializer().read(later));
    assertTrue(e.getMessage().contains("later release"), e.getMessage());
  }
}
