//! What the log has of rows that were, and of values that did not change.

use std::sync::Arc;

use tidemark::error::ErrorKind;
use tidemark::log::captured::CapturedTable;

use crate::slots::{PLUGINS, Slot, failure, psql, table};

#[test]
fn nulls_of_a_whole_old_row_are_null_and_of_a_key_unknown() {
    psql("CREATE TABLE olds(id int, part int, a text, b int, PRIMARY KEY (id, part))");
    for plugin in PLUGINS {
        psql("ALTER TABLE olds REPLICA IDENTITY DEFAULT");
        let slot = Slot::new("olds", plugin, &["olds"]);
        psql(
            "INSERT INTO olds VALUES (1, 1, NULL, 7); UPDATE olds SET part = 2; UPDATE olds SET a = 'x'; DELETE FROM olds",
        );
        let of_keys = slot.read();
        assert_eq!(
            of_keys.rows(),
            [
                "0 >id=1,part=1,a=NULL,b=7",
                "0 id=1,part=1,a=-,b=->id=1,part=2,a=NULL,b=7",
                "0 id=1,part=2,a=-,b=->id=1,part=2,a=x,b=7",
                "0 id=1,part=2,a=-,b=->",
            ],
            "{plugin}"
        );
        drop(slot);
        psql("ALTER TABLE olds REPLICA IDENTITY FULL");
        let slot = Slot::new("olds", plugin, &["olds"]);
        psql("INSERT INTO olds VALUES (1, 1, NULL, 7); UPDATE olds SET a = 'x', b = NULL; DELETE FROM olds");
        assert_eq!(
            slot.read().rows(),
            [
                "0 >id=1,part=1,a=NULL,b=7",
                "0 id=1,part=1,a=NULL,b=7>id=1,part=1,a=x,b=NULL",
                "0 id=1,part=1,a=x,b=NULL>",
            ],
            "{plugin}"
        );
    }
}

/// By an index that has not the key, an old key cannot be known: guessing it would leave the old row downstream.
#[test]
fn an_identity_without_the_key_is_an_error_where_an_old_row_is_needed() {
    psql("CREATE TABLE coded(id int PRIMARY KEY, code text NOT NULL UNIQUE, v text)");
    psql("ALTER TABLE coded REPLICA IDENTITY USING INDEX coded_code_key");
    for plugin in PLUGINS {
        for statement in [
            "UPDATE coded SET id = 2",
            "UPDATE coded SET code = 'b'",
            "DELETE FROM coded",
        ] {
            let mut by_id = (*table("coded").table).clone();
            by_id.key = vec![0];
            let slot = Slot::of("coded", plugin, vec![CapturedTable::whole(Arc::new(by_id))]);
            psql(&format!("INSERT INTO coded VALUES (1, 'a', 'x'); {statement}"));
            let error = failure(&slot);
            assert!(matches!(error.kind(), ErrorKind::LoggingMode(_)), "{plugin}: {error}");
            assert!(error.to_string().contains("public.coded"), "{error}");
            psql("DELETE FROM coded");
        }
    }
}

/// `F09`: a large value that stays is never NULL: it is that of the old row, or unavailable.
#[test]
fn a_large_value_that_did_not_change_is_the_old_one_or_unavailable() {
    psql(
        "CREATE TABLE toasted(id int PRIMARY KEY, big text, n int); ALTER TABLE toasted ALTER big SET STORAGE EXTERNAL",
    );
    for plugin in PLUGINS {
        psql("ALTER TABLE toasted REPLICA IDENTITY DEFAULT");
        let slot = Slot::new("toasted", plugin, &["toasted"]);
        psql("INSERT INTO toasted VALUES (1, repeat('x', 3000), 1); UPDATE toasted SET n = 2");
        psql("ALTER TABLE toasted REPLICA IDENTITY FULL");
        psql("UPDATE toasted SET n = 3; UPDATE toasted SET id = 2; DELETE FROM toasted");
        let big = "x".repeat(3000);
        let rows = [
            format!("0 >id=1,big={big},n=1"),
            "0 id=1,big=-,n=->id=1,big=?,n=2".to_owned(),
            format!("0 id=1,big={big},n=2>id=1,big={big},n=3"),
            format!("0 id=1,big={big},n=3>id=2,big={big},n=3"),
            format!("0 id=2,big={big},n=3>"),
        ];
        let read = slot.read();
        match plugin {
            "pgoutput" => assert_eq!(read.rows(), rows),
            // Its rows do not say what the identity was when they were written: what it is now counts.
            _ => assert_eq!(read.rows()[2..], rows[2..]),
        }
    }
}

#[test]
fn a_computed_column_is_what_the_plugin_has_of_it_and_never_null() {
    psql("CREATE TABLE computed(id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED)");
    for (plugin, twice) in PLUGINS.into_iter().zip(["?", "14"]) {
        let slot = Slot::new("computed", plugin, &["computed"]);
        psql("INSERT INTO computed VALUES (7); DELETE FROM computed");
        assert_eq!(slot.read().rows()[0], format!("0 >id=7,twice={twice}"), "{plugin}");
    }
}
