//! What a driver says when something fails, turned once into the core's error.

use odbc_api::handles::{DiagnosticStream, Diagnostics, slice_to_utf8};

use crate::error::ErrorKind;

/// A driver's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// SQLSTATE, five letters.
    pub state: String,
    /// The number that the driver gives.
    pub native: i32,
    /// The text.
    pub message: String,
}

/// What a message means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The database's own number, which some drivers put only into the text.
    pub native: i32,
    /// Whether the same attempt may succeed later.
    pub retryable: bool,
}

/// Says what a message means; dialects have one of their own.
pub type Classify = fn(&Diagnostic) -> Verdict;

/// The meaning that the SQLSTATE alone has: lost connections, timeouts, shutdowns, deadlocks, exhausted resources and
/// cancelled statements may be tried again.
pub fn by_sqlstate(diagnostic: &Diagnostic) -> Verdict {
    let state = diagnostic.state.as_str();
    let retryable = ["08", "40", "53", "57"].iter().any(|class| state.starts_with(class))
        || matches!(state, "HYT00" | "HYT01" | "HY008" | "HY117" | "S1T00" | "55P03");
    Verdict {
        native: diagnostic.native,
        retryable,
    }
}

/// The number in brackets that some servers put at the head of their text: -2847 of `[-2847]:no log file …`. Drivers
/// put their own bracketed words before it.
pub fn bracketed_number(message: &str) -> Option<i32> {
    message.split('[').skip(1).find_map(|part| {
        let (number, _) = part.split_once(']')?;
        number.starts_with('-').then(|| number.parse().ok()).flatten()
    })
}

/// The first diagnostic record of a handle and the texts of all.
pub(super) fn collect(handle: &(impl Diagnostics + ?Sized), function: &str) -> Diagnostic {
    let mut records = DiagnosticStream::new(handle);
    let mut first: Option<Diagnostic> = None;
    while let Some(record) = records.next() {
        let text = slice_to_utf8(&record.message).unwrap_or_else(|_| String::from_utf8_lossy(&record.message).into());
        match &mut first {
            None => {
                first = Some(Diagnostic {
                    state: String::from_utf8_lossy(&record.state.0).into(),
                    native: record.native_error,
                    message: text,
                });
            }
            Some(first) => {
                first.message.push_str("; ");
                first.message.push_str(&text);
            }
        }
    }
    first.unwrap_or_else(|| Diagnostic {
        state: "HY000".into(),
        native: 0,
        message: format!("{function} failed and the driver does not say why"),
    })
}

/// The error of a statement.
pub(super) fn statement_error(diagnostic: Diagnostic, classify: Classify) -> ErrorKind {
    let verdict = classify(&diagnostic);
    ErrorKind::Statement {
        message: diagnostic.message,
        state: diagnostic.state,
        native: verdict.native,
        retryable: verdict.retryable,
    }
}

/// The error of opening a connection. A driver may repeat what it was given: `secrets` are struck out.
pub(super) fn connect_error(
    mut diagnostic: Diagnostic,
    classify: Classify,
    driver: &str,
    secrets: &[&str],
) -> ErrorKind {
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        diagnostic.message = diagnostic.message.replace(secret, "***");
    }
    let missing = matches!(diagnostic.state.as_str(), "IM002" | "IM003" | "IM004")
        || diagnostic.message.contains("Can't open lib");
    if missing {
        diagnostic.message.push_str(&format!(
            "; the ODBC driver '{driver}' or a library that it needs is not installed on this machine: `odbcinst -q -d` \
             lists those that are, and odbc.driver takes a name of that list or the path of the driver's library"
        ));
    }
    // Some drivers have one SQLSTATE and one number for all that can happen here, and only their text tells a refused
    // login, a certificate that is not trusted, or a user or database that is not there, from a server that is down. Tried again
    // and again it would lock the account.
    let text = &diagnostic.message;
    let denied = text.contains("authentication failed")
        || text.contains("certificate")
        || text.contains("FATAL") && text.contains("does not exist");
    let verdict = classify(&diagnostic);
    ErrorKind::Connect {
        message: diagnostic.message,
        state: diagnostic.state,
        native: verdict.native,
        retryable: verdict.retryable && !missing && !denied,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnostic(state: &str, message: &str) -> Diagnostic {
        Diagnostic {
            state: state.into(),
            native: 1,
            message: message.into(),
        }
    }

    #[test]
    fn lost_connections_and_timeouts_may_be_tried_again_syntax_errors_not() {
        for state in ["08S01", "08001", "HYT00", "HYT01", "57P01", "40001", "40P01", "53300"] {
            assert!(by_sqlstate(&diagnostic(state, "")).retryable, "{state}");
        }
        for state in ["42601", "42S02", "28P01", "22001", "HY000", "P0001", "IM002"] {
            assert!(!by_sqlstate(&diagnostic(state, "")).retryable, "{state}");
        }
    }

    #[test]
    fn the_bracketed_number_is_found_behind_the_drivers_own_brackets() {
        assert_eq!(
            bracketed_number("[DM][ODBC DM8 ODBC DRIVER][-2847]:no log file"),
            Some(-2847)
        );
        assert_eq!(
            bracketed_number("ERROR: [-4546]:[DBMS_LOGMNR.ADD_LOGFILE] x;\nError"),
            Some(-4546)
        );
        assert_eq!(bracketed_number("[driver] syntax error nearby [NEW]"), None);
        assert_eq!(bracketed_number("relation [5] is missing"), None);
    }

    #[test]
    fn secrets_do_not_leave_with_an_error() {
        let kind = connect_error(
            diagnostic("08001", "bad string PWD={s3cret};UID=x"),
            by_sqlstate,
            "D",
            &["{s3cret}", "s3cret", ""],
        );
        assert!(!kind.to_string().contains("s3cret"), "{kind}");
    }

    #[test]
    fn a_refused_login_is_not_tried_again_though_its_sqlstate_says_no_more_than_a_server_that_is_down() {
        for (message, again) in [
            ("FATAL:  password authentication failed for user \"X\"", false),
            ("SSL error: certificate verify failed", false),
            ("connection refused", true),
        ] {
            let kind = connect_error(diagnostic("08001", message), by_sqlstate, "D", &[]);
            assert!(
                matches!(kind, ErrorKind::Connect { retryable, .. } if retryable == again),
                "{kind}"
            );
        }
    }

    #[test]
    fn a_missing_driver_names_the_remedy_and_is_not_tried_again() {
        let kind = connect_error(
            diagnostic("01000", "Can't open lib 'x' : file not found"),
            by_sqlstate,
            "DM8 ODBC DRIVER",
            &[],
        );
        assert!(kind.to_string().contains("odbcinst -q -d"), "{kind}");
        assert!(matches!(kind, ErrorKind::Connect { retryable: false, .. }));
    }
}
