package io.tidemark;

import java.time.DateTimeException;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.streaming.api.environment.CheckpointConfig;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;

/** Describes a {@link TidemarkSource}; the options are those of the SQL connector. */
public final class TidemarkSourceBuilder {
  private final String connector;
  private final Map<String, Object> options = new LinkedHashMap<>();
  private final List<RowMetadata> metadata = new ArrayList<>();
  private RowType columns = RowType.of();

  TidemarkSourceBuilder(String connector) {
    this.connector = connector;
  }

  /** Sets an option, one of {@link TidemarkOptions}. */
  public <T> TidemarkSourceBuilder option(ConfigOption<T> option, T value) {
    options.put(option.key(), value);
    return this;
  }

  /** Sets options by their names, as their types have them. */
  public TidemarkSourceBuilder options(Map<String, Object> more) {
    options.putAll(more);
    return this;
  }

  /** Sets an attribute of the ODBC connection string. */
  public TidemarkSourceBuilder odbc(String name, String value) {
    options.put(TidemarkOptions.ODBC_PREFIX + name, value);
    return this;
  }

  /** Sets what to read of the table: a ROW type whose fields have the names of its columns. */
  public TidemarkSourceBuilder columns(DataType row) {
    columns = (RowType) row.getLogicalType();
    return this;
  }

  /** Appends metadata behind the columns. */
  public TidemarkSourceBuilder metadata(RowMetadata... more) {
    metadata.addAll(Arrays.asList(more));
    return this;
  }

  /** Throws if what is set so far is not a job; the exception names the option. */
  public void validate() {
    Native.validate(config("disabled"));
  }

  /**
   * Builds the source for a job of this environment, whose checkpointing must be configured by now:
   * how the job takes checkpoints decides how the snapshot hands over to the log, and a source has
   * no other way to know.
   */
  public TidemarkSource build(StreamExecutionEnvironment environment) {
    String config = config(checkpointing(environment.getCheckpointConfig()));
    Native.validate(config);
    return new TidemarkSource(config, boundedness(), rowType());
  }

  /** Whether the job ends by itself. */
  public Boundedness boundedness() {
    return "snapshot".equals(options.get(TidemarkOptions.SCAN_STARTUP_MODE.key()))
        ? Boundedness.BOUNDED
        : Boundedness.CONTINUOUS_UNBOUNDED;
  }

  private RowType rowType() {
    List<RowType.RowField> fields = new ArrayList<>(columns.getFields());
    for (RowMetadata each : metadata) {
      LogicalType type = each.dataType().getLogicalType();
      fields.add(new RowType.RowField(each.key(), type));
    }
    return new RowType(false, fields);
  }

  String config(String checkpointing) {
    Map<String, Object> all = new LinkedHashMap<>(options);
    all.merge(
        TidemarkOptions.SERVER_TIME_ZONE.key(),
        ZoneId.systemDefault().getId(),
        (set, fallback) -> set);
    all.computeIfPresent(
        TidemarkOptions.SERVER_TIME_ZONE.key(), (key, zone) -> portable(zone.toString()));
    return JobConfig.json(connector, all, columns, metadata, checkpointing);
  }

  /** Java knows zones such as GMT+8 that no other system knows: those are offsets. */
  private static String portable(String zone) {
    try {
      ZoneId normalized = ZoneId.of(zone).normalized();
      return normalized.getId().equals("Z") ? "UTC" : normalized.getId();
    } catch (DateTimeException e) {
      // The core refuses it, with the option's name.
      return zone;
    }
  }

  private static String checkpointing(CheckpointConfig config) {
    if (!config.isCheckpointingEnabled()) {
      return "disabled";
    }
    return config.isUnalignedCheckpointsEnabled() ? "unaligned" : "aligned";
  }
}
