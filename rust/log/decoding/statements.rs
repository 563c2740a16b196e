//! What captured DDL statements do to the captured tables, at their place in the log.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::Table;
use crate::catalog::change::ChangeKind;
use crate::error::Result;
use crate::log::decoding::ddl_table::{Named, Object, Record, Statement};
use crate::log::decoding::tables::{Asked, Known, Tables, Until, Whereabouts};

/// What a statement does to a captured table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Effect {
    /// The captured table's number.
    pub(super) table: u32,
    pub(super) kind: ChangeKind,
    pub(super) statement: String,
}

/// The captured statements of a transaction that were told, as far as one that comes again can be known by them: triggers of
/// more than one event leave several records of one statement.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// What was told last of each table, by its number: tag, command and what was done. One that was so before and was another
    /// one since is told anew.
    objects: HashMap<u64, (String, String, Object)>,
    /// The command at hand, and the tags of its records, where they do not say what was done.
    run: (String, Vec<String>),
}

impl Told {
    /// Takes from a record what was told already; `None` if that was all.
    pub(super) fn sift(&mut self, mut record: Record) -> Option<Record> {
        let Some(objects) = record.objects.take() else {
            let (command, tags) = &mut self.run;
            if *command != record.command {
                command.clone_from(&record.command);
                tags.clear();
            }
            if tags.contains(&record.tag) {
                return None;
            }
            tags.push(record.tag.clone());
            return Some(record);
        };
        let mut new = Vec::new();
        for object in objects {
            let told = (record.tag.clone(), record.command.clone(), object.clone());
            if self.objects.get(&object.oid) != Some(&told) {
                self.objects.insert(object.oid, told);
                new.push(object);
            }
        }
        record.objects = Some(new);
        Some(record)
    }
}

impl Tables {
    /// What a record does to captured tables. From its place on, names and partitions are as it says: what goes was there until
    /// then.
    pub(super) fn effects(&mut self, record: &Record, at: Until, asked: &mut dyn Asked) -> Result<Vec<Effect>> {
        let mut effects = Vec::new();
        let mut add = |(table, kind), statement: &str| {
            effects.push(Effect {
                table,
                kind,
                statement: statement.to_owned(),
            });
        };
        match &record.objects {
            Some(objects) => {
                for object in objects.iter().filter(|object| object.is_table()) {
                    let done = self.object(object, at);
                    done.into_iter().for_each(|done| add(done, &record.command));
                }
            }
            None => match record.statements() {
                Some(statements) => {
                    for statement in statements {
                        let done = self.named(&statement, at);
                        done.into_iter().for_each(|done| add(done, &statement.text));
                    }
                }
                None => {
                    for done in self.mentioned(&record.command, asked)? {
                        add(done, &record.command);
                    }
                }
            },
        }
        Ok(effects)
    }

    fn object(&mut self, object: &Object, at: Until) -> Vec<(u32, ChangeKind)> {
        let of_name = || self.captured_as(object.schema.as_deref()?, object.name.as_deref()?);
        let captured = self.number_of_root(object.oid);
        if object.is_gone() {
            // One of the name may be there again by now, with a number of its own.
            if let Some(table) = captured.or_else(of_name) {
                self.leaves(object.oid, at);
                self.whereabouts()[table as usize].is_gone = true;
                return vec![(table, ChangeKind::Drop)];
            }
            // Its rows go with it, without a record of their own.
            let part = self.leaves(object.oid, at);
            return part.map(|table| (table, ChangeKind::Truncate)).into_iter().collect();
        }
        let Some(table) = captured.or_else(of_name) else {
            if let Some(root) = object.root.and_then(|root| self.number_of_root(root)) {
                if let (Some(schema), Some(name)) = (&object.schema, &object.name) {
                    self.name(schema, name, object.oid);
                }
                self.know(object.oid, root, object.identity());
            } else if let Some(table) = self.leaves(object.oid, at) {
                // Detached.
                return vec![(table, ChangeKind::Truncate)];
            }
            return Vec::new();
        };
        if captured.is_none() {
            self.adopt(table, object.oid, object.identity());
        }
        let of = &mut self.whereabouts()[table as usize];
        let mut kind = match std::mem::take(&mut of.is_gone) {
            true => ChangeKind::Create,
            false => ChangeKind::Alter,
        };
        let (schema, name) = (
            object.schema.as_ref().unwrap_or(&of.name.schema),
            object.name.as_ref().unwrap_or(&of.name.name),
        );
        if (schema, name) != (&of.name.schema, &of.name.name) {
            (of.name.schema, of.name.name) = (schema.clone(), name.clone());
            kind = ChangeKind::Rename;
        }
        let mut kinds = vec![(table, kind)];
        if let Some(partitions) = &object.partitions {
            for (number, schema, name) in partitions {
                self.name(schema, name, *number);
                let is_known = matches!(self.known_number(*number), Some(Known::Ours { until: None, .. }));
                if !is_known {
                    // A partition that was attached: its own record says more, or the next look.
                    self.know(*number, table, object.identity());
                }
            }
            let is_left = |number: &u64| !partitions.iter().any(|(part, ..)| part == number) && *number != object.oid;
            let left: Vec<u64> = self.parts_of(table, at.lsn).into_iter().filter(is_left).collect();
            let any = left
                .into_iter()
                .filter(|&number| self.leaves(number, at).is_some())
                .count()
                > 0;
            if any {
                kinds.push((table, ChangeKind::Truncate));
            }
        }
        kinds
    }

    /// What a statement does by its text.
    fn named(&mut self, statement: &Statement, at: Until) -> Vec<(u32, ChangeKind)> {
        let mut done = Vec::new();
        if let Some((root, part)) = &statement.attached {
            let known = || root.iter().find_map(|(schema, name)| self.part_as(schema, name));
            let of_root = |number| match self.known_number(number) {
                Some(Known::Ours { table, .. }) => Some(*table),
                _ => None,
            };
            let root = self.meant(root).or_else(|| known().and_then(of_root));
            let part = part.iter().find(|(schema, _)| schema != "$user");
            if let Some((root, (schema, name))) = root.zip(part) {
                self.attach(root, schema, name);
            }
        }
        for names in &statement.tables {
            let Some(table) = self.meant(names) else {
                let part = names.iter().find_map(|(schema, name)| self.part_as(schema, name));
                if let (ChangeKind::Drop, Some(number)) = (statement.kind, part) {
                    done.extend(self.leaves(number, at).map(|table| (table, ChangeKind::Truncate)));
                }
                continue;
            };
            let of = &mut self.whereabouts()[table as usize];
            match statement.kind {
                ChangeKind::Drop => of.is_gone = true,
                _ => of.is_gone = false,
            }
            if let Some(schema) = &statement.becomes.schema {
                of.name.schema.clone_from(schema);
            }
            if let Some(name) = &statement.becomes.name {
                of.name.name.clone_from(name);
            }
            done.push((table, statement.kind));
            let detached = statement.detached.iter();
            let mut parts = detached.filter_map(|(schema, name)| self.part_as(schema, name));
            if let Some(number) = parts.next() {
                done.extend(self.leaves(number, at).map(|table| (table, ChangeKind::Truncate)));
            }
        }
        done
    }

    /// The captured table that one of some names means, the likeliest first.
    fn meant(&self, names: &[Named]) -> Option<u32> {
        let exact = names.iter().find_map(|(schema, name)| self.captured_as(schema, name));
        exact.or_else(|| {
            // Whose session it was is not written down.
            let (_, name) = names.iter().find(|(schema, _)| schema == "$user")?;
            self.captured_alone(name)
        })
    }

    /// For a text that does not say what it does, a function's call or a block of code: the captured tables that it mentions, or
    /// all of them. What the dictionary has by now decides none of this but whether a table is gone: whoever reads it again
    /// later has to find the same.
    fn mentioned(&mut self, command: &str, asked: &mut dyn Asked) -> Result<Vec<(u32, ChangeKind)>> {
        let command = command.to_lowercase();
        let is_of_name = |character: char| character.is_alphanumeric() || character == '_';
        let has = |of: &Whereabouts| {
            let name = of.name.name.to_lowercase();
            command.match_indices(&name).any(|(at, _)| {
                let (before, behind) = (&command[..at], &command[at + name.len()..]);
                !before.ends_with(is_of_name) && !behind.starts_with(is_of_name)
            })
        };
        let mentioned: Vec<bool> = self.whereabouts().iter().map(has).collect();
        let any = mentioned.contains(&true);
        let mut found = Vec::new();
        for (table, mentioned) in (0..).zip(mentioned) {
            if any && !mentioned {
                continue;
            }
            let is_gone = asked.table(table)?.is_none();
            self.whereabouts()[table as usize].is_gone = is_gone;
            let kind = match is_gone {
                true => ChangeKind::Drop,
                false => ChangeKind::Alter,
            };
            found.push((table, kind));
        }
        Ok(found)
    }

    /// The shape that a table has in the dictionary now; `None` if it is gone.
    pub(super) fn now(&mut self, table: u32, asked: &mut dyn Asked) -> Result<Option<Arc<Table>>> {
        match asked.table(table)? {
            Some(now) => self.add_shape(table, now).map(Some),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(tag: &str, command: &str, objects: Option<&str>) -> Record {
        Record {
            tag: tag.into(),
            search_path: String::new(),
            command: command.into(),
            objects: objects.map(|objects| serde_json::from_str(objects).unwrap()),
        }
    }

    const A: &str = r#"[{"oid": 7, "type": "table", "columns": [[1, "a"]]}]"#;
    const B: &str = r#"[{"oid": 7, "type": "table", "columns": [[1, "b"]]}]"#;

    /// What goes on of records: how many objects, or all of one that does not say.
    fn sifted(records: &[(&str, &str, Option<&str>)]) -> Vec<usize> {
        let mut told = Told::default();
        let left = records.iter().map(|(tag, command, objects)| {
            let record = told.sift(record(tag, command, *objects));
            record.map_or(0, |record| record.objects.map_or(1, |objects| objects.len()))
        });
        left.collect()
    }

    /// A name that comes back is a change though the table was so before.
    #[test]
    fn what_comes_twice_is_known_by_what_was_done_and_not_by_its_text() {
        const ALTER: &str = "ALTER TABLE";
        let text = "alter 1; alter 2";
        assert_eq!(sifted(&[(ALTER, text, Some(A)), (ALTER, text, Some(B))]), [1, 1]);
        assert_eq!(sifted(&[(ALTER, text, Some(A)), (ALTER, text, Some(A))]), [1, 0]);
        let there_and_back = [(ALTER, "x", Some(A)), (ALTER, "y", Some(B)), (ALTER, "x", Some(A))];
        assert_eq!(sifted(&there_and_back), [1, 1, 1]);
        assert_eq!(sifted(&[(ALTER, "x", Some(A)), ("ALTER INDEX", "x", Some(A))]), [1, 1]);
        // Where a record does not say what was done, the text of all statements of a call stands in the record of each.
        assert_eq!(sifted(&[(ALTER, text, None), (ALTER, text, None)]), [1, 0]);
        let mixed = [(ALTER, text, None), ("DROP TABLE", text, None), (ALTER, text, None)];
        assert_eq!(sifted(&mixed), [1, 1, 0]);
        let again = [(ALTER, "x", None), (ALTER, "y", None), (ALTER, "x", None)];
        assert_eq!(sifted(&again), [1, 1, 1]);
    }
}
