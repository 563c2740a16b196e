//! One table in the enumerator's eyes: how far it is cut, and what of it is finished.

use std::sync::Arc;

use super::ranges::{Provisional, Ranges};
use crate::error::{Error, ErrorKind, Result};
use crate::split::{Chunk, FinishedRange, Key, TableCut, TableName};

#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: Arc<TableName>,
    /// Upper bounds of the chunks so far, ascending; the open one of the last chunk is not among them.
    bounds: Vec<Key>,
    pub(super) whole: bool,
    pub(super) ranges: Ranges,
    /// How many chunks have a range that reaches their upper bound; a chunk's ranges go out in key order.
    chunks_done: usize,
}

impl Table {
    pub(super) fn new(name: TableName) -> Self {
        Table {
            name: Arc::new(name),
            bounds: Vec::new(),
            whole: false,
            ranges: Ranges::default(),
            chunks_done: 0,
        }
    }

    pub(super) fn restore(cut: TableCut) -> Result<Self> {
        if cut.bounds.windows(2).any(|pair| pair[0] >= pair[1]) {
            let kind = ErrorKind::State("the bounds of the chunks do not ascend".into());
            return Err(Error::from(kind).on(cut.table));
        }
        Ok(Table {
            name: cut.table,
            bounds: cut.bounds,
            whole: cut.whole,
            ranges: Ranges::default(),
            chunks_done: 0,
        })
    }

    pub(super) fn cut(&self) -> TableCut {
        TableCut {
            table: self.name.clone(),
            bounds: self.bounds.clone(),
            whole: self.whole,
        }
    }

    /// The lower bound of the next chunk to cut.
    pub(super) fn next_lower(&self) -> Option<&Key> {
        self.bounds.last()
    }

    pub(super) fn chunks(&self) -> usize {
        self.bounds.len() + usize::from(self.whole)
    }

    pub(super) fn chunks_done(&self) -> usize {
        self.chunks_done
    }

    /// Takes the next chunk; the one without an upper bound is the last.
    pub(super) fn add_chunk(&mut self, chunk: &Chunk) -> Result<()> {
        let range = &chunk.range;
        let empty = matches!((&range.lower, &range.upper), (Some(lower), Some(upper)) if lower >= upper);
        if self.whole || range.lower.as_ref() != self.next_lower() || empty {
            let kind = ErrorKind::Internal(format!(
                "chunk {range:?} was cut where the next one begins at {:?}{}",
                self.next_lower(),
                if self.whole { ", which was the last" } else { "" }
            ));
            return Err(Error::from(kind).on(&self.name));
        }
        match &range.upper {
            Some(upper) => self.bounds.push(upper.clone()),
            None => self.whole = true,
        }
        Ok(())
    }

    pub(super) fn add_range(&mut self, mut range: FinishedRange, provisional: Option<Provisional>) -> Result<()> {
        let cut = match (&range.range.upper, self.bounds.last()) {
            _ if self.whole => true,
            (Some(upper), Some(last)) => upper <= last,
            _ => false,
        };
        if !cut {
            let kind = ErrorKind::Protocol(format!("{:?} was reported before it was cut", range.range));
            return Err(Error::from(kind).on(&self.name));
        }
        range.table = self.name.clone();
        let ends_chunk = self.ends_chunk(&range);
        self.ranges.insert(range, provisional)?;
        self.chunks_done += usize::from(ends_chunk);
        Ok(())
    }

    /// Forgets the provisional ranges of a subtask and hands them out.
    pub(super) fn forget(&mut self, subtask: u32) -> Vec<FinishedRange> {
        let gone = self.ranges.forget(subtask);
        self.chunks_done -= gone.iter().filter(|range| self.ends_chunk(range)).count();
        gone
    }

    fn ends_chunk(&self, range: &FinishedRange) -> bool {
        match &range.range.upper {
            None => true,
            Some(upper) => self.bounds.binary_search(upper).is_ok(),
        }
    }
}
