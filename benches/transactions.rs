//! Large transactions: what they cost at growing sizes. `cargo bench --bench transactions -- [rows] [bytes a text]
//! [commit|undone|rollback]`; without arguments a small run of each.

#[path = "../tests/support/generated_log.rs"]
mod generated_log;
#[path = "../tests/support/large_transactions.rs"]
mod large_transactions;
#[path = "../tests/support/plain_table.rs"]
mod plain_table;

use std::time::Instant;

use generated_log::{End, Plan};
use large_transactions::read;

const BUDGET: usize = 256 << 20;

/// Seconds of the CPU that the process has taken, and the most memory that it had, in MB.
fn taken() -> (f64, u64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|ticks| ticks.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    ((ticks(11) + ticks(12)) / 100.0, peak.unwrap_or(0) / 1024)
}

fn run(rows: u64, text: usize, end: &str) {
    let plan = Plan {
        rows,
        text,
        small_every: 1_000,
        end: match end {
            "undone" => End::Undone(rows / 2),
            "rollback" => End::Rollback,
            _ => End::Commit,
        },
    };
    let (before, _) = taken();
    let begun = Instant::now();
    let out = read(plan, BUDGET, vec![std::env::temp_dir()]);
    let (after, peak) = taken();
    println!(
        "{end}: {rows} rows of {text} bytes: {} out, {} of small ones, {} MB spilled, {:.1} s of CPU, {:.1} s, {} MB at most buffered, \
         {peak} MB resident at most",
        out.large,
        out.small,
        out.spilled.written >> 20,
        after - before,
        begun.elapsed().as_secs_f64(),
        out.buffered >> 20,
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let number = |at: usize, default: u64| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    match arguments.is_empty() {
        true => ["commit", "undone", "rollback"]
            .iter()
            .for_each(|end| run(20_000, 300, end)),
        false => run(
            number(0, 100_000),
            number(1, 300) as usize,
            arguments.get(2).map_or("commit", String::as_str),
        ),
    }
}
