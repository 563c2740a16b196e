//! Ten million mutated texts: no panic, and a malformed text is an error, never a wrong value. `TIDEMARK_SEED` takes others,
//! `TIDEMARK_FUZZ_SECONDS` goes on for so long.
//!
//! Each text goes through the parser by name and by index (with a layout that has learnt the statement that it was mutated from), and
//! through the reference parser. All three must agree: on the values, or on the refusal.

use tidemark::log::logminer::redo_sql::{Layout, Operation, Parser, Row, Statement};

use crate::model::{self, Bytes, Change};
use crate::random::Random;
use crate::reference;
use crate::{cases, properties};

const INPUTS: usize = 10_000_000;
const THREADS: usize = 2;

/// A statement to mutate, with the layout of its table.
struct Origin {
    operation: Operation,
    text: Bytes,
    columns: Vec<Bytes>,
    /// Of an INSERT, UPDATE or DELETE: its owner and table, and the layout of that table.
    table: Option<(Option<Bytes>, Bytes, Layout)>,
}

impl Origin {
    fn new(operation: Operation, text: Bytes) -> Origin {
        let change = reference::parse(operation, &text);
        let mut columns: Vec<Bytes> = vec![];
        for (name, _) in change
            .iter()
            .flat_map(|change| change.values.iter().chain(&change.set).chain(&change.conditions))
        {
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
        let table = change.map(|change| {
            let layout = Layout::new(change.owner.as_deref(), &change.table, &columns);
            (change.owner, change.table, layout)
        });
        Origin {
            operation,
            text,
            columns,
            table,
        }
    }
}

/// The written cases, and rendered statements that are short enough for millions of them.
fn corpus(random: &mut Random) -> Vec<Origin> {
    let mut corpus: Vec<Origin> = cases::statements()
        .into_iter()
        .map(|(operation, text)| Origin::new(operation, text))
        .collect();
    while corpus.len() < 400 {
        let (operation, text) = properties::any_statement(random);
        if text.len() < 150 {
            corpus.push(Origin::new(operation, text));
        }
    }
    corpus.retain(|origin| origin.text.len() < 300);
    corpus
}

const SYNTAX: [&str; 42] = [
    "'",
    "''",
    "\"",
    "\"\"",
    "(",
    ")",
    ",",
    ";",
    "||",
    " ",
    "\n",
    ".",
    "=",
    "/*",
    "*/",
    "\\",
    "NULL",
    "null",
    " IS NULL",
    " AND ",
    " and ",
    " WHERE ",
    " where ",
    " SET ",
    "UNISTR('",
    "DATE'",
    "TIMESTAMP '",
    "OUT_CLOB",
    "OUT_BLOB(",
    "0x",
    "Unsupported Type",
    "INTERVAL'1' DAY",
    "ROWID",
    "a.",
    "-",
    "1",
    "E5",
    "TRUE",
    "NaN",
    "-Infinity",
    "\"A\"",
    "F(",
];

/// One to three changes to a text.
fn mutate(random: &mut Random, corpus: &[Origin], text: &mut Bytes) {
    for _ in 0..1 + random.below(3) {
        let at = random.below(text.len() + 1);
        match random.below(9) {
            0 => text.truncate(at),
            1 if at < text.len() => text[at] ^= 1 << random.below(8),
            2 if at < text.len() => text[at] = random.next() as u8,
            3 if at < text.len() => drop(text.remove(at)),
            4 => text.insert(at, random.pick(b"'\"(),;| =.\\x0")),
            5 => {
                // Splice: a piece of another statement, or of this one.
                let other = &corpus[random.below(corpus.len())].text;
                let start = random.below(other.len() + 1);
                let end = (start + random.below(24)).min(other.len());
                text.splice(at..at, other[start..end].iter().copied());
            }
            6 => {
                let end = (at + random.below(24)).min(text.len());
                text.drain(at..end);
            }
            _ => {
                let syntax = random.pick(&SYNTAX);
                text.splice(at..at, syntax.bytes());
            }
        }
    }
}

/// How many texts were read, to show that the fuzzer does not only make noise.
#[derive(Default)]
struct Count {
    read: usize,
    refused: usize,
}

fn run(seed: u64, inputs: usize) -> Count {
    let random = &mut Random::new(seed);
    let corpus_for_splices = corpus(random);
    let mut corpus = corpus(random);
    let strict = Parser::new(false);
    let lenient = Parser::new(true);
    let mut count = Count::default();
    let mut text = vec![];
    for _ in 0..inputs {
        let at = random.below(corpus.len());
        let origin = &mut corpus[at];
        text.clear();
        text.extend_from_slice(&origin.text);
        mutate(random, &corpus_for_splices, &mut text);
        check(&strict, &lenient, origin, &text, &mut count);
        // The layout keeps what it learnt from any text; the true one comes back now and then.
        if random.once_in(16) {
            text.clear();
            text.extend_from_slice(&origin.text);
            check(&strict, &lenient, origin, &text, &mut count);
        }
    }
    count
}

fn check(strict: &Parser, lenient: &Parser, origin: &mut Origin, text: &[u8], count: &mut Count) {
    let mut statement = Statement::default();
    let parsed = strict.parse_into(origin.operation, text, &mut statement);
    let is_change = matches!(
        origin.operation,
        Operation::Insert | Operation::Update | Operation::Delete
    );
    if parsed.is_err() {
        count.refused += 1;
        // The lenient mode may read it or not, but must not panic.
        if count.refused % 4 == 0 {
            let _ = lenient.parse(origin.operation, text);
        }
    } else {
        count.read += 1;
    }
    if !is_change || statement.operation == Operation::Skip {
        return;
    }
    // An expression with half of a surrogate pair is well formed and has no text: only its decoding fails.
    let read = parsed.as_ref().ok().and_then(|()| model::change(&statement));
    let expected = reference::parse(origin.operation, text);
    assert_eq!(read, expected, "{}", shown(text));
    let Some((owner, table, layout)) = &mut origin.table else {
        return;
    };
    let mut row = Row::default();
    let by_index = strict.parse_row(origin.operation, text, layout, &mut row);
    if let Some(change) = &expected {
        assert_eq!(
            by_index.is_ok(),
            *owner == change.owner && *table == change.table,
            "{}",
            shown(text)
        );
        if by_index.is_ok() {
            check_row(origin, change, &row, text);
        }
    } else if by_index.is_ok() && parsed.is_err() {
        // Columns that the layout does not have are passed over; that one of them stands twice goes unnoticed.
        assert!(row.unknown() > 1, "{}", shown(text));
    }
}

fn check_row(origin: &Origin, change: &Change, row: &Row<'_>, text: &[u8]) {
    let find = |list: &model::List, name: &Bytes| {
        list.iter()
            .find(|(column, _)| column == name)
            .map(|(_, value)| value.clone())
    };
    for (column, name) in origin.columns.iter().enumerate() {
        let before = find(&change.conditions, name);
        let mut after = find(&change.values, name).or_else(|| find(&change.set, name));
        if origin.operation == Operation::Update {
            after = after.or_else(|| before.clone());
        }
        assert_eq!(
            row.before(column).and_then(|value| model::meaning(&value)),
            before,
            "{}",
            shown(text)
        );
        assert_eq!(
            row.after(column).and_then(|value| model::meaning(&value)),
            after,
            "{}",
            shown(text)
        );
    }
}

fn shown(text: &[u8]) -> String {
    text.escape_ascii().to_string()
}

#[test]
fn ten_million_texts_are_read_rightly_or_refused() {
    let number = |name: &str| std::env::var(name).map_or(0, |number| number.parse().unwrap());
    let (first, seconds) = (number("TIDEMARK_SEED"), number("TIDEMARK_FUZZ_SECONDS"));
    let end = std::time::Instant::now() + std::time::Duration::from_secs(seconds);
    let mut counts: Vec<Count> = Vec::new();
    for seeds in (first..).step_by(THREADS) {
        println!("TIDEMARK_SEED={seeds}");
        let threads: Vec<_> = (seeds..seeds + THREADS as u64)
            .map(|seed| std::thread::spawn(move || run(seed, INPUTS / THREADS)))
            .collect();
        counts.extend(threads.into_iter().map(|thread| thread.join().expect("no panic")));
        if std::time::Instant::now() >= end {
            break;
        }
    }
    let read: usize = counts.iter().map(|count| count.read).sum();
    let refused: usize = counts.iter().map(|count| count.refused).sum();
    println!("{read} read, {refused} refused");
    assert!(read + refused >= INPUTS && read > INPUTS / 10 && refused > INPUTS / 10);
}
