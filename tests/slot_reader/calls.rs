//! How the calls are made that bring rows: by a thread of their own, for more and more, with little waiting.

use tidemark::log::LogReader;

use crate::slots::{PLUGINS, Read, Slot, now, psql, read_to, step, until};

#[test]
fn a_long_log_takes_few_calls_since_each_reads_it_again() {
    psql("CREATE TABLE long(id int PRIMARY KEY)");
    for plugin in PLUGINS {
        let slot = Slot::new("long", plugin, &["long"]);
        psql("DO $$ BEGIN FOR n IN 1 .. 1000 LOOP INSERT INTO long VALUES (n); COMMIT; END LOOP; END $$");
        let mut settings = slot.settings();
        settings.slot.batch_changes = 10;
        let mut reader = slot.open_with(settings, slot.begin());
        let mut read = Read::default();
        read_to(&mut reader, now(), &mut read);
        assert_eq!(read.transactions.len(), 1_000, "{plugin}");
        // A thousand transactions of three rows: 10, 20, 40, 80, 160, then 320 at a time.
        let calls = reader.figures().mining_calls;
        assert!((5..=30).contains(&calls), "{plugin}: {calls} calls");
        psql("TRUNCATE long");
    }
    psql("DROP TABLE long");
}

#[test]
fn rows_that_nobody_takes_wait_in_the_server_and_go_with_their_reader() {
    psql("CREATE TABLE waiting(id int PRIMARY KEY, v text)");
    for plugin in PLUGINS {
        let slot = Slot::new("waiting", plugin, &["waiting"]);
        psql("INSERT INTO waiting SELECT g, repeat('x', 1000) FROM generate_series(1, 120000) g");
        let mut reader = slot.open();
        let mut read = Read::default();
        while read.open.is_none() {
            step(&mut reader, &mut read).unwrap();
        }
        // 120 MB are there: a second call would have to wait for them, and what is taken makes room for more.
        for _ in 0..20 {
            assert!(step(&mut reader, &mut read).unwrap());
            let waiting = reader.figures().buffered_bytes;
            assert!(waiting < 68 << 20, "{plugin}: {waiting} bytes wait");
        }
        // However long nobody takes them, no transaction of the reader holds dead rows back.
        let session = format!(
            "pid = (SELECT active_pid FROM pg_replication_slots WHERE slot_name = '{}_r')",
            slot.name
        );
        until(&format!(
            "SELECT state = 'idle' AND backend_xmin IS NULL FROM pg_stat_activity WHERE {session}"
        ));
        let waiting = reader.figures().buffered_bytes;
        assert!(
            (60 << 20..68 << 20).contains(&waiting),
            "{plugin}: {waiting} bytes wait"
        );
        // In the middle of a call. The slot's copy goes with it, so that the slot can be read again and dropped.
        drop(reader);
        assert_eq!(slot.read().rows().len(), 120_000, "{plugin}");
        psql("TRUNCATE waiting");
    }
    psql("DROP TABLE waiting");
}

#[test]
fn large_rows_come_at_their_place_among_small_ones() {
    psql("CREATE TABLE sizes(id int PRIMARY KEY, v text)");
    // About the size from which rows are large, and far beyond it; each of several neighbours, and at the ends of blocks.
    let sizes = "CASE WHEN g % 97 < 3 THEN 8100 + g % 97 * 40 WHEN g % 256 IN (0, 1, 255) THEN 40000 WHEN g = 700 THEN 3000000 \
                 ELSE g % 300 END";
    for plugin in PLUGINS {
        let slot = Slot::new("sizes", plugin, &["sizes"]);
        psql(&format!(
            "INSERT INTO sizes SELECT g, left(repeat(md5(g::text), 100000), {sizes}) FROM generate_series(1, 1500) g; \
             INSERT INTO sizes SELECT g, repeat('y', 20000) FROM generate_series(1501, 1540) g"
        ));
        let written = psql("SELECT 'id=' || id || ',v=' || v FROM sizes ORDER BY id");
        let read = slot.read();
        assert_eq!(read.rows().len(), 1_540, "{plugin}");
        for (row, written) in read.rows().iter().zip(written.lines()) {
            assert!(row.ends_with(written), "{plugin}: {row:.100}, not {written:.100}");
        }
        psql("TRUNCATE sizes");
    }
    psql("DROP TABLE sizes");
}
