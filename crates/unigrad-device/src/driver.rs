//! What a backend implements.
//!
//! A driver finds devices and opens them; an open device owns memory, compiles kernels and runs them. All methods return `Result`,
//! never panic, and may be called from any thread. Work is stream-ordered: a device with one queue runs launches and copies in the
//! order they were given; `download` and `synchronize` wait. What only some devices can is in [`crate::Abilities`].

use crate::{Abilities, Budget, Error, Health, Launch, Mark, Pending, Prepared, Ran, Run, Stopped};
use std::{any::Any, fmt, sync::Arc};
use unigrad_kernel::{Channels, Kernel, Library, Limits};
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
    /// Place in the order of `best`: lower is better; GPUs are below [`Info::PROCESSOR`].
    pub rank: u32,
    /// What a program must stay below, in the backend's words and numbers: `threads per group`, `shared memory bytes`, …
    pub limits: Vec<(&'static str, u64)>,
}

/// The limit that is the memory's rate by the data sheet, in bytes a second, where a driver knows it.
pub const STATED_BANDWIDTH: &str = "stated memory bytes per second";

impl Info {
    /// The rank of the processor.
    pub const PROCESSOR: u32 = 1000;

    /// Whether it is a GPU in hardware.
    pub fn is_gpu(&self) -> bool {
        !self.software && self.rank < Info::PROCESSOR
    }

    /// Whether it is a GPU that takes little power: it shares the processor's memory, or its driver says so.
    pub fn is_low_power(&self) -> bool {
        self.is_gpu() && self.features.iter().any(|feature| matches!(feature.as_str(), "unified memory" | "low power"))
    }
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
    fn open_async(&self, _ordinal: usize) -> Option<Pending<'static, Result<Arc<dyn OpenDevice>, Error>>> {
        None
    }
    /// The examples per step to begin with on one of its devices, where nothing else is known of the model.
    fn starting_batch(&self, _info: &Info) -> usize {
        32
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
pub trait Executable: Any + Send + Sync + fmt::Debug {
    /// For the driver to get its own type back.
    fn as_any(&self) -> &dyn Any;
    /// Whether a launch writes its `arg`-th argument. True is always safe; false lets launches on several streams share it.
    fn writes(&self, _arg: usize) -> bool {
        true
    }
}

/// What a driver's compiler made of one program of an [`Executable`], as far as the driver tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compiled {
    /// The entry point.
    pub entry: String,
    /// The language that the compiler took: `cuda`, `opencl`, …; `ir` where nothing is compiled.
    pub language: &'static str,
    /// The text that it took.
    pub source: String,
    /// The machine code, or what stands for it: a cubin or PTX, a code object, an OpenCL binary.
    pub binary: Option<Vec<u8>>,
    /// The part of a compute unit's threads that can be at work in the program at a time.
    pub occupancy: Option<f64>,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Bytes of shared memory of a workgroup.
    pub shared_bytes: Option<u64>,
    /// Bytes of memory that a thread takes beside its registers: what was spilled, and arrays of its own.
    pub local_bytes: Option<u64>,
}

/// Part of a device's memory by its handle: a [`Slice`] that may be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// [`RawBuffer::handle`].
    pub handle: u64,
    /// First byte; a multiple of 64.
    pub offset: usize,
    /// Bytes.
    pub len: usize,
}

impl From<Slice<'_>> for Range {
    fn from(slice: Slice<'_>) -> Range {
        Range { handle: slice.buffer.handle, offset: slice.offset, len: slice.len }
    }
}

/// A device that is in use: what every device can. What some can besides are its [`Abilities`].
pub trait OpenDevice: Abilities + Send + Sync {
    /// What it is, with memory figures as of now.
    fn info(&self) -> Info;
    /// Gets `bytes` (> 0) of memory aligned to 64 or more; contents are undefined.
    fn allocate(&self, bytes: usize) -> Result<RawBuffer, Error>;
    /// Gives memory back once the work that uses it is done.
    fn free(&self, buffer: RawBuffer);
    /// From now on, memory that the driver gets for itself is counted here, on all queues of the device; what the count refuses is [`Error::OutOfMemory`].
    fn count_own(&self, _budget: &Arc<Budget>) {}
    /// The contents of this memory will not be asked for any more; it may be reused without being freed.
    fn forget(&self, _buffer: &RawBuffer) {}
    /// Host to device.
    fn upload(&self, data: &[u8], to: Slice<'_>) -> Result<(), Error>;
    /// Device to host; waits for the work that makes the data, and reports its errors.
    fn download(&self, from: Slice<'_>, data: &mut [u8]) -> Result<(), Error>;
    /// Within the device; the ranges have one length and do not overlap.
    fn copy(&self, from: Slice<'_>, to: Slice<'_>) -> Result<(), Error>;
    /// Makes a kernel launchable. Drivers cache by content themselves where compiling is slow.
    fn compile(&self, kernel: &Kernel) -> Result<Arc<dyn Executable>, Error>;
    /// Runs a program: one slice per [`Kernel::args`] entry and one word per [`Kernel::scalars`] entry. May return before the work is done.
    /// `origin` is what errors that surface later say of the launch. [`Error::OutOfMemory`] with bytes asked for says that nothing was queued: the
    /// launch may be tried again.
    fn launch(&self, program: &dyn Executable, args: &[Slice<'_>], scalars: &[u64], origin: Option<Origin>) -> Result<(), Error>;
    /// What the driver's compiler made of each program of a compiled kernel; empty where nothing is compiled.
    fn describe(&self, _program: &dyn Executable) -> Result<Vec<Compiled>, Error> {
        Ok(Vec::new())
    }
    /// Waits for all work, and reports its errors.
    fn synchronize(&self) -> Result<(), Error>;
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
    /// What a value may cost, in additions per element, for the compiler of graphs to have it computed again by each kernel that reads it rather than
    /// stored: what a store and a load take.
    fn recompute(&self) -> usize {
        3
    }
    /// Whether launches that need nothing of each other are better one ([`unigrad_kernel::Joined`]): where a launch costs more than it does.
    fn joins(&self) -> bool {
        false
    }
    /// Whether sums down the columns of what rows are made of are better made with the rows ([`unigrad_kernel::Crossed`]): where both wait for memory.
    fn crosses(&self) -> bool {
        false
    }
    /// Whether sums of a product's operand along `k` are better made with the product ([`unigrad_kernel::Summed`]): where that has room for it.
    fn sums_operands(&self) -> bool {
        false
    }
    /// Where convolutions have their channels in memory.
    fn channels(&self) -> Channels {
        Channels::First
    }
    /// What the compiler of graphs should know of a vendor's library of products: it keeps inside of a product what the library does inside, where
    /// that is worth it.
    fn library(&self) -> Option<Library> {
        None
    }
    /// Gets the memory of the driver's own that launching a program takes, so that the launch is not refused for want of it.
    fn reserve(&self, _program: &dyn Executable) -> Result<(), Error> {
        Ok(())
    }
    /// Says whether what is in the memory is right, as far as errors that the device finds while it runs go; waits if that is not known yet.
    fn verify(&self, _slice: Slice<'_>) -> Result<(), Error> {
        Ok(())
    }
    /// Errors of the launches so far, known or still to be found, do not concern what is in the memory: its contents do not matter any more, or
    /// these launches kept what was right before.
    fn settle(&self, _slice: Slice<'_>) {}
    /// A further queue of the same device, as a device that shares memory, programs and marks with this one; `None` if there is only one.
    fn fork(&self) -> Result<Option<Arc<dyn OpenDevice>>, Error> {
        Ok(None)
    }
}

/// A device's abilities, and what callers do where it lacks one.
impl dyn OpenDevice + '_ {
    /// See [`crate::Timeline::mark`]; `None` where the queue cannot be marked: then its work is done when `launch` returns, or waited for with all other.
    pub fn mark(&self) -> Result<Option<Mark>, Error> {
        self.marks().map_or(Ok(None), |marks| marks.mark())
    }

    /// See [`crate::Timeline::fence`].
    pub fn fence(&self) -> Result<Option<Mark>, Error> {
        self.marks().map_or(Ok(None), |marks| marks.fence())
    }

    /// See [`crate::Timeline::is_done`].
    pub fn is_done(&self, mark: &Mark) -> Result<bool, Error> {
        self.marks().map_or(Ok(true), |marks| marks.is_done(mark))
    }

    /// See [`crate::Timeline::wait`].
    pub fn wait(&self, mark: &Mark) -> Result<(), Error> {
        self.marks().map_or_else(|| self.synchronize(), |marks| marks.wait(mark))
    }

    /// See [`crate::Timeline::elapsed`].
    pub fn elapsed(&self, from: &Mark, to: &Mark) -> Result<f64, Error> {
        self.marks().map_or(Ok(0.0), |marks| marks.elapsed(from, to))
    }

    /// See [`crate::Timeline::wait_for_peer`].
    pub fn wait_for_peer(&self, mark: &Mark) -> Result<bool, Error> {
        self.marks().map_or(Ok(false), |marks| marks.wait_for_peer(mark))
    }

    /// Hands queued work to the hardware now, where a driver collects it first.
    pub fn hand_over(&self) -> Result<(), Error> {
        self.flush().map_or(Ok(()), |queue| queue.flush())
    }

    /// How the device does, or `None` where nothing tells.
    pub fn health(&self) -> Result<Option<Health>, Error> {
        self.monitor().map_or(Ok(None), |monitor| monitor.health())
    }

    /// See [`crate::Peers::copy_from_peer`].
    pub fn copy_from_peer(&self, source: &dyn OpenDevice, from: Slice<'_>, to: Slice<'_>) -> Result<bool, Error> {
        match (self.peers(), source.peers()) {
            (Some(own), Some(source)) => own.copy_from_peer(source.as_any(), from.into(), to.into()),
            _ => Ok(false),
        }
    }

    /// See [`crate::HostMemory::host_bytes`]; `None` for a slice that leaves its buffer, too.
    pub fn host_bytes(&self, slice: Slice<'_>) -> Option<*const u8> {
        let inside = slice.offset.checked_add(slice.len).is_some_and(|end| end <= slice.buffer.bytes);
        self.host_memory().filter(|_| inside)?.host_bytes(slice.into())
    }

    /// See [`crate::ReadAsync::download_async`].
    pub fn download_async(&self, from: Slice<'_>) -> Option<Pending<'_, Result<Vec<u8>, Error>>> {
        self.read_async()?.download_async(from.into())
    }

    /// Sets how many threads the device may use, where it is a matter of threads.
    pub fn set_threads(&self, threads: usize) {
        if let Some(device) = self.threads() {
            device.set_threads(threads);
        }
    }

    /// See [`crate::Sequences::prepare`].
    pub fn prepare(&self, launches: &[Launch], temporary: Option<usize>) -> Result<Prepared, Error> {
        self.sequences().map_or_else(|| Ok(Box::new(()) as Prepared), |device| device.prepare(launches, temporary))
    }

    /// See [`crate::Sequences::run`]; one launch after the other where nothing is prepared.
    pub fn run(&self, run: &Run<'_>) -> Result<Ran, Stopped> {
        self.sequences().map_or_else(|| run.one_by_one(self), |device| device.run(run))
    }

    /// See [`crate::Sequences::reserve_for`].
    pub fn reserve_for(&self, prepared: &(dyn Any + Send + Sync), launches: &[Launch]) -> Result<(), Error> {
        match self.sequences() {
            Some(device) => device.reserve_for(prepared, launches),
            None => launches.iter().try_for_each(|launch| self.reserve(&*launch.program)),
        }
    }
}
