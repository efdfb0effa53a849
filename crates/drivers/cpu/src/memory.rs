//! Memory: where it comes from, how much there is, and how kernels see it.
//!
//! In: sizes. Out: aligned blocks, or a refusal before the system runs dry.
//! Always: blocks are aligned to 64 bytes (large ones to 2 MiB, so that the system can use huge pages). A block that the machine
//! cannot back is refused, for the system would hand out the addresses and kill the process when they are used.
//! Never: zeroes memory, or keeps freed blocks (the pool above does).

use std::{
    alloc::{Layout, alloc, dealloc},
    ptr::NonNull,
};
use unigrad_scalar::DType;

/// One argument of a launch: where it is, how many elements, of what.
///
/// The pointer is aligned for the dtype: memory of other libraries begins anywhere. Kernels may read, and write if the argument says so, `len` elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buf {
    pub(crate) ptr: *mut u8,
    pub(crate) len: usize,
    pub(crate) dtype: DType,
}

// SAFETY: a launch partitions its output among threads; what is shared is only read.
unsafe impl Send for Buf {}
// SAFETY: as above.
unsafe impl Sync for Buf {}

/// Why a launch stopped.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    /// An index outside `-size..size`.
    Index { index: i64, size: i64 },
    /// A mistake of a program that the user wrote, told with its place.
    Program(String),
    /// A state that the driver itself rules out: a mistake here, and a result that was not computed.
    Internal(&'static str),
}

/// Where zero bytes are: aligned, and never accessed.
pub(crate) const NOWHERE: *mut u8 = std::ptr::without_provenance_mut(64);

const HUGE_PAGE: usize = 2 << 20;

fn layout(bytes: usize) -> Option<Layout> {
    let align = match bytes {
        n if n >= 2 * HUGE_PAGE => HUGE_PAGE,
        n if n >= 1 << 16 => 4096,
        _ => 64,
    };
    Layout::from_size_align(bytes, align).ok()
}

/// A block of `bytes` (> 0), or `None` if the system has none.
pub(crate) fn allocate(bytes: usize) -> Option<NonNull<u8>> {
    let layout = layout(bytes).filter(|layout| layout.size() > 0)?;
    // SAFETY: the layout's size is not zero.
    let block = NonNull::new(unsafe { alloc(layout) })?;
    if layout.align() == HUGE_PAGE {
        advise_huge_pages(block, bytes);
    }
    Some(block)
}

/// Gives a block back.
///
/// # Safety
/// `block` came from [`allocate`] with the same `bytes`, and is not used again.
pub(crate) unsafe fn free(block: NonNull<u8>, bytes: usize) {
    if let Some(layout) = layout(bytes) {
        // SAFETY: the caller's promise, and `layout` depends on `bytes` alone.
        unsafe { dealloc(block.as_ptr(), layout) };
    }
}

#[cfg(target_os = "linux")]
fn advise_huge_pages(block: NonNull<u8>, bytes: usize) {
    use std::ffi::{c_int, c_void};
    const MADV_HUGEPAGE: c_int = 14;
    unsafe extern "C" {
        fn madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int;
    }
    // SAFETY: the range is ours and its start is a page's; this advice changes no contents, and its failure changes nothing at all.
    unsafe { madvise(block.as_ptr().cast(), bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise_huge_pages(_block: NonNull<u8>, _bytes: usize) {}

/// Bytes of memory the process may use, and how many of them are unused now; `None` where the system does not tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Physical {
    pub(crate) total: u64,
    pub(crate) available: u64,
}

/// What the system and the control group leave to this process.
pub(crate) fn physical() -> Option<Physical> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let mut physical = Physical { total: meminfo(&text, "MemTotal:")?, available: meminfo(&text, "MemAvailable:")? };
    let number = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    for (limit, used, stat, cache) in [
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "inactive_file "),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
            "/sys/fs/cgroup/memory/memory.stat",
            "total_inactive_file ",
        ),
    ] {
        if let Some(limit) = number(limit) {
            let stat = std::fs::read_to_string(stat).unwrap_or_default();
            let cache = stat.lines().find_map(|line| line.strip_prefix(cache)?.trim().parse().ok()).unwrap_or(0);
            let used = number(used).unwrap_or(0).saturating_sub(cache);
            physical.total = physical.total.min(limit);
            physical.available = physical.available.min(limit.saturating_sub(used));
        }
    }
    Some(physical)
}

fn meminfo(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned() {
        for bytes in [1, 64, 1000, 1 << 16, (4 << 20) + 4096] {
            let block = allocate(bytes).unwrap();
            assert_eq!(block.as_ptr() as usize % layout(bytes).unwrap().align(), 0);
            // SAFETY: the block is ours and has `bytes` bytes.
            unsafe {
                block.as_ptr().write_bytes(1, bytes);
                free(block, bytes);
            }
        }
        assert!(allocate(usize::MAX).is_none());
        assert!(allocate(0).is_none());
    }

    #[test]
    fn meminfo_is_read() {
        let text = "MemTotal:       24684096 kB\nMemFree:  1 kB\nMemAvailable:   23780868 kB\n";
        assert_eq!(meminfo(text, "MemAvailable:"), Some(23780868 * 1024));
        assert_eq!(meminfo("MemTotal: ? kB", "MemTotal:"), None);
    }
}
