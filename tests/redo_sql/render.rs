//! Renders changes as redo texts, in capitals with typed literals and in small letters with calls, as servers print them.

use tidemark::log::logminer::redo_sql::Operation;

use crate::model::{Bytes, Change, List, Meaning};
use crate::random::Random;

/// The two forms of redo text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `INSERT INTO "S"."T"("A", "B") VALUES(1, DATE'2026-01-02')`
    Capitals,
    /// `insert into "S"."T"("A","B") values ('1',TO_DATE('…', '…'));`
    Calls,
}

fn quote(bytes: &[u8], mark: u8, out: &mut Bytes) {
    out.push(mark);
    for &byte in bytes {
        out.push(byte);
        if byte == mark {
            out.push(byte);
        }
    }
    out.push(mark);
}

/// A text as UNISTR calls and literals joined by `||`; a surrogate pair may be cut between two calls.
fn expression(random: &mut Random, text: &str, out: &mut Bytes) {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut rest = units.as_slice();
    loop {
        let (piece, tail) = rest.split_at(if tail_is_short(rest) {
            rest.len()
        } else {
            random.below(rest.len() + 1)
        });
        let plain = String::from_utf16(piece);
        match plain {
            Ok(plain) if tail.is_empty() && rest.len() < units.len() && random.once_in(3) => {
                quote(plain.as_bytes(), b'\'', out)
            }
            _ => {
                out.extend_from_slice(
                    random
                        .pick(&["UNISTR('", "UNISTR('", "unistr('", "UNISTR( '"])
                        .as_bytes(),
                );
                for &unit in piece {
                    match u8::try_from(unit) {
                        Ok(b'\'') if random.once_in(2) => out.extend_from_slice(b"''"),
                        Ok(b'\\') if random.once_in(2) => out.extend_from_slice(b"\\\\"),
                        Ok(byte) if byte.is_ascii() && byte != b'\'' && byte != b'\\' && !random.once_in(9) => {
                            out.push(byte)
                        }
                        _ => out.extend_from_slice(format!("\\{unit:04X}").as_bytes()),
                    }
                }
                out.extend_from_slice(b"')");
            }
        }
        if tail.is_empty() {
            return;
        }
        out.extend_from_slice(random.pick(&[" || ", "||", " ||\n"]).as_bytes());
        rest = tail;
    }
}

fn tail_is_short(rest: &[u16]) -> bool {
    rest.len() < 2
}

/// Renders a value. A text may become an expression where the form has them, if it is one.
pub fn value(random: &mut Random, form: Form, meaning: &Meaning, out: &mut Bytes) {
    match meaning {
        Meaning::Null => out.extend_from_slice(b"NULL"),
        Meaning::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if form == Form::Calls && random.once_in(4) => expression(random, text, out),
            _ => quote(bytes, b'\'', out),
        },
        Meaning::Bare(bytes) => out.extend_from_slice(bytes),
        Meaning::Typed("HEX", digits) => {
            out.extend_from_slice(b"0x");
            out.extend_from_slice(digits);
        }
        Meaning::Typed("INTERVAL", literal) => out.extend_from_slice(literal),
        Meaning::Typed(name, literal) => {
            out.extend_from_slice(name.as_bytes());
            quote(literal, b'\'', out);
        }
        Meaning::Call(name, args) => {
            match name.iter().position(|&byte| byte == b'.') {
                Some(dot) => {
                    quote(&name[..dot], b'"', out);
                    out.push(b'.');
                    quote(&name[dot + 1..], b'"', out);
                }
                None => out.extend_from_slice(name),
            }
            out.push(b'(');
            for (nth, arg) in args.iter().enumerate() {
                if nth > 0 {
                    out.extend_from_slice(random.pick(&[", ", ","]).as_bytes());
                }
                value(random, form, arg, out);
            }
            out.push(b')');
        }
        Meaning::OutOfRow(binary, handle) => {
            out.extend_from_slice(if *binary { b"OUT_BLOB" } else { b"OUT_CLOB" });
            if let Some(handle) = handle {
                out.push(b'(');
                out.extend_from_slice(handle);
                out.push(b')');
            }
        }
        Meaning::Unsupported => out.extend_from_slice(b"Unsupported Type"),
    }
}

/// Renders a change as the statement of `operation`.
pub fn statement(random: &mut Random, form: Form, operation: Operation, change: &Change) -> Bytes {
    let capitals = form == Form::Capitals;
    let words: [&[u8]; 7] = if capitals {
        [
            b"INSERT INTO ",
            b"UPDATE ",
            b"DELETE FROM ",
            b" SET ",
            b" WHERE ",
            b" AND ",
            b" VALUES(",
        ]
    } else {
        [
            b"insert into ",
            b"update ",
            b"delete from ",
            b" set ",
            b" where ",
            b" and ",
            b" values (",
        ]
    };
    let comma: &[u8] = if capitals || operation == Operation::Update {
        b", "
    } else {
        b","
    };
    let alias: &[u8] = if !capitals && operation != Operation::Insert && random.once_in(5) {
        b"a"
    } else {
        b""
    };
    let mut out = vec![];
    out.extend_from_slice(match operation {
        Operation::Insert => words[0],
        Operation::Update => words[1],
        _ => words[2],
    });
    if let Some(owner) = &change.owner {
        quote(owner, b'"', &mut out);
        out.push(b'.');
    }
    quote(&change.table, b'"', &mut out);
    if !alias.is_empty() {
        out.push(b' ');
        out.extend_from_slice(alias);
    }
    let column = |name: &[u8], out: &mut Bytes| {
        if !alias.is_empty() {
            out.extend_from_slice(alias);
            out.push(b'.');
        }
        quote(name, b'"', out);
    };
    match operation {
        Operation::Insert => {
            out.push(b'(');
            for (nth, (name, _)) in change.values.iter().enumerate() {
                if nth > 0 {
                    out.extend_from_slice(comma);
                }
                quote(name, b'"', &mut out);
            }
            out.push(b')');
            out.extend_from_slice(words[6]);
            for (nth, (_, meaning)) in change.values.iter().enumerate() {
                if nth > 0 {
                    out.extend_from_slice(comma);
                }
                if !capitals && random.once_in(20) {
                    out.extend_from_slice(b"/* JSON */ ");
                }
                value(random, form, meaning, &mut out);
            }
            out.push(b')');
        }
        Operation::Update => {
            out.extend_from_slice(words[3]);
            for (nth, (name, meaning)) in change.set.iter().enumerate() {
                if nth > 0 {
                    out.extend_from_slice(comma);
                }
                column(name, &mut out);
                out.extend_from_slice(b" = ");
                value(random, form, meaning, &mut out);
            }
        }
        _ => {}
    }
    conditions(
        random,
        form,
        &change.conditions,
        &change.row_id,
        (words[4], words[5]),
        &column,
        &mut out,
    );
    if !capitals || random.once_in(4) {
        out.push(b';');
    }
    out
}

fn conditions(
    random: &mut Random,
    form: Form,
    list: &List,
    row_id: &Option<Meaning>,
    (first, further): (&[u8], &[u8]),
    column: &dyn Fn(&[u8], &mut Bytes),
    out: &mut Bytes,
) {
    for (nth, (name, meaning)) in list.iter().enumerate() {
        out.extend_from_slice(if nth == 0 { first } else { further });
        column(name, out);
        if *meaning == Meaning::Null && !random.once_in(10) {
            out.extend_from_slice(b" IS NULL");
        } else {
            out.extend_from_slice(b" = ");
            value(random, form, meaning, out);
        }
    }
    if let Some(row_id) = row_id {
        out.extend_from_slice(if list.is_empty() { first } else { further });
        out.extend_from_slice(b"ROWID = ");
        value(random, form, row_id, out);
    }
}
