package io.tidemark.cluster;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import org.apache.flink.api.common.serialization.Encoder;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.functions.sink.filesystem.bucketassigners.BasePathBucketAssigner;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.sink.SinkV2Provider;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.logical.LogicalType;

/**
 * A table sink {@code 'connector' = 'changelog-files'}: Flink's FileSink, which takes a changelog
 * when a table of files takes inserts alone. A line is {@code when|kind|columns…}; of two rows of a
 * writer the later has the greater {@code when}.
 */
public final class ChangelogFiles implements DynamicTableSinkFactory {
  private static final ConfigOption<String> PATH =
      ConfigOptions.key("path").stringType().noDefaultValue();

  @Override
  public String factoryIdentifier() {
    return "changelog-files";
  }

  @Override
  public Set<ConfigOption<?>> requiredOptions() {
    return Set.of(PATH);
  }

  @Override
  public Set<ConfigOption<?>> optionalOptions() {
    return Set.of();
  }

  @Override
  public DynamicTableSink createDynamicTableSink(Context context) {
    FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
    helper.validate();
    List<LogicalType> types =
        context
            .getCatalogTable()
            .getResolvedSchema()
            .toPhysicalRowDataType()
            .getLogicalType()
            .getChildren();
    return new Table(helper.getOptions().get(PATH), types);
  }

  private static final class Table implements DynamicTableSink {
    private final String path;
    private final List<LogicalType> types;

    Table(String path, List<LogicalType> types) {
      this.path = path;
      this.types = types;
    }

    @Override
    public ChangelogMode getChangelogMode(ChangelogMode requested) {
      return ChangelogMode.all();
    }

    @Override
    public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
      RowData.FieldGetter[] fields = new RowData.FieldGetter[types.size()];
      for (int n = 0; n < fields.length; n++) {
        fields[n] = RowData.createFieldGetter(types.get(n), n);
      }
      return SinkV2Provider.of(
          FileSink.forRowFormat(new Path(path), new Lines(fields))
              .withBucketAssigner(new BasePathBucketAssigner<>())
              .withRollingPolicy(OnCheckpointRollingPolicy.build())
              .build());
    }

    @Override
    public DynamicTableSink copy() {
      return new Table(path, types);
    }

    @Override
    public String asSummaryString() {
      return "changelog-files";
    }
  }

  private static final class Lines implements Encoder<RowData> {
    private static final long serialVersionUID = 1L;
    private final RowData.FieldGetter[] fields;
    private transient long millis;
    private transient int nth;

    Lines(RowData.FieldGetter[] fields) {
      this.fields = fields;
    }

    @Override
    public void encode(RowData row, OutputStream out) throws IOException {
      long now = System.currentTimeMillis();
      nth = now > millis ? 0 : nth + 1;
      millis = Math.max(millis, now);
      StringBuilder line = new StringBuilder();
      line.append(String.format("%013d-%06d", millis, nth)).append('|');
      line.append(row.getRowKind().shortString());
      for (RowData.FieldGetter field : fields) {
        line.append('|').append(field.getFieldOrNull(row));
      }
      out.write(line.append('\n').toString().getBytes(StandardCharsets.UTF_8));
    }
  }
}
