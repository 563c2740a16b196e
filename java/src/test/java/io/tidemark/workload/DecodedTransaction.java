package io.tidemark.workload;

import java.util.ArrayList;
import java.util.List;

/**
 * A committed transaction and its changes in log order.
 *
 * @param <C> a change
 */
public final class DecodedTransaction<C> {
  public final long xid;

  /** Where it committed. */
  public long commit;

  public final List<C> changes = new ArrayList<>();

  DecodedTransaction(long xid) {
    this.xid = xid;
  }
}
