use fastrand::Rng;
use tidemark::row::codec::OnValueError;
use tidemark::row::value::Value;
use tidemark::row::{RowKind, RowOrigin};

use crate::captured::{codec, declared, encode, table};
use crate::datum::{self, Datum, ZONE};
use crate::reader::{Read, read};

const KINDS: [RowKind; 4] = [
    RowKind::Insert,
    RowKind::UpdateBefore,
    RowKind::UpdateAfter,
    RowKind::Delete,
];

/// Random tables and rows: the row that the snapshot encodes from a driver's words, the one that the stream encodes from
/// the log's, and what Flink reads are the same, byte for byte.
#[test]
fn snapshot_and_log_give_the_same_bytes_and_flink_reads_the_values() {
    for seed in 0..3_000 {
        let mut rng = Rng::with_seed(seed);
        let arity = rng.usize(1..=70);
        let columns: Vec<_> = (0..arity).map(|_| datum::column(&mut rng)).collect();
        let declared: Vec<_> = (0..arity)
            .map(|at| declared(&format!("c{at}"), columns[at].1, true))
            .collect();
        let table = table(
            columns
                .iter()
                .enumerate()
                .map(|(at, (kind, _))| (format!("C{at}"), kind.clone())),
        );
        let codec = codec(table, &declared, ZONE, OnValueError::Fail);
        for _ in 0..3 {
            let row: Vec<Option<Datum>> = columns
                .iter()
                .map(|(from, to)| (rng.u8(0..8) > 0).then(|| datum::datum(&mut rng, from, *to)))
                .collect();
            let words = |pick: fn(&Datum) -> Value<'_>| -> Vec<Value<'_>> {
                row.iter()
                    .map(|datum| datum.as_ref().map_or(Value::Null, pick))
                    .collect()
            };
            let kind = KINDS[rng.usize(..4)];
            let origin = RowOrigin::default();
            let of = |values: &[Value<'_>]| {
                encode(&codec, kind, values, &origin).unwrap_or_else(|error| panic!("seed {seed}: {error}"))
            };
            let snapshot = of(&words(|datum| datum.driver.value()));
            let log = of(&words(|datum| datum.log.value()));
            assert_eq!(snapshot, log, "seed {seed}: {row:#?}");
            let kinds: Vec<_> = columns.iter().map(|(_, to)| *to).collect();
            let (read_kind, fields) = read(&log, &kinds);
            assert_eq!(read_kind, kind as u8);
            for (at, field) in fields.iter().enumerate() {
                let expected = row[at].as_ref().map_or(Read::Null, |datum| datum.read.clone());
                assert_eq!(*field, expected, "seed {seed}, {:?}: {:?}", columns[at], row[at]);
            }
        }
    }
}

/// Whatever bytes stand in a value: a row or an error, never a panic and never half a row (`encode` looks after that).
#[test]
fn no_words_break_the_encoder() {
    const LETTERS: &[u8] = b"0123456789019+-.:eE TZ\xffaNInf";
    for seed in 0..2_000 {
        let mut rng = Rng::with_seed(seed);
        let (from, to) = datum::column(&mut rng);
        let codec = codec(
            table([("C".to_owned(), from)]),
            &[declared("C", to, true)],
            ZONE,
            OnValueError::Fail,
        );
        for _ in 0..50 {
            let mut words: Vec<u8> = match rng.u8(0..4) {
                0 => b"2026-01-02 10:20:30.123456 +08:00".to_vec(),
                1 => b"-12345678901234567890123456789012345678.5E-10".to_vec(),
                _ => Vec::new(),
            };
            for _ in 0..rng.usize(0..12) {
                let letter = LETTERS[rng.usize(..LETTERS.len())];
                match rng.usize(..=words.len()) {
                    at if at < words.len() => words[at] = letter,
                    _ => words.push(letter),
                }
            }
            let value = match rng.u8(0..8) {
                0 => Value::Number(&words),
                1 => Value::Text(&words),
                2 => Value::Bytes(&words),
                3 => Value::Hex(&words),
                4 => Value::Date(&words),
                5 => Value::Time(&words),
                6 => Value::Timestamp(&words),
                _ => Value::Int(rng.i64(..)),
            };
            if let Ok(row) = encode(&codec, RowKind::Insert, &[value], &RowOrigin::default()) {
                read(&row, &[to]);
            }
        }
    }
}
