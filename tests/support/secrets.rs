//! Looks for a password in whatever a job leaves behind.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

/// A password as it may stand somewhere: as it is, and as what is written with it would write it.
fn forms(secret: &str) -> Vec<String> {
    let each = |write: &dyn Fn(u8) -> String| secret.bytes().map(write).collect::<String>();
    let json = serde_json::to_string(secret).unwrap();
    let wide: Vec<u8> = secret.encode_utf16().flat_map(u16::to_le_bytes).collect();
    // Wherever in a text of base64 it begins.
    let inside = (0..3).map(|before| {
        let bytes = [&vec![b'x'; before], secret.as_bytes()].concat();
        let text = STANDARD_NO_PAD.encode(bytes);
        let whole = text.len() / 4 * 4;
        text[(before * 8).div_ceil(6)..whole].to_owned()
    });
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let percent = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    let mut forms: Vec<String> = vec![
        secret.to_owned(),
        json.trim_matches('"').to_owned(),
        secret.replace('}', "}}"),
        secret.replace('\'', "''"),
        each(&percent),
        each(&|byte| format!("{byte:02x}")),
        each(&|byte| format!("{byte:02X}")),
        format!("{:?}", secret.as_bytes()).trim_matches(['[', ']']).to_owned(),
        STANDARD.encode(secret),
        String::from_utf8(wide).unwrap(),
        secret.chars().rev().collect(),
    ];
    forms.extend(inside);
    forms
}

/// Panics with what has the password in it.
pub fn assert_absent(secret: &str, said: &[(String, Vec<u8>)]) {
    let forms = forms(secret);
    for (what, bytes) in said {
        for form in &forms {
            let at = bytes.windows(form.len()).position(|window| window == form.as_bytes());
            assert_eq!(
                at,
                None,
                "{what} has the password as '{form}': {}",
                String::from_utf8_lossy(bytes)
            );
        }
    }
}

/// A line of text that is looked into.
pub fn said(what: &str, text: impl ToString) -> (String, Vec<u8>) {
    (what.to_owned(), text.to_string().into_bytes())
}

#[test]
fn a_password_is_found_in_whatever_form() {
    let secret = "p{4}s's\"w%rd";
    for text in [
        format!("PWD={secret};"),
        "PWD={p{4}}s's\"w%rd}".to_owned(),
        serde_json::json!({"password": secret}).to_string(),
        STANDARD.encode(format!("user:{secret}")),
        STANDARD.encode(format!("a:{secret}:b")),
    ] {
        let found = std::panic::catch_unwind(|| assert_absent(secret, &[said("a text", &text)]));
        assert!(found.is_err(), "{text}");
    }
    assert_absent(secret, &[said("a text", "PWD=***")]);
}
