//! The password of a job appears nowhere: not in what is logged at any level, not in an error, not in state, gauges or files.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tidemark::config::Config;

use crate::job::Job;
use crate::secrets::{assert_absent, said};
use crate::source::{PASSWORD, Source};
use crate::warnings;
use crate::watch::Watch;

/// A temporary folder of this test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("tidemark-secrets-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Names and contents of all files in it.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let rooms = fs::read_dir(&self.0).unwrap().map(|room| room.unwrap().path());
        let files = rooms
            .filter(|room| room.is_dir())
            .flat_map(|room| fs::read_dir(room).unwrap());
        let files = files.map(|file| file.unwrap().path());
        files
            .map(|file| (file.display().to_string(), fs::read(file).unwrap_or_default()))
            .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_password_appears_nowhere() {
    let source = Source::shared("SECRETS", 20);
    let folder = Folder::new();
    let (mut all, lines) = warnings::everything(|| {
        let mut all = run(&source, &folder);
        all.extend(failures(&source));
        all
    });
    assert!(lines.iter().any(|line| line.contains("tidemark")), "nothing was logged");
    all.extend(lines.iter().map(|line| said("a line of the log", line)));
    assert_absent(PASSWORD, &all);
}

/// Snapshot, log and a transaction that goes to a file, with a restart.
fn run(source: &Source, folder: &Folder) -> Vec<(String, Vec<u8>)> {
    let options = [("transaction.memory", json!(1 << 20))];
    let mut config: Config = (*source.config(&options)).clone();
    config.temporary = vec![folder.0.clone()];
    let config = Arc::new(config);
    let mut all = vec![said("the configuration", format!("{config:?} {:#?}", config.password))];
    let mut job = Job::start(config, Arc::new(Watch::default()), 2).unwrap();
    job.unit().unwrap();
    job.checkpoint().unwrap();
    all.extend(state(&job));
    job.catch_up(source).unwrap();
    let mut writer = source.writer();
    writer.run("begin");
    writer.run("insert into T select 1000 + g, repeat('x', 200) from generate_series(1, 15000) g");
    // The log behind it is read too, so that it was.
    job.catch_up(source).unwrap();
    let files = folder.files();
    assert!(files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > 1 << 20);
    all.extend(files);
    writer.run("rollback");
    job.checkpoint().unwrap();
    all.extend(state(&job));
    job = job.restart(1).unwrap();
    job.catch_up(source).unwrap();
    let metrics = job.reader(0).metrics();
    all.extend(
        metrics
            .iter()
            .map(|metric| said("a gauge", format!("{} {}", metric.name, metric.value))),
    );
    all
}

fn state(job: &Job) -> Vec<(String, Vec<u8>)> {
    let completed = job.completed();
    let readers = completed.readers.iter().flatten().cloned();
    readers
        .chain(completed.enumerator.clone())
        .map(|bytes| ("state".to_owned(), bytes))
        .collect()
}

/// What is said where a job cannot start, or is refused.
fn failures(source: &Source) -> Vec<(String, Vec<u8>)> {
    let wrong = format!("{PASSWORD}x");
    let odd = format!("}};{{{PASSWORD}");
    let cases: [(&str, &[(&str, Value)]); 8] = [
        ("a wrong password", &[("password", json!(wrong))]),
        ("an odd password", &[("password", json!(odd))]),
        (
            "a server that is not there",
            &[("port", json!(1)), ("connect.max-retries", json!(0))],
        ),
        ("a driver that is not there", &[("odbc.driver", json!("/no/such.so"))]),
        ("a database that is not there", &[("odbc.Database", json!("NONE"))]),
        ("a user that is not there", &[("username", json!("NOBODY"))]),
        ("a table that is not there", &[("table-name", json!("NONE"))]),
        ("no certificate", &[("odbc.SSLmode", json!("verify-full"))]),
    ];
    cases
        .iter()
        .map(|(what, options)| {
            let started = Job::start(source.config(options), Arc::new(Watch::default()), 1);
            let error = started.and_then(|mut job| job.run_to_stream()).expect_err(what);
            let mut text = format!("{error} {error:?} {:?}", error.kind());
            let mut cause = std::error::Error::source(&error);
            while let Some(next) = cause {
                text += &format!(" {next} {next:?}");
                cause = next.source();
            }
            said(what, text)
        })
        .collect()
}
