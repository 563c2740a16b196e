//! Rows for the test on the other side of the bridge, which compares them with what Flink's own writer makes of the same
//! values: `tests/fixtures/binary_rows.tsv`, whose head says how it is written. Set `TIDEMARK_WRITE_FIXTURES` to write it
//! anew.

use std::fmt::Write as _;
use std::path::PathBuf;

use fastrand::Rng;
use tidemark::catalog::ColumnType;
use tidemark::row::codec::OnValueError;
use tidemark::row::layout::{DeclaredColumn, FlinkType, UNBOUNDED};
use tidemark::row::value::Value;
use tidemark::row::{RowKind, RowOrigin};

use crate::captured::{codec, declared, encode, table};

const KINDS: [RowKind; 4] = [
    RowKind::Insert,
    RowKind::UpdateBefore,
    RowKind::UpdateAfter,
    RowKind::Delete,
];

const HEAD: &str = "\
# Rows in Flink's BinaryRowData layout, one a line, fields divided by tabs:
#   row kind (0 +I, 1 -U, 2 +U, 3 -D), the row's bytes in hexadecimal, then a type and a value for each field.
# Types are Flink SQL's (LogicalTypeParser.parse reads them). Values: NULL; true or false; a number's plain text; NaN,
# Infinity, -Infinity; texts (their UTF-8) and binaries in hexadecimal; LocalDate, LocalTime and LocalDateTime in ISO
# form, those of TIMESTAMP_LTZ in UTC.
";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/binary_rows.tsv")
}

#[test]
fn the_rows_given_to_java_are_those_that_the_codec_writes() {
    if std::env::var_os("TIDEMARK_WRITE_FIXTURES").is_some() {
        std::fs::write(path(), generate()).expect("the fixture can be written");
    }
    let text = std::fs::read_to_string(path()).expect("the fixture");
    let mut arities = [false; 71];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split('\t').collect();
        let fields: Vec<Field> = parts[2..]
            .chunks(2)
            .map(|field| Field::parse(field[0], field[1]))
            .collect();
        arities[fields.len()] = true;
        let kind = KINDS[parts[0].parse::<usize>().expect("a kind")];
        assert_eq!(hex(&row(kind, &fields)), parts[1], "{:?}", &parts[2..]);
    }
    assert!(arities[1..].iter().all(|seen| *seen), "every arity from 1 to 70");
    for kind in kinds() {
        assert!(text.contains(&format!("\t{kind}\t")), "{kind} is not among the rows");
    }
}

/// A field as the file has it.
struct Field {
    kind: FlinkType,
    value: String,
}

impl Field {
    fn parse(kind: &str, value: &str) -> Self {
        let (name, rest) = kind.split_once('(').unwrap_or((kind, ""));
        let mut numbers = rest.trim_end_matches(')').split(", ").flat_map(str::parse);
        let (first, second): (Option<u32>, Option<u32>) = (numbers.next(), numbers.next());
        let declared = DeclaredColumn {
            name: String::new(),
            type_name: name.to_owned(),
            precision: first.and_then(|number| u8::try_from(number).ok()),
            scale: second.and_then(|number| u8::try_from(number).ok()),
            length: first,
            nullable: true,
            metadata: None,
        };
        Field {
            kind: declared.kind().expect("a type"),
            value: value.to_owned(),
        }
    }

    /// The column type that a value of this form comes from.
    fn column(&self) -> ColumnType {
        match self.kind {
            FlinkType::Boolean => ColumnType::Boolean,
            FlinkType::Float | FlinkType::Double => ColumnType::Float { bits: 64 },
            FlinkType::Char { .. } | FlinkType::VarChar { .. } => ColumnType::Text {
                length: None,
                padded: false,
            },
            FlinkType::Binary { .. } | FlinkType::VarBinary { .. } => ColumnType::Binary { length: None },
            FlinkType::Date => ColumnType::Date,
            FlinkType::Time { precision } => ColumnType::Time { precision },
            FlinkType::Timestamp { precision } | FlinkType::TimestampLtz { precision } => {
                ColumnType::Timestamp { precision }
            }
            _ => ColumnType::Decimal {
                precision: None,
                scale: 0,
            },
        }
    }

    /// The value's bytes: those of a text are in hexadecimal in the file.
    fn bytes(&self) -> Vec<u8> {
        match self.kind {
            FlinkType::Char { .. } | FlinkType::VarChar { .. } if self.value != "NULL" => self
                .value
                .as_bytes()
                .chunks(2)
                .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal"))
                .collect(),
            _ => self.value.clone().into_bytes(),
        }
    }

    fn value<'a>(&self, bytes: &'a [u8]) -> Value<'a> {
        match self.kind {
            _ if self.value == "NULL" => Value::Null,
            FlinkType::Boolean | FlinkType::Char { .. } | FlinkType::VarChar { .. } => Value::Text(bytes),
            FlinkType::Binary { .. } | FlinkType::VarBinary { .. } => Value::Hex(bytes),
            FlinkType::Date => Value::Date(bytes),
            FlinkType::Time { .. } => Value::Time(bytes),
            FlinkType::Timestamp { .. } | FlinkType::TimestampLtz { .. } => Value::Timestamp(bytes),
            _ => Value::Number(bytes),
        }
    }
}

fn row(kind: RowKind, fields: &[Field]) -> Vec<u8> {
    let columns = || fields.iter().enumerate().map(|(at, field)| (format!("C{at}"), field));
    let declared: Vec<_> = columns()
        .map(|(name, field)| declared(&name, field.kind, true))
        .collect();
    let table = table(columns().map(|(name, field)| (name, field.column())));
    let codec = codec(table, &declared, "UTC", OnValueError::Fail);
    let bytes: Vec<Vec<u8>> = fields.iter().map(Field::bytes).collect();
    let values: Vec<Value<'_>> = fields
        .iter()
        .zip(&bytes)
        .map(|(field, bytes)| field.value(bytes))
        .collect();
    encode(&codec, kind, &values, &RowOrigin::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// One of each type, and of those whose layout depends on the precision, one on each side of the border.
fn kinds() -> [FlinkType; 21] {
    [
        FlinkType::Boolean,
        FlinkType::TinyInt,
        FlinkType::SmallInt,
        FlinkType::Int,
        FlinkType::BigInt,
        FlinkType::Float,
        FlinkType::Double,
        FlinkType::Decimal {
            precision: 18,
            scale: 4,
        },
        FlinkType::Decimal {
            precision: 19,
            scale: 4,
        },
        FlinkType::Decimal {
            precision: 38,
            scale: 10,
        },
        FlinkType::Char { length: 10 },
        FlinkType::VarChar { length: 20 },
        FlinkType::VarChar { length: UNBOUNDED },
        FlinkType::Binary { length: 4 },
        FlinkType::VarBinary { length: UNBOUNDED },
        FlinkType::Date,
        FlinkType::Time { precision: 3 },
        FlinkType::Timestamp { precision: 3 },
        FlinkType::Timestamp { precision: 6 },
        FlinkType::TimestampLtz { precision: 0 },
        FlinkType::TimestampLtz { precision: 9 },
    ]
}

/// What lies at the borders of a type.
fn borders(kind: FlinkType) -> Vec<String> {
    let of = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    let with_length = |lengths: std::ops::Range<u8>| {
        let byte = |at: u8| format!("{:02x}", b'a' + at);
        lengths.map(|length| (0..length).map(byte).collect()).collect()
    };
    match kind {
        FlinkType::Boolean => of(&["true", "false"]),
        FlinkType::TinyInt => of(&["0", "-1", "127", "-128"]),
        FlinkType::SmallInt => of(&["-1", "32767", "-32768"]),
        FlinkType::Int => of(&["-1", "2147483647", "-2147483648"]),
        FlinkType::BigInt => of(&["-1", "9223372036854775807", "-9223372036854775808"]),
        FlinkType::Float => of(&["0", "-1.5", "3.4028235E38", "1.4E-45", "NaN", "Infinity", "-Infinity"]),
        FlinkType::Double => of(&[
            "3.14159",
            "-0.1",
            "1.7976931348623157E308",
            "4.9E-324",
            "NaN",
            "-Infinity",
        ]),
        FlinkType::Decimal { precision, scale } => {
            let nines = format!(
                "{}.{}",
                "9".repeat(usize::from(precision - scale)),
                "9".repeat(usize::from(scale))
            );
            let mut values: Vec<String> = of(&["0", "-1", "1", "0.0127", "0.0128", "-0.0128", "-0.0129", "1234.5678"]);
            values.extend([format!("-{nines}"), nines]);
            values
        }
        FlinkType::Char { .. } | FlinkType::VarBinary { .. } => with_length(0..21),
        FlinkType::VarChar { length: UNBOUNDED } => with_length(0..21),
        FlinkType::VarChar { .. } => ["", "改过了", "一段中文", "😀", "it's", "a\tb\nc", "blank "]
            .iter()
            .map(|text| hex(text.as_bytes()))
            .collect(),
        FlinkType::Binary { .. } => of(&["00000000", "ffffffff", "00010203"]),
        FlinkType::Date => of(&[
            "0001-01-01",
            "1582-10-04",
            "1582-10-10",
            "1582-10-15",
            "1900-02-28",
            "1969-12-31",
            "1970-01-01",
            "2000-02-29",
            "9999-12-31",
        ]),
        FlinkType::Time { .. } => of(&["00:00:00", "23:59:59.999", "10:20:30.1"]),
        FlinkType::Timestamp { precision: 3 } | FlinkType::TimestampLtz { precision: 0 } => of(&[
            "0001-01-01T00:00:00",
            "1582-10-10T12:00:00",
            "1900-12-31T23:59:59",
            "1969-12-31T23:59:59",
            "2026-01-02T10:20:30",
            "9999-12-31T23:59:59",
        ]),
        FlinkType::Timestamp { .. } => of(&[
            "0001-01-01T00:00:00",
            "1582-10-10T00:00:00.000001",
            "1900-12-31T23:59:59.999999",
            "1969-12-31T23:59:59.999001",
            "2026-01-02T10:20:30.123456",
            "9999-12-31T23:59:59.999999",
        ]),
        FlinkType::TimestampLtz { .. } => of(&[
            "0001-01-01T00:00:00.000000001",
            "1969-12-31T23:59:59.999999999",
            "1970-01-01T00:00:00",
            "9999-12-31T23:59:59.999999999",
        ]),
    }
}

fn generate() -> String {
    let mut rng = Rng::with_seed(20);
    let mut lines = HEAD.to_owned();
    let mut add = |kind: RowKind, fields: Vec<Field>| {
        let _ = write!(lines, "{}\t{}", kind as u8, hex(&row(kind, &fields)));
        for Field { kind, value } in &fields {
            let _ = write!(lines, "\t{kind}\t{value}");
        }
        lines.push('\n');
    };
    for kind in kinds() {
        for value in borders(kind).into_iter().chain(["NULL".to_owned()]) {
            add(RowKind::Insert, vec![Field { kind, value }]);
        }
    }
    for arity in 1..=70 {
        let nulls = arity % 4;
        let fields = (0..arity).map(|_| {
            let kind = kinds()[rng.usize(..kinds().len())];
            let values = borders(kind);
            let value = match rng.usize(..4) < nulls {
                true => "NULL".to_owned(),
                false => values[rng.usize(..values.len())].clone(),
            };
            Field { kind, value }
        });
        let fields = fields.collect();
        add(KINDS[arity / 2 % 4], fields);
    }
    lines
}
