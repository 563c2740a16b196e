//! Connection strings hold what they are given and nothing else; messages of drivers, damaged.

use crate::fuzz::Target;
use crate::odbc::diagnostic::connect_error;
use crate::odbc::{ConnectionSettings, Diagnostic, Secret, bracketed_number, by_sqlstate};

pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "connection string",
        files: &["odbc/settings.rs"],
        corpus: || {
            let texts = [
                "secret",
                "p;w}d",
                "{x}",
                "a=b",
                "}};UID=x;{",
                " ",
                "\u{5bc6}\u{7801}",
                "DRIVER={x}",
            ];
            texts.map(|text| text.as_bytes().to_vec()).into()
        },
        words: &["{", "}", ";", "=", "PWD=", "};", "{}"],
        read: |bytes| {
            // A NUL is refused as an option.
            let Ok(text) = std::str::from_utf8(bytes) else {
                return false;
            };
            if text.contains('\0') {
                return false;
            }
            let settings = ConnectionSettings {
                driver: "D".into(),
                attributes: vec![("SERVER".into(), text.into()), ("X".into(), "y".into())],
                username: text.into(),
                password: Secret::new(text),
                connect_timeout: std::time::Duration::ZERO,
                statement_timeout: None,
                stream_long_values: false,
                session: Vec::new(),
                classify: by_sqlstate,
            };
            let expected = [
                ("DRIVER", "D"),
                ("UID", text),
                ("PWD", text),
                ("SERVER", text),
                ("X", "y"),
            ];
            let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
            assert_eq!(pairs(&settings.connection_string()), Some(expected.into()));
            true
        },
        ..Target::USUAL
    },
    Target {
        name: "message of a driver",
        files: &["odbc/diagnostic.rs"],
        corpus: || {
            let texts = [
                "[DM][ODBC DM8 ODBC DRIVER][-2847]:no log file",
                "ERROR: [-4546]:[DBMS_LOGMNR.ADD_LOGFILE] x;\nError",
                "FATAL: no PWD={s3}}cret}; UID=x [-1]",
            ];
            texts.map(|text| text.as_bytes().to_vec()).into()
        },
        words: &["[", "]", "-", "[-", "s3}cret", "{s3}}cret}", "Can't open lib"],
        read: |bytes| {
            let Ok(text) = std::str::from_utf8(bytes) else {
                return false;
            };
            let diagnostic = Diagnostic {
                state: "08001".into(),
                native: 0,
                message: text.into(),
            };
            let kind = connect_error(diagnostic, by_sqlstate, "D", &["{s3}}cret}", "s3}cret"]);
            assert!(!kind.to_string().contains("s3}cret"));
            let number = bracketed_number(text);
            assert!(number.is_none_or(|number| number <= 0 && text.contains('[')));
            number.is_some()
        },
        ..Target::USUAL
    },
];

/// A connection string as ODBC reads it: `key=value;`, a value in braces with `}` doubled.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let (mut pairs, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (key, behind) = rest.split_once('=')?;
        let (value, behind) = match behind.strip_prefix('{') {
            None => {
                let (value, behind) = behind.split_once(';')?;
                (value.to_owned(), behind)
            }
            Some(braced) => {
                let (mut value, mut from) = (String::new(), braced);
                loop {
                    let (head, behind) = from.split_once('}')?;
                    value.push_str(head);
                    match behind.strip_prefix('}') {
                        Some(behind) => {
                            value.push('}');
                            from = behind;
                        }
                        None => break (value, behind.strip_prefix(';')?),
                    }
                }
            }
        };
        pairs.push((key.to_owned(), value));
        rest = behind;
    }
    Some(pairs)
}
