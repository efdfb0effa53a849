//! Page-locked memory of the host that kernels reach where it lies, for few words that are seldom written.
//!
//! Always: atomic operations of kernels on these words are atomic among the kernels of one device; the host looks only after a wait that covers them,
//! and with unified addresses every stream of the device reaches them.

use crate::{api, backend::CudaBackend};
use cudarc::driver::sys;
use std::{
    ffi::c_void,
    sync::{
        Arc,
        atomic::{
            AtomicU32,
            Ordering::{Acquire, Release},
        },
    },
};
use unigrad_device::{Error, MappedMemory, MappedWords, Range};

/// The memory, as host and device know it.
#[derive(Debug)]
struct Words {
    context: sys::CUcontext,
    host: *mut u32,
    device: u64,
    count: usize,
}

// SAFETY: the memory is reached by atomic accesses only, and the driver API may be called from any thread.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: callers stay below `count`; the allocation is aligned to a page, lives as long as `self`, and is accessed atomically only.
        unsafe { AtomicU32::from_ptr(self.host.add(at)) }
    }

    fn holds(&self, first: usize, count: usize) -> bool {
        first.checked_add(count).is_some_and(|end| end <= self.count)
    }
}

impl MappedWords for Words {
    fn range(&self) -> Range {
        Range { handle: self.device, offset: 0, len: 4 * self.count }
    }

    fn read(&self, first: usize, words: &mut [u32]) -> bool {
        let fits = self.holds(first, words.len());
        if fits {
            words.iter_mut().enumerate().for_each(|(at, word)| *word = self.word(first + at).load(Acquire));
        }
        fits
    }

    fn write(&self, first: usize, words: &[u32]) -> bool {
        let fits = self.holds(first, words.len());
        if fits {
            words.iter().enumerate().for_each(|(at, word)| self.word(first + at).store(*word, Release));
        }
        fits
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: a retained context; the memory was made by `map` and is released once.
        unsafe {
            if sys::cuCtxSetCurrent(self.context) == sys::CUresult::CUDA_SUCCESS {
                sys::cuMemFreeHost(self.host.cast());
            }
        }
    }
}

impl MappedMemory for CudaBackend {
    fn map(&self, words: usize) -> Result<Arc<dyn MappedWords>, Error> {
        self.enter()?;
        let refuse = |cause: String| Error::Copy { device: self.name().to_owned(), cause };
        let mut host: *mut c_void = std::ptr::null_mut();
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: pointer to a local.
        api::check(unsafe { sys::cuMemHostAlloc(&mut host, 4 * words, flags) }).map_err(refuse)?;
        // Owns the memory from here on.
        let mut mapped = Words { context: self.context(), host: host.cast(), device: 0, count: words };
        // SAFETY: pointer to a field; memory that was asked for with this flag.
        api::check(unsafe { sys::cuMemHostGetDevicePointer_v2(&mut mapped.device, host, 0) }).map_err(refuse)?;
        (0..words).for_each(|at| mapped.word(at).store(0, Release));
        Ok(Arc::new(mapped))
    }
}
