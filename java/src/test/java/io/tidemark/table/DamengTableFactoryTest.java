package io.tidemark.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.CatalogTable;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.catalog.ObjectIdentifier;
import org.apache.flink.table.catalog.ResolvedCatalogTable;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.catalog.UniqueConstraint;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.source.ScanTableSource.ScanRuntimeProvider;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.runtime.connector.source.ScanRuntimeProviderContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DamengTableFactoryTest {
  private static final ResolvedSchema SCHEMA =
      ResolvedSchema.of(
          Column.physical("ID", DataTypes.BIGINT().notNull()),
          Column.physical("NAME", DataTypes.STRING()),
          Column.physical("PRICE", DataTypes.DECIMAL(10, 2)));

  private static Map<String, String> minimal() {
    Map<String, String> options = new LinkedHashMap<>();
    options.put("connector", "dameng-cdc");
    options.put("hostname", "db");
    options.put("username", "u");
    options.put("password", "hush-hush");
    options.put("schema-name", "BIZ");
    options.put("table-name", "ORDERS");
    return options;
  }

  private static TidemarkTableSource create(Map<String, String> options) {
    return create(SCHEMA, options);
  }

  private static TidemarkTableSource create(ResolvedSchema schema, Map<String, String> options) {
    CatalogTable table =
        CatalogTable.newBuilder()
            .schema(Schema.newBuilder().fromResolvedSchema(schema).build())
            .options(options)
            .build();
    return (TidemarkTableSource)
        FactoryUtil.createDynamicTableSource(
            null,
            ObjectIdentifier.of("c", "d", "t"),
            new ResolvedCatalogTable(table, schema),
            Map.of(),
            new Configuration(),
            DamengTableFactoryTest.class.getClassLoader(),
            false);
  }

  private static TidemarkTableSource with(String name, String value) {
    Map<String, String> options = minimal();
    options.put(name, value);
    return create(options);
  }

  /** The same table with a PRIMARY KEY, and the metadata that tells tables apart. */
  private static ResolvedSchema keyedBy(String... names) {
    List<Column> columns = new ArrayList<>(SCHEMA.getColumns());
    columns.add(Column.metadata("tab", DataTypes.STRING().notNull(), "table_name", true));
    columns.add(Column.metadata("schema_name", DataTypes.STRING().notNull(), null, true));
    columns.add(Column.metadata("row_kind", DataTypes.STRING().notNull(), null, true));
    return new ResolvedSchema(
        columns, List.of(), UniqueConstraint.primaryKey("key", Arrays.asList(names)));
  }

  /** All messages of the chain: Flink wraps what a factory throws. */
  private static String refusal(Map<String, String> options) {
    return refusal(SCHEMA, options);
  }

  private static String refusal(ResolvedSchema schema, Map<String, String> options) {
    ValidationException e = assertThrows(ValidationException.class, () -> create(schema, options));
    List<String> messages = new ArrayList<>();
    for (Throwable t = e; t != null; t = t.getCause()) {
      messages.add(t.getMessage());
    }
    String all = String.join("\n", messages);
    // Flink quotes all options, the password as ******.
    assertFalse(all.contains("hush-hush"), all);
    return all;
  }

  @Test
  void theLeastIsEnough() {
    TidemarkTableSource source = create(minimal());
    assertEquals("dameng-cdc", source.asSummaryString());
    assertEquals(ChangelogMode.all(), source.getChangelogMode());
    assertFalse(isBounded(source));
  }

  @ParameterizedTest
  @ValueSource(strings = {"hostname", "username", "password", "schema-name", "table-name"})
  void whatIsRequiredIsMissedByName(String name) {
    Map<String, String> options = minimal();
    options.remove(name);
    String refusal = refusal(options);
    assertTrue(refusal.contains("Missing required options are:\n\n" + name), refusal);
  }

  @ParameterizedTest
  @CsvSource({
    "port, 5237",
    "scan.startup.mode, latest-offset",
    "scan.startup.mode, initial",
    "scan.startup.mode, earliest-offset",
    "scan.incremental.snapshot.chunk.size, 2",
    "scan.incremental.snapshot.chunk.key-column, ID",
    "connect.timeout, 5 s",
    "server-time-zone, Asia/Shanghai",
    "server-time-zone, GMT+8",
    "server-time-zone, +08:00",
    "scan.snapshot.connections, 4",
    "scan.snapshot.fetch.size, 2000",
    "scan.snapshot.page.bytes, 4 mb",
    "scan.snapshot.round.bytes, 1 gb",
    "log.fetch.size, 500",
    "log.window.bytes, 1 gb",
    "log.switch, true",
    "log.on-corruption, skip",
    "log.on-dictionary-mismatch, skip",
    "transaction.fragment.rows, 1",
    "value.on-error, null",
    "value.unavailable, placeholder",
    "on-truncate, ignore",
    "changelog-mode, all",
    "table-without-key, reread",
    "table-name, 'ORDERS_\\d+|\"a.b\"'",
    "connect.max-retries, 0",
    "socket.timeout, 1 min",
    "odbc.driver, /opt/dm/libdodbc.so",
    "odbc.Fetch, 1000",
  })
  void whatIsKnownIsTaken(String name, String value) {
    with(name, value);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "port|0|option 'port': is 0; it must be from 1 to 65535",
        "port|many|Could not parse value 'many' for key 'port'",
        "hostname|' '|option 'hostname': must not be empty",
        "scan.startup.mode|earliest|option 'scan.startup.mode': is 'earliest'; it must be one of 'initial', 'snapshot',"
            + " 'latest-offset', 'earliest-offset', 'specific-offset', 'timestamp'",
        "scan.startup.mode|timestamp|option 'scan.startup.timestamp-millis': must be set where scan.startup.mode ="
            + " 'timestamp'",
        "scan.startup.mode|specific-offset|option 'scan.startup.specific-offset.scn': must be set where",
        "scan.startup.timestamp-millis|5|option 'scan.startup.timestamp-millis': means something only where",
        "scan.startup.timestamp-millis|now|Could not parse value 'now' for key 'scan.startup.timestamp-millis'",
        "scan.startup.specific-offset.scn|5|option 'scan.startup.specific-offset.scn': means something only where",
        "scan.startup.specific-offset.pos|5|Unsupported options",
        "scan.incremental.snapshot.chunk.size|1|option 'scan.incremental.snapshot.chunk.size': is 1; it must be from 2",
        "connect.timeout|1 ms|option 'connect.timeout': is 1 ms; it must be from 1000",
        "connect.timeout|soon|Could not parse value 'soon' for key 'connect.timeout'",
        "server-time-zone|Mars/Olympus|option 'server-time-zone': 'Mars/Olympus' is neither",
        "scan.snapshot.connections|0|option 'scan.snapshot.connections': is 0; it must be from 1 to 64",
        "scan.snapshot.fetch.size|0|option 'scan.snapshot.fetch.size': is 0; it must be from 1",
        "scan.snapshot.page.bytes|1 b|option 'scan.snapshot.page.bytes': is 1 bytes; it must be from 1024",
        "scan.snapshot.round.bytes|17 gb|option 'scan.snapshot.round.bytes': is 18253611008 bytes; it must be from 1024",
        "scan.snapshot.round.bytes|much|Could not parse value 'much' for key 'scan.snapshot.round.bytes'",
        "log.fetch.size|0|option 'log.fetch.size': is 0; it must be from 1",
        "log.window.bytes|1 kb|option 'log.window.bytes': is 1024 bytes; it must be from 1048576",
        "log.switch|perhaps|Could not parse value 'perhaps' for key 'log.switch'",
        "log.on-corruption|guess|option 'log.on-corruption': is 'guess'; it must be one of 'fail', 'skip'",
        "log.on-dictionary-mismatch|guess|option 'log.on-dictionary-mismatch': is 'guess'; it must be one of 'fail',"
            + " 'skip'",
        "transaction.fragment.rows|0|option 'transaction.fragment.rows': is 0; it must be from 1",
        "value.on-error|zero|option 'value.on-error': is 'zero'; it must be one of 'fail', 'null'",
        "table-without-key|skip|option 'table-without-key': is 'skip'; it must be one of 'fail', 'reread'",
        "table-name|(A|option 'table-name': '(A' is not a regular expression: unclosed group",
        "schema-name|\"A|option 'schema-name': a name in double quotes has no closing one",
        "value.unavailable|null|option 'value.unavailable': is 'null'; it must be one of 'read-back', 'placeholder',"
            + " 'fail'",
        "on-truncate|delete|option 'on-truncate': is 'delete'; it must be one of 'fail', 'ignore'",
        "changelog-mode|append|option 'changelog-mode': is 'append'; it must be one of 'all', 'upsert'",
        "decimal.handling.mode|double|option 'decimal.handling.mode': is for the DataStream API's JSON alone",
        "time.precision.mode|sql|option 'time.precision.mode': is for the DataStream API's JSON alone",
        "include.schema.changes|true|option 'include.schema.changes': is for the DataStream API's JSON and changes alone",
        "connect.max-retries|-1|option 'connect.max-retries': is -1; it must be from 0 to 100",
        "socket.timeout|10 ms|option 'socket.timeout': is 10 ms; it must be from 1000",
        "odbc.PWD|x|option 'odbc.PWD': is set by 'password'",
        "tablename|T|Unsupported options:\n\ntablename",
      })
  void whatCannotBeIsRefusedByName(String name, String value, String message) {
    Map<String, String> options = minimal();
    options.put(name, value);
    String refusal = refusal(options);
    assertTrue(refusal.contains(message), refusal);
  }

  @ParameterizedTest
  @CsvSource({
    "specific-offset, scan.startup.specific-offset.scn, 9223372036854775807, 0",
    "timestamp, scan.startup.timestamp-millis, 1767323045678, 253370764800001",
  })
  void aStartInTheLogTakesItsOption(String mode, String name, String value, String outOfRange) {
    Map<String, String> options = minimal();
    options.put("scan.startup.mode", mode);
    options.put(name, value);
    assertFalse(isBounded(create(options)));
    options.put(name, outOfRange);
    String refusal = refusal(options);
    assertTrue(refusal.contains("option '" + name + "': is " + outOfRange), refusal);
  }

  @Test
  void upsertNeedsAPrimaryKey() {
    Map<String, String> options = minimal();
    options.put("changelog-mode", "all");
    assertEquals(ChangelogMode.all(), create(keyedBy("ID"), options).getChangelogMode());
    options.put("changelog-mode", "upsert");
    String needed =
        "option 'changelog-mode': is 'upsert', which needs a PRIMARY KEY declared in the table";
    String refusal = refusal(options);
    assertTrue(refusal.contains(needed), refusal);
    // The names of table and schema alone tell no rows apart.
    refusal = refusal(keyedBy("tab", "schema_name"), options);
    assertTrue(refusal.contains(needed), refusal);
    for (ResolvedSchema schema : List.of(keyedBy("ID"), keyedBy("tab", "ID", "schema_name"))) {
      TidemarkTableSource source = create(schema, options);
      assertEquals(ChangelogMode.upsert(), source.getChangelogMode());
      assertEquals(
          ChangelogMode.upsert(), ((TidemarkTableSource) source.copy()).getChangelogMode());
    }
  }

  @Test
  void aSnapshotIsBounded() {
    assertTrue(isBounded(with("scan.startup.mode", "snapshot")));
  }

  private static boolean isBounded(TidemarkTableSource source) {
    ScanRuntimeProvider provider =
        source.getScanRuntimeProvider(ScanRuntimeProviderContext.INSTANCE);
    return provider.isBounded();
  }

  @Test
  void aCopyKeepsProjectionAndMetadata() throws Exception {
    TidemarkTableSource source = create(minimal());
    source.applyProjection(new int[][] {{2}, {0}}, DataTypes.ROW());
    source.applyReadableMetadata(Arrays.asList("scn", "op_ts"), DataTypes.ROW());
    TidemarkTableSource copy = (TidemarkTableSource) source.copy();
    source.applyProjection(new int[][] {}, DataTypes.ROW());
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
    String type = copy.builder().build(environment).getProducedType().toString();
    assertEquals(
        "ROW<`PRICE` DECIMAL(10, 2), `ID` BIGINT NOT NULL, `scn` BIGINT, `op_ts` TIMESTAMP_LTZ(3) NOT NULL> NOT NULL"
            + "(org.apache.flink.table.data.RowData, org.apache.flink.table.runtime.typeutils.RowDataSerializer)",
        type);
  }
}
