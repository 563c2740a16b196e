//! Throw-away PostgreSQL servers for the tests, over psqlODBC.
//!
//! A server lives in a directory of its own and is reached through a socket there, so that no port is taken. It ends
//! with its [`Server`] and, should the test process die, with the process: a guard process waits on a pipe whose other
//! end only the test process holds.

#![allow(dead_code)]

pub mod gate;
pub mod key_kinds;
pub mod postgres;
pub mod stand_in;

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use tidemark::odbc::{Connection, ConnectionSettings, Secret, by_sqlstate};

/// A running server.
pub struct Server {
    directory: PathBuf,
    guard: Child,
}

impl Server {
    /// Makes and starts a server with its own data.
    pub fn start() -> Server {
        Server::start_with(&[])
    }

    /// The same with settings of its own.
    pub fn start_with(settings: &[&str]) -> Server {
        let directory = directory("server");
        std::fs::create_dir(&directory).unwrap();
        let stop = shell(as_server_user("pg_ctl").args(["stop", "-m", "immediate", "-w", "-D"]));
        let guard = guard(&directory, &format!("{stop} \"$1/data\""));
        let server = Server { directory, guard };
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(&server.directory));
        }
        let data = server.directory.join("data");
        run(as_server_user("initdb")
            .args(["-U", "capture", "-A", "trust", "-E", "UTF8", "-N"])
            .arg(format!("--locale={}", locale()))
            .arg("-D")
            .arg(&data));
        std::fs::OpenOptions::new()
            .append(true)
            .open(data.join("postgresql.conf"))
            .unwrap()
            .write_all(
                format!(
                    "listen_addresses = ''\nunix_socket_directories = '{}'\nport = {PORT}\nfsync = off\n{}\n",
                    server.directory.display(),
                    settings.join("\n")
                )
                .as_bytes(),
            )
            .unwrap();
        run(as_server_user("pg_ctl")
            .args(["start", "-w", "-t", "60", "-l"])
            .arg(server.directory.join("log"))
            .arg("-D")
            .arg(&data));
        server
    }

    /// Where its socket is: what a job has for a host name.
    pub fn host(&self) -> String {
        self.directory.display().to_string()
    }

    /// Kills the server as a power cut would, and starts it again.
    pub fn crash(&self) {
        let data = self.directory.join("data");
        run(as_server_user("pg_ctl")
            .args(["stop", "-m", "immediate", "-w", "-D"])
            .arg(&data));
        run(as_server_user("pg_ctl")
            .args(["start", "-w", "-t", "60", "-l"])
            .arg(self.directory.join("log"))
            .arg("-D")
            .arg(&data));
    }

    /// A server that follows this one.
    pub fn standby(&self) -> Server {
        let directory = directory("standby");
        std::fs::create_dir(&directory).unwrap();
        let stop = shell(as_server_user("pg_ctl").args(["stop", "-m", "immediate", "-w", "-D"]));
        let guard = guard(&directory, &format!("{stop} \"$1/data\""));
        let standby = Server { directory, guard };
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(&standby.directory));
        }
        let data = standby.directory.join("data");
        run(as_server_user("pg_basebackup")
            .args(["-U", "capture", "-p", PORT, "-R", "-c", "fast", "-h"])
            .arg(&self.directory)
            .arg("-D")
            .arg(&data));
        std::fs::OpenOptions::new()
            .append(true)
            .open(data.join("postgresql.conf"))
            .unwrap()
            .write_all(format!("unix_socket_directories = '{}'\n", standby.directory.display()).as_bytes())
            .unwrap();
        run(as_server_user("pg_ctl")
            .args(["start", "-w", "-t", "60", "-l"])
            .arg(standby.directory.join("log"))
            .arg("-D")
            .arg(&data));
        standby
    }

    /// The one server that the tests of a file share.
    pub fn shared() -> &'static Server {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(Server::start)
    }

    /// How to connect.
    pub fn settings(&self) -> ConnectionSettings {
        ConnectionSettings {
            driver: DRIVER.into(),
            attributes: self.attributes(),
            username: "capture".into(),
            password: Secret::new("not;asked}for"),
            connect_timeout: Duration::from_secs(30),
            statement_timeout: None,
            stream_long_values: false,
            session: Vec::new(),
            classify: by_sqlstate,
        }
    }

    /// Keys of the connection string for psqlODBC.
    pub fn attributes(&self) -> Vec<(String, String)> {
        let directory = self.directory.display().to_string();
        [
            ("Server", directory.as_str()),
            ("Port", PORT),
            ("Database", "postgres"),
            ("UseDeclareFetch", "1"),
            ("Fetch", "1000"),
            ("Protocol", "7.4-1"),
            ("BoolsAsChar", "0"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
    }

    /// Opens a connection.
    pub fn connect(&self) -> Connection {
        Connection::open(&self.settings()).unwrap()
    }

    /// Runs statements through psql and returns what they print.
    pub fn psql(&self, sql: &str) -> String {
        self.psql_in("postgres", sql)
    }

    /// The same in another database.
    pub fn psql_in(&self, database: &str, sql: &str) -> String {
        self.run_psql(&["-d", database, "-c", sql])
    }

    /// Runs a script of this repository with psql's variables.
    pub fn script(&self, script: &str, variables: &[&str]) -> String {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(script)).unwrap();
        // Where the server's user can read it.
        let file = self.directory.join("script.sql");
        std::fs::write(&file, text).unwrap();
        let mut arguments: Vec<&str> = variables.iter().flat_map(|variable| ["-v", *variable]).collect();
        arguments.extend(["-f", file.to_str().unwrap()]);
        self.run_psql(&arguments)
    }

    fn run_psql(&self, arguments: &[&str]) -> String {
        let output = as_server_user("psql")
            .args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-U", "capture", "-p", PORT, "-h"])
            .arg(&self.directory)
            .env("PGDATABASE", "postgres")
            .env("PGCLIENTENCODING", "UTF8")
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// psqlODBC's name in odbcinst.ini.
pub const DRIVER: &str = "PostgreSQL Unicode";

/// Part of the socket's file name; every server has a directory of its own.
const PORT: &str = "5432";

/// A directory that does not exist yet.
fn directory(what: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tidemark-{what}-{}-{}", std::process::id(), unique()))
}

/// Runs `stop` and removes the directory, `$1`, when standard input ends; in a process group of its own, so that what
/// ends the test process does not end it too.
fn guard(directory: &Path, stop: &str) -> Child {
    Command::new("sh")
        .args(["-c", &format!("read _; {stop} >/dev/null 2>&1; rm -rf \"$1\""), "guard"])
        .arg(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap()
}

/// One of PostgreSQL's programs, as a user that may run a server.
fn as_server_user(program: &str) -> Command {
    let path = programs().join(program);
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"])
            .arg(path);
        command
    } else {
        Command::new(path)
    };
    command.current_dir("/").env("LC_ALL", "C.UTF-8");
    command
}

/// Where Debian keeps them; elsewhere they are on the path.
fn programs() -> PathBuf {
    let debian = Path::new("/usr/lib/postgresql/15/bin");
    if debian.exists() { debian.into() } else { PathBuf::new() }
}

/// The locale of the servers: bytewise, unless a test runs others again under another one.
pub fn locale() -> String {
    std::env::var("SERVER_LOCALE").unwrap_or_else(|_| "C.UTF-8".into())
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| std::os::unix::fs::MetadataExt::uid(&process) == 0)
}

fn shell(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_str().unwrap())
        .collect::<Vec<_>>()
        .join(" ")
}

fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn unique() -> u32 {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
