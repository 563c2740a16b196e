//! What is read for every row and replaced once in a long while, without a lock and without counting its readers.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A value whose readers get the newest one. Those before it stay until all are dropped: readers may be at them, and to
/// ask each row whether any still is costs more than a few plans that nobody needs.
pub(super) struct Newest<T> {
    all: boxcar::Vec<Box<T>>,
    newest: AtomicUsize,
}

impl<T> Newest<T> {
    pub(super) fn new(first: T) -> Self {
        Newest {
            all: boxcar::vec![Box::new(first)],
            newest: AtomicUsize::new(0),
        }
    }

    /// The newest one, which is always there.
    #[inline]
    pub(super) fn get(&self) -> Option<&T> {
        let newest = self.all.get(self.newest.load(Ordering::Acquire));
        newest.map(|newest| &**newest)
    }

    pub(super) fn replace(&self, by: T) {
        let place = self.all.push(Box::new(by));
        self.newest.store(place, Ordering::Release);
    }

    pub(super) fn into_inner(self) -> Option<T> {
        let newest = self.newest.into_inner();
        self.all.into_iter().nth(newest).map(|newest| *newest)
    }
}
