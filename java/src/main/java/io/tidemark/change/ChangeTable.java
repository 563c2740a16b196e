package io.tidemark.change;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** A table as its changes describe it. */
final class ChangeTable {
  final String database;
  final String schema;
  final String table;
  final List<String> columns;

  private ChangeTable(String database, String schema, String table, List<String> columns) {
    this.database = database;
    this.schema = schema;
    this.table = table;
    this.columns = columns;
  }

  static ChangeTable read(ChangeReader reader) {
    reader.u32();
    String database = reader.text();
    String schema = reader.text();
    String table = reader.text();
    List<String> columns = new ArrayList<>();
    for (int count = reader.u32(); count > 0; count--) {
      columns.add(reader.text());
    }
    return new ChangeTable(database, schema, table, Collections.unmodifiableList(columns));
  }

  /**
   * Descriptions read before: the same bytes come with every change of a table. Of one thread
   * alone.
   */
  static final class Cache {
    private static final int PLACES = 64;

    private final byte[][] keys = new byte[PLACES][];
    private final ChangeTable[] tables = new ChangeTable[PLACES];

    /** The table of a change. */
    ChangeTable of(byte[] change) {
      int start = ChangeReader.table(change);
      int end = start + ChangeReader.tableSize(change, start);
      int place = place(change, start, end);
      byte[] key = keys[place];
      if (key == null || !Arrays.equals(key, 0, key.length, change, start, end)) {
        keys[place] = Arrays.copyOfRange(change, start, end);
        tables[place] = read(new ChangeReader(change, start));
      }
      return tables[place];
    }

    private static int place(byte[] bytes, int start, int end) {
      int hash = end - start;
      // Names that differ mostly differ here; where they do not, the place changes hands.
      for (int at = start; at < end && at < start + 64; at++) {
        hash = 31 * hash + bytes[at];
      }
      return (hash ^ hash >>> 16) & (PLACES - 1);
    }
  }
}
