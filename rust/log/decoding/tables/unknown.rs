//! Rows of tables that nobody knows: a partition that went before it was looked up may have left them.

use crate::dialect::slots::Relation as Sought;
use crate::error::{ErrorKind, Result};
use crate::log::OnFault;
use crate::log::decoding::plugin::{Cell, Relation, Row};
use crate::log::decoding::tables::{Asked, Known, Name, Tables};
use crate::log::decoding::test_decoding::unquoted;

/// Whether it is known whose rows they are.
pub(super) enum Told<T> {
    Sure(T),
    Doubtful,
}

impl Tables {
    /// A table that was published and is unknown: the one that had a captured table's name before, or a partition that was
    /// dropped or detached since, of the table whose columns it has.
    pub(super) fn vanished(
        &self,
        relation: &Relation<'_>,
        names: &[Vec<u8>],
        asked: &mut dyn Asked,
    ) -> Result<Option<u32>> {
        // One that had a captured table's name: it was dropped since, and another one was made.
        if let (Ok(schema), Ok(name)) = (std::str::from_utf8(relation.schema), std::str::from_utf8(relation.name)) {
            if let Some(table) = self.captured_as(schema, name) {
                return Ok(Some(table));
            }
        }
        let number = Sought::Number(relation.number.into());
        if !self.partitioned.contains(&true) {
            return Ok(None);
        }
        let is_there = asked.relation(number)?.is_some();
        if is_there && !self.exclusive {
            return Ok(None);
        }
        let mut alike =
            (0..self.shapes.len()).filter(|&table| self.partitioned[table] && self.shapes[table].has(names));
        let name = || {
            format!(
                "{}.{}",
                String::from_utf8_lossy(relation.schema),
                String::from_utf8_lossy(relation.name)
            )
        };
        match (alike.next(), alike.next()) {
            // Of somebody else's tables, perhaps.
            (None, _) if is_there || !self.exclusive => Ok(None),
            (Some(table), None) if self.exclusive => {
                let root = &self.captured(table as u32).name;
                log::warn!(
                    "table {} was published and is none of the captured tables or their partitions now: taken for one of {root}",
                    name()
                );
                Ok(Some(table as u32))
            }
            _ => {
                let text = format!(
                    "rows of table {} are in the log; it is a partition no more, and of which captured table it was one cannot be \
                     told",
                    name()
                );
                Err(ErrorKind::DictionaryMismatch(text).into())
            }
        }
    }

    /// A table whose rows are in the log under a name that no table has any more: one that was a partition of a captured
    /// table, perhaps, which a log without numbers does not tell.
    pub(super) fn check_vanished(&mut self, (schema, _): &Name, key: &[u8], row: &Row<'_>) -> Result<()> {
        let Some(table) = self.root_like(row) else {
            return Ok(());
        };
        if !self.has_parts_in(table, schema) {
            self.warn_of_alike(key, row);
            return Ok(());
        }
        let root = &self.captured(table).name;
        let text = format!(
            "rows of table {} are in the log; it is in the dictionary no more, and whether it was a partition of {root}, whose \
             columns it has, cannot be told",
            key.escape_ascii()
        );
        Err(ErrorKind::DictionaryMismatch(text).into())
    }

    /// A captured table with partitions that may have such rows.
    fn root_like(&self, row: &Row<'_>) -> Option<u32> {
        let names = |cells: &[Cell<'_>]| cells.iter().map(|cell| unquoted(cell.name)).collect::<Vec<_>>();
        let (old, new) = (names(&row.old), names(&row.new));
        let alike = (0..self.shapes.len()).find(|&table| {
            let shapes = &self.shapes[table];
            self.partitioned[table]
                && if new.is_empty() {
                    shapes.may_have(&old)
                } else {
                    shapes.has(&new)
                }
        });
        alike.map(|table| table as u32)
    }

    /// A name that a partition had which is gone: whose rows are they if another table has it now, and no statement says since
    /// when?
    pub(super) fn check_taken_over(&self, (schema, name): &Name, number: u64, asked: &mut dyn Asked) -> Result<()> {
        let known = self.by_number.get(&number);
        let Some(Known::Ours {
            table, until: Some(_), ..
        }) = known.filter(|_| self.ddl.is_none())
        else {
            return Ok(());
        };
        let (schema, name) = (String::from_utf8_lossy(schema), String::from_utf8_lossy(name));
        let sought = Sought::Name {
            schema: &schema,
            name: &name,
        };
        match asked.relation(sought)? {
            Some(other) if other != number => {
                let root = &self.captured(*table).name;
                let text = format!(
                    "rows of table {schema}.{name} are in the log; a partition of {root} had this name, another table has it now, \
                     and whose rows they are cannot be told: capture DDL (ddl.capture)"
                );
                Err(ErrorKind::DictionaryMismatch(text).into())
            }
            _ => Ok(()),
        }
    }

    /// Says once that a table's rows are passed over that could be taken for a partition's.
    pub(super) fn warn_of_alike(&mut self, key: &[u8], row: &Row<'_>) {
        let Some(table) = self.root_like(row) else { return };
        if self.warned.insert(key.into()) {
            log::warn!(
                "table {} has the columns of {} and is none of its partitions now: its rows in the log are passed over, also those \
                 that it has there from before it was detached, if it was",
                key.escape_ascii(),
                self.captured(table).name
            );
        }
    }

    /// Whether a captured table or any of its partitions is in a schema: new ones are looked for where the others are.
    fn has_parts_in(&self, table: u32, schema: &[u8]) -> bool {
        let is_of_table =
            |number: &u64| matches!(self.by_number.get(number), Some(Known::Ours { table: of, .. }) if *of == table);
        let mut names = self.by_name.iter().filter(|(_, number)| is_of_table(number));
        names.any(|((of, _), _)| **of == *schema) || self.captured(table).name.schema.as_bytes() == schema
    }

    /// What cannot be told is an error, or where the job is to go on without it, a warning.
    pub(super) fn doubted<T>(&mut self, key: &[u8], told: Result<T>) -> Result<Told<T>> {
        let error = match told {
            Ok(told) => return Ok(Told::Sure(told)),
            Err(error) => error,
        };
        let may_go_on = matches!(error.kind(), ErrorKind::DictionaryMismatch(_)) && self.on_mismatch == OnFault::Skip;
        if !may_go_on {
            return Err(error);
        }
        if self.warned.insert(key.into()) {
            log::warn!("its rows are left out, as log.on-dictionary-mismatch = 'skip' asks for: {error}");
        }
        Ok(Told::Doubtful)
    }
}
