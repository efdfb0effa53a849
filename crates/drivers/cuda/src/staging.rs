//! Copies between host and device through page-locked memory, two halves in turn, so that the processor's copy and the device's overlap.
//!
//! Always: `upload` returns when the data may be reused, not when it has arrived; `download` returns when it has.

use crate::{api, backend::Failure};
use cudarc::driver::sys;

/// Bytes of one half.
const HALF: usize = 4 << 20;

/// Page-locked memory and an event for each half.
pub(crate) struct Staging {
    memory: *mut u8,
    events: [sys::CUevent; 2],
    /// Whether a copy from or to this half may still be under way.
    busy: [bool; 2],
    next: usize,
}

// SAFETY: the pointers belong to this value alone, and the driver API may be called from any thread.
unsafe impl Send for Staging {}

impl Staging {
    /// For the current context.
    pub(crate) fn new() -> Result<Staging, String> {
        let mut memory = std::ptr::null_mut();
        // SAFETY: pointer to a local.
        api::check(unsafe { sys::cuMemHostAlloc(&mut memory, 2 * HALF, 0) })?;
        let mut staging = Staging { memory: memory.cast(), events: [std::ptr::null_mut(); 2], busy: [false; 2], next: 0 };
        for event in &mut staging.events {
            let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
            // SAFETY: pointer to a field; what was made is released by `drop`.
            api::check(unsafe { sys::cuEventCreate(event, flags) })?;
        }
        Ok(staging)
    }

    /// A half that no copy uses any more.
    fn half(&mut self) -> Result<(usize, *mut u8), Failure> {
        let half = self.next;
        self.next = 1 - half;
        self.wait(half)?;
        // SAFETY: within the allocation of two halves.
        Ok((half, unsafe { self.memory.add(half * HALF) }))
    }

    fn wait(&mut self, half: usize) -> Result<(), Failure> {
        if std::mem::take(&mut self.busy[half]) {
            // SAFETY: an event of this value, recorded before.
            Failure::check("copy", unsafe { sys::cuEventSynchronize(self.events[half]) })?;
        }
        Ok(())
    }

    fn record(&mut self, half: usize, stream: sys::CUstream) -> Result<(), Failure> {
        // SAFETY: event and stream of one context.
        Failure::check("copy", unsafe { sys::cuEventRecord(self.events[half], stream) })?;
        self.busy[half] = true;
        Ok(())
    }

    pub(crate) fn upload(&mut self, data: &[u8], to: u64, stream: sys::CUstream) -> Result<(), Failure> {
        for (at, chunk) in data.chunks(HALF).enumerate() {
            let (half, memory) = self.half()?;
            // SAFETY: the half is free, and as long as a chunk at most; the device range was checked by the caller.
            Failure::check("upload", unsafe {
                std::ptr::copy_nonoverlapping(chunk.as_ptr(), memory, chunk.len());
                sys::cuMemcpyHtoDAsync_v2(to + (at * HALF) as u64, memory.cast(), chunk.len(), stream)
            })?;
            self.record(half, stream)?;
        }
        Ok(())
    }

    pub(crate) fn download(&mut self, from: u64, data: &mut [u8], stream: sys::CUstream) -> Result<(), Failure> {
        let mut pending: Option<(usize, *mut u8, &mut [u8])> = None;
        for (at, chunk) in data.chunks_mut(HALF).enumerate() {
            let (half, memory) = self.half()?;
            // SAFETY: as in `upload`.
            Failure::check("download", unsafe {
                sys::cuMemcpyDtoHAsync_v2(memory.cast(), from + (at * HALF) as u64, chunk.len(), stream)
            })?;
            self.record(half, stream)?;
            // The half before this one has arrived, or will: copy it out while the device fills this one.
            if let Some((half, memory, chunk)) = pending.replace((half, memory, chunk)) {
                self.take(half, memory, chunk)?;
            }
        }
        match pending {
            Some((half, memory, chunk)) => self.take(half, memory, chunk),
            None => Ok(()),
        }
    }

    fn take(&mut self, half: usize, memory: *const u8, chunk: &mut [u8]) -> Result<(), Failure> {
        self.wait(half)?;
        // SAFETY: the copy into the half is done, and it holds `chunk.len()` bytes.
        unsafe { std::ptr::copy_nonoverlapping(memory, chunk.as_mut_ptr(), chunk.len()) };
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        for half in 0..2 {
            let _ = self.wait(half);
        }
        // SAFETY: made by `new`, released once; nulls are events that could not be made.
        unsafe {
            for event in self.events.into_iter().filter(|event| !event.is_null()) {
                sys::cuEventDestroy_v2(event);
            }
            sys::cuMemFreeHost(self.memory.cast());
        }
    }
}
