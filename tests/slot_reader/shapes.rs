//! Tables that are altered while they are read.

use crate::slots::{PLUGINS, Read, Slot, now, psql, read_to, table};

#[test]
fn rows_have_the_shape_that_they_were_written_in() {
    for plugin in PLUGINS {
        psql("DROP TABLE IF EXISTS altered; CREATE TABLE altered(id int PRIMARY KEY, a text, b int)");
        let mut slot = Slot::new("altered", plugin, &["altered"]);
        let mut reader = slot.open();
        let mut read = Read::default();
        psql("INSERT INTO altered VALUES (1, 'old', 1)");
        read_to(&mut reader, now(), &mut read);
        // All of this is read once it is over, one of it inside a transaction.
        psql("ALTER TABLE altered ADD c text; INSERT INTO altered VALUES (2, 'more', 2, 'c')");
        psql(
            "BEGIN; INSERT INTO altered VALUES (3, 'x', 3, 'y'); ALTER TABLE altered DROP COLUMN a; \
              INSERT INTO altered VALUES (4, 4, 'z'); COMMIT",
        );
        psql("ALTER TABLE altered RENAME b TO bb; INSERT INTO altered VALUES (5, 5, 'r')");
        psql("ALTER TABLE altered ALTER bb TYPE text; INSERT INTO altered VALUES (6, 'text', 't')");
        read_to(&mut reader, now(), &mut read);
        let expected = [
            "0 >id=1,a=old,b=1",
            "0 >id=2,c=c,a=more,b=2",
            "0 >id=3,c=y,a=x,b=3",
            "0 >id=4,c=z,b=4",
            "0 >id=5,bb=5,c=r",
            "0 >id=6,bb=text,c=t",
        ];
        assert_eq!(read.rows(), expected, "{plugin}");
        assert_eq!(
            read.transactions[2].fragments,
            [1, 1],
            "{plugin}: a fragment has one shape of a table"
        );
        // Who begins anew finds the dictionary of now: what left it before is left out.
        drop(reader);
        slot.tables = vec![table("altered")];
        let again = slot.read();
        assert_eq!(again.rows()[0], "0 >id=1", "{plugin}");
        assert_eq!(again.rows()[5], expected[5], "{plugin}");
    }
}

#[test]
fn a_renamed_table_goes_on_as_the_one_that_was_captured() {
    for plugin in PLUGINS {
        psql("DROP TABLE IF EXISTS renamed_now; CREATE TABLE renamed(id int PRIMARY KEY)");
        let slot = Slot::new("renamed", plugin, &["renamed"]);
        let mut reader = slot.open();
        let mut read = Read::default();
        psql("INSERT INTO renamed VALUES (1)");
        read_to(&mut reader, now(), &mut read);
        psql("ALTER TABLE renamed RENAME TO renamed_now; INSERT INTO renamed_now VALUES (2)");
        read_to(&mut reader, now(), &mut read);
        assert_eq!(read.rows(), ["0 >id=1", "0 >id=2"], "{plugin}");
    }
}
