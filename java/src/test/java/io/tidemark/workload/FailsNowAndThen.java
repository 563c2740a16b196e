package io.tidemark.workload;

import java.util.Random;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;

/**
 * A function that fails now and then, but not for ever: each subtask's fourth attempt goes through.
 */
final class FailsNowAndThen<I, O> extends RichMapFunction<I, O> {
  private static final long serialVersionUID = 1L;
  private final int failOneIn;
  private final long seed;
  private final MapFunction<I, O> map;
  private transient boolean failing;
  private transient Random random;

  /**
   * @param failOneIn one record in so many fails; 0: none
   */
  FailsNowAndThen(int failOneIn, long seed, MapFunction<I, O> map) {
    this.failOneIn = failOneIn;
    this.seed = seed;
    this.map = map;
  }

  @Override
  public void open(OpenContext context) {
    failing = failOneIn > 0 && getRuntimeContext().getTaskInfo().getAttemptNumber() < 3;
    random =
        new Random(
            seed
                + 31L * getRuntimeContext().getTaskInfo().getIndexOfThisSubtask()
                + 1009L * getRuntimeContext().getTaskInfo().getAttemptNumber());
  }

  @Override
  public O map(I record) throws Exception {
    if (failing && random.nextInt(failOneIn) == 0) {
      throw new IllegalStateException("a subtask fails, as the test asked for");
    }
    return map.map(record);
  }
}
