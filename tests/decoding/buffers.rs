//! `decoderbufs`: both forms, from bytes put together after their descriptions.

use tidemark::log::decoding::plugin::{Plugin, Row};
use tidemark::log::decoding::plugins::AnyPlugin;

use crate::{pairs, read};

/// A message of protocol buffers.
#[derive(Clone, Default)]
pub struct Buffer(pub Vec<u8>);

impl Buffer {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    pub fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn eight(mut self, field: u64, value: f64) -> Self {
        self.varint(field << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn four(mut self, field: u64, value: f32) -> Self {
        self.varint(field << 3 | 5);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
}

/// All kinds of values. `shift`: by how much their numbers are greater than Debezium's.
fn values(shift: u64) -> Vec<Buffer> {
    let cell = |name: &str| Buffer::default().bytes(1, name.as_bytes()).number(2, 23);
    vec![
        cell("id").number(3 + shift, (-5i64) as u64),
        cell("big").number(4 + shift, u64::MAX),
        cell("f").four(5 + shift, 1.5),
        cell("d").eight(6 + shift, -0.25),
        cell("ok").number(7 + shift, 1),
        cell("\"T xt\"").bytes(8 + shift, "it's é".as_bytes()),
        cell("by").bytes(9 + shift, &[0, 255]),
        cell("p").bytes(10 + shift, &Buffer::default().eight(1, 1.0).eight(2, 2.0).0),
        cell("large").number(11 + shift, 1),
        cell("nothing"),
    ]
}

const EXPECTED: [(&str, &str); 10] = [
    ("id", "Int(-5)"),
    ("big", "Int(-1)"),
    ("f", "Single(1.5)"),
    ("d", "Float(-0.25)"),
    ("ok", "Bool(true)"),
    ("\"T xt\"", "'it's é'"),
    ("by", "bytes [0, 255]"),
    ("p", "Point(1.0, 2.0)"),
    ("large", "UNCHANGED"),
    ("nothing", "NULL"),
];

pub fn row(apart: bool, operation: u64, new: &[Buffer], old: &[Buffer]) -> Buffer {
    let shift = u64::from(apart);
    let mut out = Buffer::default().number(1, 735).number(2, 1_000_000);
    out = match apart {
        false => out.bytes(3, b"public.\"Ord.Line\""),
        true => out.bytes(3, b"public").bytes(4, b"Ord.Line"),
    };
    out = out.number(4 + shift, operation);
    for value in new {
        out = out.bytes(5 + shift, &value.0);
    }
    for value in old {
        out = out.bytes(6 + shift, &value.0);
    }
    out.bytes(7 + shift, &Buffer::default().bytes(1, b"integer").0)
}

#[test]
fn both_forms_are_told_apart_and_read() {
    for (apart, table) in [(false, "public.\"Ord.Line\""), (true, "public|Ord.Line")] {
        let values = values(u64::from(apart));
        let insert = read("decoderbufs", &row(apart, 0, &values, &[]).0).unwrap();
        assert_eq!((insert.what, insert.new), (format!("insert {table}"), pairs(&EXPECTED)));
        let update = read("decoderbufs", &row(apart, 1, &values, &values[..1]).0).unwrap();
        assert_eq!(update.what, format!("update {table} without nulls"));
        assert_eq!((update.old, update.new), (pairs(&EXPECTED[..1]), pairs(&EXPECTED)));
        let delete = read("decoderbufs", &row(apart, 2, &[], &values).0).unwrap();
        assert_eq!(
            (delete.what, delete.old),
            (format!("delete {table} without nulls"), pairs(&EXPECTED))
        );
        let bound = |operation| {
            Buffer::default()
                .number(1, 735)
                .number(2, 5)
                .number(4 + u64::from(apart), operation)
        };
        let begin = read("decoderbufs", &bound(3).0).unwrap();
        assert_eq!(
            begin.what,
            "Begin(Begin { xid: Some(735), commit: None, micros: Some(5) })"
        );
        let commit = read("decoderbufs", &bound(4).0).unwrap();
        assert_eq!(commit.what, "Commit(Commit { xid: Some(735), micros: Some(5) })");
        let ends: &[u8] = if apart { &[0x28, 4] } else { &[0x20, 4] };
        assert!(
            bound(4).0.ends_with(ends) && bound(4).0.len() <= 24,
            "what the call asks for as ends"
        );
    }
}

#[test]
fn a_null_of_the_other_form_is_null() {
    let null = Buffer::default().bytes(1, b"v").number(2, 25).number(3, 1);
    let read = read("decoderbufs", &row(true, 0, &[null], &[]).0).unwrap();
    assert_eq!(read.new, pairs(&[("v", "NULL")]));
}

/// `F29`: a form that is not known must not pass as rows that are not there.
#[test]
fn a_message_in_neither_form_is_an_error_and_never_passed_over() {
    let whole = row(false, 0, &values(0), &[]);
    for wrong in [
        Buffer::default(),
        Buffer::default().number(1, 7).number(2, 5),
        Buffer::default().number(1, 7).bytes(3, b"a.b"),
        row(false, 9, &values(0), &[]),
        // Values of one form in rows of the other.
        row(false, 0, &values(1), &[]),
        row(true, 0, &values(0), &[]),
        whole.clone().number(20, 1),
        Buffer(whole.0[..whole.0.len() - 1].to_vec()),
        Buffer::default().number(1, 7).number(4, 1),
    ] {
        let error = read("decoderbufs", &wrong.0).unwrap_err();
        assert!(error.contains("TM-3009"), "{error}");
    }
}

#[test]
fn the_form_that_was_seen_stays() {
    let mut plugin = AnyPlugin::of_name("decoderbufs", false).unwrap();
    let rows = [row(true, 0, &values(1), &[]), row(true, 2, &[], &values(1))];
    for data in &rows {
        plugin.read(&data.0, &mut Row::default()).unwrap();
    }
    assert!(
        plugin
            .read(&row(false, 0, &values(1), &[]).0, &mut Row::default())
            .is_err()
    );
}
