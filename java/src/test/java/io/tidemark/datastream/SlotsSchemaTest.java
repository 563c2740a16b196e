package io.tidemark.datastream;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.tidemark.TidemarkOptions;
import io.tidemark.TidemarkSource;
import io.tidemark.TidemarkSourceBuilder;
import io.tidemark.change.Change;
import io.tidemark.workload.Postgres;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of tables, among their rows, as a DataStream job over a slot gets it. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SlotsSchemaTest {
  private static final String[] STATEMENTS = {
    "INSERT INTO shop.goods VALUES (2, 'b')",
    "ALTER TABLE shop.goods ADD price numeric(8, 2)",
    "INSERT INTO shop.goods VALUES (3, 'c', 1.5)",
    "ALTER TABLE shop.goods RENAME name TO label",
    "UPDATE shop.goods SET label = 'd' WHERE id = 3",
    "ALTER TABLE shop.goods DROP COLUMN price",
    "TRUNCATE shop.goods",
    "INSERT INTO shop.goods VALUES (4, 'e')"
  };

  private static TidemarkSourceBuilder builder(Postgres server, String slot) {
    Map<String, String> options = server.connectionOptions();
    return TidemarkSource.builder("postgres-slot-cdc")
        .option(TidemarkOptions.HOSTNAME, options.get("hostname"))
        .option(TidemarkOptions.PORT, Integer.valueOf(options.get("port")))
        .option(TidemarkOptions.USERNAME, options.get("username"))
        .option(TidemarkOptions.PASSWORD, options.get("password"))
        .option(TidemarkOptions.DATABASE_NAME, options.get("database-name"))
        .option(TidemarkOptions.SCHEMA_NAME, "shop|tidemark")
        .option(TidemarkOptions.TABLE_NAME, "goods|trep_.*")
        .option(TidemarkOptions.SLOT_NAME, slot)
        .option(TidemarkOptions.PUBLICATION_NAME, "tidemark")
        .option(TidemarkOptions.DDL_CAPTURE, "on")
        .option(TidemarkOptions.INCLUDE_SCHEMA_CHANGES, true);
  }

  private static String brief(JsonNode event) {
    return event.has("ddl")
        ? event.get("ddl").asText()
        : event.get("op").asText() + " " + event.get("before") + " -> " + event.get("after");
  }

  private static String brief(Change change) {
    return change.statement() != null
        ? change.statement()
        : change.operation() + " " + change.before() + " -> " + change.after();
  }

  /** As a user with the least rights, once a DBA has run the script. */
  @Test
  void statementsStandInOrderAmongTheRows() throws Exception {
    try (Postgres server = Postgres.start();
        Connection database = DriverManager.getConnection(server.jdbcUrl());
        Statement statement = database.createStatement()) {
      statement.execute(
          Files.readString(
              Path.of(System.getProperty("basedir", "."), "sql/kingbase/ddl_capture.sql")));
      for (String sql :
          List.of(
              "CREATE SCHEMA shop",
              "CREATE TABLE shop.goods (id bigint PRIMARY KEY, name text)",
              "ALTER TABLE shop.goods REPLICA IDENTITY FULL",
              "INSERT INTO shop.goods VALUES (1, 'a')",
              "CREATE PUBLICATION tidemark FOR TABLE shop.goods, tidemark.trep_sync_ddl",
              "GRANT USAGE ON SCHEMA shop TO tidemark",
              "GRANT SELECT ON shop.goods TO tidemark")) {
        statement.execute(sql);
      }
      try (StreamJob<String> json = StreamJob.start(1, builder(server, "goods_json")::buildJson);
          StreamJob<Change> changes =
              StreamJob.start(1, builder(server, "goods_changes")::buildChanges)) {
        List<String> ofJson = new ArrayList<>();
        List<String> ofChanges = new ArrayList<>();
        ObjectMapper mapper = new ObjectMapper();
        ofJson.add(brief(mapper.readTree(json.take(1).get(0))));
        ofChanges.add(brief(changes.take(1).get(0)));
        for (String sql : STATEMENTS) {
          statement.execute(sql);
          ofJson.add(brief(mapper.readTree(json.take(1).get(0))));
          ofChanges.add(brief(changes.take(1).get(0)));
        }
        assertEquals(
            List.of(
                "r null -> {\"id\":1,\"name\":\"a\"}",
                "c null -> {\"id\":2,\"name\":\"b\"}",
                STATEMENTS[1],
                "c null -> {\"id\":3,\"name\":\"c\",\"price\":\"1.50\"}",
                STATEMENTS[3],
                "u {\"id\":3,\"label\":\"c\",\"price\":\"1.50\"} -> {\"id\":3,\"label\":\"d\",\"price\":\"1.50\"}",
                STATEMENTS[5],
                "TRUNCATE TABLE shop.goods",
                "c null -> {\"id\":4,\"label\":\"e\"}"),
            ofJson);
        assertEquals(
            List.of(
                "READ null -> {id=1, name=a}",
                "CREATE null -> {id=2, name=b}",
                STATEMENTS[1],
                "CREATE null -> {id=3, name=c, price=1.50}",
                STATEMENTS[3],
                "UPDATE {id=3, label=c, price=1.50} -> {id=3, label=d, price=1.50}",
                STATEMENTS[5],
                "TRUNCATE TABLE shop.goods",
                "CREATE null -> {id=4, label=e}"),
            ofChanges);
      }
    }
  }
}
