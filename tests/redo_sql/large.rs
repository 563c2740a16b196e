//! Large values and documents: random blocks are read back, malformed ones refused.

use tidemark::log::logminer::redo_sql::{Large, Operation, Parser, Value};

use crate::any;
use crate::model::{self, Meaning};
use crate::random::Random;
use crate::render::{self, Form};

const DECLARATIONS: &str = "DECLARE \n loc_c CLOB; \n buf_c VARCHAR2(4000); \n loc_b BLOB; \n buf_b RAW(4000); \n loc_nc NCLOB; \n buf_nc NVARCHAR2(4000); \n e_len NUMBER; \nBEGIN\n";

/// What a block does, in order.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Locator(Vec<u8>, &'static str),
    Write(u64, u64, Meaning),
    Trim(u64),
    Erase(u64, u64),
}

fn step(large: &Large<'_>) -> Option<Step> {
    Some(match large {
        Large::Locator { column, kind } => {
            let kind = ["CLOB", "BLOB", "NCLOB", ""]
                .into_iter()
                .find(|known| known.as_bytes() == *kind)?;
            Step::Locator(model::name(column), kind)
        }
        Large::Write { offset, length, data } => Step::Write(*offset, *length, model::meaning(data)?),
        Large::Trim { length } => Step::Trim(*length),
        Large::Erase { offset, length } => Step::Erase(*offset, *length),
        _ => return None,
    })
}

fn quoted(name: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for &byte in name {
        out.extend(std::iter::repeat_n(byte, if byte == b'"' { 2 } else { 1 }));
    }
    out.push(b'"');
    out
}

#[test]
fn any_block_is_read_back() {
    for seed in 0..2000 {
        let random = &mut Random::new(seed);
        let mut text = vec![];
        let mut steps = vec![];
        let (variable, kind) = random.pick(&[("c", "CLOB"), ("b", "BLOB"), ("nc", "NCLOB")]);
        let whole = random.once_in(2);
        let key = any::bytes(random);
        let column = any::name(random);
        if whole {
            text.extend_from_slice(DECLARATIONS.as_bytes());
            text.extend_from_slice(b" select ");
            text.extend(quoted(&column));
            text.extend_from_slice(format!(" into loc_{variable} from \"SHOP\".\"DOCS\" where \"ID\" = ").as_bytes());
            render::value(random, Form::Capitals, &Meaning::Text(key.clone()), &mut text);
            text.extend_from_slice(b" for update;\n");
            steps.push(Step::Locator(column, kind));
        }
        for _ in 0..random.below(4) {
            let (length, offset) = (random.below(5000) as u64, random.below(5000) as u64);
            match random.below(4) {
                0 => {
                    text.extend_from_slice(format!("  dbms_lob.trim(loc_{variable}, {length});\n").as_bytes());
                    steps.push(Step::Trim(length));
                }
                1 => {
                    text.extend_from_slice(
                        format!(
                            " e_len := {length};\n  dbms_lob.erase(loc_{variable}, e_len, {});\n",
                            offset + 1
                        )
                        .as_bytes(),
                    );
                    steps.push(Step::Erase(offset, length));
                }
                _ => {
                    let data = if random.once_in(3) {
                        Meaning::Call(b"HEXTORAW".to_vec(), vec![Meaning::text("CAFE")])
                    } else {
                        Meaning::Text(any::bytes(random))
                    };
                    text.extend_from_slice(format!(" buf_{variable} := ").as_bytes());
                    render::value(random, Form::Calls, &data, &mut text);
                    let call = format!(
                        "; \n  dbms_lob.write(loc_{variable}, {length}, {}, buf_{variable});\n",
                        offset + 1
                    );
                    text.extend_from_slice(call.as_bytes());
                    steps.push(Step::Write(offset, length, data));
                }
            }
        }
        if random.once_in(2) {
            text.extend_from_slice(b"END;");
        }
        let has = |operation| match operation {
            Operation::SelectLobLocator => steps.iter().any(|step| matches!(step, Step::Locator(..))),
            Operation::LobWrite => steps.iter().any(|step| matches!(step, Step::Write(..))),
            Operation::LobTrim => steps.iter().any(|step| matches!(step, Step::Trim(_))),
            _ => steps.iter().any(|step| matches!(step, Step::Erase(..))),
        };
        let shown = String::from_utf8_lossy(&text);
        for operation in [
            Operation::SelectLobLocator,
            Operation::LobWrite,
            Operation::LobTrim,
            Operation::LobErase,
        ] {
            let parsed = Parser::new(random.once_in(2)).parse(operation, &text);
            let Ok(statement) = parsed else {
                assert!(!has(operation), "{parsed:?}: {shown}");
                continue;
            };
            if statement.operation == Operation::Skip {
                continue;
            }
            assert!(has(operation), "{shown}");
            let read: Option<Vec<Step>> = statement.large.iter().map(step).collect();
            assert_eq!(read.as_ref(), Some(&steps), "{shown}");
            assert_eq!(statement.table.is_some_and(|table| table.is(b"DOCS")), whole);
            assert_eq!(statement.conditions.len(), usize::from(whole));
            for (_, value) in &statement.conditions {
                assert_eq!(model::meaning(value), Some(Meaning::Text(key.clone())));
            }
        }
    }
}

fn document_piece(text: &str) -> Option<(Option<u64>, Meaning)> {
    let statement = Parser::new(false).parse(Operation::XmlWrite, text.as_bytes()).ok()?;
    let [Large::DocumentPiece { length, data }] = statement.large[..] else {
        return None;
    };
    Some((length, model::meaning(&data)?))
}

#[test]
fn documents_are_read_in_every_form() {
    let hex = || Meaning::Typed("HEX", b"3c722f3e".to_vec());
    assert_eq!(
        document_piece("XML_REDO := '<r>it''s</r>' : 11"),
        Some((Some(11), Meaning::text("<r>it's</r>")))
    );
    assert_eq!(
        document_piece("XML_REDO := '<r/>'\n amount: 4"),
        Some((Some(4), Meaning::text("<r/>")))
    );
    assert_eq!(
        document_piece("XML_REDO := HEXTORAW('3c722f3e'):4"),
        Some((Some(4), hex()))
    );
    assert_eq!(
        document_piece("XML_REDO := HEXTORAW('3c722f3e):4"),
        Some((Some(4), hex()))
    );
    assert_eq!(document_piece("XML_REDO := NULL"), Some((None, Meaning::Null)));
    for wrong in [
        "",
        "XML_REDO",
        "XML_REDO := ",
        "XML_REDO := '<r/>'",
        "XML_REDO := '<r/>' : x",
        "XML_REDO := '<r/>' : 4 5",
        "XML_REDO := 7 : 1",
        "XML_REDO := HEXTORAW('3c7'):4",
    ] {
        assert_eq!(document_piece(wrong), None, "{wrong}");
    }
    let begins = [
        r#"XML DOC BEGIN:  select "X" from "S"."T" where "ID" = '1' and "K" IS NULL"#,
        r#"XML DOC BEGIN: update "S"."T" a set a."X" = XMLType(:1) where a."ID" = '1' and a."K" IS NULL;"#,
        r#"XML DOC BEGIN: update "S"."T" set "X" = :X where "ID" = '1' and "K" IS NULL"#,
    ];
    for text in begins {
        let statement = Parser::new(false)
            .parse(Operation::XmlBegin, text.as_bytes())
            .unwrap_or_else(|error| panic!("{error}: {text}"));
        assert!(matches!(statement.large[..], [Large::Document { column }] if column.is(b"X")));
        assert!(
            statement.table.is_some_and(|table| table.is(b"T")) && statement.owner.is_some_and(|owner| owner.is(b"S"))
        );
        assert!(
            matches!(statement.conditions[..], [(id, Value::Text(_)), (k, Value::Null)] if id.is(b"ID") && k.is(b"K"))
        );
        for cut in 1..text.trim_end_matches(';').len() {
            let parsed = Parser::new(false).parse(Operation::XmlBegin, &text.as_bytes()[..cut]);
            // A WHERE that is cut off whole, or between two conditions, leaves a sentence; so does a table cut off its owner.
            let rest = &text[cut..];
            let words = ["where", "and"];
            let sentence =
                words.iter().any(|word| rest.trim_start().starts_with(word)) || rest.starts_with(".\"T\" where");
            assert_eq!(parsed.is_ok(), sentence, "{}", &text[..cut]);
        }
    }
}

#[test]
fn malformed_blocks_are_refused() {
    let wrong = [
        " buf_c := 'a'; dbms_lob.write(loc_c, 1, 0, buf_c);",
        " buf_c := 'a'; dbms_lob.write(loc_c, 1, 1, buf_b);",
        " buf_c := 'a'; dbms_lob.write(loc_c, 1, 1);",
        " buf_c := 'a'; dbms_lob.write(loc_c, x, 1, buf_c);",
        " buf_c := 'a'; dbms_lob.write(loc_c, 99999999999999999999, 1, buf_c);",
        " buf_c := 'a; dbms_lob.write(loc_c, 1, 1, buf_c);",
        " buf_c = 'a'; dbms_lob.write(loc_c, 1, 1, buf_c);",
        " dbms_lob.write(loc_c, 1, 1, buf_c);",
        " dbms_lob.append(loc_c, 1, 1, 'a');",
        " buf_c := 'a'; dbms_lob.write(loc_c, 1, 1, buf_c)",
        " buf_c := 'a'; dbms_lob.write(loc_c, 1, 1, buf_c); END; END;",
        " buf_c := 'a';",
        "DECLARE loc_c; BEGIN buf_c := 'a'; dbms_lob.write(loc_c, 1, 1, buf_c); END;",
    ];
    for text in wrong {
        assert!(
            Parser::new(false).parse(Operation::LobWrite, text.as_bytes()).is_err(),
            "{text}"
        );
    }
    let right = " buf_c := 'a'; dbms_lob.write(loc_c, 1, 1, buf_c); END;";
    assert!(Parser::new(false).parse(Operation::LobWrite, right.as_bytes()).is_ok());
}
