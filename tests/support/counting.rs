//! Counts what a test's process has allocated, and the most of it. A driver allocates elsewhere.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What the process's allocator has given.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn more(bytes: usize) {
    PEAK.fetch_max(HELD.fetch_add(bytes, Relaxed) + bytes, Relaxed);
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
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: The caller's.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Old and new are there at once where the memory is moved.
        more(size);
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: The caller's.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// The most memory since it began, beside what was held then. One at a time.
pub struct Allocated(usize);

impl Allocated {
    pub fn begin() -> Self {
        let held = HELD.load(Relaxed);
        PEAK.store(held, Relaxed);
        Allocated(held)
    }

    pub fn bytes(&self) -> usize {
        PEAK.load(Relaxed) - self.0
    }
}
