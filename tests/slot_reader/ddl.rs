//! DDL statements that event triggers write into a table, read back from the log at their place.

use std::sync::Once;

use tidemark::log::decoding::reader::Settings;
use tidemark::split::TableName;

use crate::slots::{PLUGINS, Read, Slot, now, psql, read_to, table};

fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| drop(psql(include_str!("../../sql/kingbase/ddl_capture.sql"))));
}

/// A slot that has the statements too.
fn capturing(name: &str, plugin: &'static str, tables: &[&str]) -> (Slot, Settings) {
    let slot = Slot::new(name, plugin, tables);
    psql(&format!(
        "ALTER PUBLICATION {} ADD TABLE tidemark.trep_sync_ddl",
        slot.name
    ));
    let mut settings = slot.settings();
    settings.slot.ddl_table = Some(TableName {
        schema: "tidemark".into(),
        name: "trep_sync_ddl".into(),
    });
    (slot, settings)
}

fn read(slot: &Slot, settings: Settings) -> Read {
    let mut read = Read::default();
    read_to(&mut slot.open_with(settings, slot.begin()), now(), &mut read);
    read
}

#[test]
fn statements_come_as_events_at_their_place() {
    install();
    for plugin in PLUGINS {
        psql("DROP TABLE IF EXISTS told_of, other_of; CREATE TABLE told_of(id int PRIMARY KEY, v text)");
        let (slot, settings) = capturing("told_of", plugin, &["told_of"]);
        psql("INSERT INTO told_of VALUES (1, 'a')");
        psql("ALTER TABLE told_of ADD n int");
        psql("CREATE TABLE other_of(id int); CREATE INDEX ON told_of(v)");
        psql("BEGIN; ALTER TABLE told_of ADD lost int; ROLLBACK");
        psql("CREATE TEMP TABLE told_of(x int); ALTER TABLE pg_temp.told_of ADD y int");
        psql(
            "BEGIN; INSERT INTO told_of VALUES (2, 'b', 2); ALTER TABLE told_of RENAME n TO m; INSERT INTO told_of VALUES (3, 'c', 3); COMMIT",
        );
        psql("DO $$ BEGIN EXECUTE 'ALTER TABLE told_of DROP COLUMN m'; END $$");
        psql("UPDATE tidemark.trep_sync_ddl SET tg_tag = 'ALTER TABLE'; DELETE FROM tidemark.trep_sync_ddl");
        psql("INSERT INTO told_of VALUES (4, 'd')");
        let read = read(&slot, settings);
        let rename = "BEGIN; INSERT INTO told_of VALUES (2, 'b', 2); ALTER TABLE told_of RENAME n TO m; INSERT INTO told_of VALUES (3, 'c', 3); COMMIT";
        // Who begins to read now knows the columns that the table has now.
        assert_eq!(
            read.rows(),
            [
                "0 >id=1,v=a",
                "0 ALTER TABLE told_of ADD n int",
                "0 >id=2,v=b",
                &format!("0 {rename}"),
                "0 >id=3,v=c",
                "0 DO $$ BEGIN EXECUTE 'ALTER TABLE told_of DROP COLUMN m'; END $$",
                "0 >id=4,v=d",
            ],
            "{plugin}"
        );
        let places = read.transactions.iter().flat_map(|seen| &seen.places);
        let mut lsns: Vec<u64> = places.map(|place| place.0).collect();
        let all = lsns.len();
        lsns.dedup();
        assert_eq!(lsns.len(), all, "each has a place of its own");
    }
}

/// With the statements it is exact when a partition came and went, however late the log is read.
#[test]
fn partitions_come_and_go_exactly_where_the_log_says() {
    install();
    for plugin in PLUGINS {
        psql(
            "DROP TABLE IF EXISTS exact_p, exact_1, exact_2; CREATE TABLE exact_p(id int PRIMARY KEY) PARTITION BY RANGE (id)",
        );
        psql("CREATE TABLE exact_1 PARTITION OF exact_p FOR VALUES FROM (0) TO (10)");
        let (mut slot, settings) = capturing("exact_p", plugin, &["exact_p"]);
        let mut reader = slot.open_with(settings, slot.begin());
        psql("INSERT INTO exact_p VALUES (1)");
        psql("ALTER TABLE exact_p DETACH PARTITION exact_1");
        psql("INSERT INTO exact_1 VALUES (2)");
        psql("CREATE TABLE exact_2 PARTITION OF exact_p FOR VALUES FROM (20) TO (30)");
        psql("INSERT INTO exact_p VALUES (20)");
        psql("DROP TABLE exact_2");
        let mut read = Read::default();
        read_to(&mut reader, now(), &mut read);
        assert_eq!(
            read.rows(),
            [
                "0 >id=1",
                "0 ALTER TABLE exact_p DETACH PARTITION exact_1",
                "0 ALTER TABLE exact_p DETACH PARTITION exact_1",
                "0 >id=20",
                "0 DROP TABLE exact_2",
            ],
            "{plugin}"
        );
        drop(reader);
        slot.tables = vec![table("exact_p")];
    }
}

/// One record tells of several tables, in an order that mixes them.
#[test]
fn what_one_statement_does_to_several_tables_is_told_apart() {
    install();
    for plugin in PLUGINS {
        psql("DROP TABLE IF EXISTS mixed_a, mixed_b");
        for table in ["mixed_a", "mixed_b"] {
            psql(&format!(
                "CREATE TABLE {table}(id int PRIMARY KEY) PARTITION BY RANGE (id)"
            ));
        }
        for (part, table, from) in [
            ("mixed_1", "mixed_a", 0),
            ("mixed_2", "mixed_b", 0),
            ("mixed_3", "mixed_a", 10),
            ("mixed_4", "mixed_b", 10),
        ] {
            psql(&format!(
                "CREATE TABLE {part} PARTITION OF {table} FOR VALUES FROM ({from}) TO ({})",
                from + 10
            ));
        }
        let (slot, settings) = capturing("mixed", plugin, &["mixed_a", "mixed_b"]);
        let mut reader = slot.open_with(settings, slot.begin());
        psql("DROP TABLE mixed_1, mixed_2, mixed_3, mixed_4");
        let mut read = Read::default();
        read_to(&mut reader, now(), &mut read);
        let [dropped] = &read.transactions[..] else {
            panic!("{plugin}: {:?}", read.rows());
        };
        let tables: Vec<&str> = dropped.rows.iter().map(|row| &row[..1]).collect();
        assert_eq!(tables, ["0", "1", "0", "1"], "{plugin}");
        let mut places = dropped.places.clone();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 4, "{plugin}: {:?}", dropped.places);
    }
}
