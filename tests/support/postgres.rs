//! A PostgreSQL server as the connector for it sees one.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tidemark::dialect::Endpoint;
use tidemark::dialect::postgres::{POSTGRES, Postgres, connection};
use tidemark::dialect::slots::{Names, Slots};
use tidemark::log::Patience;
use tidemark::odbc::{Connection, ConnectionSettings, Secret};
use tidemark::snapshot::wait::Clock;

use super::Server;

/// The one server with a log for slots that the tests of a file share.
pub fn shared() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start_with(LOGICAL))
}

/// The settings of such a server.
pub const LOGICAL: &[&str] = &[
    "wal_level = logical",
    "max_replication_slots = 40",
    "max_wal_senders = 4",
    "max_prepared_transactions = 20",
];

/// What the options of a job would say.
pub fn endpoint(server: &Server) -> Endpoint {
    Endpoint {
        hostname: server.host(),
        port: 5432,
        database: Some("postgres".into()),
        username: "capture".into(),
        password: Secret::new("not asked for"),
        connect_timeout: Duration::from_secs(30),
        statement_timeout: Some(Duration::from_secs(300)),
        driver: None,
        attributes: Vec::new(),
    }
}

/// How the connector connects.
pub fn settings(server: &Server) -> ConnectionSettings {
    connection(&POSTGRES, &endpoint(server))
}

/// Opens a connection as the connector does.
pub fn connect(server: &Server) -> Connection {
    Connection::open(&settings(server)).unwrap()
}

/// The dialect with the names that the server has.
pub fn dialect() -> Arc<Postgres> {
    let unnamed = Postgres::new(&POSTGRES, Names::default());
    let known = unnamed.system_names().remove(0);
    let rows = connect(shared()).rows(&known.sql, &known.columns).unwrap();
    let names = rows.iter().map(|row| row[0].text().unwrap().to_owned());
    Arc::new(Postgres::new(&POSTGRES, Names::new(unnamed.prefixes(), names)))
}

/// Time as it passes.
pub struct Passing(Instant);

impl Clock for Passing {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn pause(&mut self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn is_stopped(&self) -> bool {
        false
    }
}

/// Time from now on.
pub fn clock() -> Passing {
    Passing(Instant::now())
}

/// Up to a limit, and asking often.
pub fn patience(limit: Duration) -> Patience {
    Patience {
        limit,
        pause: Duration::from_millis(5),
    }
}
