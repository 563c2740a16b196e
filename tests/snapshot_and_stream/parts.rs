//! Parts of transactions: numbered behind the filter, the last one known, and the same ones behind a restart.

use std::sync::Arc;

use tidemark::error::Result;
use tidemark::log::LogEvent;
use tidemark::offset::Offset;
use tidemark::row::batch::Batch;
use tidemark::row::value::{Image, ValueBuffer};
use tidemark::row::{RowCodec, RowKind, RowOrigin};
use tidemark::split::FinishedRange;
use tidemark::stream::{Step, Stream};

use crate::scripted::{TextCodec, Told, cut, fragment, shape_of, tables};
use crate::stream::{drain, finished, log, offset, settings, split};

/// Rows say their part beside themselves.
struct PartsCodec;

impl RowCodec for PartsCodec {
    fn key(&self, table: u32, values: &ValueBuffer, image: Image, out: &mut Vec<u8>) -> Result<()> {
        TextCodec.key(table, values, image, out)
    }

    fn row(
        &self,
        table: u32,
        kind: RowKind,
        values: &ValueBuffer,
        image: Image,
        origin: &RowOrigin,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        TextCodec.row(table, kind, values, image, origin, out)?;
        let part = origin.part.expect("a row of the log is in a part");
        out.extend(format!(" {}{}", part.number, if part.last { " last" } else { "" }).bytes());
        Ok(())
    }
}

/// Fragments of changes; whether a table's shape changes behind each.
type Fragments = Vec<(Vec<(usize, String)>, bool)>;

struct Case {
    ranges: Vec<FinishedRange>,
    transactions: Vec<Fragments>,
}

const FIRST_COMMIT: u64 = 100_000;

impl Case {
    fn random(random: &mut fastrand::Rng) -> Case {
        let middle = random.alphabetic().to_ascii_lowercase().to_string();
        let mut point = || cut(FIRST_COMMIT + random.u64(0..8), 0);
        let ranges = vec![finished(0, "", &middle, point()), finished(0, &middle, "", point())];
        let changes = |random: &mut fastrand::Rng| {
            let key = |random: &mut fastrand::Rng| random.alphabetic().to_ascii_lowercase();
            (0..random.usize(0..4))
                .map(|nth| (random.usize(0..8) / 7, format!("{}:{nth}", key(random))))
                .collect()
        };
        let transactions = (0..6)
            .map(|_| {
                (0..random.usize(1..6))
                    .map(|_| (changes(random), random.u8(0..5) == 0))
                    .collect()
            })
            .collect();
        Case { ranges, transactions }
    }

    fn events(&self) -> Vec<LogEvent> {
        let mut events = Vec::new();
        for (xid, fragments) in (1..).zip(&self.transactions) {
            let commit = (FIRST_COMMIT + xid, 0);
            for (number, (changes, shape)) in fragments.iter().enumerate() {
                let told: Vec<Told<'_>> = changes.iter().map(|(table, text)| (*table, "", &**text)).collect();
                let last = number + 1 == fragments.len();
                // Records of different transactions stand at different scns.
                events.push(fragment(xid * 1_000, commit, 90, number as u32, last, &told));
                if *shape && !last {
                    events.push(shape_of(
                        xid * 1_000,
                        commit,
                        0,
                        xid * 10_000 + 50 + number as u64 * 100,
                        false,
                    ));
                }
            }
        }
        events
    }

    /// What goes out, by what the words mean.
    fn expected(&self) -> Vec<String> {
        let mut expected = Vec::new();
        for (xid, fragments) in (1..).zip(&self.transactions) {
            let goes_out = |table: usize, text: &str| {
                let of = |range: &&FinishedRange| {
                    *range.table == *tables()[table] && range.range.contains(&text.as_bytes()[..1])
                };
                let range = self.ranges.iter().find(of);
                range.is_none_or(|range| range.point.end() <= cut(FIRST_COMMIT + xid, 0))
            };
            let parts: Vec<Vec<&str>> = fragments
                .iter()
                .map(|(changes, _)| {
                    let going = changes.iter().filter(|(table, text)| goes_out(*table, text));
                    going.map(|(_, text)| &**text).collect()
                })
                .filter(|part: &Vec<&str>| !part.is_empty())
                .collect();
            for (number, part) in parts.iter().enumerate() {
                let last = if number + 1 == parts.len() { " last" } else { "" };
                expected.extend(part.iter().map(|text| format!("{text} {}{last}", number + 1)));
            }
        }
        expected
    }

    fn open(&self, at: &Offset) -> Stream {
        let split = split(at.clone(), &self.ranges);
        let log = log(self.events());
        Stream::open(Box::new(log), Arc::new(PartsCodec), tables(), &split, settings(3)).unwrap()
    }

    /// Takes so many units; `None` if there are fewer. Then from a state behind them.
    fn restarted(&self, units: usize) -> Option<Vec<String>> {
        let (mut at, mut left, mut batch) = (offset(), units, Batch::default());
        let mut stream = self.open(&at);
        let mut kept = Vec::new();
        while left > 0 {
            let Step::Batch = stream.read(&mut batch).unwrap() else {
                return None;
            };
            let taken = batch.unit_count().min(left);
            (0..taken).for_each(|unit| batch.mark(unit).apply(&mut at));
            let rows = taken.checked_sub(1).map_or(0, |unit| batch.unit_end(unit));
            kept.extend((0..rows).map(|row| String::from_utf8_lossy(batch.row(row)).into_owned()));
            left -= taken;
            batch.clear();
        }
        kept.extend(drain(&mut self.open(&at)).into_iter().map(|(_, text)| text));
        Some(kept)
    }
}

#[test]
fn parts_are_numbered_behind_the_filter_and_the_last_one_says_so_through_any_restart() {
    let (mut several, mut cuts) = (0, 0);
    for seed in 0..300 {
        let case = Case::random(&mut fastrand::Rng::with_seed(seed));
        let expected = case.expected();
        several += expected.iter().filter(|text| text.ends_with(" 2 last")).count();
        for units in 0.. {
            let Some(seen) = case.restarted(units) else { break };
            assert_eq!(seen, expected, "seed {seed}, restarted behind {units} units");
            cuts += 1;
        }
    }
    assert!(several > 100 && cuts > 3_000, "{several} {cuts}");
}
