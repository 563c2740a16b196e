package io.tidemark.workload;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.Date;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.zip.CRC32C;

/**
 * The table that writers change and the job captures, and a checksum that both sides can compute.
 */
public final class OrdersTable {
  public static final String SCHEMA = "BIZ";
  public static final String NAME = "ORDERS";
  static final String QUOTED = "\"BIZ\".\"ORDERS\"";

  /** Columns as a Flink DDL lists them. */
  public static final String FLINK_COLUMNS =
      "ID BIGINT NOT NULL, CUSTOMER STRING, AMOUNT DECIMAL(12, 2), NOTE STRING, ORDERED DATE,"
          + " CHANGED TIMESTAMP(6), PRIMARY KEY (ID) NOT ENFORCED";

  private OrdersTable() {}

  /** Makes the table and fills it with {@code rows} rows. */
  public static void create(Connection connection, long rows) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("CREATE SCHEMA IF NOT EXISTS \"BIZ\"");
      statement.execute(
          "CREATE TABLE "
              + QUOTED
              + " (\"ID\" BIGINT PRIMARY KEY, \"CUSTOMER\" VARCHAR(40), \"AMOUNT\" DECIMAL(12,2),"
              + " \"NOTE\" VARCHAR(200), \"ORDERED\" pg_catalog.date, \"CHANGED\" TIMESTAMP(6))");
    }
    fill(connection, rows);
  }

  /** Puts {@code rows} rows into the empty table. */
  public static void fill(Connection connection, long rows) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("INSERT INTO " + QUOTED + " " + rows(1, rows));
    }
  }

  /**
   * A query for the rows of the keys from {@code first} to {@code last}, which are always the same.
   */
  public static String rows(long first, long last) {
    return rows(first + "::bigint", Long.toString(last));
  }

  /** The same with bounds that are expressions. */
  public static String rows(String first, String last) {
    return "SELECT n, 'customer ' || n % 9973, (n * 7919 % 1000000) / 100.0,"
        + " CASE WHEN n % 5 = 0 THEN NULL ELSE 'it''s order ' || n || ' ' || repeat('x', (n % 40)::int) END,"
        + " TIMESTAMP '2024-01-01 00:00:00' + (n % 900)::int * INTERVAL '1 day', TIMESTAMP '2024-01-01 00:00:00' + n * INTERVAL '1.000001 s'"
        + " FROM generate_series("
        + first
        + ", "
        + last
        + ") n";
  }

  /** Count and checksum of what stands in the table. */
  public static Checksum checksum(Connection connection) throws SQLException {
    Checksum sum = new Checksum();
    boolean autoCommit = connection.getAutoCommit();
    connection.setAutoCommit(false);
    try (PreparedStatement select =
        connection.prepareStatement(
            "SELECT \"ID\", \"CUSTOMER\", \"AMOUNT\", \"NOTE\", \"ORDERED\", \"CHANGED\" FROM "
                + QUOTED)) {
      select.setFetchSize(10_000);
      try (ResultSet row = select.executeQuery()) {
        while (row.next()) {
          Date ordered = row.getDate(5);
          sum.add(
              row.getLong(1),
              row.getString(2),
              row.getBigDecimal(3),
              row.getString(4),
              ordered == null ? null : row.getObject(5, LocalDate.class),
              row.getObject(6, LocalDateTime.class));
        }
      }
    } finally {
      connection.rollback();
      connection.setAutoCommit(autoCommit);
    }
    return sum;
  }

  /** Adds a row in the form of {@link Judge} to a checksum. */
  public static void addLine(Checksum sum, String line) {
    String[] columns = line.replace("\\n", "\n").split("\\|", 6);
    sum.add(
        Long.parseLong(columns[0]),
        text(columns[1]),
        columns[2].equals("null") ? null : new BigDecimal(columns[2]),
        text(columns[3]),
        columns[4].equals("null") ? null : LocalDate.parse(columns[4]),
        columns[5].equals("null") ? null : LocalDateTime.parse(columns[5].replace(' ', 'T')));
  }

  private static String text(String column) {
    return column.equals("null") ? null : column;
  }

  /** An order-free checksum over rows. */
  public static final class Checksum {
    public long rows;
    public long sum;

    public void add(
        long id,
        String customer,
        BigDecimal amount,
        String note,
        LocalDate ordered,
        LocalDateTime changed) {
      rows++;
      sum += hash(id + "|" + customer + "|" + amount + "|" + note + "|" + ordered + "|" + changed);
    }

    static long hash(String row) {
      CRC32C crc = new CRC32C();
      byte[] bytes = row.getBytes(StandardCharsets.UTF_8);
      crc.update(bytes);
      // Spread the 32 bits, so that sums of many rows do not cancel out.
      return (crc.getValue() ^ bytes.length) * 0x9E3779B97F4A7C15L;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Checksum
          && ((Checksum) other).rows == rows
          && ((Checksum) other).sum == sum;
    }

    @Override
    public int hashCode() {
      return Long.hashCode(rows ^ sum);
    }

    @Override
    public String toString() {
      return String.format("%,d rows, checksum %016x", rows, sum);
    }
  }
}
