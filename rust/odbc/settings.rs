//! What a connection is opened with.

use std::fmt;
use std::time::Duration;

use crate::odbc::diagnostic::Classify;

/// A password. It never shows itself.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a password into custody.
    pub fn new(password: impl Into<String>) -> Self {
        Secret(password.into())
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Attributes of a connection string, shown by their names alone: there may be passwords among them.
pub(crate) struct Names<'a>(pub(crate) &'a [(String, String)]);

impl fmt::Debug for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// What a connection is opened with.
#[derive(Clone)]
pub struct ConnectionSettings {
    /// The driver, by its name in odbcinst.ini or by the path of its library.
    pub driver: String,
    /// Keys and values of the connection string besides driver, user and password, in order. Later ones replace
    /// earlier ones of the same name, whatever its case.
    pub attributes: Vec<(String, String)>,
    /// `UID`.
    pub username: String,
    /// `PWD`.
    pub password: Secret,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for a statement's answer, in whole seconds; `None` waits for ever.
    pub statement_timeout: Option<Duration>,
    /// Read long columns row by row, whatever the driver claims: for drivers that claim more than they can.
    pub stream_long_values: bool,
    /// Statements that each connection begins with.
    pub session: Vec<String>,
    /// Says what a driver's message means.
    pub classify: Classify,
}

impl fmt::Debug for ConnectionSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionSettings")
            .field("driver", &self.driver)
            .field("attributes", &Names(&self.attributes))
            .field("username", &self.username)
            .field("connect_timeout", &self.connect_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .field("stream_long_values", &self.stream_long_values)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl ConnectionSettings {
    /// What a driver's message must not repeat: the password, and what else an attribute's name says is one.
    pub(super) fn secrets(&self) -> Vec<String> {
        let is_secret = |name: &str| ["pw", "pass", "pin", "secret"].iter().any(|word| name.contains(word));
        let named = self
            .attributes
            .iter()
            .filter(|(name, _)| is_secret(&name.to_ascii_lowercase()));
        let all = named.map(|(_, value)| value.as_str()).chain([self.password.reveal()]);
        let braced = |value: &str| format!("{{{}}}", value.replace('}', "}}"));
        all.flat_map(|value| [braced(value), value.to_owned()]).collect()
    }

    /// The connection string, password included: not to be shown to anybody but the driver.
    pub(super) fn connection_string(&self) -> String {
        let mut pairs: Vec<(&str, &str)> = vec![("UID", &self.username), ("PWD", self.password.reveal())];
        for (key, value) in &self.attributes {
            match pairs.iter_mut().find(|(have, _)| have.eq_ignore_ascii_case(key)) {
                Some(pair) => pair.1 = value,
                None => pairs.push((key, value)),
            }
        }
        let mut text = format!("DRIVER={{{}}};", self.driver);
        for (key, value) in pairs {
            text.push_str(key);
            text.push('=');
            push_value(&mut text, value);
            text.push(';');
        }
        text
    }
}

/// A value is put in braces unless it is plain: `;` would end it, and some drivers take `+` and `%` for URL encoding.
fn push_value(text: &mut String, value: &str) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:".contains(&byte);
    if value.bytes().all(plain) {
        text.push_str(value);
    } else {
        text.push('{');
        text.push_str(&value.replace('}', "}}"));
        text.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::odbc::by_sqlstate;

    #[test]
    fn later_attributes_replace_and_odd_values_are_braced() {
        let settings = ConnectionSettings {
            driver: "Some Driver".into(),
            attributes: [("SERVER", "db.example"), ("PORT", "1"), ("Port", "5236"), ("X", "a b")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            username: "capture".into(),
            password: Secret::new("p;w}d"),
            connect_timeout: Duration::from_secs(1),
            statement_timeout: None,
            stream_long_values: false,
            session: Vec::new(),
            classify: by_sqlstate,
        };
        assert_eq!(
            settings.connection_string(),
            "DRIVER={Some Driver};UID=capture;PWD={p;w}}d};SERVER=db.example;PORT=5236;X={a b};"
        );
        assert!(!format!("{settings:?}").contains("p;w"));
        let further = ConnectionSettings {
            attributes: vec![("SSL_PWD".into(), "k}y".into()), ("X".into(), "y".into())],
            ..settings
        };
        assert_eq!(further.secrets(), ["{k}}y}", "k}y", "{p;w}}d}", "p;w}d"]);
        assert!(!format!("{further:?}").contains("k}y"));
    }
}
