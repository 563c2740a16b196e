package io.tidemark.datastream;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.formats.json.debezium.DebeziumJsonFormatFactory;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.catalog.CatalogTable;
import org.apache.flink.table.catalog.ObjectIdentifier;
import org.apache.flink.table.catalog.ResolvedCatalogTable;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.conversion.DataStructureConverter;
import org.apache.flink.table.data.conversion.DataStructureConverters;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.runtime.connector.source.ScanRuntimeProviderContext;
import org.apache.flink.table.types.DataType;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;
import org.apache.flink.util.SimpleUserCodeClassLoader;
import org.apache.flink.util.UserCodeClassLoader;

/** Flink's own reading of Debezium's envelopes: the format {@code debezium-json}. */
final class DebeziumJson {
  private DebeziumJson() {}

  /** The rows of records, with the format's options. */
  static List<Row> read(List<String> records, DataType type, Map<String, String> options)
      throws Exception {
    ResolvedSchema schema = ResolvedSchema.physical(List.of(), List.of());
    ResolvedCatalogTable table =
        new ResolvedCatalogTable(
            CatalogTable.newBuilder().schema(Schema.newBuilder().build()).build(), schema);
    ClassLoader loader = DebeziumJson.class.getClassLoader();
    DeserializationSchema<RowData> format =
        new DebeziumJsonFormatFactory()
            .createDecodingFormat(
                new FactoryUtil.DefaultDynamicTableContext(
                    ObjectIdentifier.of("c", "d", "t"),
                    table,
                    Map.of(),
                    new Configuration(),
                    loader,
                    false),
                Configuration.fromMap(options))
            .createRuntimeDecoder(ScanRuntimeProviderContext.INSTANCE, type);
    format.open(
        new DeserializationSchema.InitializationContext() {
          @Override
          public MetricGroup getMetricGroup() {
            return new UnregisteredMetricsGroup();
          }

          @Override
          public UserCodeClassLoader getUserCodeClassLoader() {
            return SimpleUserCodeClassLoader.create(loader);
          }
        });
    DataStructureConverter<Object, Object> converter = DataStructureConverters.getConverter(type);
    converter.open(loader);
    List<Row> rows = new ArrayList<>();
    Collector<RowData> out =
        new Collector<>() {
          @Override
          public void collect(RowData row) {
            rows.add((Row) converter.toExternal(row));
          }

          @Override
          public void close() {}
        };
    for (String record : records) {
      format.deserialize(record.getBytes(StandardCharsets.UTF_8), out);
    }
    return rows;
  }
}
