//! Keys: the order of bytes is the order of values, and what comes back is what went in.

use std::cmp::Ordering;
use std::sync::Arc;

use super::*;
use crate::catalog::Column;
use crate::split::TableName;

fn codec(kinds: &[ColumnType]) -> KeyCodec {
    let columns = kinds.iter().enumerate().map(|(number, kind)| Column {
        name: format!("C{number}"),
        kind: kind.clone(),
        nullable: false,
        is_virtual: false,
    });
    KeyCodec::new(&Table {
        name: Arc::new(TableName {
            schema: "S".into(),
            name: "T".into(),
        }),
        object_id: 1,
        columns: columns.collect(),
        key: (0..kinds.len()).collect(),
        partitions: Vec::new(),
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
        assert_eq!(key(&codec, &[Value::Number(zero.as_bytes())]), keys[6], "{zero}");
    }
    assert_eq!(key(&codec, &[Value::Int(i64::MAX)]), keys[10]);
    let mut out = Vec::new();
    for wrong in ["", "-", ".", "1.2.3", "NaN", "Inf", "1e", "1e99999999", "0x12", "1 "] {
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
            random.bytes(b"a\0\x01\xc3\xa9"),
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
                    Value::Text(text),
                    Value::Number(decimal.as_bytes()),
                    Value::Bytes(bytes),
                    Value::Int(*integer),
                ],
            )
        });
        assert_eq!(keys[0].cmp(&keys[1]), a.cmp(&b), "{a:?} {b:?}");
        if let Ok(text) = String::from_utf8(a.0) {
            assert_eq!(
                codec.literals(&keys[0]).unwrap(),
                [
                    Literal::Text(text),
                    Literal::Number(a.1.to_string()),
                    Literal::Bytes(a.2),
                    Literal::Number(a.3.to_string()),
                ]
            );
        }
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

#[test]
fn tables_that_cannot_be_cut_are_refused_by_name() {
    let table = |kind: ColumnType, key: Vec<usize>| Table {
        name: Arc::new(TableName {
            schema: "S".into(),
            name: "T".into(),
        }),
        object_id: 1,
        columns: vec![Column {
            name: "C".into(),
            kind,
            nullable: false,
            is_virtual: false,
        }],
        key,
        partitions: Vec::new(),
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
