package io.tidemark.table;

import io.tidemark.TidemarkOptions;

/** {@code 'connector' = 'postgres-slot-cdc'}. */
public final class PostgresTableFactory extends TidemarkTableFactory {
  public PostgresTableFactory() {
    super("postgres-slot-cdc", TidemarkOptions.SLOTS_REQUIRED, TidemarkOptions.SLOTS_OPTIONAL);
  }
}
