package io.tidemark.workload;

import io.tidemark.TidemarkOptions;
import io.tidemark.TidemarkSource;
import io.tidemark.TidemarkSourceBuilder;
import io.tidemark.change.Change;
import io.tidemark.sink.CommittedLines;
import java.nio.file.Path;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * A job of its own process, to be killed: the changes of all tables of {@link KeyKinds} into {@link
 * CommittedLines}, at parallelism 3.
 */
public final class ChangesJob {
  private ChangesJob() {}

  /**
   * Arguments: folder of lines, folder of checkpoints, checkpoint to restore or -, one change in
   * how many fails, seed, options as name=value each.
   */
  public static void main(String[] args) throws Exception {
    StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.getExecutionEnvironment(
            JobProcess.configuration(args[1], args[2], 3));
    TidemarkSourceBuilder source = TidemarkSource.builder("dameng-cdc");
    for (int n = 5; n < args.length; n++) {
      String[] option = args[n].split("=", 2);
      if (option[0].startsWith(TidemarkOptions.ODBC_PREFIX)) {
        source.odbc(option[0].substring(TidemarkOptions.ODBC_PREFIX.length()), option[1]);
      } else {
        source.options(Map.of(option[0], value(option[1])));
      }
    }
    environment
        .fromSource(source.buildChanges(environment), WatermarkStrategy.noWatermarks(), "changes")
        .map(
            new FailsNowAndThen<Change, String>(
                Integer.parseInt(args[3]),
                Long.parseLong(args[4]),
                change -> ChangeLine.of(change).toString()),
            Types.STRING)
        .process(new CommittedLines(Path.of(args[0])))
        .uid("lines")
        .sinkTo(new DiscardingSink<>());
    environment.execute("changes");
  }

  private static Object value(String text) {
    if (text.matches("[0-9]+")) {
      return Integer.valueOf(text);
    }
    return text.equals("true") ? (Object) true : text;
  }
}
