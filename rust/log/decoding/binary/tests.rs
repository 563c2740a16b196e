use super::*;

/// Types, what their send functions make of a value, and its words, as a server says them.
pub(in crate::log::decoding) const SENT: &[(u32, &str, &str)] = &[
    (1700, "0000000000000000", "0"),
    (1700, "0000000000000002", "0.00"),
    (1700, "0001ffff400000011388", "-0.5"),
    (1700, "00010000000000000001", "1"),
    (1700, "00010001000000000001", "10000"),
    (1700, "0003000140000004000100000001", "-10000.0001"),
    (1700, "0002000100000000270f270f", "99999999"),
    (1700, "0001fffb000000140001", "0.00000000000000000001"),
    (1700, "0006000200000009000109291a852694153803e8", "123456789.987654321"),
    (1700, "00010007000000000064", "1000000000000000000000000000000"),
    (1700, "0001ffff000000040001", "0.0001"),
    (1700, "0001ffff000000050001", "0.00010"),
    (
        1700,
        "000600040000000104d2162e23340d801ed21388",
        "12345678901234567890.5",
    ),
    (1700, "00000000c0000000", "NaN"),
    (1700, "00000000d0000020", "Infinity"),
    (1700, "00000000f0000020", "-Infinity"),
    (1700, "000200000000000300640064", "100.010"),
    (1700, "0002000000000004270f270f", "9999.9999"),
    (1700, "0002000040000002004f076c", "-79.19"),
    (1700, "0001ffff0000000803e8", "0.10000000"),
    (1700, "00010003000000001388", "5000000000000000"),
    (1082, "00000000", "2000-01-01"),
    (1082, "ffffffff", "1999-12-31"),
    (1082, "fff4dbf9", "0001-01-01"),
    (1082, "fff4dbf8", "0001-12-31 BC"),
    (1082, "ffda97cd", "4713-01-01 BC"),
    (1082, "002c95d3", "9999-12-31"),
    (1082, "002c95d4", "10000-01-01"),
    (1082, "7fda970c", "5874897-12-31"),
    (1082, "7fffffff", "infinity"),
    (1082, "80000000", "-infinity"),
    (1082, "00002279", "2024-02-29"),
    (1082, "fffdacc0", "1582-10-15"),
    (1083, "0000000000000000", "00:00:00"),
    (1083, "000000141dd76000", "24:00:00"),
    (1083, "000000141dd75fff", "23:59:59.999999"),
    (1083, "0000000a7a3d2320", "12:30:00.5"),
    (1083, "00000000dde878ca", "01:02:03.00001"),
    (1114, "0000000000000000", "2000-01-01 00:00:00"),
    (1114, "ffffffffffffffff", "1999-12-31 23:59:59.999999"),
    (1114, "ff1af9e8fb4856a0", "0044-03-15 12:00:00.1 BC"),
    (1114, "7fffff5bb3b29fff", "294276-12-31 23:59:59.999999"),
    (1114, "7fffffffffffffff", "infinity"),
    (1114, "8000000000000000", "-infinity"),
    (1114, "0002b583417262e0", "2024-02-29 12:34:56.78"),
    (1114, "fd0f7fbdaf17e000", "4713-01-01 00:00:00 BC"),
    (1184, "0000000000000000", "2000-01-01 00:00:00+00"),
    (1184, "ffffffffffffffff", "1999-12-31 23:59:59.999999+00"),
    (1184, "7fffff5bb3b29fff", "294276-12-31 23:59:59.999999+00"),
    (1184, "0002b583417262e0", "2024-02-29 12:34:56.78+00"),
    (1184, "ff1af9e8fb4856a0", "0044-03-15 12:00:00.1+00 BC"),
    (1184, "7fffffffffffffff", "infinity"),
    (1184, "8000000000000000", "-infinity"),
    (1184, "fd0f7fbdaf17e000", "4713-01-01 00:00:00+00 BC"),
    (
        2950,
        "00112233445566778899aabbccddeeff",
        "00112233-4455-6677-8899-aabbccddeeff",
    ),
    (3802, "017b2261223a205b315d7d", "{\"a\": [1]}"),
    (16, "01", "1"),
    (20, "8000000000000000", "-9223372036854775808"),
    (23, "fffffff9", "-7"),
    (21, "8000", "-32768"),
    (26, "ffffffff", "4294967295"),
    (701, "3fb999999999999a", "0.1"),
    (701, "7e37e43c8800759c", "1e+300"),
    (701, "fff0000000000000", "-Infinity"),
    (701, "7ff8000000000000", "NaN"),
    (701, "8000000000000000", "-0"),
    (701, "3ff8000000000000", "1.5"),
    (701, "4059000000000000", "100"),
    (701, "42dc12218377de40", "123456789012345"),
    (701, "430c6bf52633fff8", "999999999999999"),
    (701, "430c6bf526340000", "1e+15"),
    (701, "4340000000000000", "9.007199254740992e+15"),
    (701, "3f202c9dedbc309d", "0.0001234"),
    (701, "3ee9e0fcaf9380fc", "1.234e-05"),
    (701, "0000000000000001", "5e-324"),
    (701, "7fefffffffffffff", "1.7976931348623157e+308"),
    // Between two as short as each other.
    (701, "421ca45d553c4800", "30754166095.070312"),
    // What is shorter lies half way to a neighbour.
    (701, "44b52d02c7e14af6", "9.999999999999999e+22"),
    (701, "44f76cc5c411345e", "1.7699348479999999e+24"),
    (701, "4356260d8ed91522", "2.4937156642624648e+16"),
    (700, "3dcccccd", "0.1"),
    (700, "497423f0", "999999"),
    (700, "49742400", "1e+06"),
    (700, "38d1b717", "0.0001"),
    (700, "3727c5ac", "1e-05"),
    (700, "cb800000", "-1.6777216e+07"),
    (700, "00000001", "1e-45"),
    (700, "7f7fffff", "3.4028235e+38"),
    (700, "4a579089", "3.5318102e+06"),
    (700, "3fee8000", "1.8632812"),
    (700, "4d030222", "1.3737219e+08"),
    (700, "4d400000", "2.0132659e+08"),
    (700, "4cc57bda", "1.03538384e+08"),
    (700, "7f800000", "Infinity"),
    (25, "6974277320616c6c", "it's all"),
    (25, "", ""),
    (17, "00ff27", "[0, 255, 39]"),
];

pub(in crate::log::decoding) fn bytes(digits: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn words(number: u32, bytes: &[u8]) -> Result<String, &'static str> {
    let mut values = ValueBuffer::default();
    let image = values.begin(1);
    Form::of_type(number).unwrap().put(&mut values, image, 0, bytes)?;
    Ok(match values.get(image, 0) {
        Value::Number(text) | Value::Text(text) | Value::Date(text) | Value::Time(text) | Value::Timestamp(text) => {
            String::from_utf8(text.to_vec()).unwrap()
        }
        Value::Int(value) => value.to_string(),
        Value::Bytes(bytes) => format!("{bytes:?}"),
        other => panic!("{other:?}"),
    })
}

#[test]
fn values_have_the_words_of_the_servers_output_functions() {
    for (number, sent, expected) in SENT {
        assert_eq!(
            words(*number, &bytes(sent)).as_deref(),
            Ok(*expected),
            "{number} {sent}"
        );
    }
}

#[test]
fn every_day_has_its_date() {
    let mut expected = (1, 1, 1);
    // From 0001-01-01 to 9999-12-31.
    for days in -730_119..=2_921_939i32 {
        let (year, month, day) = expected;
        let text = format!("{year:04}-{month:02}-{day:02}");
        assert_eq!(Words::default().date(days), text.as_bytes(), "{days}");
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let last = match month {
            2 => 28 + i32::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        expected = match (month, day) {
            (12, 31) => (year + 1, 1, 1),
            (_, day) if day == last => (year, month + 1, 1),
            _ => (year, month, day + 1),
        };
    }
    assert_eq!(expected, (10_000, 1, 1));
}

#[test]
fn what_is_not_in_the_form_of_its_type_is_an_error() {
    for (number, wrong) in [
        (16, "02"),
        (16, ""),
        (16, "0100"),
        (20, "000000"),
        (20, "000000000000000000"),
        (26, "00000000000000"),
        (700, "0000000000000000"),
        (701, "00000000"),
        (1082, "0000"),
        (1083, "000000141dd76001"),
        (1083, "ffffffffffffffff"),
        (1114, "00000000"),
        (2950, "0011"),
        (3802, "02"),
        (3802, ""),
        // A digit less, more, too large; an unknown sign; a special number with digits; too many digits behind the point.
        (1700, "0001000000000000"),
        (1700, "000000000000000000"),
        (1700, "00000000000000000001"),
        (1700, "00010000000000002710"),
        (1700, "00010000800000000001"),
        (1700, "00010000c00000000001"),
        (1700, "00010000000040000001"),
        (1700, "00"),
    ] {
        assert_eq!(words(number, &bytes(wrong)), Err(MALFORMED), "{number} {wrong}");
    }
}

#[test]
fn a_form_fits_columns_of_its_type_alone() {
    let text = ColumnType::Text {
        length: None,
        padded: false,
    };
    let number = ColumnType::Integer { bits: 32 };
    let fits = |oid: u32, kind: &ColumnType| Form::of_type(oid).unwrap().fits(kind);
    assert!(fits(23, &number) && fits(1700, &number) && fits(25, &text) && fits(2950, &text));
    // Columns that were of another type when the row was written.
    assert!(!fits(23, &text) && !fits(25, &number) && !fits(16, &number) && !fits(16, &text));
    assert!(!fits(1082, &ColumnType::Timestamp { precision: 6 }) && !fits(1114, &ColumnType::Date));
    assert!(!fits(1114, &ColumnType::TimestampZoned { precision: 6 }) && !fits(17, &text));
    // An array, a type that a user made.
    assert_eq!([1007, 16_400].map(Form::of_type), [None, None]);
}
