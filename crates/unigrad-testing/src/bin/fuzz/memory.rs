//! An allocator that counts.
//!
//! Always: what would take the process over [`CEILING`] is refused, as a machine without memory does; the figures are those of the whole
//! process.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Bytes that a machine of this size can spare.
const CEILING: usize = 6 << 30;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

pub(crate) struct Counting;

/// The most that `work` had at once, beyond what there was before.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    (result, PEAK.load(Relaxed).saturating_sub(before))
}

/// Whether there is room for so many bytes, which are counted then.
fn take(bytes: usize) -> bool {
    let now = NOW.fetch_add(bytes, Relaxed).wrapping_add(bytes);
    if now > CEILING {
        NOW.fetch_sub(bytes, Relaxed);
        return false;
    }
    PEAK.fetch_max(now, Relaxed);
    true
}

// SAFETY: each call is the system allocator's own, or a null pointer, which says that there is no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > CEILING || !take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() {
            NOW.fetch_sub(layout.size(), Relaxed);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let more = size.saturating_sub(layout.size());
        if more > CEILING || !take(more) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        let moved = unsafe { System.realloc(block, layout, size) };
        let gone = if moved.is_null() { more } else { layout.size().saturating_sub(size) };
        NOW.fetch_sub(gone, Relaxed);
        moved
    }
}
