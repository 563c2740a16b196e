//! Partitions come out as their root, over time.

use tidemark::error::ErrorKind;

use crate::slots::{PLUGINS, Read, Slot, failure, now, psql, read_to};

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

/// The reader never saw the partition in the dictionary: the log's own description tells, or an error does.
#[test]
fn rows_of_a_partition_that_was_dropped_before_the_start_are_not_lost_in_silence() {
    tree("hasty");
    for plugin in PLUGINS {
        psql("CREATE TABLE hasty_27 PARTITION OF hasty FOR VALUES IN (27)");
        psql("CREATE TABLE IF NOT EXISTS hasty_other(a int PRIMARY KEY)");
        let slot = Slot::new("hasty", plugin, &["hasty"]);
        psql("INSERT INTO hasty_other VALUES (1); DROP TABLE hasty_other");
        psql("INSERT INTO hasty VALUES (1, 27, 'a'); DELETE FROM hasty; DROP TABLE hasty_27");
        if plugin == "pgoutput" {
            assert_eq!(slot.read().rows(), ["0 >id=1,d=27,hasty_v=a", "0 id=1,d=27,hasty_v=->"]);
            continue;
        }
        let error = failure(&slot);
        assert!(matches!(error.kind(), ErrorKind::DictionaryMismatch(_)), "{error}");
        assert!(error.to_string().contains("public.hasty_27"), "{error}");
    }
}
