//! What a state keeps of partitions, so that rows of those that are gone by then find their root.

use std::collections::HashMap;

use crate::dialect::slots::lsn;
use crate::log::decoding::tables::{Identity, Known, Name, Tables, Until};
use crate::position::{Lsn, Scn};
use crate::split::{Partition, TableName};

impl Tables {
    /// Takes what was known of partitions at the place where the log is opened.
    pub(super) fn recall(&mut self, partitions: &[Partition]) {
        for partition in partitions {
            let roots = 0..self.shapes.len() as u32;
            let Some(table) = roots.into_iter().find(|&of| self.captured(of).name == partition.root) else {
                continue;
            };
            let known = Known::Ours {
                table,
                identity: match &partition.identity {
                    None => Identity::Whole,
                    Some(columns) => Identity::Columns(columns.clone()),
                },
                until: partition.over.map(|over| Until::end(over.0)),
            };
            self.by_number.insert(partition.number, known);
            if !partition.name.name.is_empty() {
                self.name(&partition.name.schema, &partition.name.name, partition.number);
            }
            self.partitioned[table as usize] = true;
        }
    }

    /// Says which partitions went while nobody looked. Where statements are captured, these say when.
    pub(super) fn warn_of_gone(&self, partitions: &[Partition]) {
        if self.ddl.is_some() {
            return;
        }
        for partition in partitions.iter().filter(|partition| partition.over.is_none()) {
            if let Some(Known::Ours { until: Some(until), .. }) = self.by_number.get(&partition.number) {
                log::warn!(
                    "{} was a partition of {} and is none any more: its rows in the log up to LSN {} are taken for the root's",
                    partition.name,
                    partition.root,
                    lsn(Lsn(until.lsn))
                );
            }
        }
    }

    /// The partitions, and those that were some as far as the log has rows of them, if they are others than they were when
    /// this was asked last. One comes by each of its names; of one whose names are those of others by now the name is empty.
    pub(in crate::log::decoding) fn partitions(&mut self) -> Option<Vec<Partition>> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let mut names: HashMap<u64, Vec<&Name>> = HashMap::new();
        for (name, number) in &self.by_name {
            names.entry(*number).or_default().push(name);
        }
        let nameless = Name::default();
        let mut partitions = Vec::new();
        for (number, known) in &self.by_number {
            let Known::Ours { table, identity, until } = known else {
                continue;
            };
            if !self.partitioned[*table as usize] || self.roots.contains(number) {
                continue;
            }
            let none = [&nameless];
            let names = names.get(number).map_or(&none[..], Vec::as_slice);
            partitions.extend(names.iter().map(|(schema, name)| Partition {
                root: self.captured(*table).name.clone(),
                number: *number,
                name: TableName {
                    schema: String::from_utf8_lossy(schema).into_owned(),
                    name: String::from_utf8_lossy(name).into_owned(),
                },
                identity: identity.columns(),
                over: until.map(|until| Scn(until.over)),
            }));
        }
        partitions.sort_unstable_by(|a, b| (&a.root, a.number, &a.name).cmp(&(&b.root, b.number, &b.name)));
        Some(partitions)
    }
}
