package io.tidemark.sink;

import java.util.List;
import java.util.Set;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.sink.DataStreamSinkProvider;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.logical.LogicalType;

/** A table sink that takes any changelog and has one option, required if it has no default. */
public abstract class OneOptionSink<T> implements DynamicTableSinkFactory {
  private final String identifier;
  private final ConfigOption<T> option;

  protected OneOptionSink(String identifier, ConfigOption<T> option) {
    this.identifier = identifier;
    this.option = option;
  }

  /** Where the rows go; {@code value} is the option's, {@code columns} are the table's. */
  protected abstract DataStreamSink<?> sink(
      DataStream<RowData> rows, T value, List<LogicalType> columns);

  @Override
  public final String factoryIdentifier() {
    return identifier;
  }

  @Override
  public final Set<ConfigOption<?>> requiredOptions() {
    return option.hasDefaultValue() ? Set.of() : Set.of(option);
  }

  @Override
  public final Set<ConfigOption<?>> optionalOptions() {
    return option.hasDefaultValue() ? Set.of(option) : Set.of();
  }

  @Override
  public final DynamicTableSink createDynamicTableSink(Context context) {
    FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
    helper.validate();
    return new Table(
        helper.getOptions().get(option),
        context
            .getCatalogTable()
            .getResolvedSchema()
            .toPhysicalRowDataType()
            .getLogicalType()
            .getChildren());
  }

  private final class Table implements DynamicTableSink {
    private final T value;
    private final List<LogicalType> columns;

    Table(T value, List<LogicalType> columns) {
      this.value = value;
      this.columns = columns;
    }

    @Override
    public ChangelogMode getChangelogMode(ChangelogMode requested) {
      return ChangelogMode.all();
    }

    @Override
    public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
      return new DataStreamSinkProvider() {
        @Override
        public DataStreamSink<?> consumeDataStream(
            ProviderContext provider, DataStream<RowData> rows) {
          return sink(rows, value, columns);
        }
      };
    }

    @Override
    public DynamicTableSink copy() {
      return new Table(value, columns);
    }

    @Override
    public String asSummaryString() {
      return identifier;
    }
  }
}
