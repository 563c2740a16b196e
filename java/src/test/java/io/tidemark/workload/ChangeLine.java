package io.tidemark.workload;

import io.tidemark.change.Change;
import java.util.Map;
import java.util.TreeMap;

/**
 * A change as a line of text: transaction, operation, table, image before, image after, statement.
 */
public final class ChangeLine {
  private static final String FIELD = "\u0002";

  /** Null in rows of the snapshot. */
  public final String transaction;

  /** {@link Change.Operation} by name. */
  public final String operation;

  public final String table;
  public final Map<String, String> before;
  public final Map<String, String> after;

  /** Of a schema change; else empty. */
  public final String statement;

  /** A change of a row. */
  ChangeLine(
      String transaction,
      String operation,
      String table,
      Map<String, String> before,
      Map<String, String> after) {
    this(transaction, operation, table, before, after, "");
  }

  ChangeLine(
      String transaction,
      String operation,
      String table,
      Map<String, String> before,
      Map<String, String> after,
      String statement) {
    this.transaction = transaction;
    this.operation = operation;
    this.table = table;
    this.before = before;
    this.after = after;
    this.statement = statement;
  }

  /** What the job saw. */
  static ChangeLine of(Change change) {
    return new ChangeLine(
        change.transactionId(),
        change.operation().name(),
        change.table(),
        image(change.before()),
        image(change.after()),
        change.statement() == null ? "" : change.statement());
  }

  private static Map<String, String> image(Map<String, Object> image) {
    if (image == null) {
      return null;
    }
    Map<String, String> row = new TreeMap<>();
    image.forEach((column, value) -> row.put(column, Values.of(value)));
    return row;
  }

  /** The transaction of a line, "null" in rows of the snapshot. */
  public static String transaction(String line) {
    return line.substring(0, line.indexOf(FIELD));
  }

  public boolean isSchemaChange() {
    return operation.equals("SCHEMA_CHANGE");
  }

  public boolean isTruncate() {
    return statement.startsWith("TRUNCATE");
  }

  /** Reads {@link #toString()}. */
  public static ChangeLine read(String line) {
    String[] fields = line.split(FIELD, -1);
    return new ChangeLine(
        fields[0].equals("null") ? null : fields[0],
        fields[1],
        fields[2],
        fields[3].isEmpty() ? null : Values.row(fields[3]),
        fields[4].isEmpty() ? null : Values.row(fields[4]),
        fields[5]);
  }

  @Override
  public String toString() {
    return transaction
        + FIELD
        + operation
        + FIELD
        + table
        + FIELD
        + (before == null ? "" : Values.line(before))
        + FIELD
        + (after == null ? "" : Values.line(after))
        + FIELD
        + statement;
  }
}
