//! Partitions come out as their root, over time.

use tidemark::error::ErrorKind;
use tidemark::log::LogReader;
use tidemark::log::OnFault;

use crate::slots::{PLUGINS, Read, Slot, failure, now, psql, read_to};
use crate::warnings;

/// A root with a partition of two levels; one leaf has another order of columns and one that was dropped.
///
/// Its last column has the root's name: a table that was dropped is taken for a partition of whose columns it has.
fn tree(root: &str) {
    psql(&format!(
        "CREATE TABLE {root}(id int, d int, {root}_v text, PRIMARY KEY (id, d)) PARTITION BY LIST (d);
         CREATE TABLE {root}_24 PARTITION OF {root} FOR VALUES IN (24) PARTITION BY LIST (id);
         CREATE TABLE {root}_24_a PARTITION OF {root}_24 FOR VALUES IN (1, 2, 3);
         CREATE TABLE {root}_24_x(gone int, {root}_v text, d int NOT NULL, id int NOT NULL);
         ALTER TABLE {root}_24_x DROP COLUMN gone;
         ALTER TABLE {root}_24 ATTACH PARTITION {root}_24_x DEFAULT;
         CREATE TABLE {root}_25 PARTITION OF {root} FOR VALUES IN (25);"
    ));
}

#[test]
fn partitions_of_two_levels_come_as_their_root_with_its_columns() {
    tree("deep");
    for plugin in PLUGINS {
        let slot = Slot::new("deep", plugin, &["deep"]);
        psql("INSERT INTO deep VALUES (1, 24, 'a'), (9, 24, 'x'), (5, 25, NULL)");
        psql("UPDATE deep SET deep_v = 'b' WHERE id = 9");
        // From leaf to leaf, and from one branch to another.
        psql("UPDATE deep SET id = 8 WHERE id = 1; UPDATE deep SET d = 25 WHERE id = 9");
        psql("DELETE FROM deep WHERE d = 24");
        psql("TRUNCATE deep");
        psql("INSERT INTO deep_24_x(id, d, deep_v) VALUES (10, 24, 'direct')");
        psql("TRUNCATE deep_25, deep_24_x");
        let read = slot.read();
        assert_eq!(
            read.rows(),
            [
                "0 >id=1,d=24,deep_v=a",
                "0 >id=9,d=24,deep_v=x",
                "0 >id=5,d=25,deep_v=NULL",
                "0 id=9,d=24,deep_v=->id=9,d=24,deep_v=b",
                "0 id=1,d=24,deep_v=->",
                "0 >id=8,d=24,deep_v=a",
                "0 id=9,d=24,deep_v=->",
                "0 >id=9,d=25,deep_v=b",
                "0 id=8,d=24,deep_v=->",
                "0 TRUNCATE TABLE public.deep",
                "0 >id=10,d=24,deep_v=direct",
                "0 TRUNCATE TABLE public.deep",
            ],
            "{plugin}"
        );
        let places = read.transactions.iter().flat_map(|seen| &seen.places);
        let root = places.clone().next().unwrap().1;
        assert!(places.clone().count() == 12 && places.clone().all(|place| place.1 == root));
    }
}

#[test]
fn partitions_that_come_are_detached_or_dropped_belong_to_the_root_while_they_are_of_it() {
    for plugin in PLUGINS {
        psql("DROP TABLE IF EXISTS timely, timely_25");
        tree("timely");
        let slot = Slot::new("timely", plugin, &["timely"]);
        let mut reader = slot.open();
        let mut read = Read::default();
        psql("CREATE TABLE timely_26 PARTITION OF timely FOR VALUES IN (26); INSERT INTO timely VALUES (1, 26, 'new')");
        read_to(&mut reader, now(), &mut read);
        psql("INSERT INTO timely VALUES (2, 25, 'before'); ALTER TABLE timely DETACH PARTITION timely_25");
        read_to(&mut reader, now(), &mut read);
        psql("INSERT INTO timely_25 VALUES (3, 25, 'behind')");
        read_to(&mut reader, now(), &mut read);
        psql("INSERT INTO timely VALUES (4, 26, 'last'); DROP TABLE timely_26");
        read_to(&mut reader, now(), &mut read);
        psql("CREATE TABLE timely_26(id int PRIMARY KEY); INSERT INTO timely_26 VALUES (5)");
        read_to(&mut reader, now(), &mut read);
        psql("DROP TABLE timely_26");
        let expected = [
            "0 >id=1,d=26,timely_v=new",
            "0 >id=2,d=25,timely_v=before",
            "0 >id=4,d=26,timely_v=last",
        ];
        assert_eq!(read.rows(), expected, "{plugin}");
    }
}

/// The reader never saw the partition in the dictionary: the log's own description tells, or an error does; a warning and a count
/// where the job is to go on. Tables of other columns, or of a schema that has no partition, are none.
#[test]
fn rows_of_a_partition_that_was_dropped_before_the_start_are_not_lost_in_silence() {
    tree("hasty");
    psql("CREATE SCHEMA IF NOT EXISTS elsewhere");
    for plugin in PLUGINS {
        psql("CREATE TABLE hasty_27 PARTITION OF hasty FOR VALUES IN (27)");
        psql("CREATE TABLE IF NOT EXISTS hasty_other(a int PRIMARY KEY)");
        let slot = Slot::new("hasty", plugin, &["hasty"]);
        psql(
            "CREATE TABLE elsewhere.load(LIKE hasty); INSERT INTO elsewhere.load VALUES (1, 1, 'x'); DROP TABLE elsewhere.load",
        );
        psql("INSERT INTO hasty_other VALUES (1); DROP TABLE hasty_other");
        psql("INSERT INTO hasty VALUES (1, 27, 'a'); DELETE FROM hasty; DROP TABLE hasty_27");
        psql("INSERT INTO hasty VALUES (1, 25, 'b')");
        if plugin == "pgoutput" {
            let expected = [
                "0 >id=1,d=27,hasty_v=a",
                "0 id=1,d=27,hasty_v=->",
                "0 >id=1,d=25,hasty_v=b",
            ];
            assert_eq!(slot.read().rows(), expected);
            psql("DELETE FROM hasty");
            continue;
        }
        let error = failure(&slot);
        assert!(matches!(error.kind(), ErrorKind::DictionaryMismatch(_)), "{error}");
        assert!(error.to_string().contains("public.hasty_27"), "{error}");
        let mut settings = slot.settings();
        settings.slot.on_mismatch = OnFault::Skip;
        let mut reader = slot.open_with(settings, slot.begin());
        let mut read = Read::default();
        let ((), warned) = warnings::of(|| read_to(&mut reader, now(), &mut read));
        assert_eq!(read.rows(), ["0 >id=1,d=25,hasty_v=b"]);
        assert_eq!(reader.figures().skipped_records, 2);
        let of = |table: &str| warned.iter().filter(|line| line.contains(table)).count();
        assert_eq!(
            (of("public.hasty_27"), of("elsewhere.load"), of("hasty_other")),
            (1, 1, 0),
            "{warned:?}"
        );
    }
}

/// One that was detached before anybody looked is told from a table of the same columns by the publication alone; under a plugin
/// that knows none a warning says what is passed over.
#[test]
fn rows_of_a_partition_that_was_detached_before_the_start_are_not_lost_in_silence() {
    tree("loose");
    for plugin in PLUGINS {
        psql("CREATE TABLE loose_27 PARTITION OF loose FOR VALUES IN (27)");
        let slot = Slot::new("loose", plugin, &["loose"]);
        psql("INSERT INTO loose VALUES (1, 27, 'a')");
        psql("ALTER TABLE loose DETACH PARTITION loose_27");
        psql("INSERT INTO loose_27 VALUES (2, 27, 'behind'); INSERT INTO loose VALUES (1, 25, 'b')");
        let (read, warned) = warnings::of(|| slot.read());
        let about: Vec<&String> = warned.iter().filter(|line| line.contains("public.loose_27")).collect();
        let mut expected = vec!["0 >id=1,d=27,loose_v=a", "0 >id=1,d=25,loose_v=b"];
        let words = match plugin {
            "pgoutput" => "taken for one of public.loose",
            _ => {
                expected.remove(0);
                "its rows in the log are passed over"
            }
        };
        assert_eq!(read.rows(), expected, "{plugin}");
        assert!(about.len() == 1 && about[0].contains(words), "{plugin}: {warned:?}");
        psql("DROP TABLE loose_27; DELETE FROM loose");
    }
}

/// A call describes a table once, at its first row. That others come to be known behind it does not make it unknown.
#[test]
fn rows_of_published_tables_that_are_not_captured_are_passed_over_whatever_comes_between_them() {
    psql("CREATE TABLE wide(id int PRIMARY KEY); CREATE TABLE beside_a(id int); CREATE TABLE beside_b(id int)");
    for plugin in PLUGINS {
        let slot = Slot::new("wide", plugin, &["wide"]);
        psql(&format!("ALTER PUBLICATION {} ADD TABLE beside_a, beside_b", slot.name));
        psql(
            "BEGIN; INSERT INTO beside_a VALUES (1); INSERT INTO beside_b VALUES (1); INSERT INTO beside_a VALUES (2); \
             INSERT INTO wide VALUES (1); COMMIT",
        );
        let mut settings = slot.settings();
        settings.slot.exclusive = false;
        let mut read = Read::default();
        read_to(&mut slot.open_with(settings, slot.begin()), now(), &mut read);
        assert_eq!(read.rows(), ["0 >id=1"], "{plugin}");
        psql("TRUNCATE wide");
    }
}
