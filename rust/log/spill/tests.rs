use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::*;
use crate::log::records::{Action, Incoming, Record};
use crate::log::transaction::Transaction;
use crate::log::transactions::Transactions;
use crate::log::undo::{Form, Undone};
use crate::position::{RecordSet, Scn};

/// A temporary folder of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tidemark-test-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn budget(&self, bytes: usize) -> Arc<Spilling> {
        Spilling::new(bytes, vec![self.0.clone()])
    }

    /// Paths of the spill files in it.
    fn files(&self) -> Vec<PathBuf> {
        let rooms = fs::read_dir(&self.0).unwrap().map(|room| room.unwrap().path());
        rooms
            .filter_map(|room| fs::read_dir(room).ok())
            .flat_map(|files| files.map(|file| file.unwrap().path()))
            .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn record(scn: u64, action: Action, roll_back: bool) -> Record {
    Record {
        scn: Scn(scn),
        table: 3,
        object: 1 << 40,
        version: 5,
        shape: 2,
        action,
        roll_back,
        rs_id: RecordSet::new(b"0x1").unwrap(),
        ssn: 9,
        status: -4,
    }
}

fn push(transactions: &mut Transactions, xid: u64, record: Record, row: &str, text: Option<&[u8]>, continued: bool) {
    let incoming = Incoming {
        record,
        row_id: row.as_bytes(),
        text,
        continued,
    };
    transactions.push(Xid(xid), &incoming).unwrap();
}

/// What a transaction hands out.
type Out = (
    Vec<(Record, Vec<u8>, Option<Vec<u8>>)>,
    Option<Undone>,
    Vec<(Record, Vec<u8>)>,
);

fn out(mut transaction: Transaction, form: Form, memory: usize) -> Result<Out> {
    let statements = transaction.statements().map(|(record, text)| (*record, text.to_vec()));
    // Frames may have them in log order already.
    let mut statements: Vec<_> = statements.collect();
    statements.sort_by_key(|(record, _)| record.scn);
    transaction.sort()?;
    let undone = transaction.undone(&mut form.clone(), memory)?;
    let mut blocks = transaction.into_blocks();
    let mut block = Block::default();
    let mut records = Vec::new();
    while blocks.next(&mut block)? {
        records.extend(block.entries().iter().map(|entry| {
            let text = (!entry.no_text).then(|| block.text(entry).to_vec());
            (entry.record, block.row_id(entry).to_vec(), text)
        }));
    }
    Ok((records, undone, statements))
}

/// What comes is the same whatever fits into memory: interleaved, out of order, in pieces, taken back by savepoints, by the
/// log's end and with a whole mining call, mined back for.
#[test]
fn a_spilled_transaction_is_the_one_that_came() {
    let folder = Folder::new("random");
    for seed in 0..400 {
        let mut random = fastrand::Rng::with_seed(seed);
        let budget = [100, 1_000, 5_000, 20_000, 100_000][random.usize(..5)];
        let spilling = folder.budget(budget);
        let mut small = Transactions::new(spilling.clone());
        let mut large = Transactions::new(Spilling::unlimited());
        let disorder = random.u64(..3) * random.u64(..20);
        let mut changes: Vec<Vec<(String, Action)>> = vec![Vec::new(); 4];
        let mut called = changes.clone();
        let mut scn = 100;
        for _ in 0..random.usize(20..400) {
            let xid = random.usize(..4);
            scn += random.u64(..3);
            let at = scn - random.u64(..=disorder);
            let text: Vec<u8> = std::iter::repeat_n(b'x', random.usize(..300)).collect();
            match random.u32(..100) {
                0..50 => {
                    let action = [Action::Insert, Action::Update, Action::Delete, Action::Schema][random.usize(..4)];
                    let row = match action {
                        Action::Schema => String::new(),
                        _ => format!("R{}", random.u32(..30)),
                    };
                    let pieces = random.usize(..3);
                    let text = random.bool().then_some(&text[..]);
                    for buffer in [&mut small, &mut large] {
                        push(buffer, xid as u64, record(at, action, false), &row, text, pieces > 0);
                        for piece in 0..pieces {
                            assert!(buffer.extend(Xid(xid as u64), b"piece", piece + 1 < pieces).unwrap());
                        }
                    }
                    if action != Action::Schema && disorder == 0 {
                        changes[xid].push((row, action));
                    }
                }
                50..75 => {
                    // As after ROLLBACK TO SAVEPOINT.
                    for _ in 0..random.usize(..4) {
                        let Some((row, action)) = changes[xid].pop() else { break };
                        let inverse = match action {
                            Action::Insert => Action::Delete,
                            Action::Delete => Action::Insert,
                            other => other,
                        };
                        for buffer in [&mut small, &mut large] {
                            push(buffer, xid as u64, record(scn, inverse, true), &row, Some(&text), false);
                        }
                    }
                }
                75..80 => {
                    for buffer in [&mut small, &mut large] {
                        push(
                            buffer,
                            xid as u64,
                            record(at, Action::Update, false),
                            "cut",
                            Some(&text),
                            true,
                        );
                        buffer.extend(Xid(xid as u64), b"half", true).unwrap();
                        buffer.pop(Xid(xid as u64));
                    }
                }
                80..90 => {
                    called.clone_from(&changes);
                    small.begin_call();
                    large.begin_call();
                }
                90..95 => {
                    if small.call() > 0 {
                        changes.clone_from(&called);
                        small.forget_call().unwrap();
                        large.forget_call().unwrap();
                        small.begin_call();
                        large.begin_call();
                    }
                }
                _ => {
                    if disorder > 0 {
                        small.start(Xid(xid as u64), Scn(at), 1).unwrap();
                        large.start(Xid(xid as u64), Scn(at), 1).unwrap();
                    }
                }
            }
        }
        for xid in 0..4 {
            let (few, all) = (small.end(Xid(xid)), large.end(Xid(xid)));
            let (Some(mut few), Some(mut all)) = (few, all) else {
                continue;
            };
            if random.bool() {
                // What was mined back for stands in front.
                for (transaction, spilling) in [(&mut few, spilling.clone()), (&mut all, Spilling::unlimited())] {
                    let mut earlier = Transactions::limited(spilling, random.usize(..2) * 100);
                    push(
                        &mut earlier,
                        xid,
                        record(1, Action::Insert, false),
                        "earlier",
                        Some(b"earlier"),
                        false,
                    );
                    transaction.prepend(earlier.end(Xid(xid)).unwrap()).unwrap();
                }
            }
            assert_eq!(
                (few.records(), few.marked()),
                (all.records(), all.marked()),
                "seed {seed}"
            );
            let form = if random.bool() {
                Form::Flagged
            } else {
                Form::Compensating
            };
            let memory = random.usize(..2_000);
            let few = out(few, form, memory).unwrap();
            let all = out(all, form, usize::MAX).unwrap();
            let same = [few.0 == all.0, few.1 == all.1, few.2 == all.2];
            assert_eq!(
                same, [true; 3],
                "seed {seed}, transaction {xid}: records, undone, statements"
            );
        }
        assert_eq!(spilling.figures().held, 0, "seed {seed}");
        assert_eq!(folder.files(), Vec::<PathBuf>::new(), "seed {seed}");
    }
}

fn filled(spilling: &Arc<Spilling>, records: u64) -> Transactions {
    let mut transactions = Transactions::new(spilling.clone());
    for scn in 0..records {
        push(
            &mut transactions,
            7,
            record(scn, Action::Insert, false),
            "row",
            Some(b"a secret"),
            false,
        );
    }
    transactions
}

#[test]
fn files_are_for_their_owner_alone_and_gone_with_their_transaction() {
    let folder = Folder::new("modes");
    let spilling = folder.budget(2_000);
    let mut transactions = filled(&spilling, 100);
    let files = folder.files();
    assert_eq!(files.len(), 1, "{files:?}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&files[0]), 0o600);
    assert_eq!(mode(files[0].parent().unwrap()), 0o700);
    let figures = spilling.figures();
    assert_eq!(figures.held, fs::metadata(&files[0]).unwrap().len());
    assert_eq!((figures.written, figures.transactions), (figures.held, 1));
    drop(transactions.end(Xid(7)));
    assert_eq!(folder.files(), Vec::<PathBuf>::new());
    assert_eq!(spilling.figures().held, 0);
    drop(transactions);
    drop(spilling);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0, "the folder is gone too");
}

#[test]
fn folders_are_used_in_turn_and_one_that_takes_nothing_is_passed_over() {
    let folders = ["turn-a", "turn-b"].map(Folder::new);
    let mut paths: Vec<PathBuf> = folders.iter().map(|folder| folder.0.clone()).collect();
    paths.push(PathBuf::from("/dev/null/nowhere"));
    let spilling = Spilling::new(0, paths);
    let mut transactions = Transactions::new(spilling);
    for xid in 0..6 {
        push(
            &mut transactions,
            xid,
            record(1, Action::Insert, false),
            "r",
            Some(b"t"),
            false,
        );
    }
    // The third folder's turn falls to the next one.
    assert_eq!(folders.map(|folder| folder.files().len()), [3, 3]);
}

/// What cannot be written is an error that names folder and transaction, and no row is lost without one.
#[test]
fn a_folder_that_takes_nothing_is_an_error_by_name() {
    let spilling = Spilling::new(1_000, vec!["/dev/null/nowhere".into()]);
    let mut transactions = Transactions::new(spilling);
    let incoming = Incoming {
        record: record(1, Action::Insert, false),
        row_id: b"row",
        text: Some(&[b'x'; 2_000]),
        continued: false,
    };
    let error = transactions.push(Xid(77), &incoming).unwrap_err();
    let text = error.to_string();
    for part in ["TM-6001", "'/dev/null/nowhere'", "transaction 77", "io.tmp.dirs"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert!(error.is_retryable());
}

/// Any byte of a file that is another one is noticed, and so is a file that was cut.
#[test]
fn a_damaged_file_is_an_error_by_name_and_never_other_rows() {
    let folder = Folder::new("damage");
    let length = {
        let spilling = folder.budget(3_000);
        let _transactions = filled(&spilling, 60);
        fs::metadata(&folder.files()[0]).unwrap().len()
    };
    let mut random = fastrand::Rng::with_seed(1);
    for at in (0..length).step_by(7) {
        let spilling = folder.budget(3_000);
        let mut transactions = filled(&spilling, 60);
        let path = folder.files().remove(0);
        let mut bytes = fs::read(&path).unwrap();
        bytes[at as usize] ^= 1 << random.u32(..8);
        fs::write(&path, bytes).unwrap();
        let error = out(transactions.end(Xid(7)).unwrap(), Form::Flagged, 0).unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error.kind(), ErrorKind::SpillCorrupt { .. }) && !error.is_retryable(),
            "{at}: {text}"
        );
        assert!(
            text.contains("transaction 7") && text.contains(&path.display().to_string()),
            "{text}"
        );
        assert!(!text.contains("secret"), "{text}");
    }
    let spilling = folder.budget(3_000);
    let mut transactions = filled(&spilling, 60);
    fs::write(&folder.files()[0], b"").unwrap();
    let error = out(transactions.end(Xid(7)).unwrap(), Form::Flagged, 0).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Spill { .. }), "{error}");
}

/// A start deletes what nobody has locked, and leaves what a living reader, here or in another process, has.
#[test]
fn a_start_sweeps_what_dead_processes_have_left_and_nothing_else() {
    let folder = Folder::new("sweep");
    let living = folder.budget(2_000);
    let _transactions = filled(&living, 100);
    let dead = folder.0.join(format!("{}999999-1700000000000-0", rooms::PREFIX));
    let foreign = folder.0.join("somebody-elses");
    for path in [&dead, &foreign] {
        fs::create_dir(path).unwrap();
        fs::write(path.join("4-0.spill"), b"rows").unwrap();
    }
    let other = folder.0.join(format!("{}of-another-process", rooms::PREFIX));
    fs::create_dir(&other).unwrap();
    // A file's lock belongs to whoever has opened it: a second opening is as good as a second process.
    let held = File::open(&other).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    folder.budget(1).sweep();
    assert!(!dead.exists());
    assert!(foreign.join("4-0.spill").exists() && other.exists());
    assert_eq!(folder.files().len(), 2, "the living reader's file, and the foreign one");
    drop(held);
    folder.budget(1).sweep();
    assert!(!other.exists());
}

/// However many rows are taken back, and however little memory there is to find out.
#[test]
fn a_savepoint_is_undone_across_files_in_little_memory() {
    let folder = Folder::new("savepoint");
    let spilling = folder.budget(64 << 10);
    let mut transactions = Transactions::new(spilling.clone());
    const ROWS: u64 = 20_000;
    for nth in 0..ROWS {
        push(
            &mut transactions,
            1,
            record(nth, Action::Insert, false),
            &format!("R{nth}"),
            Some(b"text"),
            false,
        );
    }
    for nth in (ROWS / 2..ROWS).rev() {
        push(
            &mut transactions,
            1,
            record(ROWS, Action::Delete, true),
            &format!("R{nth}"),
            Some(b"text"),
            false,
        );
    }
    // With so small a budget there is a frame for every few records, and each is known by some 50 bytes.
    assert!(transactions.size() <= 512 << 10, "{}", transactions.size());
    assert!(spilling.figures().held > 2 << 20);
    let transaction = transactions.end(Xid(1)).unwrap();
    let undone = transaction.undone(&mut Form::Unknown, 200_000).unwrap().unwrap();
    for nth in 0..transaction.records() {
        assert_eq!(undone.contains(nth), nth >= ROWS / 2, "{nth}");
    }
    assert_eq!(undone.last_out(transaction.records()), Some(ROWS / 2 - 1));
    assert!(undone.size() <= 8 * (ROWS as usize * 3 / 2 / 64 + 1));
}
