//! Which parsers there are, and that each is damaged.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use super::TARGETS;

/// Files with functions that look like parsers and are none of bytes from outside, each with the reason.
const OTHERS: &[(&str, &str)] = &[
    ("catalog/text_probe.rs", "texts of its own"),
    ("database/tables.rs", "writes warnings"),
    ("dialect/ddl_capture.rs", "a script of its own"),
    ("dialect/mod.rs", "names of connectors, which Java has checked"),
    ("error.rs", "writes messages"),
    (
        "log/decoding/block.rs",
        "base64, arrays and rows one behind another, damaged in its own tests",
    ),
    ("log/decoding/tables.rs", "what plugins have read, by name"),
    ("log/decoding/tables/unknown.rs", "what plugins have read, by name"),
    ("odbc/long.rs", "pieces that the driver counts"),
    ("row/debezium_json.rs", "writes"),
];

fn sources(folder: &Path, into: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("rust");
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            into.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn every_parser_is_damaged() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("rust"), &mut files);
    let names: BTreeSet<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let covered: BTreeSet<&str> = TARGETS
        .iter()
        .flat_map(|targets| targets.iter())
        .flat_map(|target| target.files)
        .copied()
        .collect();
    let others: BTreeSet<&str> = OTHERS.iter().map(|(name, _)| *name).collect();
    for name in covered.iter().chain(&others) {
        assert!(names.contains(name), "{name} is not there");
    }
    // By name and by what they are given.
    let parser = Regex::new(r"fn (\w*(?:parse|read|decode|take|unquoted|split|of_text|fraction|offset)\w*)(?:<[^>]*>)?\([^)]*(?:\[u8\]|&(?:'\w+ )?str|&mut Reader|&mut Bytes)").unwrap();
    let mut found = 0;
    for (name, text) in &files {
        let own = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        if name.ends_with("tests.rs") || name.contains("fuzz") || name.contains("/tests/") {
            continue;
        }
        if let Some(parser) = parser.captures(own) {
            found += 1;
            let function = parser.get(1).unwrap().as_str();
            assert!(
                covered.contains(name.as_str()) || others.contains(name.as_str()),
                "{name} has '{function}', and no fuzz target names the file"
            );
        }
    }
    assert!(found > 20, "{found}");
}

#[test]
fn targets_have_names_of_their_own() {
    let names: Vec<&str> = TARGETS
        .iter()
        .flat_map(|targets| targets.iter())
        .map(|target| target.name)
        .collect();
    let unique: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(unique.len(), names.len());
}
