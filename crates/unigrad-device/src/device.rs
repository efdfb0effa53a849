//! An open device: what the upper rooms hold.
//!
//! In: kernels, bytes, sizes. Out: programs, buffers, typed errors; counters that tests read.
//! Always: one `Device` per device and process, so handles are compared, copied and stored freely; a device lives as long as the
//! process. A kernel is compiled once per device, whichever caller asks.
//! Never: panics because of what a driver answers.

use crate::{
    Buffer, Compiled, Error, Executable, Health, Info, Mark, MemoryPool, OpenDevice, Origin, Pending, Ran, RawBuffer, Slice,
    pool::{MemoryStats, Pool, current_tag},
    profile::{self, Work},
    stream::Queues,
};
use std::{
    collections::HashMap,
    fmt,
    hash::{Hash, Hasher},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};
use unigrad_kernel::Kernel;

/// A device that is open. Handles of one device are equal.
#[derive(Clone, Copy)]
pub struct Device(&'static Inner);

/// A compiled kernel, or the place where it will be; locked while it is compiled, so that it is not compiled twice.
type ProgramSlot = Arc<Mutex<Option<Arc<dyn Executable>>>>;

/// Programs kept before unused ones are dropped.
const MAX_PROGRAMS: usize = 8192;

pub(crate) struct Inner {
    pub(crate) id: u32,
    name: String,
    /// The process that opened it.
    process: u32,
    /// The first queue.
    pub(crate) open: Arc<dyn OpenDevice>,
    pub(crate) queues: Queues,
    pool: Pool,
    programs: Mutex<HashMap<Kernel, ProgramSlot>>,
    lost: AtomicBool,
    n_compiles: AtomicU64,
    n_launches: AtomicU64,
    n_uploads: AtomicU64,
    n_downloads: AtomicU64,
    n_copies: AtomicU64,
    n_replays: AtomicU64,
    n_replay_changes: AtomicU64,
    n_waits: AtomicU64,
}

/// How often something was done on a device since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Allocations the driver made (what the pool served from its own is not counted).
    pub allocations: u64,
    /// Kernels the driver compiled.
    pub compiles: u64,
    /// Launches.
    pub launches: u64,
    /// Copies from the host.
    pub uploads: u64,
    /// Copies to the host.
    pub downloads: u64,
    /// Copies within the device.
    pub copies: u64,
    /// Runs of a sequence whose launches the driver had kept, and queued by one call; they count as launches as well.
    pub replays: u64,
    /// Launches of these that were given other arguments first.
    pub replay_changes: u64,
}

impl Inner {
    /// See [`MemoryPool::Idle`].
    pub(crate) fn sweep_pool(&self) -> Option<std::time::Duration> {
        if self.lost.load(Relaxed) { None } else { self.pool.sweep(self) }
    }
}

impl Device {
    /// Lives as long as the process; the registry makes one per open device.
    pub(crate) fn leak(id: u32, name: String, open: Arc<dyn OpenDevice>) -> Device {
        let pool = Pool::default();
        open.count_own(pool.budget());
        Device(Box::leak(Box::new(Inner {
            id,
            name,
            process: process(),
            open,
            queues: Queues::default(),
            pool,
            programs: Mutex::default(),
            lost: AtomicBool::new(false),
            n_compiles: AtomicU64::new(0),
            n_launches: AtomicU64::new(0),
            n_uploads: AtomicU64::new(0),
            n_downloads: AtomicU64::new(0),
            n_copies: AtomicU64::new(0),
            n_replays: AtomicU64::new(0),
            n_replay_changes: AtomicU64::new(0),
            n_waits: AtomicU64::new(0),
        })))
    }

    /// A small integer, stable within the process; [`Device::from_id`] is its inverse.
    pub fn id(self) -> u32 {
        self.0.id
    }

    /// Its name: `cpu:0`.
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// Its backend's name, the part of [`Device::name`] before the colon.
    pub fn backend(self) -> &'static str {
        self.name().split(':').next().unwrap_or_default()
    }

    /// What it is, with memory figures as of now.
    pub fn info(self) -> Info {
        self.0.open.info()
    }

    /// Whether it reported that it is gone. Opening it by name again makes a new device.
    pub fn is_lost(self) -> bool {
        self.0.lost.load(Relaxed)
    }

    /// The driver's side of this thread's queue, for the profiler's clocks.
    pub(crate) fn driver(self) -> Arc<dyn OpenDevice> {
        self.0.queue(self.0.current())
    }

    pub(crate) fn inner(self) -> &'static Inner {
        self.0
    }

    /// Bytes that buffers own.
    pub(crate) fn allocated(self) -> u64 {
        self.0.pool.allocated()
    }

    /// Whether this is the process that opened the device. In a fork of it, the threads of the driver are missing, and a call may wait for ever.
    fn is_here(self) -> bool {
        self.0.process == process()
    }

    /// An error in a fork of the process that opened the device.
    pub(crate) fn here(self) -> Result<(), Error> {
        match self.is_here() {
            true => Ok(()),
            false => Err(Error::OtherProcess { device: self.to_string(), opened_by: self.0.process, process: process() }),
        }
    }

    pub(crate) fn note<T>(self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(Error::DeviceLost { .. }) = &result {
            self.0.lost.store(true, Relaxed);
        }
        result
    }

    /// Memory for `bytes` bytes, from the pool; contents are undefined.
    ///
    /// If the device has none left, what the pool keeps for reuse is given back and the request tried once more; then
    /// [`Error::OutOfMemory`] tells what was asked, what is free and what uses the rest. Other buffers stay as they are.
    pub fn allocate(self, bytes: usize) -> Result<Buffer, Error> {
        self.allocate_tagged(bytes, current_tag())
    }

    /// As [`Device::allocate`], accounted to `tag` instead of the thread's own ([`crate::with_tag`]).
    pub fn allocate_tagged(self, bytes: usize, tag: &'static str) -> Result<Buffer, Error> {
        self.here()?;
        let raw = match bytes {
            0 => None,
            _ => Some(self.note(self.0.pool.allocate(self.0, &self.0.name, bytes, tag))?),
        };
        Ok(Buffer::new(self, raw, bytes, tag))
    }

    /// A buffer with these bytes.
    pub fn allocate_with(self, data: &[u8]) -> Result<Buffer, Error> {
        let buffer = self.allocate(data.len())?;
        buffer.upload(0, data)?;
        Ok(buffer)
    }

    pub(crate) fn release(self, raw: RawBuffer, tag: &'static str) {
        if !self.is_here() {
            // It belongs to the other process; and that one's threads may have held the locks when this one was made.
            return;
        }
        self.0.open.forget(&raw);
        self.0.pool.release(self.0, raw, tag);
    }

    pub(crate) fn upload(self, data: &[u8], to: Slice<'_>) -> Result<(), Error> {
        if data.is_empty() {
            return Ok(());
        }
        self.here()?;
        self.0.n_uploads.fetch_add(1, Relaxed);
        let used = (to.buffer.handle, true);
        self.moved("upload", data.len(), || self.note(self.0.moved(data.len(), used, |open| open.upload(data, to))))
    }

    pub(crate) fn download(self, from: Slice<'_>, data: &mut [u8]) -> Result<(), Error> {
        if data.is_empty() {
            return Ok(());
        }
        self.here()?;
        self.wait_patiently()?;
        self.0.n_downloads.fetch_add(1, Relaxed);
        self.0.n_waits.fetch_add(1, Relaxed);
        let used = (from.buffer.handle, false);
        let read = self.moved("download", data.len(), || self.note(self.0.moved(data.len(), used, |open| open.download(from, data))));
        crate::end::waited();
        read
    }

    /// As [`Device::download`], where nothing may wait; `None` if the device has no way. There it has one queue.
    pub(crate) fn download_async(self, from: Slice<'_>) -> Option<Pending<'static, Result<Vec<u8>, Error>>> {
        let reading = self.0.open.download_async(from)?;
        self.0.n_downloads.fetch_add(1, Relaxed);
        Some(Box::pin(async move { self.note(reading.await) }))
    }

    pub(crate) fn copy(self, from: Slice<'_>, to: Slice<'_>) -> Result<(), Error> {
        if to.len == 0 {
            return Ok(());
        }
        self.here()?;
        self.0.n_copies.fetch_add(1, Relaxed);
        let uses = || vec![(from.buffer.handle, false), (to.buffer.handle, true)];
        self.moved("copy", 2 * to.len, || self.note(self.0.ordered(uses, |open| open.copy(from, to))))
    }

    /// From another device's memory, without the host where the two have a way; whether they had.
    pub(crate) fn copy_from_peer(self, source: Device, from: Slice<'_>, to: Slice<'_>) -> Result<bool, Error> {
        if to.len == 0 {
            return Ok(true);
        }
        self.here()?;
        source.here()?;
        let (read, write) = ((from.buffer.handle, false), (to.buffer.handle, true));
        // After the data's writer; and the source goes on with its memory after the copy.
        let Some(written) = source.note(source.0.ordered(|| vec![read], |open| open.fence()))? else { return Ok(false) };
        let peer = source.driver();
        let work = |open: &dyn OpenDevice| {
            if !open.wait_for_peer(&written)? || !open.copy_from_peer(&*peer, from, to)? {
                return Ok(None);
            }
            open.fence()
        };
        let Some(copied) = self.note(self.0.ordered(|| vec![write], work))? else { return Ok(false) };
        self.0.n_copies.fetch_add(1, Relaxed);
        let wait = |open: &dyn OpenDevice| if open.wait_for_peer(&copied)? { Ok(()) } else { self.0.open.wait(&copied) };
        source.note(source.0.ordered(|| vec![read], wait))?;
        Ok(true)
    }

    /// A copy, for the profiler.
    fn moved(self, kind: &'static str, bytes: usize, work: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        profile::record(self, || Work { name: kind.to_owned(), kind, bytes: bytes as f64, ..Work::default() }, work)
    }

    /// Makes a kernel launchable. The same kernel, compared by content, is compiled once.
    pub fn compile(self, kernel: &Kernel) -> Result<Arc<dyn Executable>, Error> {
        self.here()?;
        let slot = {
            let mut programs = self.0.programs.lock().unwrap_or_else(PoisonError::into_inner);
            match programs.get(kernel) {
                Some(slot) => Arc::clone(slot),
                None => {
                    if programs.len() >= MAX_PROGRAMS {
                        programs.retain(|_, slot| in_use(slot));
                    }
                    Arc::clone(programs.entry(kernel.clone()).or_default())
                }
            }
        };
        let mut program = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = &*program {
            return Ok(Arc::clone(program));
        }
        #[cfg(any(test, feature = "testing"))]
        crate::testing::observe(kernel);
        let compiled = self.note(self.0.open.compile(kernel))?;
        self.0.n_compiles.fetch_add(1, Relaxed);
        crate::end::compiled();
        Ok(Arc::clone(program.insert(compiled)))
    }

    /// What the driver's compiler made of each program of a kernel that this device has compiled; see [`OpenDevice::describe`].
    pub fn describe(self, program: &dyn Executable) -> Result<Vec<Compiled>, Error> {
        self.here()?;
        self.note(self.0.open.describe(program))
    }

    /// Whether kernels should be compiled on several threads; see [`OpenDevice::compiles_slowly`].
    pub fn compiles_slowly(self) -> bool {
        self.0.open.compiles_slowly()
    }

    /// What one launch can pass; see [`OpenDevice::limits`].
    pub fn limits(self) -> unigrad_kernel::Limits {
        self.0.open.limits()
    }

    /// What is rather computed again than stored; see [`OpenDevice::recompute`].
    pub fn recompute(self) -> usize {
        self.0.open.recompute()
    }

    /// Whether launches that need nothing of each other are better one; see [`OpenDevice::joins`].
    pub fn joins(self) -> bool {
        self.0.open.joins()
    }

    /// Whether sums down columns are better made with rows; see [`OpenDevice::crosses`].
    pub fn crosses(self) -> bool {
        !crate::Config::current_or_default().columns_apart && self.0.open.crosses()
    }

    /// Whether sums of a product's operand are better made with the product; see [`OpenDevice::sums_operands`].
    pub fn sums_operands(self) -> bool {
        !crate::Config::current_or_default().columns_apart && self.0.open.sums_operands()
    }

    /// Where convolutions have their channels in memory: as the setting says, or as suits the device ([`OpenDevice::channels`]).
    pub fn channels(self) -> unigrad_kernel::Channels {
        crate::Config::current_or_default().channels.unwrap_or_else(|| self.0.open.channels())
    }

    /// A vendor's library of products; see [`OpenDevice::library`].
    pub fn library(self) -> Option<unigrad_kernel::Library> {
        self.0.open.library()
    }

    /// Runs a program: one slice per [`Kernel::args`] entry, of buffers of this device, and one word per [`Kernel::scalars`] entry.
    /// May return before the work is done.
    pub fn launch(self, program: &dyn Executable, args: &[Slice<'_>], scalars: &[u64]) -> Result<(), Error> {
        self.launch_from(program, args, scalars, None)
    }

    /// As [`Device::launch`]; errors that surface later name the line `origin`.
    pub fn launch_from(self, program: &dyn Executable, args: &[Slice<'_>], scalars: &[u64], origin: Option<Origin>) -> Result<(), Error> {
        self.here()?;
        self.0.n_launches.fetch_add(1, Relaxed);
        let uses = || args.iter().enumerate().map(|(at, slice)| (slice.buffer.handle, program.writes(at))).collect();
        let launch = || self.0.ordered(uses, |open| open.launch(program, args, scalars, origin));
        let mut result = launch();
        // Memory of the driver's own, between a kernel's steps, is not from the pool; nothing is queued yet when it is refused.
        if matches!(&result, Err(Error::OutOfMemory { asked: 1.., .. })) && self.clear_cache() > 0 {
            result = launch();
        }
        self.note(result)
    }

    /// Gets the memory of the driver's own that launching a program takes; see [`OpenDevice::reserve`].
    pub fn reserve(self, program: &dyn Executable) -> Result<(), Error> {
        let open = self.driver();
        let mut result = open.reserve(program);
        if matches!(&result, Err(Error::OutOfMemory { .. })) && self.clear_cache() > 0 {
            result = open.reserve(program);
        }
        self.note(result)
    }

    pub(crate) fn count_launches(self, n: usize) {
        self.0.n_launches.fetch_add(n as u64, Relaxed);
    }

    pub(crate) fn count_replay(self, ran: Ran) {
        self.0.n_replays.fetch_add(ran.replayed.into(), Relaxed);
        self.0.n_replay_changes.fetch_add(ran.changed as u64, Relaxed);
    }

    /// See [`OpenDevice::completes_at_once`].
    pub fn completes_at_once(self) -> bool {
        self.0.open.completes_at_once()
    }

    /// See [`OpenDevice::verify`].
    pub fn verify(self, slice: Slice<'_>) -> Result<(), Error> {
        if slice.len == 0 {
            return Ok(());
        }
        self.here()?;
        let used = || vec![(slice.buffer.handle, false)];
        self.note(self.0.ordered(used, |open| open.verify(slice)))
    }

    /// See [`OpenDevice::settle`].
    pub fn settle(self, slice: Slice<'_>) {
        self.0.open.settle(slice);
    }

    /// How often the host has waited for the device's work so far.
    pub fn n_waits(self) -> u64 {
        self.0.n_waits.load(Relaxed)
    }

    /// Waits for all work, on all its streams, and reports its errors.
    pub fn synchronize(self) -> Result<(), Error> {
        self.here()?;
        self.wait_patiently()?;
        self.0.n_waits.fetch_add(1, Relaxed);
        let done = self.note(self.0.each(|open| open.synchronize()));
        crate::end::waited();
        done
    }

    /// Says that a unit of work ends here: what depends on it need not wait for what comes later in this stream.
    pub fn checkpoint(self) -> Result<(), Error> {
        self.here()?;
        self.note(self.0.checkpoint())
    }

    /// The number of this thread's stream among the device's, 0 for its first.
    pub fn current_stream(self) -> u32 {
        self.0.current()
    }

    /// Sets how many threads the device may use, where it is a matter of threads; from 1 to [`crate::MAX_THREADS`].
    pub fn set_threads(self, threads: usize) {
        self.0.open.set_threads(threads);
    }

    /// The bytes of a slice, where the host can see them; see [`crate::HostMemory`].
    pub fn host_bytes(self, slice: Slice<'_>) -> Option<*const u8> {
        self.0.open.host_bytes(slice)
    }

    /// Memory figures.
    pub fn memory_stats(self) -> MemoryStats {
        self.0.pool.stats(self.0)
    }

    /// Lets [`MemoryStats::peak`] start again from what is in use now.
    pub fn reset_peak(self) {
        self.0.pool.reset_peak();
    }

    /// Limits what this process has of the device, in bytes; `None` lifts the limit. What is in use stays, and nothing is handed out while that
    /// is more than the limit: memory that waits for reuse neither. [`crate::Config::memory_cap`] sets it when a device is opened.
    pub fn set_memory_cap(self, bytes: Option<u64>) {
        self.0.pool.set_cap(bytes);
    }

    /// What happens with memory that is given back; [`crate::Config::memory_pool`] says it when the device is opened.
    pub fn set_memory_pool(self, policy: MemoryPool) {
        self.0.pool.set_policy(policy);
    }

    /// How the device does, or `None` where nothing tells.
    pub fn health(self) -> Result<Option<Health>, Error> {
        self.here()?;
        self.note(self.0.open.health())
    }

    /// What was chosen by time on this device, in this process or in those that it read (`UNIGRAD_REPRODUCIBLE`, [`crate::Config::reproducible`]): what
    /// for, and what. A run that keeps them in its checkpoint goes on with the same bits. Empty where nothing was.
    pub fn choices(self) -> Vec<(String, String)> {
        self.driver().choices().map_or(Vec::new(), |choices| choices.choices())
    }

    /// Chooses as before for what is compiled from now on. What does not fit this device or its libraries is left out.
    pub fn choose(self, choices: &[(String, String)]) {
        // Without any, a library is not opened for them.
        if !choices.is_empty()
            && let Some(known) = self.driver().choices()
        {
            known.choose(choices);
        }
    }

    /// Hands queued work to the hardware now.
    pub fn flush(self) -> Result<(), Error> {
        self.here()?;
        self.note(self.0.each(|open| open.hand_over()))
    }

    /// A point after the work given so far, on this thread's stream.
    pub fn record(self) -> Result<Event, Error> {
        self.here()?;
        let queue = self.0.current();
        let mark = self.note(self.0.queue(queue).mark())?;
        // It is reached without further calls.
        self.note(self.0.queue(queue).hand_over())?;
        Ok(Event { device: self, queue, mark })
    }

    /// Work given to this device (to this thread's stream there) from now on waits for the event, which may be another device's. Returns at once where the backend can order
    /// its devices' queues, else when the event has happened.
    pub fn wait_for(self, event: &Event) -> Result<(), Error> {
        self.here()?;
        if let Some(mark) = &event.mark
            && (event.device == self && event.queue == self.0.current() || self.note(self.driver().wait_for_peer(mark))?)
        {
            return Ok(());
        }
        event.wait()
    }

    /// Gives memory that waits for reuse back to the driver; returns how many bytes that was.
    pub fn clear_cache(self) -> u64 {
        if self.is_here() { self.0.pool.clear(self.0) } else { 0 }
    }

    /// Drops compiled kernels that nothing else holds.
    pub fn clear_programs(self) {
        self.0.programs.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, slot| in_use(slot));
    }

    /// How often something was done so far.
    pub fn counters(self) -> Counters {
        Counters {
            allocations: self.0.pool.n_allocations(),
            compiles: self.0.n_compiles.load(Relaxed),
            launches: self.0.n_launches.load(Relaxed),
            uploads: self.0.n_uploads.load(Relaxed),
            downloads: self.0.n_downloads.load(Relaxed),
            copies: self.0.n_copies.load(Relaxed),
            replays: self.0.n_replays.load(Relaxed),
            replay_changes: self.0.n_replay_changes.load(Relaxed),
        }
    }
}

/// The number of this process. Every call of a device asks for it, so the system is asked once, and again in a fork.
#[cfg(unix)]
fn process() -> u32 {
    use std::{
        ffi::c_int,
        process,
        sync::{Once, atomic::AtomicU32},
    };
    type Handler = Option<extern "C" fn()>;
    unsafe extern "C" {
        fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
    }
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    static WATCH: Once = Once::new();
    extern "C" fn forked() {
        NUMBER.store(process::id(), Relaxed);
    }
    match NUMBER.load(Relaxed) {
        0 => {
            let number = process::id();
            WATCH.call_once(|| {
                // SAFETY: the handler is a function of this program, and does what may be done in a fork: a system call and a store.
                // Without memory for the handler the number is not kept, and asked for each time.
                if unsafe { pthread_atfork(None, None, Some(forked)) } == 0 {
                    NUMBER.store(number, Relaxed);
                }
            });
            number
        }
        number => number,
    }
}

/// Processes are not forked here.
#[cfg(not(unix))]
fn process() -> u32 {
    0
}

/// Whether the slot's program is being compiled, or held.
fn in_use(slot: &ProgramSlot) -> bool {
    Arc::strong_count(slot) > 1 || slot.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(|p| Arc::strong_count(p) > 1)
}

/// A point in the order of a device's work.
///
/// ```no_run
/// # fn main() -> Result<(), unigrad_device::Error> {
/// # let (a, b) = (unigrad_device::Device::open("cpu:0")?, unigrad_device::Device::open("cpu:0")?);
/// let event = a.record()?;
/// b.wait_for(&event)?; // what b is given from here on runs after what a was given so far
/// # Ok(()) }
/// ```
pub struct Event {
    device: Device,
    /// The stream's number.
    queue: u32,
    /// `None` where work is done when it was given.
    mark: Option<Mark>,
}

impl Event {
    /// Whether the work before it is done.
    pub fn is_done(&self) -> Result<bool, Error> {
        self.device.here()?;
        self.mark.as_ref().map_or(Ok(true), |mark| self.device.note(self.device.0.open.is_done(mark)))
    }

    /// Waits for the work before it.
    pub fn wait(&self) -> Result<(), Error> {
        self.device.here()?;
        self.mark.as_ref().map_or(Ok(()), |mark| self.device.note(self.device.0.open.wait(mark)))
    }

    /// Seconds of device time from `earlier`, an event of the same device, to this one (negative if that came later); waits for both. `None` where the device has no clock.
    pub fn seconds_since(&self, earlier: &Event) -> Result<Option<f64>, Error> {
        self.device.here()?;
        match (&earlier.mark, &self.mark) {
            (Some(from), Some(to)) if earlier.device == self.device => {
                self.device.note(self.device.0.open.elapsed(from, to)).map(|nanos| Some(nanos * 1e-9))
            }
            _ => Ok(None),
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({})", self.device)
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Device {}

impl Hash for Device {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.0.name)
    }
}
