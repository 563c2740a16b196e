//! Damaged options: a configuration or an error that names what is wrong, and neither shows the password.

use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::config::options::{Default, OPTIONS, OptionKind};
use crate::error::ErrorKind;
use crate::fuzz::Target;
use crate::row::zone::Zone;

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "options",
        files: &[
            "config/mod.rs",
            "config/form.rs",
            "config/slots.rs",
            "config/values.rs",
            "row/layout/declared.rs",
        ],
        corpus: || jobs().iter().map(|job| job.to_string().into_bytes()).collect(),
        words: &[
            "\"",
            "{",
            "}",
            "null",
            "true",
            "[]",
            ",",
            ":",
            "\"password\":",
            "\\u0000",
            "upsert",
            "snapshot",
            "on",
            "skip",
            "1e400",
            "-1",
            "odbc.",
            "\"odbc.x;y\":\"z\",",
            "\"odbc.x=y\":\"z\",",
        ],
        inputs: 5_000,
        long: 4,
        // Patterns of names are compiled.
        bytes: 64 << 20,
        bytes_a_byte: 2_000,
        read: |bytes| {
            let Ok(text) = std::str::from_utf8(bytes) else {
                return false;
            };
            let config = Config::from_json(text);
            let secret = serde_json::from_str::<Value>(text).ok();
            let secret = secret.as_ref().and_then(|job| job["options"]["password"].as_str());
            // Long enough not to stand there by chance.
            let secret = secret.filter(|secret| secret.len() > 6 && secret.contains("s3cret"));
            match config {
                Ok(config) => {
                    let shown = format!("{config:?}");
                    assert!(secret.is_none_or(|secret| !shown.contains(secret)), "{shown}");
                    for name in config.odbc.0.keys() {
                        // A name that would end the attribute before would set others.
                        assert!(
                            !name.contains([';', '=', '{', '}', '\0']) && !name.trim().is_empty(),
                            "{name}"
                        );
                    }
                    true
                }
                Err(error) => {
                    let said = error.to_string();
                    assert!(secret.is_none_or(|secret| !said.contains(secret)), "{said}");
                    assert!(
                        !error.is_retryable() || matches!(error.kind(), ErrorKind::Internal(_)),
                        "{said}"
                    );
                    false
                }
            }
        },
    },
    Target {
        name: "time zone",
        files: &["row/zone.rs"],
        corpus: || {
            ["UTC", "+08:00", "GMT+8", "-0530", "Asia/Shanghai", "Z"]
                .map(|text| text.as_bytes().to_vec())
                .into()
        },
        words: &["UTC", "GMT", "+", "-", ":", "/", "../", "18"],
        inputs: 5_000,
        bytes: 1 << 20,
        read: |bytes| {
            let Ok(text) = std::str::from_utf8(bytes) else {
                return false;
            };
            let Ok(zone) = Zone::parse(text) else { return false };
            let noon = zone.epoch_micros(b"2024-01-31 12:00:00").unwrap() / 1_000_000;
            assert!((noon - 1_706_702_400).abs() <= 18 * 3600);
            assert_eq!(zone.local(noon).unwrap(), "2024-01-31 12:00:00");
            true
        },
        ..Target::USUAL
    },
];

/// A job of each connector, with each option that it has and with few.
fn jobs() -> Vec<Value> {
    let mut jobs = Vec::new();
    for connector in crate::config::Connector::ALL {
        let mut options = Map::new();
        for option in OPTIONS {
            let required = matches!(option.default, Default::Required);
            if required && (option.of == crate::config::options::Of::Every || option.of == connector.family()) {
                options.insert(option.name.into(), usual(option.kind));
            }
        }
        options.insert("password".into(), "s3cret;}{1".into());
        let job = |options: &Map<String, Value>| {
            json!({"connector": connector.name(), "options": options, "checkpointing": "aligned",
                "columns": [{"name": "ID", "type": "DECIMAL", "precision": 10, "scale": 2, "nullable": false},
                    {"name": "AT", "type": "TIMESTAMP_LTZ", "precision": 3, "metadata": "op_ts"}]})
        };
        jobs.push(job(&options));
        // One option more at a time, so that none stands in another's way.
        for option in OPTIONS {
            if option.of == crate::config::options::Of::Every || option.of == connector.family() {
                let mut more = options.clone();
                match option.kind {
                    OptionKind::Properties => more.insert(format!("{}.SSLmode", option.name), "verify-ca".into()),
                    _ if more.contains_key(option.name) => continue,
                    kind => more.insert(option.name.into(), usual(kind)),
                };
                let job = job(&more);
                if Config::from_json(&job.to_string()).is_ok() {
                    jobs.push(job);
                }
            }
        }
    }
    jobs
}

fn usual(kind: OptionKind) -> Value {
    match kind {
        OptionKind::Integer { max, .. } | OptionKind::Duration { max, .. } | OptionKind::Bytes { max, .. } => {
            max.into()
        }
        OptionKind::Flag => true.into(),
        OptionKind::Choice(words) => words[words.len() - 1].into(),
        OptionKind::TimeZone => "Asia/Shanghai".into(),
        OptionKind::Text | OptionKind::Secret | OptionKind::Properties => "some_name".into(),
    }
}
