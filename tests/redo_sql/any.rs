//! Any text, name or value that a redo text can hold.

use crate::model::{Bytes, Meaning};
use crate::random::Random;
use crate::render::Form;

/// Pieces of texts that look like the statement around them.
const LOOK_ALIKES: [&str; 26] = [
    "'",
    "''",
    "\"",
    "\"\"",
    "', '",
    "','",
    "')",
    "');",
    " WHERE \"A\" = 1",
    " and \"B\" IS NULL",
    ", \"C\" = '",
    " set ",
    "values (",
    "||",
    "' || '",
    "UNISTR('",
    "\\00E9",
    "\\",
    "/*",
    "*/",
    "--",
    ";",
    "NULL",
    "OUT_CLOB",
    "0xCAFE",
    "TO_DATE('2024-01-01', 'YYYY-MM-DD')",
];

/// Any bytes: letters, quotes, line ends, characters of several bytes, bytes that are no characters, look-alikes.
pub fn bytes(random: &mut Random) -> Bytes {
    let mut bytes = vec![];
    for _ in 0..random.below(6) {
        match random.below(8) {
            0 => bytes.extend_from_slice(random.pick(&LOOK_ALIKES).as_bytes()),
            1 => bytes.extend_from_slice(random.pick(&["北京", "é", "😀", "測試", "\u{0301}"]).as_bytes()),
            2 => bytes.push(random.next() as u8),
            3 => bytes.push(random.pick(b"'\" \n\r\t\0\\;,()|.")),
            4 => bytes.extend((0..random.below(90)).map(|_| b'x')),
            _ => bytes.extend((0..random.below(12)).map(|_| b'a' + (random.next() >> 8) as u8 % 26)),
        }
    }
    bytes
}

fn text(random: &mut Random) -> String {
    String::from_utf8_lossy(&bytes(random)).into_owned()
}

/// A name that is not empty; some have quotes, dots, blanks, brackets inside, some differ only by what follows a quote.
pub fn name(random: &mut Random) -> Bytes {
    let mut name = match random.below(4) {
        0 => bytes(random),
        1 => random
            .pick(&[
                "A",
                "A\"",
                "A\"B",
                "A\" = ",
                "a.b",
                "x=(y",
                "DON'T",
                "unit (net)",
                "ROWID",
                "測試",
            ])
            .as_bytes()
            .to_vec(),
        _ => format!("COLUMN_{}", random.below(40)).into_bytes(),
    };
    if name.is_empty() {
        name.push(b'N');
    }
    name
}

fn digits(random: &mut Random, most: usize) -> String {
    (0..=random.below(most))
        .map(|_| char::from(b'0' + random.below(10) as u8))
        .collect()
}

fn number(random: &mut Random) -> String {
    let sign = random.pick(&["", "", "-", "+"]);
    let exponent = if random.once_in(4) {
        format!("E{}{}", random.pick(&["", "-", "+"]), digits(random, 3))
    } else {
        String::new()
    };
    let mut whole = digits(random, 38);
    // `0` before a letter would begin another literal, and the generator makes no other letter.
    if random.once_in(3) {
        whole = format!("{whole}.{}", digits(random, 12));
    } else if random.once_in(6) {
        whole = format!(".{whole}");
    }
    format!("{sign}{whole}{exponent}")
}

fn typed(name: &'static str, literal: &str) -> Meaning {
    Meaning::Typed(name, literal.as_bytes().to_vec())
}

/// A value that the form can render.
pub fn value(random: &mut Random, form: Form, depth: usize) -> Meaning {
    if random.once_in(4) {
        return Meaning::Null;
    }
    if random.once_in(3) {
        return Meaning::Text(bytes(random));
    }
    match (form, random.below(10)) {
        (Form::Capitals, 0) => typed("DATE", "2026-01-02"),
        (Form::Capitals, 1) => typed("TIME", "10:20:30"),
        (Form::Capitals, 2) => typed(
            "TIMESTAMP",
            random.pick(&["2026-01-02 10:20:30.123456", "2026-01-02 10:20:30 +08:00"]),
        ),
        (Form::Capitals, 3) => typed("HEX", random.pick(&["", "00", "00010203", "CaFe"])),
        (Form::Capitals, 4) => typed(
            "INTERVAL",
            random.pick(&[
                "INTERVAL'1-2' YEAR(2) TO MONTH",
                "INTERVAL '-1 02:03:04.5' DAY TO SECOND(6)",
            ]),
        ),
        (Form::Capitals, 5) => {
            let handle = random
                .once_in(2)
                .then(|| format!("LOB_ID: {}", digits(random, 9)).into_bytes());
            Meaning::OutOfRow(random.once_in(2), handle)
        }
        (Form::Capitals, 6) => Meaning::Bare(random.pick(&["TRUE", "FALSE", "NaN", "-Infinity", "inf"]).into()),
        (Form::Capitals, _) => Meaning::Bare(number(random).into_bytes()),
        (Form::Calls, 0) => Meaning::Unsupported,
        (Form::Calls, 1) => Meaning::Call(b"EMPTY_CLOB".to_vec(), vec![]),
        (Form::Calls, 2) => Meaning::Call(b"HEXTORAW".to_vec(), vec![Meaning::text(random.pick(&["", "CAFE"]))]),
        (Form::Calls, 3) if depth < 3 => {
            let args = (0..random.below(4)).map(|_| value(random, form, depth + 1)).collect();
            // Quoted parts with a quote inside are names too.
            Meaning::Call(
                random
                    .pick(&["SHOP.ADDR_T", "SHOP.X\"(Y)", "XMLType"])
                    .as_bytes()
                    .to_vec(),
                args,
            )
        }
        (Form::Calls, 4) => Meaning::Text(text(random).into_bytes()),
        (Form::Calls, _) => {
            let args = vec![
                Meaning::text("2024-05-17 08:30:00"),
                Meaning::text("YYYY-MM-DD HH24:MI:SS"),
            ];
            Meaning::Call(b"TO_DATE".to_vec(), args)
        }
    }
}
