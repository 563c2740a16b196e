package io.tidemark.table;

/** {@code 'connector' = 'dameng-cdc'}. */
public final class DamengTableFactory extends TidemarkTableFactory {
  public DamengTableFactory() {
    super("dameng-cdc");
  }
}
