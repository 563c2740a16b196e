package io.tidemark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeRoot;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.Test;

/** The core's rows are, byte for byte, those that Flink's own writer makes of the same values. */
class BinaryRowFixtureTest {
  private static final Path FIXTURE =
      Paths.get(System.getProperty("tidemark.test.basedir"), "tests/fixtures/binary_rows.tsv");

  @Test
  void theRowsOfTheCoreAreThoseOfFlink() throws Exception {
    Set<LogicalTypeRoot> roots = new HashSet<>();
    for (String line : Files.readAllLines(FIXTURE, StandardCharsets.UTF_8)) {
      if (!line.startsWith("#")) {
        check(line.split("\t", -1), line, roots);
      }
    }
    assertTrue(
        roots.containsAll(
            List.of(
                LogicalTypeRoot.BOOLEAN,
                LogicalTypeRoot.TINYINT,
                LogicalTypeRoot.SMALLINT,
                LogicalTypeRoot.INTEGER,
                LogicalTypeRoot.BIGINT,
                LogicalTypeRoot.FLOAT,
                LogicalTypeRoot.DOUBLE,
                LogicalTypeRoot.DECIMAL,
                LogicalTypeRoot.CHAR,
                LogicalTypeRoot.VARCHAR,
                LogicalTypeRoot.BINARY,
                LogicalTypeRoot.VARBINARY,
                LogicalTypeRoot.DATE,
                LogicalTypeRoot.TIME_WITHOUT_TIME_ZONE,
                LogicalTypeRoot.TIMESTAMP_WITHOUT_TIME_ZONE,
                LogicalTypeRoot.TIMESTAMP_WITH_LOCAL_TIME_ZONE)),
        roots.toString());
  }

  private static void check(String[] parts, String line, Set<LogicalTypeRoot> roots) {
    int arity = (parts.length - 2) / 2;
    LogicalType[] types = new LogicalType[arity];
    GenericRowData values =
        new GenericRowData(RowKind.fromByteValue(Byte.parseByte(parts[0])), arity);
    for (int field = 0; field < arity; field++) {
      types[field] =
          LogicalTypeParser.parse(
              parts[2 + 2 * field], BinaryRowFixtureTest.class.getClassLoader());
      values.setField(field, value(types[field], parts[3 + 2 * field]));
      roots.add(types[field].getTypeRoot());
    }
    BinaryRowData row = new RowDataSerializer(types).toBinaryRow(values);
    byte[] bytes = new byte[row.getSizeInBytes()];
    row.getSegments()[0].get(row.getOffset(), bytes);
    assertEquals(hex(bytes), parts[1], line);
  }

  private static Object value(LogicalType type, String text) {
    if (text.equals("NULL")) {
      return null;
    }
    switch (type.getTypeRoot()) {
      case BOOLEAN:
        return Boolean.valueOf(text);
      case TINYINT:
        return Byte.valueOf(text);
      case SMALLINT:
        return Short.valueOf(text);
      case INTEGER:
        return Integer.valueOf(text);
      case BIGINT:
        return Long.valueOf(text);
      case FLOAT:
        return Float.valueOf(text);
      case DOUBLE:
        return Double.valueOf(text);
      case DECIMAL:
        DecimalType decimal = (DecimalType) type;
        return DecimalData.fromBigDecimal(
            new BigDecimal(text), decimal.getPrecision(), decimal.getScale());
      case CHAR:
      case VARCHAR:
        return StringData.fromBytes(unhex(text));
      case BINARY:
      case VARBINARY:
        return unhex(text);
      case DATE:
        return (int) LocalDate.parse(text).toEpochDay();
      case TIME_WITHOUT_TIME_ZONE:
        return (int) (LocalTime.parse(text).toNanoOfDay() / 1_000_000);
      case TIMESTAMP_WITHOUT_TIME_ZONE:
        return TimestampData.fromLocalDateTime(LocalDateTime.parse(text));
      case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
        return TimestampData.fromInstant(LocalDateTime.parse(text).toInstant(ZoneOffset.UTC));
      default:
        throw new AssertionError("the fixture has a type that this test does not know: " + type);
    }
  }

  private static String hex(byte[] bytes) {
    StringBuilder hex = new StringBuilder();
    for (byte each : bytes) {
      hex.append(String.format("%02x", each));
    }
    return hex.toString();
  }

  private static byte[] unhex(String hex) {
    byte[] bytes = new byte[hex.length() / 2];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
    }
    return bytes;
  }
}
