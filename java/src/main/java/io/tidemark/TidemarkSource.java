package io.tidemark;

import io.tidemark.source.enumerator.EnumeratorStateSerializer;
import io.tidemark.source.enumerator.NativeEnumerator;
import io.tidemark.source.enumerator.TidemarkEnumerator;
import io.tidemark.source.reader.NativeReader;
import io.tidemark.source.reader.RecordFormat;
import io.tidemark.source.reader.TidemarkReader;
import io.tidemark.source.split.TidemarkSplit;
import io.tidemark.source.split.TidemarkSplitSerializer;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.java.typeutils.ResultTypeQueryable;
import org.apache.flink.configuration.ConfigurationUtils;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/**
 * Captures tables: their rows, then the changes of the database's log.
 *
 * @param <T> what its records are: {@link TidemarkSourceBuilder} says
 */
public final class TidemarkSource<T>
    implements Source<T, TidemarkSplit, byte[]>, ResultTypeQueryable<T> {
  private static final long serialVersionUID = 1L;

  private final String config;
  private final Boundedness boundedness;
  private final RecordFormat<T> format;

  TidemarkSource(String config, Boundedness boundedness, RecordFormat<T> format) {
    this.config = config;
    this.boundedness = boundedness;
    this.format = format;
  }

  /**
   * Starts to describe a source.
   *
   * @param connector the kind of database, by the connector's name in SQL: {@code dameng-cdc}
   */
  public static TidemarkSourceBuilder builder(String connector) {
    return new TidemarkSourceBuilder(connector);
  }

  @Override
  public Boundedness getBoundedness() {
    return boundedness;
  }

  @Override
  public SourceReader<T, TidemarkSplit> createReader(SourceReaderContext context) {
    return new TidemarkReader<>(
        context,
        NativeReader.open(
            config,
            context.getIndexOfSubtask(),
            ConfigurationUtils.parseTempDirectories(context.getConfiguration())),
        format);
  }

  @Override
  public SplitEnumerator<TidemarkSplit, byte[]> createEnumerator(
      SplitEnumeratorContext<TidemarkSplit> context) {
    return restoreEnumerator(context, null);
  }

  @Override
  public SplitEnumerator<TidemarkSplit, byte[]> restoreEnumerator(
      SplitEnumeratorContext<TidemarkSplit> context, byte[] state) {
    return new TidemarkEnumerator(
        context, NativeEnumerator.open(config, context.currentParallelism(), state));
  }

  @Override
  public SimpleVersionedSerializer<TidemarkSplit> getSplitSerializer() {
    return new TidemarkSplitSerializer();
  }

  @Override
  public SimpleVersionedSerializer<byte[]> getEnumeratorCheckpointSerializer() {
    return new EnumeratorStateSerializer();
  }

  @Override
  public TypeInformation<T> getProducedType() {
    return format.type();
  }
}
