//! What Java holds instead of pointers: numbers of a registry, never used twice, so that use after close is an
//! exception and not a crash.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::error::{ErrorKind, Result};

/// The open objects of one kind.
pub(super) struct Handles<T: ?Sized> {
    next: AtomicI64,
    open: LazyLock<Mutex<HashMap<i64, Arc<T>>>>,
}

impl<T: ?Sized> Handles<T> {
    pub(super) const fn new() -> Self {
        Handles {
            next: AtomicI64::new(1),
            open: LazyLock::new(Mutex::default),
        }
    }

    pub(super) fn add(&self, object: Arc<T>) -> i64 {
        let handle = self.next.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(handle, object);
        handle
    }

    /// The object, for one call; the registry is not locked while the call runs.
    ///
    /// # Errors
    /// `Closed`.
    pub(super) fn get(&self, handle: i64) -> Result<Arc<T>> {
        self.lock()
            .get(&handle)
            .cloned()
            .ok_or_else(|| ErrorKind::Closed.into())
    }

    /// Takes the object out; nothing if it is out already.
    pub(super) fn remove(&self, handle: i64) -> Option<Arc<T>> {
        self.lock().remove(&handle)
    }

    pub(super) fn drain(&self) -> Vec<Arc<T>> {
        self.lock().drain().map(|(_, object)| object).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, Arc<T>>> {
        // Nothing panics between two steps of a change, so a poisoned map is whole.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_good_until_it_is_removed_and_never_again() {
        let handles: Handles<str> = Handles::new();
        let (one, two) = (handles.add("one".into()), handles.add("two".into()));
        assert_eq!(
            (&*handles.get(one).unwrap(), &*handles.get(two).unwrap()),
            ("one", "two")
        );
        assert!(handles.remove(one).is_some() && handles.remove(one).is_none());
        assert!(matches!(handles.get(one).unwrap_err().kind(), ErrorKind::Closed));
        assert!(handles.add("three".into()) > two);
        assert_eq!(handles.drain().len(), 2);
        assert!(handles.get(two).is_err());
    }
}
