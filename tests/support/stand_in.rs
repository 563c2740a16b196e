//! Servers that a script of `sql` makes: the stand-in for DM8 (`sql/logminer`), one a test file, and the face of KingbaseES
//! (`sql/kingbase`). They end with the test process as the plain servers do.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::time::Duration;

use tidemark::dialect::dameng::Dameng;
use tidemark::dialect::{Dialect, Endpoint};
use tidemark::odbc::{Connection, ConnectionSettings, Secret};

/// A running stand-in.
pub struct StandIn {
    script: &'static str,
    directory: PathBuf,
    guard: Child,
    connection: HashMap<String, String>,
}

impl StandIn {
    /// Makes and starts one; `environment` as its script's head describes.
    pub fn start(environment: &[(&str, &str)]) -> StandIn {
        StandIn::run(SCRIPT, environment)
    }

    /// The face of KingbaseES.
    pub fn face() -> StandIn {
        StandIn::run(FACE, &[])
    }

    fn run(script: &'static str, environment: &[(&str, &str)]) -> StandIn {
        let directory = super::directory("stand-in");
        let stop = format!("{script} stop \"$1\"");
        let guard = super::guard(&directory, &stop);
        let output = Command::new("bash")
            .args([script, "start"])
            .arg(&directory)
            .envs(environment.iter().copied())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let connection = String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        StandIn {
            script,
            directory,
            guard,
            connection,
        }
    }

    /// The one that the tests of a file share.
    pub fn shared() -> &'static StandIn {
        static SHARED: OnceLock<StandIn> = OnceLock::new();
        SHARED.get_or_init(|| StandIn::start(&[]))
    }

    /// What the options of a job would say.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint {
            hostname: self.connection["HOST"].clone(),
            port: self.connection["PORT"].parse().unwrap(),
            database: None,
            username: self.connection["USER"].clone(),
            password: Secret::new(self.connection["PASSWORD"].clone()),
            connect_timeout: Duration::from_secs(30),
            statement_timeout: None,
            driver: Some(super::DRIVER.into()),
            attributes: [
                ("Database", self.connection["DATABASE"].as_str()),
                ("UseDeclareFetch", "1"),
                ("Fetch", "1000"),
                ("Protocol", "7.4-1"),
                ("BoolsAsChar", "0"),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        }
    }

    /// How the connector connects.
    pub fn settings(&self) -> ConnectionSettings {
        Dameng.connection(&self.endpoint())
    }

    /// Opens a connection as the connector does.
    pub fn connect(&self) -> Connection {
        Connection::open(&self.settings()).unwrap()
    }

    /// Runs statements as the administrator and returns what they print.
    pub fn psql(&self, sql: &str) -> String {
        let output = Command::new("psql")
            .env("PGCLIENTENCODING", "UTF8")
            .args(["-XAtq", "-v", "ON_ERROR_STOP=1", &self.connection["PSQL"], "-c", sql])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Kills the server as a power cut would, and starts it again.
    pub fn restart(&self) {
        for what in ["kill", "resume"] {
            let output = Command::new("bash")
                .args([self.script, what])
                .arg(&self.directory)
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }

    /// What its script said of it: HOST, PORT, DATABASE, USER, PASSWORD, ADMIN, ADMIN_PASSWORD.
    pub fn value(&self, key: &str) -> &str {
        &self.connection[key]
    }

    /// Where it lives.
    pub fn directory(&self) -> &std::path::Path {
        &self.directory
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sql/logminer/stand-in.sh");

const FACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sql/kingbase/face.sh");
