package io.tidemark.cluster;

import io.tidemark.sink.OneOptionSink;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.flink.api.common.serialization.Encoder;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.functions.sink.filesystem.bucketassigners.BasePathBucketAssigner;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalType;

/**
 * A table sink {@code 'connector' = 'changelog-files'}: Flink's FileSink, which takes a changelog
 * when a table of files takes inserts alone. A line is {@code when|kind|columns…}; of two rows of a
 * writer the later has the greater {@code when}.
 */
public final class ChangelogFiles extends OneOptionSink<String> {
  private static final ConfigOption<String> PATH =
      ConfigOptions.key("path").stringType().noDefaultValue();

  public ChangelogFiles() {
    super("changelog-files", PATH);
  }

  @Override
  protected DataStreamSink<?> sink(
      DataStream<RowData> rows, String path, List<LogicalType> columns) {
    RowData.FieldGetter[] fields = new RowData.FieldGetter[columns.size()];
    for (int n = 0; n < fields.length; n++) {
      fields[n] = RowData.createFieldGetter(columns.get(n), n);
    }
    return rows.sinkTo(
        FileSink.forRowFormat(new Path(path), new Lines(fields))
            .withBucketAssigner(new BasePathBucketAssigner<>())
            .withRollingPolicy(OnCheckpointRollingPolicy.build())
            .build());
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
