//! Every option: its default, what it takes, and that an error names it.

use serde_json::json;

use super::options::{Default, OPTIONS, Of, OptionKind, find};
use super::*;
use crate::split::TableName;

fn minimal() -> Value {
    json!({
        "connector": "dameng-cdc",
        "options": {
            "hostname": "db", "username": "u", "password": "hush-hush",
            "schema-name": "BIZ", "table-name": "ORDERS",
        },
        "columns": [{"name": "ID", "type": "BIGINT", "nullable": false}],
        "checkpointing": "aligned",
    })
}

fn minimal_of(of: Of) -> Value {
    let mut json = minimal();
    if of == Of::Slots {
        json["connector"] = "postgres-slot-cdc".into();
        json["options"]["database-name"] = "biz".into();
        json["options"]["slot.name"] = "orders_1".into();
    }
    json
}

fn of(name: &str) -> Of {
    find(name).map_or(Of::Every, |option| option.of)
}

/// A job with one more option, of the form and the connector that has it.
fn with(name: &str, value: impl Into<Value>) -> Result<Config> {
    let json_alone = ["decimal.handling.mode", "time.precision.mode", "include.schema.changes"];
    formed(if json_alone.contains(&name) { "json" } else { "rows" }, name, value)
}

fn formed(form: &str, name: &str, value: impl Into<Value>) -> Result<Config> {
    let value = value.into();
    let committed = name == "scan.startup.mode" && value == "committed-offset";
    let mut json = minimal_of(if committed { Of::Slots } else { of(name) });
    // Options that go together.
    match name {
        "scan.startup.specific-offset.lsn" => json["options"]["scan.startup.mode"] = "specific-offset".into(),
        "transaction.on-max-age" => json["options"]["transaction.max-age"] = 5_000.into(),
        "scan.startup.timestamp-millis" => json["options"]["scan.startup.mode"] = "timestamp".into(),
        "scan.startup.specific-offset.scn" => json["options"]["scan.startup.mode"] = "specific-offset".into(),
        "scan.startup.mode" if value == "timestamp" => json["options"]["scan.startup.timestamp-millis"] = 5.into(),
        "scan.startup.mode" if value == "specific-offset" => {
            json["options"]["scan.startup.specific-offset.scn"] = 5.into();
        }
        _ => {}
    }
    json["form"] = form.into();
    json["options"][name] = value;
    if form != "rows" {
        json.as_object_mut().unwrap().remove("columns");
    }
    Config::from_json(&json.to_string())
}

fn refusal(name: &str, value: impl Into<Value>) -> String {
    let error = with(name, value).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Option { option, .. } if option == name),
        "{error}"
    );
    error.to_string()
}

#[test]
fn what_is_left_out_has_its_default() {
    let config = Config::from_json(&minimal().to_string()).unwrap();
    assert_eq!(config.connector, Connector::Dameng);
    assert_eq!((config.hostname.as_str(), config.port), ("db", 5236));
    assert_eq!(config.tables.to_string(), "schema-name 'BIZ' and table-name 'ORDERS'");
    assert_eq!(config.startup, StartupMode::Initial);
    assert_eq!(config.chunk_rows, 8096);
    assert_eq!(config.connect_timeout, Duration::from_secs(30));
    assert_eq!(
        (config.connect_retries, config.socket_timeout),
        (3, Duration::from_secs(600))
    );
    let snapshot = config.snapshot;
    assert_eq!((snapshot.connections, snapshot.fetch_rows), (2, 1024));
    assert_eq!((snapshot.page_bytes, snapshot.round_bytes), (16 << 20, 64 << 20));
    let log = config.log;
    assert_eq!((log.fetch_rows, log.fragment_rows), (2000, 10_000));
    assert_eq!(log.transaction_memory, 256 << 20);
    assert_eq!((log.max_age, log.on_max_age), (None, OnFault::Fail));
    assert_eq!((log.window_bytes, log.may_switch), (512 << 20, false));
    assert_eq!((log.on_corruption, log.on_mismatch), (OnFault::Fail, OnFault::Fail));
    assert_eq!(config.on_value_error, OnValueError::Fail);
    assert_eq!(config.on_truncate, OnTruncate::Fail);
    assert_eq!((config.odbc_driver, config.odbc.0.len()), (None, 0));
    assert!(matches!(config.form, Form::Rows { upsert: false }) && config.upsert_key.is_none());
    assert_eq!(config.checkpointing, Checkpointing::Aligned);
}

#[test]
fn what_is_set_is_taken() {
    assert_eq!(with("port", 15236).unwrap().port, 15236);
    let startup = |name: &str, value: Value| with(name, value).unwrap().startup;
    assert_eq!(startup("scan.startup.mode", "snapshot".into()), StartupMode::Snapshot);
    for (mode, start) in [
        ("latest-offset", LogStart::Latest),
        ("earliest-offset", LogStart::Earliest),
        ("specific-offset", LogStart::At(Scn(5))),
        ("timestamp", LogStart::Time(5)),
    ] {
        assert_eq!(startup("scan.startup.mode", mode.into()), StartupMode::Log(start));
    }
    assert_eq!(
        startup("scan.startup.specific-offset.scn", i64::MAX.into()),
        StartupMode::Log(LogStart::At(Scn(i64::MAX as u64)))
    );
    assert_eq!(
        startup("scan.startup.timestamp-millis", 1_767_323_045_678i64.into()),
        StartupMode::Log(LogStart::Time(1_767_323_045_678))
    );
    assert_eq!(
        with("connect.timeout", 5000).unwrap().connect_timeout,
        Duration::from_secs(5)
    );
    let snapshot = |name: &str, value: i64| with(name, value).unwrap().snapshot;
    assert_eq!(snapshot("scan.snapshot.connections", 5).connections, 5);
    assert_eq!(snapshot("scan.snapshot.fetch.size", 5).fetch_rows, 5);
    assert_eq!(snapshot("scan.snapshot.page.bytes", 5000).page_bytes, 5000);
    assert_eq!(snapshot("scan.snapshot.round.bytes", 5000).round_bytes, 5000);
    let log = |name: &str, value: Value| with(name, value).unwrap().log;
    assert_eq!(log("log.fetch.size", 5.into()).fetch_rows, 5);
    assert_eq!(log("log.window.bytes", (5 << 20).into()).window_bytes, 5 << 20);
    assert!(log("log.switch", true.into()).may_switch);
    assert!(log("log.gone", "resnapshot".into()).resnapshot);
    assert_eq!(log("log.headroom.warn", (5 << 20).into()).headroom_warn, 5 << 20);
    assert_eq!(log("log.on-corruption", "skip".into()).on_corruption, OnFault::Skip);
    assert_eq!(
        log("log.on-dictionary-mismatch", "skip".into()).on_mismatch,
        OnFault::Skip
    );
    assert_eq!(log("transaction.fragment.rows", 5.into()).fragment_rows, 5);
    let memory = log("transaction.memory", (5 << 20).into()).transaction_memory;
    assert_eq!(memory, 5 << 20);
    let max_age = log("transaction.max-age", 5_000.into()).max_age;
    assert_eq!(max_age, Some(Duration::from_secs(5)));
    let rule = log("transaction.on-max-age", "skip".into()).on_max_age;
    assert_eq!(rule, OnFault::Skip);
    assert_eq!(
        with("value.on-error", "null").unwrap().on_value_error,
        OnValueError::Null
    );
    assert_eq!(with("on-truncate", "ignore").unwrap().on_truncate, OnTruncate::Ignore);
    assert_eq!(with("connect.max-retries", 0).unwrap().connect_retries, 0);
    assert_eq!(
        with("socket.timeout", 5000).unwrap().socket_timeout,
        Duration::from_secs(5)
    );
    let odbc = with("odbc.Fetch", "1000").unwrap().odbc.0;
    assert_eq!(odbc.into_iter().collect::<Vec<_>>(), [("Fetch".into(), "1000".into())]);
    let shanghai = with("server-time-zone", "Asia/Shanghai").unwrap().server_time_zone;
    assert_eq!(shanghai, Zone::parse("Asia/Shanghai").unwrap());
    let fixed = with("server-time-zone", "-03:30").unwrap().server_time_zone;
    assert_eq!(fixed, Zone::parse("GMT-03:30").unwrap());
}

#[test]
fn every_required_option_is_missed_by_name() {
    let required = OPTIONS
        .iter()
        .filter(|option| matches!(option.default, Default::Required));
    for option in required {
        let mut json = minimal_of(option.of);
        json["options"].as_object_mut().unwrap().remove(option.name);
        let error = Config::from_json(&json.to_string()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("option '{}': must be set", option.name)),
            "{error}"
        );
        assert!(!error.is_retryable());
    }
}

#[test]
fn every_option_refuses_what_is_out_of_its_range_by_name() {
    for option in OPTIONS {
        match option.kind {
            OptionKind::Integer { min, max } | OptionKind::Duration { min, max } | OptionKind::Bytes { min, max } => {
                for good in [min, max] {
                    with(option.name, good).unwrap();
                }
                for bad in [min.checked_sub(1), max.checked_add(1)].into_iter().flatten() {
                    assert!(refusal(option.name, bad).contains(&format!("from {min} to {max}")));
                }
                assert!(refusal(option.name, "many").contains("must be an integer"));
            }
            OptionKind::Flag => {
                [true, false]
                    .iter()
                    .for_each(|&flag| assert!(with(option.name, flag).is_ok()));
                for bad in [Value::from("true"), Value::from(1)] {
                    assert!(refusal(option.name, bad).contains("must be true or false"));
                }
            }
            OptionKind::Choice(words) => {
                words.iter().for_each(|&word| assert!(with(option.name, word).is_ok()));
                assert!(refusal(option.name, "sideways").contains("'sideways'; it must be one of '"));
            }
            OptionKind::Text | OptionKind::Secret | OptionKind::TimeZone => {
                assert!(refusal(option.name, " ").contains("must not be empty"));
                assert!(refusal(option.name, 5).contains("must be a text"));
                assert!(refusal(option.name, "a\0b").contains("NUL"));
            }
            OptionKind::Properties => {
                assert!(refusal(&format!("{}.x", option.name), "").contains("must not be empty"));
            }
        }
    }
}

#[test]
fn unknown_and_impossible_options_are_refused_by_name() {
    assert!(refusal("tablename", "T").contains("no such option"));
    assert!(refusal("odbc", "x").contains("no such option"));
    assert!(refusal("server-time-zone", "Mars/Olympus").contains("Mars/Olympus"));
    assert!(refusal("server-time-zone", "+19:00").contains("+19:00"));
    assert!(refusal("odbc.PWD", "x").contains("is set by 'password'"));
    assert!(refusal("odbc.Server", "x").contains("is set by 'hostname'"));
    // What would set another attribute of the connection string, or end it.
    for name in [
        "odbc.X;PWD",
        "odbc.X=y;Server",
        "odbc.{X",
        "odbc.X}",
        "odbc. ",
        "odbc.X\n",
    ] {
        assert!(refusal(name, "x").contains("no name of an attribute"), "{name}");
    }
    assert!(refusal("odbc.driver", "x};PWD={y").contains("braces"));
    let mut json = minimal();
    json["options"]["odbc.Fetch"] = "1".into();
    json["options"]["odbc.fetch"] = "2".into();
    let error = Config::from_json(&json.to_string()).unwrap_err().to_string();
    assert!(error.contains("odbc.fetch") && error.contains("twice"), "{error}");
    json = minimal();
    json["connector"] = "some-cdc".into();
    let error = Config::from_json(&json.to_string()).unwrap_err().to_string();
    assert!(
        error.contains("option 'connector'") && error.contains("some-cdc"),
        "{error}"
    );
}

#[test]
fn a_start_in_the_log_has_its_own_option_and_no_other() {
    let refused = |mode: &str, options: &[&str]| {
        let mut json = minimal();
        json["options"]["scan.startup.mode"] = mode.into();
        for option in options {
            json["options"][*option] = 5.into();
        }
        Config::from_json(&json.to_string()).unwrap_err().to_string()
    };
    let (time, scn) = ("scan.startup.timestamp-millis", "scan.startup.specific-offset.scn");
    for (mode, needed, other) in [("timestamp", time, scn), ("specific-offset", scn, time)] {
        let missing = format!("option '{needed}': must be set where scan.startup.mode = '{mode}'");
        assert!(refused(mode, &[]).contains(&missing), "{}", refused(mode, &[]));
        for (mode, options) in [
            (mode, vec![needed, other]),
            ("initial", vec![other]),
            ("snapshot", vec![other]),
            ("latest-offset", vec![other]),
            ("earliest-offset", vec![other]),
        ] {
            let error = refused(mode, &options);
            assert!(
                error.contains(&format!("option '{other}': means something only where")),
                "{error}"
            );
        }
    }
}

#[test]
fn what_is_done_about_a_transaction_of_an_age_needs_that_age() {
    for rule in ["fail", "skip"] {
        let mut json = minimal();
        json["options"]["transaction.on-max-age"] = rule.into();
        let error = Config::from_json(&json.to_string()).unwrap_err().to_string();
        let words = "option 'transaction.on-max-age': means something only where transaction.max-age is set";
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn options_of_slots_are_those_connectors_alone() {
    for option in OPTIONS.iter().filter(|option| option.of != Of::Every) {
        let other = if option.of == Of::Slots { Of::Mining } else { Of::Slots };
        let mut json = minimal_of(other);
        json["options"][option.name] = 5.into();
        let error = Config::from_json(&json.to_string()).unwrap_err().to_string();
        assert!(
            error.contains(&format!("option '{}': is no option of", option.name)),
            "{error}"
        );
    }
    let slots = |options: &[(&str, &str)]| {
        let mut json = minimal_of(Of::Slots);
        options
            .iter()
            .for_each(|(name, value)| json["options"][*name] = (*value).into());
        Config::from_json(&json.to_string())
    };
    let slot = slots(&[]).unwrap().slot.unwrap();
    assert_eq!((slot.database.as_str(), slot.name.as_str()), ("biz", "orders_1"));
    assert_eq!(
        (slot.publication.as_str(), slot.plugin, slot.confirm_delay),
        ("tidemark_orders_1", None, 3)
    );
    assert!(!slot.drop_on_stop && slot.publication_is_own);
    let named = slots(&[("publication.name", "p"), ("decoding.plugin.name", "pgoutput")]).unwrap();
    let named = named.slot.unwrap();
    assert_eq!((named.publication.as_str(), named.publication_is_own), ("p", false));
    let of_two = slots(&[("publication.name", "p"), ("decoding.plugin.name", "test_decoding")]);
    let error = of_two.unwrap_err().to_string();
    assert!(
        error.contains("option 'publication.name': means something only where decoding.plugin.name = 'pgoutput'"),
        "{error}"
    );
    let bounded = ("scan.startup.mode", "snapshot");
    assert!(slots(&[bounded]).unwrap().slot.unwrap().drop_on_stop);
    let mut kept = minimal_of(Of::Slots);
    kept["options"]["scan.startup.mode"] = "snapshot".into();
    kept["options"]["slot.drop-on-stop"] = false.into();
    assert!(!Config::from_json(&kept.to_string()).unwrap().slot.unwrap().drop_on_stop);
    for (connector, port) in [("postgres-slot-cdc", 5432), ("kingbase-cdc", 54321)] {
        let mut json = minimal_of(Of::Slots);
        json["connector"] = connector.into();
        assert_eq!(Config::from_json(&json.to_string()).unwrap().port, port);
    }
    let mode = |mode: &str| ("scan.startup.mode", mode.to_owned());
    for (refused, words) in [
        (("slot.name", "Orders".to_owned()), "lower-case letters"),
        (("slot.name", "x".repeat(64)), "63 at most"),
        (mode("earliest-offset"), "does not have"),
        (mode("timestamp"), "does not have"),
        (mode("specific-offset"), "must be set where"),
        (("odbc.Database", "x".to_owned()), "is set by 'database-name'"),
        (("ddl.capture", "true".to_owned()), "must be one of 'off', 'on'"),
        (("ddl.table", "ddl_log".to_owned()), "must be schema.table"),
    ] {
        let error = slots(&[(refused.0, &refused.1)]).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let ddl = |options: &[(&str, &str)]| slots(options).map(|config| (config.slot.unwrap().ddl, config.tables.but));
    let own = TableName {
        schema: "tidemark".into(),
        name: "trep_sync_ddl".into(),
    };
    let theirs = TableName {
        schema: "Fly".into(),
        name: "ddl".into(),
    };
    assert_eq!(ddl(&[]).unwrap(), (DdlCapture::Off, vec![own.clone()]));
    let (capture, but) = ddl(&[("ddl.capture", "on")]).unwrap();
    assert_eq!((capture.table(), &but[0]), (Some(own.clone()), &own));
    assert_eq!(
        ddl(&[("ddl.capture", "off"), ("ddl.table", "\"Fly\".DDL")]).unwrap(),
        (DdlCapture::Table(theirs.clone()), vec![own, theirs])
    );
    let error = ddl(&[("ddl.capture", "on"), ("ddl.table", "a.b")])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("option 'ddl.table'") && error.contains("set one of the two"),
        "{error}"
    );
    let error = with("scan.startup.specific-offset.lsn", "16/").unwrap_err().to_string();
    assert!(error.contains("must be an LSN"), "{error}");
    let start = with("scan.startup.specific-offset.lsn", "16/B374D848").unwrap().startup;
    assert_eq!(start, StartupMode::Log(LogStart::At(Scn(0x16_B374_D848))));
    assert_eq!(
        with("scan.startup.mode", "committed-offset").unwrap().startup,
        StartupMode::Log(LogStart::Committed)
    );
}

#[test]
fn a_column_that_no_table_can_give_is_refused_by_name() {
    let mut json = minimal();
    json["columns"][0]["type"] = "ARRAY".into();
    let error = Config::from_json(&json.to_string()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Declaration(_)) && error.to_string().contains("'ID'"),
        "{error}"
    );
}

#[test]
fn the_password_is_never_shown() {
    let config = Config::from_json(&minimal().to_string()).unwrap();
    assert_eq!(config.password, Secret::new("hush-hush"));
    assert!(!format!("{config:?}").contains("hush"));
    let mut json = minimal();
    json["more"] = "hush-hush".into();
    for text in [
        json.to_string(),
        minimal().to_string().replace("\"columns\":", "\"columns\":7,"),
    ] {
        assert!(!Config::from_json(&text).unwrap_err().to_string().contains("hush"));
    }
}

#[test]
fn errors_advise_no_option_that_does_not_exist() {
    let advice = include_str!("../error.rs");
    let mut advised = 0;
    for (at, _) in advice.match_indices(" = '") {
        let before = &advice[..at];
        let start = before.rfind(|letter: char| !(letter.is_ascii_lowercase() || letter == '.' || letter == '-'));
        let name = &before[start.map_or(0, |start| start + 1)..];
        assert!(
            options::find(name).is_some(),
            "an error advises to set '{name}', which is no option"
        );
        advised += 1;
    }
    assert!(
        advised >= 3,
        "only {advised} options are advised: is the text still written so?"
    );
}

#[test]
fn options_of_the_json_form_are_refused_in_others() {
    use crate::row::debezium_json::{Decimals, Times};

    let json = |name, value| match formed("json", name, value).unwrap().form {
        Form::Json(settings) => (settings.decimals, settings.times),
        other => panic!("{other:?}"),
    };
    assert_eq!(json("decimal.handling.mode", "string"), (Decimals::String, Times::Sql));
    assert_eq!(json("decimal.handling.mode", "precise").0, Decimals::Precise);
    assert_eq!(json("decimal.handling.mode", "double").0, Decimals::Double);
    assert_eq!(json("time.precision.mode", "iso-8601").1, Times::Iso8601);
    assert_eq!(json("time.precision.mode", "adaptive").1, Times::Adaptive);
    for form in ["rows", "changes"] {
        for (name, value) in [("decimal.handling.mode", "string"), ("time.precision.mode", "sql")] {
            let refused = formed(form, name, value).unwrap_err().to_string();
            assert!(refused.contains(name) && refused.contains("JSON alone"), "{refused}");
        }
    }
}

#[test]
fn upsert_is_for_rows_and_needs_a_key_where_one_can_be_declared() {
    let config = formed("rows", "changelog-mode", "upsert").unwrap();
    assert!(matches!(config.form, Form::Rows { upsert: true }));
    for form in ["json", "changes"] {
        let refused = formed(form, "changelog-mode", "upsert").unwrap_err().to_string();
        assert!(refused.contains("'upsert', which is for rows"), "{refused}");
    }
    let keyed = |mode: &str, key: Value| {
        let mut json = minimal();
        json["options"]["changelog-mode"] = mode.into();
        json["primary-key"] = key;
        Config::from_json(&json.to_string())
    };
    assert_eq!(
        keyed("upsert", json!(["ID"])).unwrap().upsert_key,
        Some(vec!["ID".to_owned()])
    );
    assert_eq!(keyed("all", json!([])).unwrap().upsert_key, None);
    let refused = keyed("upsert", json!([])).unwrap_err().to_string();
    assert!(refused.contains("needs a PRIMARY KEY"), "{refused}");
}

#[test]
fn columns_are_declared_for_rows_alone() {
    for form in ["json", "changes"] {
        let mut json = minimal();
        json["form"] = form.into();
        let error = Config::from_json(&json.to_string()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Declaration(_)), "{error}");
    }
    let form = |name, on: &str, set: bool| formed(on, name, set).unwrap().form;
    assert!(matches!(
        form("log.switch", "changes", true),
        Form::Changes { schema_changes: false }
    ));
    let included = "include.schema.changes";
    assert!(matches!(
        form(included, "changes", true),
        Form::Changes { schema_changes: true }
    ));
    assert!(matches!(form(included, "json", true), Form::Json(settings) if settings.schema_changes));
    assert!(matches!(form(included, "json", false), Form::Json(settings) if !settings.schema_changes));
    let refused = formed("rows", included, true).unwrap_err().to_string();
    assert!(
        refused.contains(included) && refused.contains("buildChanges"),
        "{refused}"
    );
}
