package io.tidemark.table;

import io.tidemark.RowMetadata;
import io.tidemark.TidemarkException;
import io.tidemark.TidemarkOptions;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.execution.SuppressRestartsException;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.catalog.UniqueConstraint;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.factories.FactoryUtil;

/**
 * Makes table sources of one connector from the options of CREATE TABLE; refuses there what cannot
 * work.
 */
abstract class TidemarkTableFactory implements DynamicTableSourceFactory {
  private static final Set<String> NAMES =
      Set.of(
          RowMetadata.TABLE_NAME.key(),
          RowMetadata.SCHEMA_NAME.key(),
          RowMetadata.DATABASE_NAME.key());

  private final String connector;
  private final List<ConfigOption<?>> required;
  private final List<ConfigOption<?>> optional;

  /** A connector that has these options beside those that all have. */
  TidemarkTableFactory(
      String connector, List<ConfigOption<?>> required, List<ConfigOption<?>> optional) {
    this.connector = connector;
    this.required = both(TidemarkOptions.REQUIRED, required);
    this.optional = both(TidemarkOptions.OPTIONAL, optional);
  }

  private static List<ConfigOption<?>> both(
      List<ConfigOption<?>> some, List<ConfigOption<?>> others) {
    return Stream.concat(some.stream(), others.stream()).collect(Collectors.toList());
  }

  @Override
  public String factoryIdentifier() {
    return connector;
  }

  @Override
  public Set<ConfigOption<?>> requiredOptions() {
    return new HashSet<>(required);
  }

  @Override
  public Set<ConfigOption<?>> optionalOptions() {
    return new HashSet<>(optional);
  }

  @Override
  public DynamicTableSource createDynamicTableSource(Context context) {
    FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
    helper.validateExcept(TidemarkOptions.ODBC_PREFIX);
    Map<String, Object> options = new LinkedHashMap<>();
    context
        .getCatalogTable()
        .getOptions()
        .forEach(
            (name, value) -> {
              if (name.startsWith(TidemarkOptions.ODBC_PREFIX)) {
                options.put(name, value);
              }
            });
    required.forEach(option -> take(helper.getOptions(), option, options));
    optional.forEach(option -> take(helper.getOptions(), option, options));
    TidemarkTableSource source =
        new TidemarkTableSource(
            connector, options, context.getPhysicalRowDataType(), primaryKey(context));
    try {
      source.builder().validate();
    } catch (SuppressRestartsException e) {
      throw refusal(e);
    }
    return source;
  }

  /**
   * The table's own columns in the declared PRIMARY KEY, where the names of table, schema and
   * database may stand too; none if there is none.
   */
  private static List<String> primaryKey(Context context) {
    ResolvedSchema schema = context.getCatalogTable().getResolvedSchema();
    Set<String> names =
        schema.getColumns().stream()
            .filter(column -> column instanceof Column.MetadataColumn)
            .map(column -> (Column.MetadataColumn) column)
            .filter(column -> NAMES.contains(column.getMetadataKey().orElse(column.getName())))
            .map(Column::getName)
            .collect(Collectors.toSet());
    List<String> key = schema.getPrimaryKey().map(UniqueConstraint::getColumns).orElse(List.of());
    return key.stream().filter(name -> !names.contains(name)).collect(Collectors.toList());
  }

  private static <T> void take(
      ReadableConfig config, ConfigOption<T> option, Map<String, Object> options) {
    config.getOptional(option).ifPresent(value -> options.put(option.key(), value));
  }

  private static RuntimeException refusal(SuppressRestartsException e) {
    TidemarkException cause = (TidemarkException) e.getCause();
    return new ValidationException(cause.getMessage(), cause);
  }
}
