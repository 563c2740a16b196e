//! Counts what each thread of a test's process allocates, so that tests beside each other do not disturb it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static GIVEN: Cell<usize> = const { Cell::new(0) };
}

fn more(bytes: usize) {
    let held = HELD.get() + bytes as isize;
    HELD.set(held);
    PEAK.set(PEAK.get().max(held));
    GIVEN.set(GIVEN.get() + bytes);
}

fn less(bytes: usize) {
    HELD.set(HELD.get() - bytes as isize);
}

// SAFETY: All calls are those of the system's allocator, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: The caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: The caller's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        less(layout.size());
        // SAFETY: The caller's.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Old and new are there at once where the memory is moved.
        more(size);
        less(layout.size());
        // SAFETY: The caller's.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// What this thread allocates from its making on.
pub struct Allocated {
    held: isize,
    given: usize,
}

impl Allocated {
    pub fn begin() -> Self {
        let held = HELD.get();
        PEAK.set(held);
        Allocated {
            held,
            given: GIVEN.get(),
        }
    }

    /// The most at once.
    pub fn peak(&self) -> usize {
        usize::try_from(PEAK.get() - self.held).unwrap_or(0)
    }

    /// All together, that was given back too: what is copied again and again shows here.
    pub fn total(&self) -> usize {
        GIVEN.get() - self.given
    }
}
