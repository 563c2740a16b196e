//! The parser of redo texts beside Debezium's `LogMinerDmlParser` 3.6.1, in CPU seconds a row.
//!
//! `cargo bench --bench redo_parser [-- ours | ROUNDS SECONDS]`: builds the peer with Maven, runs both over the same statements in both orders, checks that both
//! decoded the same values, and prints the medians and their ratio. Both sides touch every byte of every decoded value. The peer
//! is warm: it compiles in the foreground (-Xbatch) and parses 400,000 rows before its first round. Needs `mvn` and `java`; `-- ours` runs this side alone.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tidemark::log::logminer::redo_sql::{Layout, Operation, Parser, Row, Value};

const STATEMENTS: usize = 1000;
const SHAPES: [(&str, &str); 3] = [
    ("i5", "INSERT, 5 columns"),
    ("i50", "INSERT, 50 columns"),
    ("u10", "UPDATE, 10 columns, 2 of them set"),
];
type Failure = Box<dyn std::error::Error>;

/// One round: CPU nanoseconds a row, and what the values of one pass sum up to.
#[derive(Clone, Copy)]
struct Round {
    nanos: f64,
    checksum: u64,
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let numbers: Vec<f64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let rounds = numbers.first().map_or(5, |&rounds| rounds as usize).max(1);
    let seconds = numbers.get(1).copied().unwrap_or(1.0);
    if words.iter().any(|word| word == "ours") {
        for (shape, title) in SHAPES {
            let nanos = median(ours(shape, rounds, seconds)?.iter().map(|round| round.nanos).collect());
            println!("{title}: {nanos:.1} ns a row");
        }
        return Ok(());
    }
    let peer = Peer::build()?;
    println!(
        "CPU nanoseconds a row, medians of {} rounds of {seconds} s, both orders",
        2 * rounds
    );
    println!(
        "{:<36} {:>10} {:>10} {:>7}",
        "statements", "Tidemark", "Debezium", "ratio"
    );
    for (shape, title) in SHAPES {
        let mut mine = ours(shape, rounds, seconds)?;
        let mut theirs = peer.run(shape, rounds, seconds)?;
        theirs.extend(peer.run(shape, rounds, seconds)?);
        mine.extend(ours(shape, rounds, seconds)?);
        if mine
            .iter()
            .chain(&theirs)
            .any(|round| round.checksum != mine[0].checksum)
        {
            return Err(format!("{shape}: the two sides decoded different values").into());
        }
        let checksum = mine[0].checksum;
        let (mine, theirs) = (middle(&mine), middle(&theirs));
        println!(
            "{title:<36} {mine:>10.1} {theirs:>10.1} {:>7.1}  (both sides' checksum {checksum})",
            theirs / mine
        );
    }
    Ok(())
}

fn middle(rounds: &[Round]) -> f64 {
    median(rounds.iter().map(|round| round.nanos).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn ours(shape: &str, rounds: usize, seconds: f64) -> Result<Vec<Round>, Failure> {
    let columns: usize = shape[1..].parse()?;
    let (operation, table, statements) = if shape.starts_with('u') {
        (Operation::Update, "ITEM", updates(columns))
    } else {
        (Operation::Insert, "ORDERS", inserts(columns))
    };
    let names = (0..columns).map(|column| format!("C{column}"));
    let mut layout = Layout::new(Some(b"SHOP"), table.as_bytes(), names);
    let parser = Parser::new(false);
    let mut row = Row::default();
    let mut measured = vec![];
    for _ in 0..rounds {
        let cpu = cpu()?;
        let deadline = Instant::now() + Duration::from_secs_f64(seconds);
        let (mut rows, mut checksum) = (0, 0);
        while Instant::now() < deadline {
            checksum = 0;
            for sql in &statements {
                parser.parse_row(operation, black_box(sql.as_bytes()), &mut layout, &mut row)?;
                checksum += sum(columns, |column| row.after(column)) + 7 * sum(columns, |column| row.before(column));
            }
            rows += statements.len();
        }
        measured.push(Round {
            nanos: (self::cpu()? - cpu) as f64 / rows as f64,
            checksum,
        });
    }
    Ok(measured)
}

/// Touches every byte of every value; the column's place counts, so that a swap shows.
#[inline]
fn sum<'a>(columns: usize, value: impl Fn(usize) -> Option<Value<'a>>) -> u64 {
    let mut checksum = 0;
    let mut decoded = vec![];
    for column in 0..columns {
        let Some(value) = value(column) else { continue };
        let bytes = match value {
            Value::Text(text) if text.doubled => {
                decoded.clear();
                text.decode_into(&mut decoded);
                &decoded
            }
            // Of NULL there are none.
            value => value.bytes(),
        };
        checksum += (column as u64 + 1) * weight(bytes);
    }
    checksum
}

/// The length and the sum of the bytes, eight at a time.
#[inline]
fn weight(bytes: &[u8]) -> u64 {
    const EVERY_SECOND: u64 = 0x00ff_00ff_00ff_00ff;
    let mut pairs = 0;
    let mut add = |word: u64| pairs += (word & EVERY_SECOND) + ((word >> 8) & EVERY_SECOND);
    // Sixteen bits hold the sum of 128 words: no value here is longer.
    assert!(bytes.len() < 1024);
    let words = bytes.chunks_exact(8);
    let rest = words.remainder().len();
    for word in words {
        add(word.try_into().map_or(0, u64::from_le_bytes));
    }
    if let Some(last) = bytes.last_chunk::<8>() {
        // The last word overlaps what was added: only its upper bytes are new, none if there is no rest.
        add((u64::from_le_bytes(*last) >> 8) >> (56 - 8 * rest));
    } else {
        bytes.iter().for_each(|&byte| add(u64::from(byte)));
    }
    bytes.len() as u64 + (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48)
}

/// CPU nanoseconds of this process, which has one thread.
fn cpu() -> Result<u64, Failure> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    Ok(text
        .split_whitespace()
        .next()
        .ok_or("no CPU time in /proc/self/schedstat")?
        .parse()?)
}

struct Peer {
    class_path: String,
}

impl Peer {
    fn build() -> Result<Peer, Failure> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/debezium-parser");
        let list = folder.join("target/class-path");
        let built = Command::new("mvn")
            .args(["-q", "-B", "compile", "dependency:build-classpath"])
            .arg(format!("-Dmdep.outputFile={}", list.display()))
            .current_dir(&folder)
            .status()?;
        if !built.success() {
            return Err("Maven could not build benches/debezium-parser".into());
        }
        let libraries = std::fs::read_to_string(list)?;
        Ok(Peer {
            class_path: format!("{}:{}", folder.join("target/classes").display(), libraries.trim()),
        })
    }

    fn run(&self, shape: &str, rounds: usize, seconds: f64) -> Result<Vec<Round>, Failure> {
        let out = Command::new("java")
            .args([
                "-Xms1g",
                "-Xmx1g",
                "-XX:+UseSerialGC",
                "-Xbatch",
                "-cp",
                &self.class_path,
                "bench.ParserBench",
                shape,
            ])
            .args([rounds.to_string(), seconds.to_string()])
            .output()?;
        if !out.status.success() {
            return Err(format!("the peer failed: {}", String::from_utf8_lossy(&out.stderr)).into());
        }
        let text = String::from_utf8(out.stdout)?;
        let mut measured = vec![];
        for line in text.lines() {
            let numbers: Vec<u64> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
            let [rows, nanos, checksum] = numbers[..] else {
                return Err(format!("the peer said {line:?}").into());
            };
            measured.push(Round {
                nanos: nanos as f64 / rows as f64,
                checksum,
            });
        }
        Ok(measured)
    }
}

/// Column 0 a number, every 5th a DATE, every 7th NULL, the others short texts.
fn value(column: usize, row: usize) -> String {
    if column == 0 {
        format!("'{}'", 100_000 + row)
    } else if column % 5 == 4 {
        format!("TO_DATE('2024-05-{} 08:30:00', 'YYYY-MM-DD HH24:MI:SS')", 10 + row % 18)
    } else if column % 7 == 6 {
        "NULL".to_owned()
    } else {
        format!("'value-{column}-{row}'")
    }
}

fn inserts(columns: usize) -> Vec<String> {
    let names: Vec<String> = (0..columns).map(|column| format!("\"C{column}\"")).collect();
    let statement = |row| {
        let values: Vec<String> = (0..columns).map(|column| value(column, row)).collect();
        format!(
            "insert into \"SHOP\".\"ORDERS\"({}) values ({});",
            names.join(","),
            values.join(",")
        )
    };
    (0..STATEMENTS).map(statement).collect()
}

/// Two columns set, all columns in WHERE, as with supplemental logging of all columns.
fn updates(columns: usize) -> Vec<String> {
    let statement = |row| {
        let condition = |column| match value(column, row).as_str() {
            "NULL" => format!("\"C{column}\" IS NULL"),
            value => format!("\"C{column}\" = {value}"),
        };
        let conditions: Vec<String> = (0..columns).map(condition).collect();
        let date = value(4, row + 1);
        let conditions = conditions.join(" and ");
        format!("update \"SHOP\".\"ITEM\" set \"C1\" = 'new-{row}', \"C4\" = {date} where {conditions};")
    };
    (0..STATEMENTS).map(statement).collect()
}
