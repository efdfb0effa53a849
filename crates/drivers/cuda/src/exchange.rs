//! Device memory exchanged with other libraries of the process: PyTorch, CuPy, JAX.
//!
//! In: device pointers, and streams by their handles: 1 is the legacy default stream, 2 the thread's own. Out: the same pointers as handles; order by events.
//! Always: the pointer is memory that this device's programs reach. An event orders two streams, and nothing waits on the host.
//! Never: frees, or copies.

use crate::{
    api,
    backend::{CudaBackend, CudaMark},
};
use cudarc::driver::sys;
use std::ffi::c_void;
use unigrad_device::{Error, Exchange, Range, Timeline};

/// What kernels take for granted of an argument's address.
const ALIGNMENT: usize = 64;
/// The legacy default stream, and the thread's own: never destroyed.
const DEFAULT_STREAMS: [u64; 2] = [1, 2];

fn stream(queue: u64) -> sys::CUstream {
    std::ptr::with_exposed_provenance_mut::<c_void>(queue as usize).cast()
}

impl CudaBackend {
    fn refused(&self, cause: String) -> Error {
        Error::Copy { device: self.name.clone(), cause }
    }

    /// An event after what a stream has.
    fn event_of(&self, stream: sys::CUstream) -> Result<CudaMark, Error> {
        let mut event = std::ptr::null_mut();
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: pointer to a local; the event is owned by the mark from here on.
        self.check("event", unsafe { sys::cuEventCreate(&mut event, flags) })?;
        let mark = CudaMark::of(event);
        // SAFETY: an event of the current context; the caller's stream is of this device.
        self.check("event", unsafe { sys::cuEventRecord(event, stream) })?;
        Ok(mark)
    }
}

impl Exchange for CudaBackend {
    fn alignment(&self) -> usize {
        ALIGNMENT
    }

    fn adopt(&self, address: u64, bytes: usize) -> Result<u64, Error> {
        self.enter()?;
        let (mut ordinal, mut kind) = (-1_i32, 0_u32);
        use sys::CUpointer_attribute::{CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
        let ask = |what, answer: *mut c_void| {
            // SAFETY: both attributes are 32 bits, as the locals are.
            api::check(unsafe { sys::cuPointerGetAttribute(answer, what, address) })
        };
        let asked = ask(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (&raw mut kind).cast())
            .and_then(|()| ask(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (&raw mut ordinal).cast()));
        if let Err(cause) = asked {
            return Err(self.refused(format!("{bytes} bytes at {address:#x} are no memory that CUDA knows: {cause}")));
        }
        if kind != sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 || usize::try_from(ordinal).ok() != Some(self.ordinal) {
            return Err(self.refused(format!("{bytes} bytes at {address:#x} are memory of device {ordinal}, not of this one")));
        }
        Ok(address)
    }

    fn address(&self, range: Range) -> u64 {
        range.handle + range.offset as u64
    }

    fn queue(&self) -> Option<u64> {
        Some(self.stream.expose_provenance() as u64)
    }

    fn wait_for_queue(&self, queue: u64) -> Result<(), Error> {
        self.enter()?;
        let reached = self.event_of(stream(queue))?;
        self.wait_for_peer(&reached).map(|_| ())
    }

    fn queue_waits(&self, queue: u64) -> Result<(), Error> {
        self.enter()?;
        let reached = self.event_of(self.stream)?;
        // SAFETY: an event that was recorded, and the caller's stream.
        self.check("event", unsafe { sys::cuStreamWaitEvent(stream(queue), reached.event(), 0) })
    }

    fn take_back(&self, queue: u64) -> Result<(), Error> {
        if DEFAULT_STREAMS.contains(&queue) {
            return self.wait_for_queue(queue);
        }
        self.enter()?;
        // The stream may have been destroyed, and its handle with it: all that the device has is waited for.
        // SAFETY: the context is current.
        self.check("synchronize", unsafe { sys::cuCtxSynchronize() })
    }
}
