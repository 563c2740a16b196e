//! Rows a second of a table's snapshot through a whole reader, by the number of its connections, over the stand-in:
//! `cargo bench --bench snapshot [-- ROWS]`.

#[path = "../tests/options/job.rs"]
mod job;
#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use crate::job::Job;
use crate::support::stand_in::StandIn;

/// Each number of connections is tried so often, in turn; the best time counts, since others use the machine too.
const TURNS: usize = 3;

fn main() {
    let rows: u32 = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(400_000);
    let stand_in = StandIn::start(&[]);
    stand_in.psql(&format!(
        r#"create schema "BIZ"; create table "BIZ"."T" ("ID" bigint primary key, "N" decimal(20), "V" varchar(2000));
           set session_replication_role = replica;
           insert into "BIZ"."T" select g, g, 'customer ' || md5(g::text) from generate_series(1, {rows}) g;
           analyze "BIZ"."T""#
    ));
    stand_in.psql(r#"vacuum "BIZ"."T""#);
    let mut best = [f64::MAX; 4];
    for _ in 0..TURNS {
        for (number, best) in best.iter_mut().enumerate() {
            let connections = number as u64 + 1;
            let job = Job::new(&stand_in, "BIZ", &[("scan.snapshot.connections", connections.into())]);
            let chunks = job.start_snapshot();
            let begun = Instant::now();
            let mut came = 0;
            job.drive(chunks, |batch| came += batch.rows()).unwrap();
            *best = best.min(begun.elapsed().as_secs_f64());
            assert_eq!(came, rows);
        }
    }
    for (best, connections) in best.iter().zip(1..) {
        println!("{connections} connections: {:.0} rows/s", f64::from(rows) / best);
    }
}
