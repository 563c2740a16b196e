package io.tidemark;

import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.types.DataType;

/** What can be read of a row beside its columns. */
public enum RowMetadata {
  /** Name of the table. */
  TABLE_NAME("table_name", DataTypes.STRING().notNull()),
  /** Name of its schema. */
  SCHEMA_NAME("schema_name", DataTypes.STRING().notNull()),
  /** Name of the database. */
  DATABASE_NAME("database_name", DataTypes.STRING().notNull()),
  /** When the transaction committed; the epoch in rows of the snapshot. */
  OP_TS("op_ts", DataTypes.TIMESTAMP_LTZ(3).notNull()),
  /** {@code +I}, {@code -U}, {@code +U} or {@code -D}. */
  ROW_KIND("row_kind", DataTypes.STRING().notNull()),
  /** Where the transaction committed; NULL in rows of the snapshot. */
  SCN("scn", DataTypes.BIGINT().nullable()),
  /** The transaction; NULL in rows of the snapshot. */
  TRANSACTION_ID("transaction_id", DataTypes.STRING().nullable()),
  /** Which part of its transaction the row is in, from 1; NULL in rows of the snapshot. */
  FRAGMENT("fragment", DataTypes.INT().nullable()),
  /** Whether that is the transaction's last part; NULL in rows of the snapshot. */
  LAST_FRAGMENT("last_fragment", DataTypes.BOOLEAN().nullable());

  private final String key;
  private final DataType dataType;

  RowMetadata(String key, DataType dataType) {
    this.key = key;
    this.dataType = dataType;
  }

  /** As {@code METADATA FROM} names it. */
  public String key() {
    return key;
  }

  public DataType dataType() {
    return dataType;
  }

  /** The one of a key that {@link #key()} gave. */
  public static RowMetadata of(String key) {
    for (RowMetadata metadata : values()) {
      if (metadata.key.equals(key)) {
        return metadata;
      }
    }
    throw new IllegalArgumentException("there is no metadata '" + key + "'");
  }
}
