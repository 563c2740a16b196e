package io.tidemark.table;

import io.tidemark.TidemarkException;
import io.tidemark.TidemarkOptions;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.execution.SuppressRestartsException;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.UniqueConstraint;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.factories.FactoryUtil;

/**
 * Makes table sources of one connector from the options of CREATE TABLE; refuses there what cannot
 * work.
 */
abstract class TidemarkTableFactory implements DynamicTableSourceFactory {
  private final String connector;

  TidemarkTableFactory(String connector) {
    this.connector = connector;
  }

  @Override
  public String factoryIdentifier() {
    return connector;
  }

  @Override
  public Set<ConfigOption<?>> requiredOptions() {
    return new HashSet<>(TidemarkOptions.REQUIRED);
  }

  @Override
  public Set<ConfigOption<?>> optionalOptions() {
    return new HashSet<>(TidemarkOptions.OPTIONAL);
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
    TidemarkOptions.REQUIRED.forEach(option -> take(helper.getOptions(), option, options));
    TidemarkOptions.OPTIONAL.forEach(option -> take(helper.getOptions(), option, options));
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

  /** The names of the declared PRIMARY KEY; none if there is none. */
  private static List<String> primaryKey(Context context) {
    return context
        .getCatalogTable()
        .getResolvedSchema()
        .getPrimaryKey()
        .map(UniqueConstraint::getColumns)
        .orElse(List.of());
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
