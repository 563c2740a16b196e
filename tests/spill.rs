//! Large transactions in flat memory: what the crate allocates does not grow with the transaction. In a process of its own,
//! since its memory is counted.

#[path = "support/counting.rs"]
mod counting;
#[path = "support/generated_log.rs"]
mod generated_log;
#[path = "support/large_transactions.rs"]
mod large_transactions;
#[path = "support/plain_table.rs"]
mod plain_table;

use counting::Allocated;
use generated_log::{End, Plan};
use large_transactions::{Read, read};

const BUDGET: usize = 4 << 20;

fn peak(plan: Plan) -> (Read, usize) {
    let folder = std::env::temp_dir().join(format!("tidemark-spill-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let allocated = Allocated::begin();
    let out = read(plan, BUDGET, vec![folder.clone()]);
    let peak = allocated.bytes();
    // The reader is gone, and with it its folder.
    std::fs::remove_dir(&folder).unwrap();
    (out, peak)
}

#[test]
fn memory_is_flat_however_large_a_transaction_is_and_whatever_becomes_of_it() {
    for end in [End::Commit, End::Undone(10_000), End::Rollback] {
        let plan = |rows| Plan {
            rows,
            text: 300,
            small_every: 500,
            end,
        };
        let [few, many] = [20_000, 60_000].map(|rows| {
            let (out, peak) = peak(plan(rows));
            let goes_out = match end {
                End::Commit => rows,
                End::Undone(undone) => rows - undone,
                End::Rollback => 0,
            };
            assert_eq!((out.large, out.small), (goes_out, rows / 500), "{end:?}");
            assert_eq!(out.fragments, goes_out.div_ceil(1_000), "{end:?}");
            // Texts, row ids and some 70 bytes a record go to the file, once.
            assert!(out.spilled.written > rows * 250, "{end:?}: {:?}", out.spilled);
            assert!(
                out.spilled.written < (rows + 10_000) * 500,
                "{end:?}: {:?}",
                out.spilled
            );
            assert_eq!(out.spilled.held, 0, "{end:?}");
            assert!(out.buffered <= BUDGET as u64, "{end:?}: {} bytes", out.buffered);
            peak
        });
        // Beside the budget: a fragment and its rows, a bit a record, the rest of what a reader is.
        let limit = BUDGET + (4 << 20);
        assert!(few < limit && many < limit, "{end:?}: {few} and {many} bytes");
        assert!(many < few + (1 << 20), "{end:?}: {few} and {many} bytes");
    }
}
