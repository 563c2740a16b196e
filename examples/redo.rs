//! Reads redo texts as JSON lines, `{"op": …, "sql": …}`, and prints what each says, one line each.
//!
//! `cargo run --release --example redo [-- --lenient] < statements.jsonl`; the form is told in `docs/redo-example.md`.

use std::io::{self, BufRead, BufWriter, Write};
use std::process::ExitCode;

use serde_json::{Value, json};
use tidemark::log::logminer::redo_sql::{Operation, Parser};

fn main() -> ExitCode {
    let mut lenient = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--lenient" => lenient = true,
            _ => {
                eprintln!("usage: redo [--lenient] < statements.jsonl");
                return ExitCode::from(2);
            }
        }
    }
    match run(&Parser::new(lenient)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("redo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(parser: &Parser) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut output = BufWriter::new(io::stdout().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if !line.trim_ascii().is_empty() {
            let answer = answer(parser, &line).unwrap_or_else(|error| json!({ "error": error }));
            writeln!(output, "{answer}")?;
        }
        line.clear();
    }
    output.flush()
}

/// What one line says, or why it cannot be said.
fn answer(parser: &Parser, line: &[u8]) -> Result<Value, String> {
    let request: Value = serde_json::from_slice(line).map_err(|error| format!("not JSON: {error}"))?;
    let name = request["op"].as_str().ok_or("the line has no \"op\"")?;
    let sql = match &request["sql"] {
        Value::Null => "",
        Value::String(sql) => sql,
        _ => return Err("\"sql\" is no text".to_owned()),
    };
    let operation = Operation::from_name(name).ok_or_else(|| format!("unknown op {name:?}"))?;
    let statement = parser
        .parse(operation, sql.as_bytes())
        .map_err(|error| error.to_string())?;
    statement.to_json().map_err(|error| error.to_string())
}
