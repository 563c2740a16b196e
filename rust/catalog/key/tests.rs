//! Keys: the order of bytes is the order of values, and what comes back is what went in.

use std::cmp::Ordering;
use std::sync::Arc;

use super::*;
use crate::catalog::Column;
use crate::catalog::text_order::{Case, Charset};
use crate::split::TableName;

fn codec(kinds: &[ColumnType]) -> KeyCodec {
    codec_by(TextOrder::BYTES, kinds)
}

fn codec_by(text_order: TextOrder, kinds: &[ColumnType]) -> KeyCodec {
    let columns = kinds.iter().enumerate().map(|(number, kind)| Column {
        name: format!("C{number}"),
        kind: kind.clone(),
        nullable: false,
        is_virtual: false,
        collated: false,
    });
    KeyCodec::new(&Table {
        name: Arc::new(TableName {
            schema: "S".into(),
            name: "T".into(),
        }),
        object_id: 1,
        version: 0,
        columns: columns.collect(),
        key: (0..kinds.len()).collect(),
        partitions: Vec::new(),
        is_partitioned: false,
        text_order,
    })
    .unwrap()
}

fn key(codec: &KeyCodec, values: &[Value<'_>]) -> Vec<u8> {
    let mut out = vec![7];
    codec.encode(&|number| values[number], &mut out).unwrap();
    out.split_off(1)
}

const INTEGER: ColumnType = ColumnType::Integer { bits: 64 };
const DECIMAL: ColumnType = ColumnType::Decimal {
    precision: None,
    scale: 0,
};
const TEXT: ColumnType = ColumnType::Text {
    length: Some(100),
    padded: false,
};
const CHAR: ColumnType = ColumnType::Text {
    length: Some(100),
    padded: true,
};

/// xorshift64*, seeded: the same cases in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    fn integer(&mut self) -> i64 {
        match self.below(6) {
            0 => i64::MIN,
            1 => i64::MAX,
            2 => self.next() as i64,
            _ => self.below(40) as i64 - 20,
        }
    }

    /// A decimal as (units, scale): units × 10^-scale, and one of its many texts.
    fn decimal(&mut self) -> (i128, u32, String) {
        let digits = self.below(25) as u32;
        let bound = 10i128.pow(digits);
        let units = (i128::from(self.next()) << 32 | i128::from(self.next() >> 32)).rem_euclid(bound);
        let units = if self.below(2) == 0 { units } else { -units };
        let units = if self.below(3) == 0 {
            units / 1_000_000 * 1_000_000
        } else {
            units
        };
        let scale = self.below(12) as u32;
        let mut text = format!(
            "{:0width$}",
            units.unsigned_abs(),
            width = scale as usize + self.below(3) as usize
        );
        if scale > 0 || self.below(4) == 0 {
            text.insert(text.len() - scale as usize, '.');
        }
        match self.below(4) {
            0 => text.push_str("E0"),
            1 => {
                // The point two places to the right, and back by the exponent.
                let moved = units.unsigned_abs() * 100;
                text = format!("{:0width$}", moved, width = scale as usize + 1);
                text.insert(text.len() - scale as usize, '.');
                text.push_str("e-2");
            }
            _ => {}
        }
        let sign = if units < 0 {
            "-"
        } else if self.below(5) == 0 {
            "+"
        } else {
            ""
        };
        (units, scale, format!("{sign}{text}"))
    }

    fn bytes(&mut self, alphabet: &[u8]) -> Vec<u8> {
        (0..self.below(6))
            .map(|_| alphabet[self.below(alphabet.len() as u64) as usize])
            .collect()
    }
}

fn compare_decimals(a: (i128, u32), b: (i128, u32)) -> Ordering {
    let scale = a.1.max(b.1);
    (a.0 * 10i128.pow(scale - a.1)).cmp(&(b.0 * 10i128.pow(scale - b.1)))
}

#[test]
fn integers_are_in_order_and_come_back() {
    let codec = codec(&[INTEGER]);
    let mut random = Random(1);
    for _ in 0..20_000 {
        let (a, b) = (random.integer(), random.integer());
        let (key_a, key_b) = (key(&codec, &[Value::Int(a)]), key(&codec, &[Value::Int(b)]));
        assert_eq!(key_a.cmp(&key_b), a.cmp(&b), "{a} {b}");
        assert_eq!(
            key(&codec, &[Value::Number(a.to_string().as_bytes())]),
            key_a,
            "log and table say the same"
        );
        assert_eq!(codec.literals(&key_a).unwrap(), [Literal::Number(a.to_string())]);
    }
}

#[test]
fn decimals_are_in_order_and_come_back() {
    let codec = codec(&[DECIMAL]);
    let mut random = Random(2);
    for _ in 0..100_000 {
        let (a, b) = (random.decimal(), random.decimal());
        let keys = [&a, &b].map(|decimal| key(&codec, &[Value::Number(decimal.2.as_bytes())]));
        assert_eq!(
            keys[0].cmp(&keys[1]),
            compare_decimals((a.0, a.1), (b.0, b.1)),
            "{} {}",
            a.2,
            b.2
        );
        let literals = codec.literals(&keys[0]).unwrap();
        let Literal::Number(text) = &literals[0] else {
            panic!("{literals:?}");
        };
        assert!(!text.contains(['e', 'E', '+']), "{text}");
        assert_eq!(
            key(&codec, &[Value::Number(text.as_bytes())]),
            keys[0],
            "{} came back as {text}",
            a.2
        );
    }
}

#[test]
fn numbers_beyond_64_bits_and_far_exponents_are_exact() {
    let codec = codec(&[DECIMAL]);
    let ascending = [
        "-Infinity",
        "-1E400",
        "-18446744073709551617",
        "-18446744073709551616.5",
        "-18446744073709551616",
        "-1",
        "-0.000000000000000000000000000000000000000001",
        "0",
        "1e-300",
        "0.1",
        "0.10000000000000000000000000000000000001",
        "9223372036854775807",
        "9223372036854775808",
        "9223372036854775808.00000000000000000001",
        "99999999999999999999999999999999999999",
        "1e38",
        "1E400",
        "Infinity",
        "NaN",
    ];
    let keys: Vec<_> = ascending
        .iter()
        .map(|text| key(&codec, &[Value::Number(text.as_bytes())]))
        .collect();
    assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
    for (key, text) in keys.iter().zip(ascending) {
        if !text.contains(['e', 'E']) {
            assert_eq!(codec.literals(key).unwrap(), [Literal::Number(text.into())]);
        }
    }
    for zero in ["0", "-0", "0.00", "+0E5", ".0"] {
        assert_eq!(key(&codec, &[Value::Number(zero.as_bytes())]), keys[7], "{zero}");
    }
    assert_eq!(key(&codec, &[Value::Int(i64::MAX)]), keys[11]);
    let mut out = Vec::new();
    for wrong in ["", "-", ".", "1.2.3", "nan", "Inf", "1e", "1e99999999", "0x12", "1 "] {
        assert!(
            codec.encode(&|_| Value::Number(wrong.as_bytes()), &mut out).is_err(),
            "{wrong}"
        );
    }
    assert!(out.is_empty());
}

#[test]
fn integer_columns_take_any_text_of_an_integer_and_nothing_else() {
    let codec = codec(&[INTEGER]);
    for (text, value) in [
        ("1.50E1", 15),
        ("12.0", 12),
        ("-9223372036854775808", i64::MIN),
        ("1e3", 1000),
        ("0.0", 0),
    ] {
        assert_eq!(
            key(&codec, &[Value::Number(text.as_bytes())]),
            key(&codec, &[Value::Int(value)]),
            "{text}"
        );
    }
    let mut out = Vec::new();
    for wrong in ["9223372036854775808", "0.5", "1e30", "x"] {
        assert!(
            codec.encode(&|_| Value::Number(wrong.as_bytes()), &mut out).is_err(),
            "{wrong}"
        );
    }
    for wrong in [Value::Null, Value::Absent, Value::Unavailable, Value::Text(b"1")] {
        assert!(codec.encode(&|_| wrong, &mut out).is_err());
    }
}

#[test]
fn composite_keys_are_in_the_order_of_their_columns() {
    let binary = ColumnType::Binary { length: Some(100) };
    let codec = codec(&[TEXT, DECIMAL, binary, INTEGER]);
    let mut random = Random(3);
    let row = |random: &mut Random| {
        let few = random.below(3) as i128 - 1;
        (
            String::from_utf8(random.bytes(b"a\0\x01~")).unwrap().replace('~', "é"),
            few,
            random.bytes(b"\0\x01\xff"),
            random.integer(),
        )
    };
    for _ in 0..100_000 {
        let (a, b) = (row(&mut random), row(&mut random));
        let keys = [&a, &b].map(|(text, decimal, bytes, integer)| {
            let decimal = decimal.to_string();
            key(
                &codec,
                &[
                    Value::Text(text.as_bytes()),
                    Value::Number(decimal.as_bytes()),
                    Value::Bytes(bytes),
                    Value::Int(*integer),
                ],
            )
        });
        assert_eq!(keys[0].cmp(&keys[1]), a.cmp(&b), "{a:?} {b:?}");
        assert_eq!(
            codec.literals(&keys[0]).unwrap(),
            [
                Literal::Text(a.0),
                Literal::Number(a.1.to_string()),
                Literal::Bytes(a.2),
                Literal::Number(a.3.to_string()),
            ]
        );
    }
}

#[test]
fn blanks_at_the_end_of_char_keys_do_not_count() {
    let codec = codec(&[CHAR, INTEGER]);
    let of = |text: &'static str| key(&codec, &[Value::Text(text.as_bytes()), Value::Int(1)]);
    assert_eq!(of("ab"), of("ab   "));
    assert_ne!(of("ab"), of(" ab"));
    assert!(of("ab") < of("ab c"));
    assert!(of("ab") < of("ab!"));
    let mut out = Vec::new();
    assert!(
        codec.encode(&|_| Value::Text(b"ab\t"), &mut out).is_err(),
        "would sort before 'ab' with its blanks"
    );
}

fn text_order(charset: Charset, case: Case, strips: bool) -> TextOrder {
    TextOrder {
        charset: Some(charset),
        case,
        strips,
    }
}

/// A text as a server of that making compares it, said in the plainest words.
fn compared(order: &TextOrder, text: &str) -> Vec<u8> {
    let text = if order.strips { text.trim_end_matches(' ') } else { text };
    let text = match order.case {
        Case::Counts => text.to_owned(),
        Case::Lower => text.to_ascii_lowercase(),
        Case::Upper => text.to_ascii_uppercase(),
    };
    match order.charset {
        Some(Charset::Gb18030) => encoding_rs::GB18030.encode(&text).0.into_owned(),
        _ => text.into_bytes(),
    }
}

/// Equal exactly where the server finds them equal, in its order, and back as a text that it finds equal.
#[test]
fn texts_are_in_the_servers_order_and_come_back() {
    let letters: Vec<char> = "aAbZz_ !09'\0\u{1}阿一亍丂龙漢😀𠀀€".chars().collect();
    for charset in [Charset::Utf8, Charset::Gb18030] {
        for case in [Case::Counts, Case::Lower, Case::Upper] {
            for strips in [false, true] {
                let order = text_order(charset, case, strips);
                let codec = codec_by(order, &[TEXT, INTEGER]);
                let mut random = Random(7);
                for _ in 0..4_000 {
                    let texts = [0; 2].map(|_| -> String {
                        let letter = |random: &mut Random| letters[random.below(letters.len() as u64) as usize];
                        let text: String = (0..random.below(5)).map(|_| letter(&mut random)).collect();
                        // What sorts before a blank is refused where blanks do not count.
                        if strips {
                            text.replace(['\0', '\u{1}'], "#")
                        } else {
                            text
                        }
                    });
                    let keys = texts
                        .each_ref()
                        .map(|text| key(&codec, &[Value::Text(text.as_bytes()), Value::Int(1)]));
                    let expected = compared(&order, &texts[0]).cmp(&compared(&order, &texts[1]));
                    assert_eq!(keys[0].cmp(&keys[1]), expected, "{order:?} {texts:?}");
                    let literals = codec.literals(&keys[0]).unwrap();
                    let Literal::Text(back) = &literals[0] else {
                        panic!("{literals:?}");
                    };
                    assert_eq!(
                        compared(&order, back),
                        compared(&order, &texts[0]),
                        "{order:?} {texts:?}"
                    );
                    assert_eq!(key(&codec, &[Value::Text(back.as_bytes()), Value::Int(1)]), keys[0]);
                }
            }
        }
    }
}

/// Better no row than one that is looked for in another place than the server's.
#[test]
fn texts_whose_place_is_not_certain_are_refused() {
    let refused = |order: TextOrder, text: &str| {
        let mut out = Vec::new();
        let refused = codec_by(order, &[TEXT])
            .encode(&|_| Value::Text(text.as_bytes()), &mut out)
            .is_err();
        assert!(out.is_empty() || !refused);
        refused
    };
    let folding = text_order(Charset::Utf8, Case::Lower, false);
    for letter in ["É", "é", "ß", "Σ", "ж", "\u{ff21}", "ǅ"] {
        assert!(refused(folding, letter), "{letter}");
        assert!(!refused(TextOrder::BYTES, letter), "{letter}");
    }
    assert!(!refused(folding, "漢字 1_a"));
    let gb18030 = text_order(Charset::Gb18030, Case::Counts, false);
    for letter in ["\u{e5e5}", "\u{e7c7}", "\u{1e3f}", "\u{9fb4}", "\u{fe19}", "\u{20087}"] {
        assert!(refused(gb18030, letter), "{letter}");
    }
    assert!(!refused(gb18030, "\u{20000}é\u{10ffff}"));
    let stripping = text_order(Charset::Utf8, Case::Counts, true);
    assert!(refused(stripping, "a\tb") && !refused(stripping, "a b ") && !refused(TextOrder::BYTES, "a\tb"));
    assert!(
        codec_by(gb18030, &[TEXT])
            .encode(&|_| Value::Text(b"\xff"), &mut Vec::new())
            .is_err()
    );
}

/// F07: what SELECT and the log print differently is one key.
#[test]
fn one_key_in_many_texts_is_one_key() {
    let decimal = codec(&[DECIMAL]);
    for texts in [
        &["1.50", "1.5", "+1.5", "15E-1", "0.15E+1", "001.500"][..],
        &["100", "1E+2", "1e2", "100.", "100.000"],
        &["1E+3", "1000"],
    ] {
        let keys: Vec<_> = texts
            .iter()
            .map(|text| key(&decimal, &[Value::Number(text.as_bytes())]))
            .collect();
        assert!(keys.windows(2).all(|pair| pair[0] == pair[1]), "{texts:?}");
    }
    let padded = codec(&[CHAR]);
    assert_eq!(
        key(&padded, &[Value::Text(b"A1")]),
        key(&padded, &[Value::Text(b"A1    ")])
    );
    let binary = codec(&[ColumnType::Binary { length: Some(16) }]);
    let bytes = key(&binary, &[Value::Bytes(&[0, 0xab, 0xcd])]);
    for hex in ["00abcd", "00ABCD", "00aBCd"] {
        assert_eq!(key(&binary, &[Value::Hex(hex.as_bytes())]), bytes);
    }
    let stamp = codec(&[ColumnType::Timestamp { precision: 9 }]);
    let whole = key(&stamp, &[Value::Timestamp(b"2026-01-02 03:04:05.1")]);
    for text in [
        "2026-01-02 03:04:05.100000",
        "2026-01-02 03:04:05.100000000",
        "2026-01-02 03:04:05.10",
    ] {
        assert_eq!(key(&stamp, &[Value::Timestamp(text.as_bytes())]), whole);
    }
}

/// F45: no calendar of another zone, no cut-over, no epoch comes between a day and its place.
#[test]
fn days_at_the_ends_of_calendars_keep_their_text() {
    let stamps = codec(&[ColumnType::Timestamp { precision: 6 }]);
    let ascending = [
        "0001-01-01 00:00:00",
        "1582-10-04 00:00:00",
        "1582-10-10 00:00:00",
        "1582-10-15 00:00:00",
        "1900-12-31 23:59:59",
        "1986-05-04 02:30:00",
        "9999-12-31 23:59:59.999999",
    ];
    let keys = ascending.map(|text| key(&stamps, &[Value::Timestamp(text.as_bytes())]));
    assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
    for (key, text) in keys.iter().zip(ascending) {
        assert_eq!(stamps.literals(key).unwrap(), [Literal::Timestamp(text.into())]);
    }
}

/// A restart with another key column first, another key or other types finds no place of its own in the state.
#[test]
fn keys_of_another_make_are_refused_by_name() {
    let codec = |order: [usize; 2], first: ColumnType| {
        let column = |name: &str, kind: ColumnType| Column {
            name: name.into(),
            kind,
            nullable: false,
            is_virtual: false,
            collated: false,
        };
        let table = Table {
            name: Arc::new(TableName {
                schema: "S".into(),
                name: "T".into(),
            }),
            object_id: 1,
            version: 0,
            columns: vec![column("A", first), column("B", INTEGER)],
            key: order.into(),
            partitions: Vec::new(),
            is_partitioned: false,
            text_order: TextOrder::BYTES,
        };
        KeyCodec::new(&table).unwrap()
    };
    let before = codec([0, 1], INTEGER);
    let kept = key(&before, &[Value::Int(5), Value::Int(6)]);
    assert!(codec([0, 1], INTEGER).literals(&kept).is_ok());
    for other in [codec([1, 0], INTEGER), codec([0, 1], DECIMAL)] {
        for error in [other.literals(&kept).unwrap_err(), other.check(&kept).unwrap_err()] {
            assert!(matches!(error.kind(), ErrorKind::State(_)));
            assert!(
                error.to_string().contains("scan.incremental.snapshot.chunk.key-column"),
                "{error}"
            );
        }
    }
}

#[test]
fn days_and_times_are_in_order_and_come_back() {
    let dates = codec(&[ColumnType::Date]);
    let ascending = [
        "-0044-03-15",
        "0001-01-01",
        "1969-12-31",
        "1970-01-01",
        "2024-02-29",
        "9999-12-31",
    ];
    let keys: Vec<_> = ascending
        .iter()
        .map(|text| key(&dates, &[Value::Date(text.as_bytes())]))
        .collect();
    assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
    for (key, text) in keys.iter().zip(ascending) {
        assert_eq!(dates.literals(key).unwrap(), [Literal::Date(text.into())]);
    }

    let stamps = codec(&[ColumnType::Timestamp { precision: 9 }]);
    let ascending = [
        "1969-12-31 23:59:59.999999999",
        "1970-01-01 00:00:00",
        "1970-01-01 00:00:00.000000001",
        "2026-01-02 10:20:30.123456",
        "2026-01-02 10:20:30.2",
    ];
    let keys: Vec<_> = ascending
        .iter()
        .map(|text| key(&stamps, &[Value::Timestamp(text.as_bytes())]))
        .collect();
    assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
    for (key, text) in keys.iter().zip(ascending) {
        assert_eq!(stamps.literals(key).unwrap(), [Literal::Timestamp(text.into())]);
    }
    assert_eq!(
        key(&stamps, &[Value::Timestamp(b"2026-01-02 10:20:30.200000")]),
        keys[4]
    );

    let zoned = codec(&[ColumnType::TimestampZoned { precision: 6 }]);
    let a = key(&zoned, &[Value::Timestamp(b"2026-01-02 00:20:30.5 +08:00")]);
    assert_eq!(a, key(&zoned, &[Value::Timestamp(b"2026-01-01 11:20:30.5 -05:00")]));
    assert_eq!(
        zoned.literals(&a).unwrap(),
        [Literal::TimestampZoned("2026-01-01 16:20:30.5 +00:00".into())]
    );

    let mut out = Vec::new();
    for wrong in ["2023-02-29", "2024-13-01", "24-01-01", "2024-01-1"] {
        assert!(
            dates.encode(&|_| Value::Date(wrong.as_bytes()), &mut out).is_err(),
            "{wrong}"
        );
    }
    for wrong in [
        "2024-01-01",
        "2024-01-01 24:00:00",
        "2024-01-01 00:00:00.",
        "2024-01-01 00:00",
    ] {
        assert!(
            stamps
                .encode(&|_| Value::Timestamp(wrong.as_bytes()), &mut out)
                .is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn damaged_keys_are_refused() {
    let codec = codec(&[INTEGER, DECIMAL, TEXT]);
    let whole = key(&codec, &[Value::Int(5), Value::Number(b"1.5"), Value::Text(b"a\0b")]);
    assert!(codec.literals(&whole).is_ok());
    for length in 0..whole.len() {
        assert!(codec.literals(&whole[..length]).is_err());
    }
    assert!(codec.literals(&[&whole[..], &[0]].concat()).is_err());
}

/// Found by fuzzing: they would have been read as another key than the one that has these bytes.
#[test]
fn a_key_that_no_value_has_is_refused() {
    let codecs = [ColumnType::Boolean, DECIMAL, ColumnType::Time { precision: 6 }].map(|kind| codec(&[kind]));
    let [truth, decimal, time] = &codecs;
    for (codec, whole, value) in [
        (truth, Value::Int(1), &b"\x02"[..]),
        (decimal, Value::Int(1), b"\x03\x80\x02\x00"),
        (decimal, Value::Int(1), b"\x03\x80\x02\x0b\x01\x00"),
        (time, Value::Time(b"01:00:00"), b"\xff\xff\xff\xff\xff\xff"),
    ] {
        let one = key(codec, &[whole]);
        let damaged = [&one[..4], value].concat();
        assert!(
            codec.literals(&one).is_ok() && codec.literals(&damaged).is_err(),
            "{value:?}"
        );
    }
}

/// Found by fuzzing: a key was made that could not be put into a statement again.
#[test]
fn what_is_no_text_is_no_key() {
    let encoded = codec(&[TEXT]).encode(&|_| Value::Text(b"a\xff"), &mut Vec::new());
    assert!(encoded.unwrap_err().to_string().contains("not UTF-8"));
}

#[test]
fn tables_that_cannot_be_cut_are_refused_by_name() {
    let table = |kind: ColumnType, key: Vec<usize>| Table {
        name: Arc::new(TableName {
            schema: "S".into(),
            name: "T".into(),
        }),
        object_id: 1,
        version: 0,
        columns: vec![Column {
            name: "C".into(),
            kind,
            nullable: false,
            is_virtual: false,
            collated: false,
        }],
        key,
        partitions: Vec::new(),
        is_partitioned: false,
        text_order: TextOrder::BYTES,
    };
    for table in [
        table(INTEGER, vec![]),
        table(ColumnType::Float { bits: 64 }, vec![0]),
        table(ColumnType::Unsupported("XML".into()), vec![0]),
    ] {
        let error = KeyCodec::new(&table).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Catalog(_)));
        assert!(error.to_string().contains("S.T"), "{error}");
    }
}
