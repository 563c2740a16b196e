package io.tidemark.workload;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A table for each kind of key in {@code tests/fixtures/key_kinds.tsv}, in schema {@code KINDS}:
 * its key's columns, a number, a text and a CLOB. Schema {@code KEYS} has the keys of each kind by
 * number, which writers choose from.
 */
public final class KeyKinds {
  public static final String SCHEMA = "KINDS";

  /** Columns that no DDL touches and whose values the log holds: those of the key, and these. */
  static final List<String> PAYLOAD = List.of("N", "NOTE");

  private static final String CLOB = "DOC";

  /** Keys are numbered from 1 to this; the last one is for the test's own marker. */
  final int keys;

  private final Map<String, Kind> kinds = new LinkedHashMap<>();

  /** A kind of key. */
  static final class Kind {
    final String name;

    /** For CREATE TABLE. */
    final String columns;

    /** The key's columns in the key's order. */
    final List<String> key;

    /** The columns of the fixture, in the table's order. */
    final List<String> names;

    final String values;

    private Kind(String line) {
      String[] fields = line.split("\t");
      name = fields[0];
      columns = fields[1];
      key = Arrays.asList(fields[2].split(","));
      names = new ArrayList<>();
      // A comma inside of a type is followed by a digit, one between columns by a name.
      for (String column : fields[3].split(", (?=[A-Z])")) {
        names.add(column.substring(0, column.indexOf(' ')));
      }
      values = fields[4];
    }

    String table() {
      return "\"" + SCHEMA + "\".\"" + name + "\"";
    }

    /** The key of a number, as a row of the key's columns or of all the fixture's. */
    String keyOf(int number, boolean all) {
      return "(SELECT "
          + quoted(all ? names : key)
          + " FROM \"KEYS\".\""
          + name
          + "\" WHERE \"G\" = "
          + number
          + ")";
    }

    String isKey(int number) {
      return "(" + quoted(key) + ") = " + keyOf(number, false);
    }
  }

  public KeyKinds(int keys) throws IOException {
    this.keys = keys;
    Path file =
        Path.of(
            System.getProperty("tidemark.test.basedir", "."), "tests", "fixtures", "key_kinds.tsv");
    for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
      // The stand-in's parser knows no binary literal of DM8's, 0x41.
      if (!line.startsWith("#") && !line.startsWith("VARBINARY\t")) {
        Kind kind = new Kind(line);
        kinds.put(kind.name, kind);
      }
    }
  }

  List<Kind> all() {
    return new ArrayList<>(kinds.values());
  }

  Kind kind(String name) {
    return kinds.get(name);
  }

  static String quoted(List<String> names) {
    return names.stream().map(name -> "\"" + name + "\"").collect(Collectors.joining(", "));
  }

  /** Makes all tables, with the keys of odd numbers in them. */
  public void create(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("CREATE SCHEMA \"KINDS\"");
      statement.execute("CREATE SCHEMA \"KEYS\"");
      for (Kind kind : all()) {
        statement.execute(
            "CREATE TABLE \"KEYS\".\"" + kind.name + "\" (" + kind.columns + ", \"G\" INT UNIQUE)");
        statement.execute(
            "CREATE TABLE "
                + kind.table()
                + " ("
                + kind.columns
                + ", \"N\" BIGINT, \"NOTE\" VARCHAR(60), \"DOC\" CLOB)");
        statement.execute("ALTER TABLE " + kind.table() + " REPLICA IDENTITY FULL");
      }
      // Loaded without being logged.
      statement.execute("SET session_replication_role = replica");
      for (Kind kind : all()) {
        statement.execute(
            "INSERT INTO \"KEYS\".\""
                + kind.name
                + "\" SELECT "
                + kind.values
                + ", g FROM generate_series(1, "
                + keys
                + ") g");
        statement.execute(
            "INSERT INTO "
                + kind.table()
                + " SELECT "
                + quoted(kind.names)
                + ", \"G\", 'row ' || \"G\", repeat('doc ', (\"G\" * 37) % 400) FROM \"KEYS\".\""
                + kind.name
                + "\" WHERE \"G\" % 2 = 1");
      }
      statement.execute("RESET session_replication_role");
      statement.execute("ANALYZE");
    }
  }

  /** Writes a row that nobody else writes, and returns its transaction. */
  public long marker(Connection connection) throws SQLException {
    Kind kind = all().get(0);
    try (Statement statement = connection.createStatement()) {
      statement.execute("BEGIN");
      statement.execute("DELETE FROM " + kind.table() + " WHERE " + kind.isKey(keys));
      statement.execute(insert(kind, keys, "0, 'marker', NULL"));
      long xid;
      try (ResultSet row = statement.executeQuery("SELECT pg_current_xact_id()::text")) {
        row.next();
        xid = row.getLong(1);
      }
      statement.execute("COMMIT");
      return xid;
    }
  }

  static String insert(Kind kind, int number, String payload) {
    return "INSERT INTO "
        + kind.table()
        + " ("
        + quoted(kind.names)
        + ", \"N\", \"NOTE\", \"DOC\") SELECT "
        + quoted(kind.names)
        + ", "
        + payload
        + " FROM \"KEYS\".\""
        + kind.name
        + "\" WHERE \"G\" = "
        + number
        + " ON CONFLICT DO NOTHING";
  }

  /** Whether DDL leaves a column alone and the log holds its values. */
  boolean isStable(Kind kind, String column) {
    return kind.names.contains(column) || PAYLOAD.contains(column);
  }

  /** Of a row's columns what identifies it. */
  public String key(String table, Map<String, String> row) {
    StringBuilder key = new StringBuilder(table);
    for (String column : kind(table).key) {
      key.append('|').append(row.get(column));
    }
    return key.toString();
  }

  /**
   * A row without the columns that two readings may differ in, and without NULLs, which
   * PostgreSQL's decoding leaves out of a row that was deleted.
   */
  public Map<String, String> stable(String table, Map<String, String> row) {
    Map<String, String> stable = new TreeMap<>(row);
    stable.keySet().removeIf(column -> !isStable(kind(table), column));
    stable.values().removeIf(Objects::isNull);
    return stable;
  }

  /** What stands in the tables now, by key, large values too. */
  public Map<String, Map<String, String>> content(Connection connection) throws SQLException {
    Map<String, Map<String, String>> content = new TreeMap<>();
    try (Statement statement = connection.createStatement()) {
      for (Kind kind : all()) {
        List<String> columns = new ArrayList<>(kind.names);
        columns.addAll(PAYLOAD);
        columns.add(CLOB);
        try (ResultSet row =
            statement.executeQuery("SELECT " + quoted(columns) + " FROM " + kind.table())) {
          while (row.next()) {
            Map<String, String> values = new TreeMap<>();
            for (int n = 1; n <= columns.size(); n++) {
              String type = row.getMetaData().getColumnTypeName(n);
              values.put(columns.get(n - 1), Values.ofText(type, row.getString(n)));
            }
            content.put(key(kind.name, values), values);
          }
        }
      }
    }
    return content;
  }
}
