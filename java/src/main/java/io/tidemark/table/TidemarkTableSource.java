package io.tidemark.table;

import io.tidemark.RowMetadata;
import io.tidemark.TidemarkOptions;
import io.tidemark.TidemarkSource;
import io.tidemark.TidemarkSourceBuilder;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.Projection;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.source.DataStreamScanProvider;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.connector.source.abilities.SupportsProjectionPushDown;
import org.apache.flink.table.connector.source.abilities.SupportsReadingMetadata;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.DataType;

/** A captured table in SQL. */
final class TidemarkTableSource
    implements ScanTableSource, SupportsProjectionPushDown, SupportsReadingMetadata {
  private final String connector;
  private final Map<String, Object> options;
  private final DataType physical;
  private final List<String> primaryKey;
  private DataType projected;
  private List<RowMetadata> metadata = List.of();

  TidemarkTableSource(
      String connector, Map<String, Object> options, DataType physical, List<String> primaryKey) {
    this.connector = connector;
    this.options = options;
    this.physical = physical;
    this.primaryKey = primaryKey;
    this.projected = physical;
  }

  /** The source as it is projected now. */
  TidemarkSourceBuilder builder() {
    return TidemarkSource.builder(connector)
        .options(options)
        .columns(projected)
        .primaryKey(primaryKey)
        .metadata(metadata.toArray(new RowMetadata[0]));
  }

  @Override
  public ChangelogMode getChangelogMode() {
    return "upsert".equals(options.get(TidemarkOptions.CHANGELOG_MODE.key()))
        ? ChangelogMode.upsert()
        : ChangelogMode.all();
  }

  @Override
  public ScanRuntimeProvider getScanRuntimeProvider(ScanContext context) {
    return new Provider(builder(), asSummaryString());
  }

  @Override
  public boolean supportsNestedProjection() {
    return false;
  }

  @Override
  public void applyProjection(int[][] projectedFields, DataType producedDataType) {
    projected = Projection.of(projectedFields).project(physical);
  }

  @Override
  public Map<String, DataType> listReadableMetadata() {
    Map<String, DataType> all = new LinkedHashMap<>();
    for (RowMetadata each : RowMetadata.values()) {
      all.put(each.key(), each.dataType());
    }
    return all;
  }

  @Override
  public void applyReadableMetadata(List<String> metadataKeys, DataType producedDataType) {
    metadata = metadataKeys.stream().map(RowMetadata::of).collect(Collectors.toList());
  }

  @Override
  public DynamicTableSource copy() {
    TidemarkTableSource copy = new TidemarkTableSource(connector, options, physical, primaryKey);
    copy.projected = projected;
    copy.metadata = metadata;
    return copy;
  }

  @Override
  public String asSummaryString() {
    return connector;
  }

  /**
   * Builds the source where the environment, and with it the checkpoint configuration, is at hand.
   */
  private static final class Provider implements DataStreamScanProvider {
    private final TidemarkSourceBuilder builder;
    private final String name;

    Provider(TidemarkSourceBuilder builder, String name) {
      this.builder = builder;
      this.name = name;
    }

    @Override
    public DataStream<RowData> produceDataStream(
        ProviderContext context, StreamExecutionEnvironment environment) {
      DataStreamSource<RowData> stream =
          environment.fromSource(
              builder.build(environment), WatermarkStrategy.noWatermarks(), name);
      // Without a name of its own the state would not be found after a restart with another plan.
      context.generateUid(name).ifPresent(stream::uid);
      return stream;
    }

    @Override
    public boolean isBounded() {
      return builder.boundedness() == Boundedness.BOUNDED;
    }
  }
}
