//! How the snapshot phase comes along: a rate for the gauge, and lines for the log.

use std::time::{Duration, Instant};

use crate::log::Figures;

/// Over which time a rate is taken.
const WINDOW: Duration = Duration::from_secs(5);

/// Rows a second over the last window or two.
#[derive(Debug)]
pub(super) struct Rate {
    since: Instant,
    rows: u64,
    last: u64,
}

impl Rate {
    pub(super) fn new(now: Instant) -> Self {
        Rate {
            since: now,
            rows: 0,
            last: 0,
        }
    }

    /// Rows came.
    pub(super) fn note(&mut self, rows: u64, now: Instant) {
        self.look(now);
        self.rows += rows;
    }

    /// The rate now.
    pub(super) fn look(&mut self, now: Instant) -> u64 {
        let elapsed = now.saturating_duration_since(self.since);
        if elapsed >= WINDOW {
            self.last = (self.rows as f64 / elapsed.as_secs_f64()) as u64;
            self.rows = 0;
            self.since = now;
        }
        self.last
    }
}

/// What one reader has read of the snapshot.
#[derive(Debug)]
pub(super) struct SnapshotProgress {
    begun: Instant,
    told: Instant,
    /// How often a line is written.
    every: Duration,
    chunks: u64,
    pages: u64,
    rounds: u64,
    rows: u64,
    bytes: u64,
}

impl SnapshotProgress {
    pub(super) fn new(every: Duration) -> Self {
        let now = Instant::now();
        SnapshotProgress {
            begun: now,
            told: now,
            every,
            chunks: 0,
            pages: 0,
            rounds: 0,
            rows: 0,
            bytes: 0,
        }
    }

    /// A page was corrected and closed, and with it its chunk unless some of that is left.
    pub(super) fn page_closed(&mut self, rows: usize, bytes: usize, ends_chunk: bool) {
        self.chunks += u64::from(ends_chunk);
        self.pages += 1;
        self.rows += rows as u64;
        self.bytes += bytes as u64;
    }

    pub(super) fn round_closed(&mut self) {
        self.rounds += 1;
    }

    /// Writes a line, if it is time for one.
    pub(super) fn tell(&mut self, figures: Figures) {
        if self.told.elapsed() >= self.every {
            self.told = Instant::now();
            log::info!("the snapshot is being read: {}", self.text(figures));
        }
    }

    /// Writes the last line.
    pub(super) fn end(&self, figures: Figures) {
        log::info!("the snapshot of this reader is read: {}", self.text(figures));
    }

    fn text(&self, figures: Figures) -> String {
        let seconds = self.begun.elapsed().as_secs_f64();
        format!(
            "{} chunks, {} pages, {} rounds, {} mining calls, {} rows, {} bytes, {seconds:.1} s, {:.0} rows/s",
            self.chunks,
            self.pages,
            self.rounds,
            figures.mining_calls,
            self.rows,
            self.bytes,
            self.rows as f64 / seconds.max(0.001)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_last_window_and_falls_to_nothing() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut rate = Rate::new(begin);
        rate.note(600, at(1));
        rate.note(400, at(4));
        assert_eq!(rate.look(at(4)), 0);
        assert_eq!(rate.look(at(5)), 200);
        rate.note(50, at(6));
        assert_eq!(rate.look(at(9)), 200);
        assert_eq!(rate.look(at(15)), 5);
        assert_eq!(rate.look(at(20)), 0);
    }
}
