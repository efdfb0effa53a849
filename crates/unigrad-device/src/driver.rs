//! What a backend implements.
//!
//! A driver finds devices and opens them; an open device owns memory, compiles kernels and runs them. All methods return `Result`,
//! never panic, and may be called from any thread. Work is stream-ordered: a device with one queue runs launches and copies in the
//! order they were given; `download` and `synchronize` wait.

use crate::{Error, Launch, Pending, Prepared, Run, Stopped};
use std::{any::Any, fmt, sync::Arc};
use unigrad_kernel::{Kernel, Limits};
use unigrad_scalar::Origin;

/// What a device is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// Backend name: `cpu`, …
    pub backend: &'static str,
    /// Position among the backend's devices.
    pub ordinal: usize,
    /// The hardware's name.
    pub name: String,
    /// Driver or instruction-set version in the backend's words.
    pub version: String,
    /// Bytes of memory, and how many are free; 0 when unknown.
    pub memory_total: u64,
    /// See `memory_total`.
    pub memory_free: u64,
    /// Cores, multiprocessors, compute units.
    pub compute_units: usize,
    /// Names of features a kernel may use.
    pub features: Vec<String>,
    /// A software implementation of a GPU interface: only taken when asked for.
    pub software: bool,
    /// Place in the order of `best`: lower is better.
    pub rank: u32,
    /// What a program must stay below, in the backend's words and numbers: `threads per group`, `shared memory bytes`, …
    pub limits: Vec<(&'static str, u64)>,
}

/// How a device does: what the vendor's management library tells. What it does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    /// Bytes of memory in use, by all processes.
    pub memory_used: Option<u64>,
    /// Degrees Celsius.
    pub temperature_c: Option<u32>,
    /// Watts drawn, and allowed.
    pub power_w: Option<f64>,
    /// See `power_w`.
    pub power_limit_w: Option<f64>,
    /// Megahertz of the processors and of the memory.
    pub clock_mhz: Option<u32>,
    /// See `clock_mhz`.
    pub memory_clock_mhz: Option<u32>,
    /// Percent of the last sampling period in which a kernel ran.
    pub utilization: Option<u32>,
    /// Memory errors that could not be corrected since the driver was loaded.
    pub uncorrected_errors: Option<u64>,
    /// Why the device runs slower than it could, in the library's words; empty if it does not.
    pub throttled_by: Vec<String>,
}

/// A connection between two devices of one backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Ordinals of the devices.
    pub from: usize,
    /// See `from`.
    pub to: usize,
    /// Whether the one reads the other's memory directly.
    pub peer_access: bool,
    /// What connects them, in the backend's words: `NVLink x18`, `PCIe`; empty if it does not tell.
    pub kind: String,
}

/// A point in a device's queue, as its driver made it; see [`OpenDevice::mark`].
pub type Mark = Box<dyn Any + Send + Sync>;

/// What a driver found.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    /// The devices, in ordinal order.
    pub devices: Vec<Info>,
    /// Why there is none (or fewer than expected), and what would help: `(cause, remedy)`.
    pub problem: Option<(String, String)>,
}

/// One backend.
pub trait Driver: Send + Sync {
    /// The backend's name, the part of a device's name before the colon.
    fn backend(&self) -> &'static str;
    /// Lists the devices; never fails.
    fn discover(&self) -> Discovery;
    /// Opens one.
    fn open(&self, ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error>;
    /// As [`Driver::open`], where that cannot wait, as in browsers; `None` where it can.
    fn open_later(&self, _ordinal: usize) -> Option<Pending<'static, Result<Arc<dyn OpenDevice>, Error>>> {
        None
    }
    /// How the devices are connected; empty where the backend does not tell.
    fn topology(&self) -> Vec<Link> {
        Vec::new()
    }
}

/// Memory of a device, as its driver handed it out. Freed only by [`OpenDevice::free`].
#[derive(Debug)]
pub struct RawBuffer {
    /// The driver's handle: an address, or an index into its table.
    pub handle: u64,
    /// Size; at least what was asked for.
    pub bytes: usize,
}

/// A part of a buffer: what a launch argument is.
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a> {
    /// The memory.
    pub buffer: &'a RawBuffer,
    /// First byte; a multiple of 64.
    pub offset: usize,
    /// Bytes.
    pub len: usize,
}

/// A compiled kernel.
pub trait Program: Any + Send + Sync + fmt::Debug {
    /// For the driver to get its own type back.
    fn as_any(&self) -> &dyn Any;
    /// Whether a launch writes its `arg`-th argument. True is always safe; false lets launches on several streams share it.
    fn writes(&self, _arg: usize) -> bool {
        true
    }
}

/// A device that is in use.
pub trait OpenDevice: Send + Sync {
    /// What it is, with memory figures as of now.
    fn info(&self) -> Info;
    /// Gets `bytes` (> 0) of memory aligned to 64 or more; contents are undefined.
    fn allocate(&self, bytes: usize) -> Result<RawBuffer, Error>;
    /// Gives memory back once the work that uses it is done.
    fn free(&self, buffer: RawBuffer);
    /// Nobody will ask for the contents of this memory any more; it may be reused without being freed.
    fn forget(&self, _buffer: &RawBuffer) {}
    /// Host to device.
    fn upload(&self, data: &[u8], to: Slice<'_>) -> Result<(), Error>;
    /// Device to host; waits for the work that makes the data, and reports its errors.
    fn download(&self, from: Slice<'_>, data: &mut [u8]) -> Result<(), Error>;
    /// As [`OpenDevice::download`], for where nothing may wait: the copy is under way when this returns, the future has the bytes. `None` if the
    /// device has no such way.
    fn download_later<'a>(&'a self, _from: Slice<'_>) -> Option<Pending<'a, Result<Vec<u8>, Error>>> {
        None
    }
    /// Within the device; the ranges have one length and do not overlap.
    fn copy(&self, from: Slice<'_>, to: Slice<'_>) -> Result<(), Error>;
    /// Makes a kernel launchable. Drivers cache by content themselves where compiling is slow.
    fn compile(&self, kernel: &Kernel) -> Result<Arc<dyn Program>, Error>;
    /// Whether work is done, and its errors are told, when the call that gives it returns.
    fn completes_at_once(&self) -> bool {
        false
    }
    /// Whether compiling a kernel takes long enough to do it on several threads.
    fn compiles_slowly(&self) -> bool {
        false
    }
    /// What one launch can pass: the compiler of graphs keeps kernels within it.
    fn limits(&self) -> Limits {
        Limits::NONE
    }
    /// Runs a program: one slice per [`Kernel::args`] entry and one word per [`Kernel::scalars`] entry. May return before the work is done.
    /// `origin` is what errors that surface later say of the launch. [`Error::OutOfMemory`] with bytes asked for says that nothing was queued: the
    /// launch may be tried again.
    fn launch(&self, program: &dyn Program, args: &[Slice<'_>], scalars: &[u64], origin: Option<Origin>) -> Result<(), Error>;
    /// Gets the memory of the driver's own that launching a program takes, so that the launch is not refused for want of it.
    fn reserve(&self, _program: &dyn Program) -> Result<(), Error> {
        Ok(())
    }
    /// Works out once what is the same in every run of these launches; see [`crate::Sequence`]. `temporary` is the entry of a run's table whose contents
    /// nobody asks for between runs.
    fn prepare(&self, _launches: &[Launch], _temporary: Option<usize>) -> Result<Prepared, Error> {
        Ok(Box::new(()))
    }
    /// Runs launches of a sequence, with what [`OpenDevice::prepare`] gave (on this queue, or on another one of the device), as if
    /// [`OpenDevice::settle`] were called for what each begins, and [`OpenDevice::launch`] for each.
    fn run(&self, run: &Run<'_>) -> Result<(), Stopped> {
        run.one_by_one(self)
    }
    /// As [`OpenDevice::reserve`], for all launches of a sequence.
    fn reserve_for(&self, _prepared: &(dyn Any + Send + Sync), launches: &[Launch]) -> Result<(), Error> {
        launches.iter().try_for_each(|launch| self.reserve(&*launch.program))
    }
    /// Says whether what is in the memory is right, as far as errors that the device finds while it runs go; waits if that is not known yet.
    fn verify(&self, _slice: Slice<'_>) -> Result<(), Error> {
        Ok(())
    }
    /// Errors of the launches so far, known or still to be found, do not concern what is in the memory: its contents do not matter any more, or
    /// these launches kept what was right before.
    fn settle(&self, _slice: Slice<'_>) {}
    /// Waits for all work, and reports its errors.
    fn synchronize(&self) -> Result<(), Error>;
    /// A further queue of the same device, as a device that shares memory, programs and marks with this one; `None` if there is only one.
    fn fork(&self) -> Result<Option<Arc<dyn OpenDevice>>, Error> {
        Ok(None)
    }
    /// Itself, for [`OpenDevice::copy_from_peer`].
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
    /// Copies from the memory of another device of the same backend, in this device's order. False, and nothing done, if that cannot be had.
    fn copy_from_peer(&self, _source: &dyn OpenDevice, _from: Slice<'_>, _to: Slice<'_>) -> Result<bool, Error> {
        Ok(false)
    }
    /// Hands queued work to the hardware now, where a driver collects it first.
    fn flush(&self) -> Result<(), Error> {
        Ok(())
    }
    /// A mark after the work given so far, or `None` if the device cannot mark its queue (then its work is done when `launch` returns).
    fn mark(&self) -> Result<Option<Mark>, Error> {
        Ok(None)
    }
    /// A mark that is only waited for, never timed: where that costs less.
    fn fence(&self) -> Result<Option<Mark>, Error> {
        self.mark()
    }
    /// Whether the work before a mark of this device is done.
    fn is_done(&self, _mark: &Mark) -> Result<bool, Error> {
        Ok(true)
    }
    /// Waits for the work before a mark of this device.
    fn wait(&self, _mark: &Mark) -> Result<(), Error> {
        self.synchronize()
    }
    /// Nanoseconds of device time between two marks of this device; waits for them.
    fn elapsed(&self, _from: &Mark, _to: &Mark) -> Result<f64, Error> {
        Ok(0.0)
    }
    /// Work given to this device from now on waits for a mark of another device of the same backend, or of another queue of this one. False if the driver cannot do that:
    /// then the caller waits on the host.
    fn wait_for_peer(&self, _mark: &Mark) -> Result<bool, Error> {
        Ok(false)
    }
    /// How the device does, or `None` where nothing tells.
    fn health(&self) -> Result<Option<Health>, Error> {
        Ok(None)
    }
    /// Sets how many threads the device may use, where it is a matter of threads.
    fn set_threads(&self, _threads: usize) {}
    /// Whether `upload`ed host memory and device memory are the same, so that [`OpenDevice::host_bytes`] works.
    fn host_bytes(&self, _slice: Slice<'_>) -> Option<*const u8> {
        None
    }
}
