package io.tidemark;

import java.time.Duration;
import java.util.List;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;

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
          .defaultValue(5236)
          .withDescription("Port of the database server.");

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
          .withDescription("Schema of the captured table, case as in the dictionary.");

  public static final ConfigOption<String> TABLE_NAME =
      ConfigOptions.key("table-name")
          .stringType()
          .noDefaultValue()
          .withDescription("The captured table, case as in the dictionary.");

  public static final ConfigOption<String> SCAN_STARTUP_MODE =
      ConfigOptions.key("scan.startup.mode")
          .stringType()
          .defaultValue("initial")
          .withDescription("Where to start: 'initial', 'snapshot' (bounded) or 'latest-offset'.");

  public static final ConfigOption<Integer> SCAN_INCREMENTAL_SNAPSHOT_CHUNK_SIZE =
      ConfigOptions.key("scan.incremental.snapshot.chunk.size")
          .intType()
          .defaultValue(8096)
          .withDescription(
              "Rows of a chunk as it is planned, and at most of a page as it is read.");

  public static final ConfigOption<Duration> CONNECT_TIMEOUT =
      ConfigOptions.key("connect.timeout")
          .durationType()
          .defaultValue(Duration.ofSeconds(30))
          .withDescription("How long to wait for a connection.");

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

  /** Options with this prefix are attributes of the ODBC connection string. */
  public static final String ODBC_PREFIX = "odbc.";

  /** Those without which there is no job. */
  public static final List<ConfigOption<?>> REQUIRED =
      List.of(HOSTNAME, USERNAME, PASSWORD, SCHEMA_NAME, TABLE_NAME);

  /** The others. */
  public static final List<ConfigOption<?>> OPTIONAL =
      List.of(
          PORT,
          SCAN_STARTUP_MODE,
          SCAN_INCREMENTAL_SNAPSHOT_CHUNK_SIZE,
          CONNECT_TIMEOUT,
          SERVER_TIME_ZONE,
          ODBC_DRIVER);

  private TidemarkOptions() {}
}
