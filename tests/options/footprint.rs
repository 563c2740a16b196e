//! What a snapshot costs the database, as the server itself saw it: mining calls, locks, transactions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::Value;
use tidemark::dialect::Dialect;
use tidemark::dialect::dameng::Dameng;
use tidemark::odbc::{ColumnSpec, Connection, Field, Secret};

use crate::job::{Job, PATIENCE};
use crate::server::{count, shared, statements, table};

/// What a snapshot of so many rows cost.
struct Cost {
    calls: i64,
    rounds: i64,
    pages: i64,
    bytes: i64,
}

fn cost(schema: &str, rows: usize, options: &[(&str, Value)]) -> Cost {
    let told = count(schema, "START_LOGMNR") as i64;
    let job = Job::new(shared(), schema, options);
    let chunks = job.start_snapshot();
    assert_eq!(job.rest_of_snapshot(chunks).unwrap().len(), rows);
    assert_eq!(job.metric("numSnapshotRecords"), rows as i64);
    assert_eq!(job.metric("roundBytes"), 0);
    let cost = Cost {
        calls: job.metric("miningCalls"),
        rounds: job.metric("roundsClosed"),
        pages: job.metric("pagesRead"),
        bytes: job.metric("snapshotBytes"),
    };
    assert_eq!(cost.calls, count(schema, "START_LOGMNR") as i64 - told);
    cost
}

/// A call or two open the log, and as many belong to a round; a round is as large as its bytes, whatever its chunks.
#[test]
fn mining_calls_grow_with_the_bytes_of_a_snapshot_and_not_with_its_chunks() {
    const BY_ROUND: i64 = 2;
    let chunk = |rows: u64| ("scan.incremental.snapshot.chunk.size", Value::from(rows));
    let round = |bytes: u64| ("scan.snapshot.round.bytes", Value::from(bytes));
    let one = ("scan.snapshot.connections", Value::from(1));

    table("FEW_BYTES", 600);
    let many_chunks = cost("FEW_BYTES", 600, &[chunk(5)]);
    assert!(many_chunks.pages >= 120);
    assert!(many_chunks.calls <= BY_ROUND * 2, "{} calls", many_chunks.calls);

    let by_bytes = [chunk(20), round(20 << 10), one];
    let single = cost("FEW_BYTES", 600, &by_bytes);
    table("MORE_BYTES", 1200);
    let double = cost("MORE_BYTES", 1200, &by_bytes);
    assert!(double.bytes >= 2 * single.bytes && single.rounds > 3);
    for cost in [&single, &double] {
        let full = 1 + cost.bytes / (20 << 10);
        assert!(
            cost.rounds <= full + 1,
            "{} rounds for {} bytes",
            cost.rounds,
            cost.bytes
        );
        // So their number has a bound by the bytes alone. Below it, it is the server's: a round in which nothing was
        // logged needs no call.
        assert!(
            cost.calls <= BY_ROUND * (cost.rounds + 1),
            "{} calls in {} rounds",
            cost.calls,
            cost.rounds
        );
    }
}

/// One lock of one of the connector's sessions, when it was sampled.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sample {
    process: i64,
    mode: String,
    granted: bool,
}

fn administrator() -> Connection {
    let mut endpoint = shared().endpoint();
    endpoint.username = shared().value("ADMIN").into();
    endpoint.password = Secret::new(shared().value("ADMIN_PASSWORD"));
    Connection::open(&Dameng.connection(&endpoint)).unwrap()
}

/// Locks that the sessions of the connector hold or wait for, beside those on their own transactions: those on the table,
/// and whatever they should not have; as often as it can be asked until `stop`.
fn sample_locks(schema: &str, stop: &AtomicBool) -> BTreeSet<Sample> {
    let mut connection = administrator();
    let question = format!(
        r#"select l.pid::bigint, l.mode::text, case when l.granted then 1::bigint else 0 end
           from pg_locks l join pg_stat_activity a on a.pid = l.pid
           where a.usename = 'TIDEMARK' and (l.relation = '"{schema}"."T"'::regclass
              or l.relation in (select oid from pg_class where relnamespace = '"{schema}"'::regnamespace) and l.mode <> 'AccessShareLock'
              or l.locktype = 'tuple')"#
    );
    let columns = [ColumnSpec::Int, ColumnSpec::Text { bytes: 64 }, ColumnSpec::Int];
    let mut samples = BTreeSet::new();
    let begun = Instant::now();
    while !stop.load(Ordering::SeqCst) {
        assert!(begun.elapsed() < PATIENCE);
        for row in connection.rows(&question, &columns).unwrap() {
            let [Field::Int(process), Field::Text(mode), Field::Int(granted)] = &row[..] else {
                panic!("{row:?}");
            };
            samples.insert(Sample {
                process: *process,
                mode: mode.clone(),
                granted: *granted == 1,
            });
        }
    }
    samples
}

#[test]
fn a_snapshot_takes_no_lock_above_that_of_a_plain_read() {
    table("LOCKS", 3000);
    let options = [
        ("scan.incremental.snapshot.chunk.size", Value::from(300)),
        // Many fetches, so that a page's lock is held for some time.
        ("scan.snapshot.fetch.size", Value::from(3)),
    ];
    let job = Job::new(shared(), "LOCKS", &options);
    let stop = AtomicBool::new(false);
    let samples = std::thread::scope(|scope| {
        let samples = scope.spawn(|| sample_locks("LOCKS", &stop));
        let rows = job.chunks().len() + job.snapshot().unwrap().len();
        assert!(rows >= 3010);
        stop.store(true, Ordering::SeqCst);
        samples.join().unwrap()
    });
    let others: Vec<_> = samples
        .iter()
        .filter(|sample| sample.mode != "AccessShareLock")
        .collect();
    assert!(others.is_empty(), "{others:?}");
    let holders: BTreeSet<i64> = samples
        .iter()
        .filter(|sample| sample.granted)
        .map(|sample| sample.process)
        .collect();
    assert!(holders.len() >= 2, "both connections are seen reading: {samples:?}");
}

/// By the server's own list of statements: whoever reads pages has one cursor a transaction, and begins and ends it.
#[test]
fn a_transaction_of_a_snapshot_is_not_longer_than_a_page() {
    table("SHORT", 500);
    let options = [("scan.incremental.snapshot.chunk.size", Value::from(50))];
    assert_eq!(Job::new(shared(), "SHORT", &options).snapshot().unwrap().len(), 500);
    let mut open: BTreeMap<u32, usize> = BTreeMap::new();
    let (mut pages, mut begun) = (0, 0);
    for (process, statement) in statements("SHORT") {
        let words = statement.to_lowercase();
        let begins = words.starts_with("begin") || words.starts_with("start transaction");
        if begins {
            begun += 1;
            let before = open.insert(process, 0);
            assert_eq!(before, None, "a transaction inside another: {statement}");
        }
        let reads_a_page = statement.contains(r#"FROM "SHORT"."T""#) && statement.contains("LIMIT 51");
        assert!(!words.contains("for update") && !words.contains("lock table") && !words.contains("serializable"));
        if reads_a_page {
            pages += 1;
            if let Some(selects) = open.get_mut(&process) {
                *selects += 1;
                assert_eq!(*selects, 1, "a second page in one transaction: {statement}");
            }
        }
        if words.contains("commit") || words.contains("rollback") || words.starts_with("end") {
            open.remove(&process);
        }
    }
    assert!(pages >= 10 && begun >= 10, "{pages} pages, {begun} transactions");
    assert!(open.is_empty(), "transactions left open: {open:?}");
}
