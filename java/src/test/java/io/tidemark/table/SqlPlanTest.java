package io.tidemark.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.ExplainDetail;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the planner makes of a table of ours. */
class SqlPlanTest {
  private final StreamTableEnvironment sql =
      StreamTableEnvironment.create(StreamExecutionEnvironment.getExecutionEnvironment());

  @BeforeEach
  void createTable() {
    create("orders", "");
  }

  private void create(String name, String more) {
    sql.executeSql(
        "CREATE TABLE "
            + name
            + " (ID BIGINT, NAME STRING, PRICE DECIMAL(10, 2),"
            + " committed TIMESTAMP_LTZ(3) METADATA FROM 'op_ts' VIRTUAL,"
            + " kind STRING METADATA FROM 'row_kind' VIRTUAL,"
            + " at_scn BIGINT METADATA FROM 'scn' VIRTUAL,"
            + " trx STRING METADATA FROM 'transaction_id' VIRTUAL,"
            + " tab STRING METADATA FROM 'table_name' VIRTUAL,"
            + " sch STRING METADATA FROM 'schema_name' VIRTUAL,"
            + " db STRING METADATA FROM 'database_name' VIRTUAL,"
            + " PRIMARY KEY (ID) NOT ENFORCED) WITH ("
            + " 'connector' = 'dameng-cdc', 'hostname' = 'db', 'username' = 'u', 'password' = 'hush-hush',"
            + " 'schema-name' = 'BIZ', 'table-name' = 'ORDERS'"
            + more
            + ")");
  }

  private String plan(String query) {
    String plan =
        sql.explainSql(query, ExplainDetail.CHANGELOG_MODE, ExplainDetail.JSON_EXECUTION_PLAN);
    assertFalse(plan.contains("hush-hush"), plan);
    return plan;
  }

  @Test
  void onlyWhatAQueryNeedsIsRead() {
    String plan = plan("SELECT PRICE, ID FROM orders WHERE ID > 5");
    assertTrue(plan.contains("project=[ID, PRICE], metadata=[]"), plan);
    assertTrue(plan.contains("changelogMode=[I,UB,UA,D]"), plan);
  }

  @Test
  void metadataIsReadWhereItIsNamed() {
    String plan = plan("SELECT committed, NAME, at_scn FROM orders");
    assertTrue(
        plan.contains("metadata=[op_ts, scn]") || plan.contains("metadata=[scn, op_ts]"), plan);
    plan = plan("SELECT * FROM orders");
    for (String key :
        new String[] {
          "op_ts", "row_kind", "scn", "transaction_id", "table_name", "schema_name", "database_name"
        }) {
      assertTrue(plan.contains(key), key + " is missing in " + plan);
    }
  }

  @Test
  void aCountReadsTheKeyAlone() {
    String plan = plan("SELECT COUNT(*) FROM orders");
    assertTrue(plan.contains("project=[ID], metadata=[]"), plan);
  }

  @Test
  void aColumnThatNoTableCanGiveIsRefusedWhenItIsPlanned() {
    sql.executeSql(
        "CREATE TABLE arrays (TAGS ARRAY<STRING>) WITH ('connector' = 'dameng-cdc', 'hostname' = 'db',"
            + " 'username' = 'u', 'password' = 'hush-hush', 'schema-name' = 'BIZ', 'table-name' = 'T')");
    Exception e = assertThrows(Exception.class, () -> plan("SELECT TAGS FROM arrays"));
    String message = e.getCause().getMessage();
    assertTrue(message.contains("column 'TAGS'"), message);
  }

  @Test
  void whatCannotWorkIsRefusedWhenItIsPlanned() {
    create("wrong", ", 'scan.startup.mode' = 'sideways'");
    Exception e = assertThrows(Exception.class, () -> plan("SELECT ID FROM wrong"));
    assertEquals(
        true,
        e.getCause().getMessage().contains("option 'scan.startup.mode': is 'sideways'"),
        e.toString());
  }
}
