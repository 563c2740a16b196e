package io.tidemark.table;

import io.tidemark.TidemarkOptions;
import java.util.List;

/** {@code 'connector' = 'dameng-cdc'}. */
public final class DamengTableFactory extends TidemarkTableFactory {
  public DamengTableFactory() {
    super("dameng-cdc", List.of(), TidemarkOptions.MINING_OPTIONAL);
  }
}
