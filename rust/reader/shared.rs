//! What the task's thread and the worker share: the reader's state under one short lock, and a few gauges.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::gauges::{
    ARCHIVE_HEADROOM, BUFFERED_BYTES, FETCH_LAG, Gauge, MINED_BYTES, MINING_CALLS, NEXT_SCN, OLDEST_TRANSACTION_AGE,
    OLDEST_TRANSACTION_LOG, OLDEST_TRANSACTION_SCN, OPEN_TRANSACTIONS, PAGES_READ, RECORDS_SKIPPED, ROUND_BYTES,
    ROUNDS_CLOSED, SCN, SLOT_RETAINED, SNAPSHOT_BYTES, SNAPSHOT_RATE, SNAPSHOT_RECORDS, SPILLED_BYTES,
    SPILLED_BYTES_TOTAL, TRANSACTIONS_SKIPPED, TRANSACTIONS_SPILLED, TRUNCATES_IGNORED, UNDEFINED, VALUES_GONE,
    VALUES_NULLED, VALUES_READ_BACK, VALUES_UNAVAILABLE,
};
use crate::log::{Figures, Headroom, Progress};
use crate::position::Scn;
use crate::reader::api::Metric;
use crate::reader::confirming::Confirming;
use crate::reader::delivery::InFlight;
use crate::reader::progress::Rate;
use crate::reader::state::ReaderState;
use crate::split::StreamSplit;
use crate::unavailable;

#[derive(Debug)]
pub(super) struct Shared {
    inner: Mutex<Inner>,
    scn: AtomicU64,
    next_scn: AtomicU64,
    /// In milliseconds.
    fetch_lag: AtomicI64,
    /// In bytes.
    headroom: AtomicI64,
    pub(super) counts: Counts,
}

impl Default for Shared {
    fn default() -> Self {
        Shared {
            inner: Mutex::default(),
            scn: AtomicU64::default(),
            next_scn: AtomicU64::default(),
            fetch_lag: AtomicI64::new(UNDEFINED),
            headroom: AtomicI64::new(UNDEFINED),
            counts: Counts::default(),
        }
    }
}

/// What was read, and what was passed over; nothing of this is passed over in silence.
#[derive(Debug)]
pub(super) struct Counts {
    pages: AtomicU64,
    rounds: AtomicU64,
    snapshot_rows: AtomicU64,
    snapshot_bytes: AtomicU64,
    round_bytes: AtomicU64,
    rate: Mutex<Rate>,
    open: Open,
    /// While pages were corrected and in the log phase: two log readers, each with counts of its own.
    logs: [LogCounts; 2],
    nulled: AtomicU64,
    truncates: AtomicU64,
}

/// What one log reader has counted.
#[derive(Debug, Default)]
struct LogCounts {
    skipped: AtomicU64,
    transactions: AtomicU64,
    mining_calls: AtomicU64,
    mined_bytes: AtomicU64,
    read_back: AtomicU64,
    gone: AtomicU64,
    placeholders: AtomicU64,
}

impl LogCounts {
    fn note(&self, figures: Figures) {
        self.skipped.store(figures.skipped_records, Ordering::Relaxed);
        self.transactions.store(figures.skipped_transactions, Ordering::Relaxed);
        self.mining_calls.store(figures.mining_calls, Ordering::Relaxed);
        self.mined_bytes.store(figures.mined_bytes, Ordering::Relaxed);
    }
}

impl Default for Counts {
    fn default() -> Self {
        Counts {
            pages: AtomicU64::default(),
            rounds: AtomicU64::default(),
            snapshot_rows: AtomicU64::default(),
            snapshot_bytes: AtomicU64::default(),
            round_bytes: AtomicU64::default(),
            rate: Mutex::new(Rate::new(Instant::now())),
            open: Open::default(),
            logs: Default::default(),
            nulled: AtomicU64::default(),
            truncates: AtomicU64::default(),
        }
    }
}

/// What the log reader of now holds of transactions that have not ended.
#[derive(Debug, Default)]
struct Open {
    transactions: AtomicU64,
    /// Zero without any.
    oldest_scn: AtomicU64,
    /// In microseconds since the epoch.
    oldest_micros: AtomicI64,
    oldest_log: AtomicU64,
    bytes: AtomicU64,
    spilled: AtomicU64,
    spilled_total: AtomicU64,
    spilled_transactions: AtomicU64,
    /// One more than the bytes that the server keeps; zero where it keeps none for the job.
    retained: AtomicU64,
}

impl Open {
    fn note(&self, figures: Figures) {
        let (scn, micros) = figures.oldest.unwrap_or_default();
        self.transactions.store(figures.open_transactions, Ordering::Relaxed);
        self.oldest_scn.store(scn.0, Ordering::Relaxed);
        self.oldest_micros.store(micros, Ordering::Relaxed);
        self.bytes.store(figures.buffered_bytes, Ordering::Relaxed);
        self.oldest_log.store(figures.oldest_log_bytes, Ordering::Relaxed);
        let spilled = figures.spilled;
        self.spilled.store(spilled.held, Ordering::Relaxed);
        self.spilled_total.store(spilled.written, Ordering::Relaxed);
        self.spilled_transactions.store(spilled.transactions, Ordering::Relaxed);
        let retained = figures.retained_bytes.map_or(0, |bytes| bytes.saturating_add(1));
        self.retained.store(retained, Ordering::Relaxed);
    }

    /// In milliseconds.
    fn age(&self) -> i64 {
        match self.oldest_micros.load(Ordering::Relaxed) {
            0 => 0,
            micros => millis_since(micros).max(0),
        }
    }
}

/// Milliseconds from a time, in microseconds since the epoch, until now.
fn millis_since(micros: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    now.saturating_sub(micros.div_euclid(1000))
}

impl Counts {
    /// A page came back from its SELECT.
    pub(super) fn page_read(&self, rows: usize) {
        self.rate().note(rows as u64, Instant::now());
    }

    /// The open round holds so many bytes.
    pub(super) fn note_round(&self, bytes: usize) {
        self.round_bytes.store(bytes as u64, Ordering::Relaxed);
    }

    /// A page is corrected, its rows go out.
    pub(super) fn page_leaves(&self, rows: usize, bytes: usize) {
        self.snapshot_rows.fetch_add(rows as u64, Ordering::Relaxed);
        self.snapshot_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn rate(&self) -> MutexGuard<'_, Rate> {
        self.rate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pages are closed.
    pub(super) fn pages_closed(&self, pages: usize) {
        self.pages.fetch_add(pages as u64, Ordering::Relaxed);
    }

    /// A round was closed; the figures are those of its log reader.
    pub(super) fn round_closed(&self, figures: Figures) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.note_round(0);
        self.logs[0].note(figures);
        self.open.note(figures);
    }

    /// The counts of the log phase.
    pub(super) fn note_stream(&self, figures: Figures, truncates: u64) {
        self.logs[1].note(figures);
        self.open.note(figures);
        self.truncates.store(truncates, Ordering::Relaxed);
    }

    /// What was done about values that one log (0: while pages were corrected, 1: in the log phase) does not hold.
    pub(super) fn note_unavailable(&self, log: usize, counts: unavailable::Counts) {
        let log = &self.logs[log];
        log.read_back.store(counts.read_back, Ordering::Relaxed);
        log.gone.store(counts.gone, Ordering::Relaxed);
        log.placeholders.store(counts.placeholders, Ordering::Relaxed);
    }

    /// The count of the one codec.
    pub(super) fn note_nulled(&self, nulled: u64) {
        self.nulled.store(nulled, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) state: ReaderState,
    pub(super) in_flight: InFlight,
    /// The enumerator has no chunk; until one comes a round closes with the pages that it has.
    pub(super) none_now: bool,
    /// The stream split has all its ranges and nobody reads it yet.
    pub(super) stream_ready: bool,
    /// The oldest place of the log that restored ranges need.
    pub(super) smallest_mine_from: Option<Scn>,
    /// The stream's `next_scn` at checkpoints that are not known complete.
    pub(super) checkpoints: Vec<(u64, Scn)>,
    /// Those of checkpoints that are.
    pub(super) confirming: Confirming,
}

impl Inner {
    /// What was noted of the log's places is void.
    pub(super) fn forget_log(&mut self) {
        self.smallest_mine_from = None;
        self.checkpoints.clear();
        self.confirming = Confirming::default();
    }

    pub(super) fn take_stream(&mut self) -> Option<StreamSplit> {
        if !std::mem::take(&mut self.stream_ready) {
            return None;
        }
        self.state.stream().cloned()
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note_progress(&self, progress: Progress) {
        self.scn.store(progress.position.scn.0, Ordering::Relaxed);
        self.next_scn.store(progress.next_scn.0, Ordering::Relaxed);
    }

    /// Notes that a change was read now whose transaction committed then (microseconds since the epoch).
    pub(super) fn note_commit(&self, micros: i64) {
        self.fetch_lag.store(millis_since(micros), Ordering::Relaxed);
    }

    /// Notes how much log may be deleted before a restart misses it.
    pub(super) fn note_headroom(&self, headroom: Option<Headroom>) {
        let bytes = headroom.map_or(UNDEFINED, |headroom| {
            i64::try_from(headroom.bytes()).unwrap_or(i64::MAX)
        });
        self.headroom.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn metrics(&self) -> Vec<Metric> {
        let gauge = |gauge: Gauge, value| Metric {
            name: gauge.name,
            value,
        };
        let counts = &self.counts;
        let count = |count: &AtomicU64| i64::try_from(count.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
        vec![
            gauge(FETCH_LAG, self.fetch_lag.load(Ordering::Relaxed)),
            gauge(SCN, count(&self.scn)),
            gauge(NEXT_SCN, count(&self.next_scn)),
            gauge(OPEN_TRANSACTIONS, count(&counts.open.transactions)),
            gauge(OLDEST_TRANSACTION_AGE, counts.open.age()),
            gauge(OLDEST_TRANSACTION_SCN, count(&counts.open.oldest_scn)),
            gauge(OLDEST_TRANSACTION_LOG, count(&counts.open.oldest_log)),
            gauge(BUFFERED_BYTES, count(&counts.open.bytes)),
            gauge(SPILLED_BYTES, count(&counts.open.spilled)),
            gauge(SPILLED_BYTES_TOTAL, count(&counts.open.spilled_total)),
            gauge(TRANSACTIONS_SPILLED, count(&counts.open.spilled_transactions)),
            gauge(ARCHIVE_HEADROOM, self.headroom.load(Ordering::Relaxed)),
            gauge(SLOT_RETAINED, count(&counts.open.retained) - 1),
            gauge(PAGES_READ, count(&counts.pages)),
            gauge(ROUNDS_CLOSED, count(&counts.rounds)),
            gauge(SNAPSHOT_RECORDS, count(&counts.snapshot_rows)),
            gauge(SNAPSHOT_BYTES, count(&counts.snapshot_bytes)),
            gauge(
                SNAPSHOT_RATE,
                i64::try_from(counts.rate().look(Instant::now())).unwrap_or(i64::MAX),
            ),
            gauge(ROUND_BYTES, count(&counts.round_bytes)),
            gauge(
                MINING_CALLS,
                counts.logs.iter().map(|log| count(&log.mining_calls)).sum(),
            ),
            gauge(MINED_BYTES, counts.logs.iter().map(|log| count(&log.mined_bytes)).sum()),
            gauge(RECORDS_SKIPPED, counts.logs.iter().map(|log| count(&log.skipped)).sum()),
            gauge(
                TRANSACTIONS_SKIPPED,
                counts.logs.iter().map(|log| count(&log.transactions)).sum(),
            ),
            gauge(VALUES_NULLED, count(&counts.nulled)),
            gauge(
                VALUES_READ_BACK,
                counts.logs.iter().map(|log| count(&log.read_back)).sum(),
            ),
            gauge(VALUES_GONE, counts.logs.iter().map(|log| count(&log.gone)).sum()),
            gauge(
                VALUES_UNAVAILABLE,
                counts.logs.iter().map(|log| count(&log.placeholders)).sum(),
            ),
            gauge(TRUNCATES_IGNORED, count(&counts.truncates)),
        ]
    }
}
