package io.tidemark;

import org.apache.flink.table.api.DataTypes;

/** Jobs that need no database as long as nobody connects. */
public final class Jobs {
  private Jobs() {}

  /** The least that a job needs. */
  public static TidemarkSourceBuilder minimal() {
    return TidemarkSource.builder("dameng-cdc")
        .option(TidemarkOptions.HOSTNAME, "db")
        .option(TidemarkOptions.USERNAME, "u")
        .option(TidemarkOptions.PASSWORD, "hush-hush")
        .option(TidemarkOptions.SCHEMA_NAME, "BIZ")
        .option(TidemarkOptions.TABLE_NAME, "ORDERS")
        .columns(DataTypes.ROW(DataTypes.FIELD("ID", DataTypes.BIGINT().notNull())));
  }
}
