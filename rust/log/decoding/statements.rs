//! What captured DDL statements do to the captured tables, at their place in the log.

use std::sync::Arc;

use crate::catalog::Table;
use crate::catalog::change::ChangeKind;
use crate::error::Result;
use crate::log::decoding::ddl_table::{Object, Record, Statement};
use crate::log::decoding::tables::{Asked, Known, Tables};

/// What a statement does to a captured table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Effect {
    /// The captured table's number.
    pub(super) table: u32,
    pub(super) kind: ChangeKind,
    pub(super) statement: String,
    /// What of the statement's record says so, to know it again.
    pub(super) object: Option<Object>,
}

impl Tables {
    /// What a record does to captured tables. From its place on, partitions are as it says.
    pub(super) fn effects(&mut self, record: &Record, lsn: u64) -> Vec<Effect> {
        let mut effects = Vec::new();
        let Some(objects) = &record.objects else {
            for Statement { text, kind, names } in record.statements() {
                let found = names.iter().find_map(|(schema, name)| self.captured_as(schema, name));
                effects.extend(found.map(|table| Effect {
                    table,
                    kind,
                    statement: text,
                    object: None,
                }));
            }
            return effects;
        };
        for object in objects.iter().filter(|object| object.is_table()) {
            for (table, kind) in self.object(object, lsn) {
                effects.push(Effect {
                    table,
                    kind,
                    statement: record.command.clone(),
                    object: Some(object.clone()),
                });
            }
        }
        effects
    }

    fn object(&mut self, object: &Object, lsn: u64) -> Vec<(u32, ChangeKind)> {
        let captured = self.number_of_root(object.oid);
        if object.is_gone() {
            let part = self.leaves(object.oid, lsn);
            return match (captured, part) {
                (Some(table), _) => vec![(table, ChangeKind::Drop)],
                // Its rows go with it, without a record of their own.
                (None, Some(table)) => vec![(table, ChangeKind::Truncate)],
                (None, None) => Vec::new(),
            };
        }
        let Some(table) = captured else {
            if let Some(root) = object.root.and_then(|root| self.number_of_root(root)) {
                if let (Some(schema), Some(name)) = (&object.schema, &object.name) {
                    self.name(schema, name, object.oid);
                }
                self.know(object.oid, root, object.identity());
            } else if let Some(table) = self.leaves(object.oid, lsn) {
                // Detached.
                return vec![(table, ChangeKind::Truncate)];
            }
            return Vec::new();
        };
        let name = &self.captured(table).name;
        let same = |known: &str, now: &Option<String>| now.as_deref().is_none_or(|now| now == known);
        let kind = match same(&name.schema, &object.schema) && same(&name.name, &object.name) {
            true => ChangeKind::Alter,
            false => ChangeKind::Rename,
        };
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
            let left: Vec<u64> = self.parts_of(table, lsn).into_iter().filter(is_left).collect();
            let any = left
                .into_iter()
                .filter(|&number| self.leaves(number, lsn).is_some())
                .count()
                > 0;
            if any {
                kinds.push((table, ChangeKind::Truncate));
            }
        }
        kinds
    }

    /// The shape that a table has in the dictionary now; `None` if it is gone.
    pub(super) fn now(&mut self, table: u32, asked: &mut dyn Asked) -> Result<Option<Arc<Table>>> {
        match asked.table(table)? {
            Some(now) => self.add_shape(table, now).map(Some),
            None => Ok(None),
        }
    }
}
