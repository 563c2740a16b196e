//! `pgoutput`: messages put together byte by byte.

use crate::{pairs, read};

/// Writes messages.
#[derive(Clone, Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    pub fn of(kind: u8) -> Self {
        Message(vec![kind])
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn u32(self, value: u32) -> Self {
        self.raw(&value.to_be_bytes())
    }

    pub fn u64(self, value: u64) -> Self {
        self.raw(&value.to_be_bytes())
    }

    pub fn name(self, text: &str) -> Self {
        self.raw(text.as_bytes()).raw(&[0])
    }

    pub fn tuple(mut self, mark: u8, values: &[Option<&str>]) -> Self {
        self = self.raw(&[mark]).raw(&(values.len() as u16).to_be_bytes());
        for value in values {
            self = match value {
                None => self.raw(b"n"),
                Some("UNCHANGED") => self.raw(b"u"),
                Some(text) => self.raw(b"t").u32(text.len() as u32).raw(text.as_bytes()),
            };
        }
        self
    }
}

fn of(message: Message) -> crate::Read {
    read("pgoutput", &message.0).unwrap()
}

#[test]
fn every_message_is_read() {
    let begin = of(Message::of(b'B').u64(0x1_0000_0002).u64(5).u32(77));
    assert_eq!(
        begin.what,
        "Begin(Begin { xid: Some(77), commit: Some(4294967298), micros: Some(946684800000005) })"
    );
    let commit = of(Message::of(b'C').raw(&[0]).u64(2).u64(3).u64(5));
    assert_eq!(
        commit.what,
        "Commit(Commit { xid: None, micros: Some(946684800000005) })"
    );
    let relation = Message::of(b'R').u32(9).name("My Sch").name("Ord.Line").raw(b"d\0\x02");
    let relation = relation.raw(&[1]).name("id").u32(23).u32(u32::MAX);
    let relation = relation.raw(&[0]).name("Sel ect").u32(1043).u32(44);
    assert_eq!(
        of(relation).what,
        "relation 9 My Sch.Ord.Line d: id* 23 -1, Sel ect 1043 44"
    );
    let insert = of(Message::of(b'I').u32(9).tuple(b'N', &[Some("1"), None, Some("")]));
    assert_eq!(insert.what, "insert 9");
    assert_eq!(insert.new, pairs(&[("", "'1'"), ("", "NULL"), ("", "''")]));
    let update = of(Message::of(b'U').u32(9).tuple(b'N', &[Some("1"), Some("UNCHANGED")]));
    assert_eq!((&*update.what, update.old.len()), ("update 9 none", 0));
    assert_eq!(update.new, pairs(&[("", "'1'"), ("", "UNCHANGED")]));
    for (mark, old) in [(b'K', "identity"), (b'O', "whole")] {
        let tuple = [Some("1"), None];
        let update = of(Message::of(b'U')
            .u32(9)
            .tuple(mark, &tuple)
            .tuple(b'N', &[Some("2"), Some("x")]));
        assert_eq!(update.what, format!("update 9 {old}"));
        assert_eq!(update.old, pairs(&[("", "'1'"), ("", "NULL")]));
        assert_eq!(update.new, pairs(&[("", "'2'"), ("", "'x'")]));
        let delete = of(Message::of(b'D').u32(9).tuple(mark, &tuple));
        assert_eq!(delete.what, format!("delete 9 {old}"));
        assert_eq!(delete.old, update.old);
    }
    assert_eq!(
        of(Message::of(b'T').u32(2).raw(&[3]).u32(9).u32(10)).what,
        "truncate 9 10"
    );
    let message = of(Message::of(b'M').raw(&[1]).u64(4).name("tidemark").u32(3).raw(b"a\0b"));
    assert!(message.what.contains("transactional: true"), "{}", message.what);
    assert_eq!(of(Message::of(b'Y').u32(1).name("s").name("mood")).what, "Other");
    assert_eq!(of(Message::of(b'O').u64(1).name("elsewhere")).what, "Other");
}

#[test]
fn a_message_that_ends_too_early_or_too_late_or_is_unknown_is_an_error() {
    let whole = [
        Message::of(b'B').u64(1).u64(5).u32(77),
        Message::of(b'C').raw(&[0]).u64(2).u64(3).u64(5),
        Message::of(b'R')
            .u32(9)
            .name("s")
            .name("t")
            .raw(b"d\0\x01\x01")
            .name("id")
            .u32(23)
            .u32(0),
        Message::of(b'I').u32(9).tuple(b'N', &[Some("1"), None]),
        Message::of(b'U')
            .u32(9)
            .tuple(b'K', &[Some("1")])
            .tuple(b'N', &[Some("2")]),
        Message::of(b'D').u32(9).tuple(b'O', &[Some("1")]),
        Message::of(b'T').u32(1).raw(&[0]).u32(9),
        Message::of(b'M').raw(&[0]).u64(4).name("p").u32(1).raw(b"c"),
        Message::of(b'Y').u32(1).name("s").name("mood"),
        Message::of(b'O').u64(1).name("o"),
    ];
    for message in whole {
        assert!(read("pgoutput", &message.0).is_ok());
        for length in 0..message.0.len() {
            let error = read("pgoutput", &message.0[..length]).unwrap_err();
            assert!(error.contains("TM-3009"), "{error}");
        }
        assert!(read("pgoutput", &message.raw(b"\0").0).is_err());
    }
    // Messages of streamed and two-phase transactions, which are never asked for, and marks that no tuple has.
    for wrong in [
        Message::of(b'S').u32(1).raw(&[1]),
        Message::of(b'b').u64(1).u64(1).u64(1).u32(1).name("gid"),
        Message::of(b'I').u32(9).tuple(b'K', &[Some("1")]),
        Message::of(b'D').u32(9).tuple(b'N', &[Some("1")]),
        Message::of(b'I').u32(9).raw(b"N\0\x01x"),
        Message::default(),
    ] {
        assert!(read("pgoutput", &wrong.0).is_err());
    }
}
