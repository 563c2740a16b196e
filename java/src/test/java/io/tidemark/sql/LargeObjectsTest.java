package io.tidemark.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidemark.workload.StandIn;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.util.List;
import java.util.Random;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** CLOB and BLOB of 1 MB and 50 MB through SQL, byte for byte: in the snapshot and in the log. */
@Timeout(180)
class LargeObjectsTest {
  private static final int MB = 1 << 20;

  /** Digests, since a sink that collects rows takes no more than some megabytes. */
  private static final String QUERY =
      "SELECT ID, N, CHAR_LENGTH(C), SHA256(C), SHA256(DECODE(B, 'ISO-8859-1')) FROM docs";

  /** Text of so many bytes, of characters of one to four bytes. */
  private static String text(int bytes, long seed) {
    String[] letters = {"a", "ж", "名", "𝄞", "'", "\n"};
    int[] sizes = {1, 2, 3, 4, 1, 1};
    StringBuilder text = new StringBuilder(bytes / 2);
    Random random = new Random(seed);
    for (int left = bytes; left > 0; ) {
      int letter = random.nextInt(letters.length);
      if (sizes[letter] <= left) {
        text.append(letters[letter]);
        left -= sizes[letter];
      }
    }
    return text.toString();
  }

  private static byte[] bytes(int length, long seed) {
    byte[] bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  private static String digest(String text) throws Exception {
    byte[] digest =
        MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
    StringBuilder hex = new StringBuilder();
    for (byte b : digest) {
      hex.append(String.format("%02x", b));
    }
    return hex.toString();
  }

  /** Writes a row and returns it as the query has it. */
  private static Row insert(Connection connection, long id, int size) throws Exception {
    String text = text(size, id);
    byte[] bytes = bytes(size, -id);
    try (PreparedStatement insert =
        connection.prepareStatement("INSERT INTO \"BIZ\".\"DOCS\" VALUES (?, 0, ?, ?)")) {
      insert.setLong(1, id);
      insert.setString(2, text);
      insert.setBytes(3, bytes);
      insert.execute();
    }
    return Row.of(
        id,
        0,
        text.codePointCount(0, text.length()),
        digest(text),
        digest(new String(bytes, StandardCharsets.ISO_8859_1)));
  }

  private static Row with(Row row, RowKind kind, int n) {
    Row changed = Row.copy(row);
    changed.setKind(kind);
    changed.setField(1, n);
    return changed;
  }

  @Test
  void valuesOfManyMegabytesAreWholeInSnapshotAndLog() throws Exception {
    try (StandIn standIn = StandIn.start();
        Connection connection = DriverManager.getConnection(standIn.jdbcUrl());
        Statement statement = connection.createStatement()) {
      statement.execute("UPDATE logminer.setting SET value = 'out' WHERE name = 'lob'");
      statement.execute("CREATE SCHEMA \"BIZ\"");
      statement.execute(
          "CREATE TABLE \"BIZ\".\"DOCS\" (\"ID\" BIGINT PRIMARY KEY, \"N\" INT, \"C\" CLOB, \"B\" BLOB)");
      List<Row> snapshot = List.of(insert(connection, 1, MB), insert(connection, 2, 50 * MB));
      String table =
          "CREATE TABLE docs (ID BIGINT, N INT, C STRING, B BYTES, PRIMARY KEY (ID) NOT ENFORCED) "
              + standIn.with("table-name", "DOCS", "odbc.Fetch", "1");
      try (SqlJob job = SqlJob.start(table, QUERY)) {
        assertEquals(snapshot, job.take(2));

        List<Row> inserted = List.of(insert(connection, 3, MB), insert(connection, 4, 50 * MB));
        assertEquals(inserted, job.take(2));
        statement.execute("UPDATE \"BIZ\".\"DOCS\" SET \"N\" = 1 WHERE \"ID\" = 1");
        assertEquals(
            List.of(
                with(snapshot.get(0), RowKind.UPDATE_BEFORE, 0),
                with(snapshot.get(0), RowKind.UPDATE_AFTER, 1)),
            job.take(2));
        assertTrue(SqlJob.gauge("valuesReadBack", 0) >= 4);
      }
    }
  }
}
