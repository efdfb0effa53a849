//! Hints to the caches. Stores that bypass them, for outputs that no cache holds anyway: the line is not read before it is
//! written. And what is wanted soon.

/// Copies `bytes` bytes.
///
/// # Safety
/// Both ranges are valid and do not overlap.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    let head = to.align_offset(64).min(bytes);
    // SAFETY: the caller's promise; SSE2 is part of the target, and the destination is aligned after the head.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        let lines = (bytes - head) / 64;
        for line in 0..lines {
            for part in 0..4 {
                let at = head + line * 64 + part * 16;
                _mm_stream_si128(to.add(at).cast::<__m128i>(), _mm_loadu_si128(from.add(at).cast::<__m128i>()));
            }
        }
        let tail = head + lines * 64;
        std::ptr::copy_nonoverlapping(from.add(tail), to.add(tail), bytes - tail);
    }
}

/// Copies `bytes` bytes.
///
/// # Safety
/// Both ranges are valid and do not overlap.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
}

/// Makes streamed stores visible to other threads, before this thread reports that it is done.
pub(super) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of the target.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    };
}

/// Asks for the bytes from `at` on to be brought near, or into the nearest cache. Any address may be named: nothing is read.
pub(super) fn prefetch(at: *const u8, bytes: usize, nearest: bool) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let line = at.wrapping_add(line).cast();
        // SAFETY: a hint, which never faults.
        unsafe { if nearest { _mm_prefetch::<{ _MM_HINT_T0 }>(line) } else { _mm_prefetch::<{ _MM_HINT_T1 }>(line) } };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (at, bytes, nearest);
}
