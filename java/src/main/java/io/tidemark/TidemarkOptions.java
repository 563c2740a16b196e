package io.tidemark;

import java.time.Duration;
import java.util.List;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.MemorySize;

/**
 * The options that a job sets. The core has the table of them ({@code rust/config/options.rs}): a
 * test compares.
 */
public final class TidemarkOptions {
  public static final ConfigOption<String> HOSTNAME =
      ConfigOptions.key("hostname")
          .stringType()
          .noDefaultValue()
          .withDescription("Host name or address of the database server.");

  public static final ConfigOption<Integer> PORT =
      ConfigOptions.key("port")
          .intType()
          .noDefaultValue()
          .withDescription(
              "Port of the database server; 5236 (dameng-cdc), 5432 (postgres-slot-cdc) or 54321"
                  + " (kingbase-cdc) where it is not set.");

  public static final ConfigOption<String> USERNAME =
      ConfigOptions.key("username")
          .stringType()
          .noDefaultValue()
          .withDescription("User that reads the tables and the log.");

  public static final ConfigOption<String> PASSWORD =
      ConfigOptions.key("password")
          .stringType()
          .noDefaultValue()
          .withDescription("Password of that user.");

  public static final ConfigOption<String> SCHEMA_NAME =
      ConfigOptions.key("schema-name")
          .stringType()
          .noDefaultValue()
          .withDescription("Schemas of the captured tables: a name or a pattern.");

  public static final ConfigOption<String> TABLE_NAME =
      ConfigOptions.key("table-name")
          .stringType()
          .noDefaultValue()
          .withDescription("The captured tables: a name or a pattern.");

  public static final ConfigOption<String> SCAN_STARTUP_MODE =
      ConfigOptions.key("scan.startup.mode")
          .stringType()
          .defaultValue("initial")
          .withDescription(
              "Where to start: 'initial', 'snapshot' (bounded), 'latest-offset', 'earliest-offset',"
                  + " 'specific-offset', 'timestamp' or 'committed-offset'.");

  public static final ConfigOption<Long> SCAN_STARTUP_SPECIFIC_OFFSET_SCN =
      ConfigOptions.key("scan.startup.specific-offset.scn")
          .longType()
          .noDefaultValue()
          .withDescription("The scn that 'specific-offset' starts at.");

  public static final ConfigOption<Long> SCAN_STARTUP_TIMESTAMP_MILLIS =
      ConfigOptions.key("scan.startup.timestamp-millis")
          .longType()
          .noDefaultValue()
          .withDescription("The time that 'timestamp' starts at, in milliseconds since the epoch.");

  public static final ConfigOption<Integer> SCAN_INCREMENTAL_SNAPSHOT_CHUNK_SIZE =
      ConfigOptions.key("scan.incremental.snapshot.chunk.size")
          .intType()
          .defaultValue(8096)
          .withDescription(
              "Rows of a chunk as it is planned, and at most of a page as it is read.");

  public static final ConfigOption<String> SCAN_INCREMENTAL_SNAPSHOT_CHUNK_KEY_COLUMN =
      ConfigOptions.key("scan.incremental.snapshot.chunk.key-column")
          .stringType()
          .noDefaultValue()
          .withDescription("Column of the key by which tables are cut and read first.");

  public static final ConfigOption<String> TABLE_WITHOUT_KEY =
      ConfigOptions.key("table-without-key")
          .stringType()
          .defaultValue("fail")
          .withDescription("What to do about a table without a key: 'fail' or 'reread'.");

  public static final ConfigOption<Integer> SCAN_SNAPSHOT_CONNECTIONS =
      ConfigOptions.key("scan.snapshot.connections")
          .intType()
          .defaultValue(2)
          .withDescription("Connections over which one reader reads pages at the same time.");

  public static final ConfigOption<Integer> SCAN_SNAPSHOT_FETCH_SIZE =
      ConfigOptions.key("scan.snapshot.fetch.size")
          .intType()
          .defaultValue(1024)
          .withDescription("Rows of one fetch while a page is read.");

  public static final ConfigOption<MemorySize> SCAN_SNAPSHOT_PAGE_BYTES =
      ConfigOptions.key("scan.snapshot.page.bytes")
          .memoryType()
          .defaultValue(MemorySize.ofMebiBytes(16))
          .withDescription("Bytes at which a page ends.");

  public static final ConfigOption<MemorySize> SCAN_SNAPSHOT_ROUND_BYTES =
      ConfigOptions.key("scan.snapshot.round.bytes")
          .memoryType()
          .defaultValue(MemorySize.ofMebiBytes(64))
          .withDescription(
              "Bytes of the pages that one advance of the log corrects together; the rows of the round before may still be on their way out.");

  public static final ConfigOption<Integer> LOG_FETCH_SIZE =
      ConfigOptions.key("log.fetch.size")
          .intType()
          .defaultValue(2000)
          .withDescription("Rows of one fetch while the log is read.");

  public static final ConfigOption<MemorySize> LOG_WINDOW_BYTES =
      ConfigOptions.key("log.window.bytes")
          .memoryType()
          .defaultValue(MemorySize.ofMebiBytes(512))
          .withDescription("Bytes of log files that one mining call reads.");

  public static final ConfigOption<Boolean> LOG_SWITCH =
      ConfigOptions.key("log.switch")
          .booleanType()
          .defaultValue(false)
          .withDescription("Whether the server may be told to begin a new log file.");

  public static final ConfigOption<String> LOG_ON_CORRUPTION =
      ConfigOptions.key("log.on-corruption")
          .stringType()
          .defaultValue("fail")
          .withDescription("What to do about a log record that cannot be read: 'fail' or 'skip'.");

  public static final ConfigOption<String> LOG_GONE =
      ConfigOptions.key("log.gone")
          .stringType()
          .defaultValue("fail")
          .withDescription(
              "What to do where the log is gone that a restored job needs: 'fail' or 'resnapshot'.");

  public static final ConfigOption<MemorySize> LOG_HEADROOM_WARN =
      ConfigOptions.key("log.headroom.warn")
          .memoryType()
          .defaultValue(MemorySize.ofMebiBytes(256))
          .withDescription("The log's headroom below which a warning says what to do; 0 for none.");

  public static final ConfigOption<String> LOG_ON_DICTIONARY_MISMATCH =
      ConfigOptions.key("log.on-dictionary-mismatch")
          .stringType()
          .defaultValue("fail")
          .withDescription(
              "What to do about a record of another shape of its table: 'fail' or 'skip'.");

  public static final ConfigOption<MemorySize> TRANSACTION_MEMORY =
      ConfigOptions.key("transaction.memory")
          .memoryType()
          .defaultValue(MemorySize.ofMebiBytes(256))
          .withDescription("Memory that the changes of open transactions may take in a reader.");

  public static final ConfigOption<Duration> TRANSACTION_MAX_AGE =
      ConfigOptions.key("transaction.max-age")
          .durationType()
          .noDefaultValue()
          .withDescription("How long a transaction may stay open.");

  public static final ConfigOption<String> TRANSACTION_ON_MAX_AGE =
      ConfigOptions.key("transaction.on-max-age")
          .stringType()
          .defaultValue("fail")
          .withDescription("What to do about a transaction that is older: 'fail' or 'skip'.");

  public static final ConfigOption<Integer> TRANSACTION_FRAGMENT_ROWS =
      ConfigOptions.key("transaction.fragment.rows")
          .intType()
          .defaultValue(10_000)
          .withDescription("Rows of a committed transaction that are handed on at once.");

  public static final ConfigOption<String> VALUE_ON_ERROR =
      ConfigOptions.key("value.on-error")
          .stringType()
          .defaultValue("fail")
          .withDescription(
              "What to do about a value that does not fit its type: 'fail' or 'null'.");

  public static final ConfigOption<String> VALUE_UNAVAILABLE =
      ConfigOptions.key("value.unavailable")
          .stringType()
          .defaultValue("read-back")
          .withDescription(
              "What to do about a value that the log does not hold: 'read-back', 'placeholder' or 'fail'.");

  public static final ConfigOption<String> ON_TRUNCATE =
      ConfigOptions.key("on-truncate")
          .stringType()
          .defaultValue("fail")
          .withDescription("What to do when the table is truncated: 'fail' or 'ignore'.");

  public static final ConfigOption<String> CHANGELOG_MODE =
      ConfigOptions.key("changelog-mode")
          .stringType()
          .defaultValue("all")
          .withDescription(
              "How updates go out: 'all' (the row before and after) or 'upsert' (the row after).");

  public static final ConfigOption<String> DECIMAL_HANDLING_MODE =
      ConfigOptions.key("decimal.handling.mode")
          .stringType()
          .defaultValue("string")
          .withDescription("Exact numbers in JSON: 'string', 'precise' or 'double'.");

  public static final ConfigOption<String> TIME_PRECISION_MODE =
      ConfigOptions.key("time.precision.mode")
          .stringType()
          .defaultValue("sql")
          .withDescription("Dates and times in JSON: 'sql', 'iso-8601' or 'adaptive'.");

  public static final ConfigOption<Boolean> INCLUDE_SCHEMA_CHANGES =
      ConfigOptions.key("include.schema.changes")
          .booleanType()
          .defaultValue(false)
          .withDescription(
              "Whether statements that alter, empty, rename or drop a table go out among its changes.");

  public static final ConfigOption<Duration> CONNECT_TIMEOUT =
      ConfigOptions.key("connect.timeout")
          .durationType()
          .defaultValue(Duration.ofSeconds(30))
          .withDescription("How long to wait for a connection.");

  public static final ConfigOption<Integer> CONNECT_MAX_RETRIES =
      ConfigOptions.key("connect.max-retries")
          .intType()
          .defaultValue(3)
          .withDescription("How often a connection that could not be had is tried again.");

  public static final ConfigOption<Duration> SOCKET_TIMEOUT =
      ConfigOptions.key("socket.timeout")
          .durationType()
          .defaultValue(Duration.ofMinutes(10))
          .withDescription("How long a statement may take.");

  public static final ConfigOption<String> SERVER_TIME_ZONE =
      ConfigOptions.key("server-time-zone")
          .stringType()
          .noDefaultValue()
          .withDescription(
              "Time zone of the database server; without it the one of the JVM that plans the job.");

  public static final ConfigOption<String> ODBC_DRIVER =
      ConfigOptions.key("odbc.driver")
          .stringType()
          .noDefaultValue()
          .withDescription("The ODBC driver: its name in odbcinst.ini or the path of its library.");

  public static final ConfigOption<String> DATABASE_NAME =
      ConfigOptions.key("database-name")
          .stringType()
          .noDefaultValue()
          .withDescription("The database; a slot belongs to one.");

  public static final ConfigOption<String> SLOT_NAME =
      ConfigOptions.key("slot.name")
          .stringType()
          .noDefaultValue()
          .withDescription("The durable slot; it is made where it is not there.");

  public static final ConfigOption<Boolean> SLOT_DROP_ON_STOP =
      ConfigOptions.key("slot.drop-on-stop")
          .booleanType()
          .noDefaultValue()
          .withDescription(
              "Whether the slot is dropped when the job ends; so it is if it is bounded.");

  public static final ConfigOption<String> DECODING_PLUGIN_NAME =
      ConfigOptions.key("decoding.plugin.name")
          .stringType()
          .noDefaultValue()
          .withDescription("The output plugin of a slot that is made.");

  public static final ConfigOption<String> PUBLICATION_NAME =
      ConfigOptions.key("publication.name")
          .stringType()
          .noDefaultValue()
          .withDescription("The publication that pgoutput reads.");

  public static final ConfigOption<String> DDL_CAPTURE =
      ConfigOptions.key("ddl.capture")
          .stringType()
          .defaultValue("off")
          .withDescription(
              "Whether a table of DDL statements is made and read: what becomes of tables comes in order.");

  public static final ConfigOption<String> DDL_TABLE =
      ConfigOptions.key("ddl.table")
          .stringType()
          .noDefaultValue()
          .withDescription("A table of DDL statements that is there already, as schema.table.");

  public static final ConfigOption<Integer> SCAN_LSN_COMMIT_CHECKPOINTS_DELAY =
      ConfigOptions.key("scan.lsn-commit.checkpoints-num-delay")
          .intType()
          .defaultValue(3)
          .withDescription(
              "By how many checkpoints the slot stays behind the newest complete one.");

  public static final ConfigOption<String> SCAN_STARTUP_SPECIFIC_OFFSET_LSN =
      ConfigOptions.key("scan.startup.specific-offset.lsn")
          .stringType()
          .noDefaultValue()
          .withDescription("The LSN that 'specific-offset' starts at.");

  /** Options with this prefix are attributes of the ODBC connection string. */
  public static final String ODBC_PREFIX = "odbc.";

  /** Those without which there is no job. */
  public static final List<ConfigOption<?>> REQUIRED =
      List.of(HOSTNAME, USERNAME, PASSWORD, SCHEMA_NAME, TABLE_NAME);

  /** Those without which there is no job that reads slots. */
  public static final List<ConfigOption<?>> SLOTS_REQUIRED = List.of(DATABASE_NAME, SLOT_NAME);

  /** The others of connectors that read slots. */
  public static final List<ConfigOption<?>> SLOTS_OPTIONAL =
      List.of(
          SLOT_DROP_ON_STOP,
          DECODING_PLUGIN_NAME,
          PUBLICATION_NAME,
          DDL_CAPTURE,
          DDL_TABLE,
          SCAN_LSN_COMMIT_CHECKPOINTS_DELAY,
          SCAN_STARTUP_SPECIFIC_OFFSET_LSN);

  /** Those of connectors that mine log files. */
  public static final List<ConfigOption<?>> MINING_OPTIONAL =
      List.of(
          SCAN_STARTUP_SPECIFIC_OFFSET_SCN,
          SCAN_STARTUP_TIMESTAMP_MILLIS,
          LOG_FETCH_SIZE,
          LOG_WINDOW_BYTES,
          LOG_SWITCH,
          LOG_ON_CORRUPTION,
          TRANSACTION_MEMORY,
          TRANSACTION_MAX_AGE,
          TRANSACTION_ON_MAX_AGE);

  /** The others that all have. */
  public static final List<ConfigOption<?>> OPTIONAL =
      List.of(
          PORT,
          SCAN_STARTUP_MODE,
          SCAN_INCREMENTAL_SNAPSHOT_CHUNK_SIZE,
          SCAN_INCREMENTAL_SNAPSHOT_CHUNK_KEY_COLUMN,
          TABLE_WITHOUT_KEY,
          SCAN_SNAPSHOT_CONNECTIONS,
          SCAN_SNAPSHOT_FETCH_SIZE,
          SCAN_SNAPSHOT_PAGE_BYTES,
          SCAN_SNAPSHOT_ROUND_BYTES,
          LOG_GONE,
          LOG_HEADROOM_WARN,
          LOG_ON_DICTIONARY_MISMATCH,
          TRANSACTION_FRAGMENT_ROWS,
          VALUE_ON_ERROR,
          VALUE_UNAVAILABLE,
          ON_TRUNCATE,
          CHANGELOG_MODE,
          DECIMAL_HANDLING_MODE,
          TIME_PRECISION_MODE,
          INCLUDE_SCHEMA_CHANGES,
          CONNECT_TIMEOUT,
          CONNECT_MAX_RETRIES,
          SOCKET_TIMEOUT,
          SERVER_TIME_ZONE,
          ODBC_DRIVER);

  private TidemarkOptions() {}
}
