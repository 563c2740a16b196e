package io.tidemark.change;

import java.io.Serializable;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.TypeInfo;

/**
 * One change of a captured table, or one of its rows as the snapshot found it. An update is one
 * change with both images; a row whose key changes is deleted and created.
 *
 * <p>Immutable. Columns have these types, and null for NULL: {@link Boolean}; {@link Long} for
 * integers of any size; {@link java.math.BigDecimal}; {@link Float}, {@link Double}; {@link
 * String}; {@code byte[]}; {@link java.time.LocalDate}, {@link java.time.LocalTime}, {@link
 * java.time.LocalDateTime}; {@link Instant}.
 */
@TypeInfo(ChangeTypeInfoFactory.class)
public final class Change implements Serializable {
  private static final long serialVersionUID = 1L;

  /** What happened. */
  public enum Operation {
    /** A row that was there when the snapshot was read. */
    READ,
    CREATE,
    UPDATE,
    DELETE,
    /**
     * The table has another shape from here on; there are no images, but a {@link #statement()}.
     */
    SCHEMA_CHANGE;
  }

  private static final Operation[] OPERATIONS = Operation.values();

  /** As the core wrote it. */
  private final byte[] bytes;

  private transient ChangeTable table;
  private transient Images images;

  Change(byte[] bytes, ChangeTable table) {
    this.bytes = bytes;
    this.table = table;
  }

  byte[] bytes() {
    return bytes;
  }

  public Operation operation() {
    return OPERATIONS[bytes[ChangeReader.OPERATION]];
  }

  /** Whether this is a row of the snapshot, not of the log. */
  public boolean isSnapshot() {
    return operation() == Operation.READ;
  }

  public String database() {
    return described().database;
  }

  public String schema() {
    return described().schema;
  }

  public String table() {
    return described().table;
  }

  /** The table's columns in their order, as they were when this was written. */
  public List<String> columns() {
    return described().columns;
  }

  /** The row before, by column; null if there was none. */
  public Map<String, Object> before() {
    return images().before;
  }

  /** The row after, by column; null if there is none. */
  public Map<String, Object> after() {
    return images().after;
  }

  /** What a schema change was asked for by; else null. */
  public String statement() {
    return images().statement;
  }

  /** When the transaction committed; the epoch in a snapshot. */
  public Instant committed() {
    return Instant.EPOCH.plus(reader(ChangeReader.COMMITTED).i64(), ChronoUnit.MICROS);
  }

  /** The transaction; null in a snapshot. */
  public String transactionId() {
    return isOfLog() ? Long.toUnsignedString(logged(2)) : null;
  }

  /** Where the transaction committed, an unsigned number; null in a snapshot. */
  public Long commitScn() {
    return isOfLog() ? logged(0) : null;
  }

  /** Where this change stands in the log, an unsigned number; null in a snapshot. */
  public Long scn() {
    return isOfLog() ? logged(1) : null;
  }

  /** The how-manieth change of its transaction that went out, from 1; 0 in a snapshot. */
  public long totalOrder() {
    return isOfLog() ? logged(3) : 0;
  }

  /** The same among the changes of its table. */
  public long dataCollectionOrder() {
    return isOfLog() ? logged(4) : 0;
  }

  private boolean isOfLog() {
    return bytes[ChangeReader.LOGGED] != 0;
  }

  private long logged(int number) {
    return reader(ChangeReader.LOGGED + 1 + 8 * number).i64();
  }

  private ChangeTable described() {
    if (table == null) {
      table = ChangeTable.read(reader(ChangeReader.table(bytes)));
    }
    return table;
  }

  private Images images() {
    if (images == null) {
      int start = ChangeReader.table(bytes);
      ChangeReader reader = reader(start + ChangeReader.tableSize(bytes, start));
      images = new Images(reader, described().columns, operation());
    }
    return images;
  }

  private ChangeReader reader(int at) {
    return new ChangeReader(bytes, at);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Change && Arrays.equals(bytes, ((Change) other).bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  @Override
  public String toString() {
    String of = schema() + "." + table();
    if (operation() == Operation.SCHEMA_CHANGE) {
      return "SCHEMA_CHANGE " + of + ": " + statement();
    }
    return operation() + " " + of + " " + before() + " -> " + after();
  }

  /** What is read of a change only when it is asked for. */
  private static final class Images {
    final Map<String, Object> before;
    final Map<String, Object> after;
    final String statement;

    Images(ChangeReader reader, List<String> columns, Operation operation) {
      before = reader.image(columns);
      after = reader.image(columns);
      statement = operation == Operation.SCHEMA_CHANGE ? reader.text() : null;
    }
  }
}
