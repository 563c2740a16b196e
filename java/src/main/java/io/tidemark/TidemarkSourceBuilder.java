package io.tidemark;

import io.tidemark.change.Change;
import io.tidemark.change.ChangeFormat;
import io.tidemark.source.reader.JsonFormat;
import io.tidemark.source.reader.RecordFormat;
import io.tidemark.source.reader.RowFormat;
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
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;

/**
 * Describes a {@link TidemarkSource}; the options are those of the SQL connector.
 *
 * <p>It is built in one of three forms: rows of declared columns ({@link #build}), Debezium's
 * envelopes as JSON ({@link #buildJson}), or {@link Change} objects ({@link #buildChanges}). The
 * latter two have all columns of each captured table.
 */
public final class TidemarkSourceBuilder {
  private final String connector;
  private final Map<String, Object> options = new LinkedHashMap<>();
  private final List<RowMetadata> metadata = new ArrayList<>();
  private RowType columns;
  private List<String> primaryKey;

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

  /**
   * Sets by which columns rows are kept downstream, for {@code changelog-mode = upsert}: they must
   * be those of the tables' key.
   */
  public TidemarkSourceBuilder primaryKey(List<String> names) {
    primaryKey = names;
    return this;
  }

  /** Throws if what is set so far is not a job; the exception names the option. */
  public void validate() {
    Native.validate(config("disabled", "rows"));
  }

  /**
   * Builds the source of rows for a job of this environment, whose checkpointing must be configured
   * by now: how the job takes checkpoints decides how the snapshot hands over to the log, and a
   * source has no other way to know.
   */
  public TidemarkSource<RowData> build(StreamExecutionEnvironment environment) {
    return build(environment, "rows", new RowFormat(rowType()));
  }

  /**
   * Builds the source of Debezium's envelopes, each a JSON text: {@code before}, {@code after},
   * {@code source}, {@code op}, {@code ts_ms}, {@code transaction}. Flink's format {@code
   * debezium-json} reads them. The environment as in {@link #build}.
   */
  public TidemarkSource<String> buildJson(StreamExecutionEnvironment environment) {
    return build(environment, "json", new JsonFormat());
  }

  /** Builds the source of changes. The environment as in {@link #build}. */
  public TidemarkSource<Change> buildChanges(StreamExecutionEnvironment environment) {
    return build(environment, "changes", new ChangeFormat());
  }

  private <T> TidemarkSource<T> build(
      StreamExecutionEnvironment environment, String form, RecordFormat<T> format) {
    String config = config(checkpointing(environment.getCheckpointConfig()), form);
    Native.validate(config);
    return new TidemarkSource<>(config, boundedness(), format);
  }

  /** Whether the job ends by itself. */
  public Boundedness boundedness() {
    return "snapshot".equals(options.get(TidemarkOptions.SCAN_STARTUP_MODE.key()))
        ? Boundedness.BOUNDED
        : Boundedness.CONTINUOUS_UNBOUNDED;
  }

  private RowType rowType() {
    List<RowType.RowField> fields =
        new ArrayList<>(columns == null ? List.of() : columns.getFields());
    for (RowMetadata each : metadata) {
      LogicalType type = each.dataType().getLogicalType();
      fields.add(new RowType.RowField(each.key(), type));
    }
    return new RowType(false, fields);
  }

  String config(String checkpointing, String form) {
    Map<String, Object> all = new LinkedHashMap<>(options);
    all.merge(
        TidemarkOptions.SERVER_TIME_ZONE.key(),
        ZoneId.systemDefault().getId(),
        (set, fallback) -> set);
    all.computeIfPresent(
        TidemarkOptions.SERVER_TIME_ZONE.key(), (key, zone) -> portable(zone.toString()));
    JobConfig job = new JobConfig(connector, checkpointing, form);
    job.options(all);
    if (columns != null || !metadata.isEmpty() || form.equals("rows")) {
      job.columns(columns == null ? RowType.of() : columns, metadata);
    }
    if (primaryKey != null) {
      job.primaryKey(primaryKey);
    }
    return job.json();
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
