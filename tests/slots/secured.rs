//! The password of a job appears nowhere, and TLS is what the driver's own attributes ask for.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use tidemark::error::ErrorKind;

use crate::job::Job;
use crate::secrets::{assert_absent, said};
use crate::source::{PLUGINS, Place, Source};
use crate::support::Server;
use crate::support::postgres::LOGICAL;
use crate::warnings;
use crate::watch::Watch;

const SECRET: &str = "Sl0t;{S}ecret 'q' %41\\";

/// A server that takes connections over TLS alone, and of those who know the password, at an address of its own.
struct Secured {
    server: &'static Server,
    address: String,
    folder: std::path::PathBuf,
}

impl Secured {
    fn start() -> Secured {
        let id = std::process::id();
        let address = format!("127.{}.{}.7", 1 + id / 256 % 254, id % 256);
        let listen = format!("listen_addresses = '{address}'");
        let settings = [LOGICAL, &[listen.as_str(), "password_encryption = 'scram-sha-256'"]].concat();
        let server: &'static Server = Box::leak(Box::new(Server::start_with(&settings)));
        let folder = std::env::temp_dir().join(format!("tidemark-certificates-{id}"));
        std::fs::create_dir_all(&folder).unwrap();
        for authority in ["right", "wrong"] {
            openssl(
                &folder,
                &format!(
                    "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={authority} -keyout {authority}.key -out {authority}.crt"
                ),
            );
        }
        openssl(
            &folder,
            "req -newkey rsa:2048 -nodes -subj /CN=db.example -keyout server.key -out server.csr",
        );
        openssl(
            &folder,
            "x509 -req -in server.csr -CA right.crt -CAkey right.key -CAcreateserial -days 2 -out server.crt",
        );
        // The server's own user must own its key.
        let key = folder.join("server.key");
        std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
        let copy = format!(
            "umask 077; cat {0}/server.key > server.key; cat {0}/server.crt > server.crt",
            folder.display()
        );
        server.psql(&format!("copy (select '') to program '{copy}'"));
        let local = "local all all trust";
        let tls = "hostssl all all 127.0.0.0/8 scram-sha-256";
        server.psql(&format!(
            "copy (select unnest(array['{local}', '{tls}'])) to program 'cat > pg_hba.conf'"
        ));
        server.psql("alter system set ssl = on");
        let password = SECRET.replace('\'', "''");
        server.psql(&format!(
            "create role secured login superuser password '{password}'; select pg_reload_conf()"
        ));
        Secured {
            server,
            address,
            folder,
        }
    }

    /// Options that lead there, and what of TLS is asked for.
    fn options(&self, tls: &[(&'static str, &str)]) -> Vec<(&'static str, Value)> {
        let place = [
            ("hostname", json!(self.address)),
            ("username", json!("secured")),
            ("password", json!(SECRET)),
        ];
        let tls = tls.iter().map(|(name, value)| (*name, json!(value)));
        place.into_iter().chain(tls).collect()
    }

    fn root(&self, authority: &str) -> String {
        format!("sslrootcert={}", self.folder.join(format!("{authority}.crt")).display())
    }
}

impl Drop for Secured {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn openssl(folder: &Path, arguments: &str) {
    let output = Command::new("openssl")
        .args(arguments.split(' '))
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A job up to its end, or its first error.
fn run(source: &Source, options: &[(&str, Value)]) -> tidemark::error::Result<Vec<(String, Vec<u8>)>> {
    let config = source.config(options);
    let mut all = vec![said("the configuration", format!("{config:?}"))];
    let mut job = Job::start(config, Arc::new(Watch::default()), 1)?;
    job.catch_up(source)?;
    job.checkpoint()?;
    let completed = job.completed();
    let state = completed
        .readers
        .iter()
        .flatten()
        .cloned()
        .chain(completed.enumerator.clone());
    all.extend(state.map(|bytes| ("state".to_owned(), bytes)));
    let metrics = job.reader(0).metrics();
    all.extend(
        metrics
            .iter()
            .map(|metric| said("a gauge", format!("{} {}", metric.name, metric.value))),
    );
    Ok(all)
}

#[test]
fn tls_is_as_the_drivers_attributes_say_and_the_password_appears_nowhere() {
    let secured = Secured::start();
    let (mut all, lines) = warnings::everything(|| {
        let mut all = Vec::new();
        for plugin in PLUGINS {
            let source = Source::on(secured.server, "secured", plugin, 5);
            let right = secured.options(&[("odbc.SSLmode", "verify-ca"), ("odbc.pqopt", &secured.root("right"))]);
            all.extend(run(&source, &right).unwrap());
            let sessions = source.run("select count(*) filter (where ssl), count(*) from pg_stat_ssl s join pg_stat_activity a using (pid) where usename = 'secured'");
            let (ssl, any) = sessions.trim().split_once('|').unwrap();
            assert_eq!(ssl, any);
            all.extend(refused(&secured, &source));
        }
        all
    });
    all.extend(lines.iter().map(|line| said("a line of the log", line)));
    assert_absent(SECRET, &all);
}

/// What of TLS is asked for.
type Tls<'t> = &'t [(&'static str, &'t str)];

/// What does not come to a session, and what is said of it.
fn refused(secured: &Secured, source: &Source) -> Vec<(String, Vec<u8>)> {
    let (right, wrong) = (secured.root("right"), secured.root("wrong"));
    let cases: [(&str, &str, Tls<'_>); 4] = [
        (
            "the certificate of another authority",
            "certificate verify failed",
            &[("odbc.SSLmode", "verify-ca"), ("odbc.pqopt", &wrong)],
        ),
        (
            "the name of another host",
            "db.example",
            &[("odbc.SSLmode", "verify-full"), ("odbc.pqopt", &right)],
        ),
        ("no TLS", "pg_hba.conf", &[("odbc.SSLmode", "disable")]),
        (
            "no file of that name",
            "/no/such.crt",
            &[
                ("odbc.SSLmode", "verify-ca"),
                ("odbc.pqopt", "sslrootcert=/no/such.crt"),
            ],
        ),
    ];
    let mut all = Vec::new();
    for (what, expected, tls) in cases {
        let mut options = secured.options(tls);
        options.push(("connect.max-retries", json!(0)));
        let error = run(source, &options).expect_err(what);
        assert!(matches!(error.kind(), ErrorKind::Connect { .. }), "{what}: {error}");
        assert!(error.to_string().contains(expected), "{what}: {error}");
        all.push(said(what, format!("{error} {error:?} {:?}", error.kind())));
    }
    let right = [("odbc.SSLmode", "verify-ca"), ("odbc.pqopt", &right)];
    for (option, value) in [
        ("password", json!(format!("{SECRET}x"))),
        ("database-name", json!("none")),
        ("table-name", json!("none")),
    ] {
        let mut options = secured.options(&right);
        options.retain(|(name, _)| *name != option);
        options.push((option, value));
        let error = run(source, &options).expect_err(option);
        all.push(said(option, format!("{error} {error:?} {:?}", error.kind())));
    }
    all
}

/// On the face of KingbaseES.
#[test]
fn the_password_of_a_job_on_the_face_appears_nowhere() {
    let source = Source::face("face_secrets", 5);
    let Place::Kingbase(face) = source.place else {
        panic!("no face")
    };
    let (mut all, lines) = warnings::everything(|| run(&source, &[]).unwrap());
    all.extend(lines.iter().map(|line| said("a line of the log", line)));
    assert_absent(face.value("PASSWORD"), &all);
}
