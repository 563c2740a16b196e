//! Folders of large transactions that take no more: the error by name, and every row once when there is room again.

#[path = "support/generated_log.rs"]
mod generated_log;
#[path = "support/large_transactions.rs"]
mod large_transactions;
#[path = "support/plain_table.rs"]
mod plain_table;

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use generated_log::{End, GeneratedLog, LARGE, Plan};
use large_transactions::{ids, open};
use tidemark::error::{Error, ErrorKind};
use tidemark::log::spill::Spilling;
use tidemark::log::{LogEvent, LogReader, Progress};
use tidemark::position::Xid;

const BUDGET: usize = 1 << 20;
const PLAN: Plan = Plan {
    rows: 20_000,
    text: 300,
    small_every: 500,
    end: End::Commit,
};
/// What a test is told in a process of its own: the folder that is small.
const SMALL: &str = "TIDEMARK_TEST_SMALL_FOLDER";

/// An empty folder of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("full-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Spill files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let rooms = fs::read_dir(folder).unwrap().map(|room| room.unwrap().path());
    rooms
        .flat_map(|room| fs::read_dir(room).unwrap().map(|file| file.unwrap().path()))
        .collect()
}

/// What a sink has: nothing comes twice, and rows of the large transaction come in order.
#[derive(Default)]
struct Sink {
    rows: HashSet<u64>,
    large: u64,
}

impl Sink {
    /// Reads on from where a reader stood, to the end of the log or an error. Says where it stands then, which moves with
    /// whole transactions alone.
    fn read(
        &mut self,
        log: GeneratedLog,
        folders: &[PathBuf],
        from: Option<Progress>,
    ) -> (Progress, Result<(), Error>) {
        let mut reader = open(log, Spilling::new(BUDGET, folders.to_vec()), from);
        loop {
            let event = match reader.poll() {
                Ok(Some(event)) => event,
                Ok(None) => return (reader.progress(), Ok(())),
                Err(error) => return (reader.progress(), Err(error)),
            };
            let LogEvent::Fragment(fragment) = event else { continue };
            for id in ids(&fragment) {
                assert!(self.rows.insert(id), "row {id} came twice");
                if fragment.head.xid == Xid(LARGE) {
                    self.large += 1;
                    assert_eq!(id, self.large);
                }
            }
        }
    }

    fn has_all(&self, plan: Plan) {
        let small = plan.rows / plan.small_every;
        assert_eq!((self.large, self.rows.len() as u64), (plan.rows, plan.rows + small));
    }
}

fn is_full(error: &Error, folder: &Path) {
    assert!(
        matches!(error.kind(), ErrorKind::Spill { .. }) && error.is_retryable(),
        "{error}"
    );
    let text = error.to_string();
    let named = folder.display().to_string();
    for part in [
        "TM-6001",
        &named,
        "transaction 1",
        "No space left on device",
        "io.tmp.dirs",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

/// Runs the test of this name again, by a command in front of it.
fn in_a_process_of_its_own(name: &str, small: &Path, command: &[&str]) -> bool {
    let mut process = Command::new(command[0]);
    process.args(&command[1..]);
    process.arg(std::env::current_exe().unwrap());
    process.args(["--exact", name, "--nocapture"]).env(SMALL, small);
    process.status().unwrap().success()
}

fn small_folder() -> Option<PathBuf> {
    std::env::var_os(SMALL).map(PathBuf::from)
}

/// The kernel's own full device, which is everywhere: the file turns into it while it grows.
#[test]
fn a_device_that_is_full_is_an_error_by_name_and_loses_nothing() {
    let folder = Folder::new("device");
    let mut log = GeneratedLog::new(PLAN);
    let place = folder.0.clone();
    log.before = Some(Box::new(move |row| {
        if row == PLAN.rows / 2 {
            let files = files(&place);
            assert_eq!(files.len(), 1, "{files:?}");
            fs::remove_file(&files[0]).unwrap();
            symlink("/dev/full", &files[0]).unwrap();
        }
    }));
    let mut sink = Sink::default();
    let folders = [folder.0.clone()];
    let (stood, outcome) = sink.read(log, &folders, None);
    is_full(&outcome.unwrap_err(), &folder.0);
    assert_eq!(sink.large, 0);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0, "files are left");
    sink.read(GeneratedLog::new(PLAN), &folders, Some(stood)).1.unwrap();
    sink.has_all(PLAN);
}

/// A file system without room, where one can be mounted: by whoever may, or in a name space of its own.
#[test]
fn a_file_system_that_is_full_is_an_error_by_name_and_loses_nothing() {
    let Some(small) = small_folder() else {
        let folder = Folder::new("mounted");
        let mount = [
            "-rm",
            "mount",
            "-t",
            "tmpfs",
            "-o",
            "size=2m",
            "none",
            folder.0.to_str().unwrap(),
        ];
        let may_mount = Command::new("unshare")
            .args(mount)
            .status()
            .is_ok_and(|status| status.success());
        if !may_mount {
            // Containers forbid it, mostly; the device above is full in the same way.
            println!("no file system can be mounted here");
            return;
        }
        let name = "a_file_system_that_is_full_is_an_error_by_name_and_loses_nothing";
        let script = r#"mount -t tmpfs -o size=2m none "$TIDEMARK_TEST_SMALL_FOLDER" && exec "$0" "$@""#;
        let command = ["unshare", "-rm", "bash", "-c", script];
        assert!(in_a_process_of_its_own(name, &folder.0, &command));
        return;
    };
    let mut sink = Sink::default();
    let (stood, outcome) = sink.read(GeneratedLog::new(PLAN), std::slice::from_ref(&small), None);
    is_full(&outcome.unwrap_err(), &small);
    assert_eq!(sink.large, 0);
    assert_eq!(fs::read_dir(&small).unwrap().count(), 0, "files are left");
    let mut grow = Command::new("mount");
    grow.args(["-o", "remount,size=64m"]).arg(&small);
    assert!(grow.status().unwrap().success());
    sink.read(GeneratedLog::new(PLAN), &[small], Some(stood)).1.unwrap();
    sink.has_all(PLAN);
}

/// Every file is full after 700 KB, in the middle of what is written: a transaction goes on in the other folder, and from
/// there in the first again. However it ends, its rows are the same.
#[test]
fn a_transaction_goes_on_in_another_folder_where_one_is_full() {
    let Some(small) = small_folder() else {
        let folder = Folder::new("limited");
        let name = "a_transaction_goes_on_in_another_folder_where_one_is_full";
        let script = r#"trap '' XFSZ; ulimit -f 700; exec "$0" "$@""#;
        assert!(in_a_process_of_its_own(name, &folder.0, &["bash", "-c", script]));
        return;
    };
    let folders = ["first", "second"].map(|name| small.join(name));
    folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
    for end in [End::Commit, End::Undone(12_000), End::Rollback] {
        let plan = Plan { end, ..PLAN };
        let mut log = GeneratedLog::new(plan);
        let places = folders.clone();
        log.before = Some(Box::new(move |row| {
            if row == PLAN.rows {
                let counts = [0, 1].map(|nth: usize| files(&places[nth]).len());
                assert!(counts.iter().all(|&count| count > 2), "{counts:?} files");
            }
        }));
        let mut sink = Sink::default();
        sink.read(log, &folders, None).1.unwrap();
        let large = match end {
            End::Commit => plan.rows,
            End::Undone(undone) => plan.rows - undone,
            End::Rollback => 0,
        };
        let small = plan.rows / plan.small_every;
        assert_eq!((sink.large, sink.rows.len() as u64), (large, large + small), "{end:?}");
    }
    // Alone, a folder of such files takes too little.
    let mut sink = Sink::default();
    let error = sink.read(GeneratedLog::new(PLAN), &folders[..1], None).1.unwrap_err();
    let text = error.to_string();
    for part in [
        "TM-6001",
        &folders[0].display().to_string(),
        "transaction 1",
        "File too large",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}
