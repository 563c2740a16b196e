package io.tidemark.bench;

import io.tidemark.workload.Postgres;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.stream.Collectors;
import org.apache.flink.table.factories.Factory;

/** A connector that captures PostgreSQL through a slot. */
enum Contender {
  TIDEMARK("Tidemark", "postgres-slot-cdc"),
  FLINK_CDC("Flink CDC", "postgres-cdc");

  /** Made before the slots, so that neither makes its own. */
  static final String PUBLICATION = "bench";

  private final String title;
  private final String connector;

  Contender(String title, String connector) {
    this.title = title;
    this.connector = connector;
  }

  /** One that is measured in both orders: first and last, and in between. */
  static List<Contender> bothOrders() {
    return TIDEMARK.isHere()
        ? List.of(TIDEMARK, FLINK_CDC, FLINK_CDC, TIDEMARK)
        : List.of(FLINK_CDC, FLINK_CDC);
  }

  /** All that are on a class path. */
  static List<Contender> all() {
    return Arrays.stream(values()).filter(Contender::isHere).collect(Collectors.toList());
  }

  /** Flink CDC is on a class path of its own. */
  private boolean isHere() {
    return this == FLINK_CDC
        || ServiceLoader.load(Factory.class).stream()
            .anyMatch(factory -> factory.get().factoryIdentifier().equals(connector));
  }

  String title() {
    return title;
  }

  /**
   * What its JVM runs with: Flink CDC with nothing of ours but the classes of these benches, so
   * that no library of one stands in the way of the other's.
   */
  String classPath() {
    return this == TIDEMARK
        ? System.getProperty("java.class.path")
        : System.getProperty("tidemark.bench.peer");
  }

  /** The WITH clause of {@code bench.table}, read through {@code slot}. */
  String with(Postgres server, String table, String slot, Map<String, String> more) {
    Map<String, String> options = new LinkedHashMap<>(server.connectionOptions());
    options.put("connector", connector);
    options.put("schema-name", SlotTables.SCHEMA);
    options.put("table-name", table);
    options.put("slot.name", slot);
    options.put("decoding.plugin.name", "pgoutput");
    if (this == FLINK_CDC) {
      // Off by default; without it there are no chunks and no bounded job.
      options.put("scan.incremental.snapshot.enabled", "true");
      options.put("debezium.publication.name", PUBLICATION);
      options.put("debezium.publication.autocreate.mode", "disabled");
    } else {
      options.put("publication.name", PUBLICATION);
      options.put("odbc.driver", "PostgreSQL Unicode");
    }
    options.putAll(more);
    return Postgres.with(options);
  }
}
