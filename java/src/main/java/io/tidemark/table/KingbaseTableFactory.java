package io.tidemark.table;

import io.tidemark.TidemarkOptions;

/** {@code 'connector' = 'kingbase-cdc'}. */
public final class KingbaseTableFactory extends TidemarkTableFactory {
  public KingbaseTableFactory() {
    super("kingbase-cdc", TidemarkOptions.SLOTS_REQUIRED, TidemarkOptions.SLOTS_OPTIONAL);
  }
}
