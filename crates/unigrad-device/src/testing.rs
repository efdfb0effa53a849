//! Drivers for tests: one that makes any other fail where a test wants it, and one that needs nothing; a place to watch what is compiled.
//!
//! In: a driver, and a list of faults. Out: the same driver, until a fault's turn comes.
//! Always: a fault is reported as the error a real driver would report, and strikes once; a lost device stays lost.
//! Never: part of a release build.

use crate::{
    Abilities, Discovery, Driver, Error, Exchange, Executable, Flush, Health, HostMemory, Info, Launch, Link, Mark, Marks, Monitor,
    OpenDevice, Origin, Peers, Prepared, Ran, Range, RawBuffer, Run, Sequences, Slice, Stopped, Threads,
};
use std::{
    any::Any,
    collections::HashMap,
    fmt,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};
use unigrad_kernel::{Channels, Kernel, Library, Limits};

/// Called with every kernel that a device is about to compile.
static OBSERVER: OnceLock<fn(&Kernel)> = OnceLock::new();

/// From now on `observer` sees every kernel that any device compiles. The first to ask is heard.
pub fn on_compile(observer: fn(&Kernel)) {
    let _ = OBSERVER.set(observer);
}

pub(crate) fn observe(kernel: &Kernel) {
    if let Some(observer) = OBSERVER.get() {
        observer(kernel);
    }
}

/// Runs a future to its end on this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// What can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Operation {
    Open,
    Allocate,
    Upload,
    Download,
    Copy,
    Compile,
    Launch,
    Synchronize,
    Flush,
    Mark,
    IsDone,
    Wait,
    Elapsed,
    WaitForPeer,
    Fork,
    CopyFromPeer,
    Health,
}

impl Operation {
    /// Every operation of the driver traits that can fail.
    pub const ALL: [Operation; 17] = [
        Operation::Open,
        Operation::Allocate,
        Operation::Upload,
        Operation::Download,
        Operation::Copy,
        Operation::Compile,
        Operation::Launch,
        Operation::Synchronize,
        Operation::Flush,
        Operation::Mark,
        Operation::IsDone,
        Operation::Wait,
        Operation::Elapsed,
        Operation::WaitForPeer,
        Operation::Fork,
        Operation::CopyFromPeer,
        Operation::Health,
    ];
}

/// How it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The operation does nothing and reports its usual error.
    Refused,
    /// A copy moves its first half, then reports an error; other operations do nothing.
    Halfway,
    /// A launch does nothing and reports that there is no memory for it; other operations as if refused.
    NoMemory,
    /// The device is gone, now and from now on.
    Lost,
    /// The process gets SIGINT, as by Ctrl-C, and the operation goes on: nothing fails.
    #[cfg(unix)]
    Interrupted,
}

/// Raises SIGINT in this thread.
#[cfg(unix)]
fn interrupt() {
    unsafe extern "C" {
        fn raise(signal: std::ffi::c_int) -> std::ffi::c_int;
    }
    const SIGINT: std::ffi::c_int = 2;
    // SAFETY: a plain call of the C library; what follows is up to the handler of the test that asked for this failure.
    unsafe { raise(SIGINT) };
}

/// The faults of one driver; clones share them.
#[derive(Clone, Default)]
pub struct Faults(Arc<FaultState>);

/// Sees every operation before it is done.
type Watcher = Arc<dyn Fn(Operation) + Send + Sync>;

#[derive(Default)]
struct FaultState {
    faults: Mutex<Vec<(Operation, usize, Failure)>>,
    watcher: Mutex<Option<Watcher>>,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Faults").field(&*self.lock()).finish()
    }
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, Vec<(Operation, usize, Failure)>> {
        self.0.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on `watcher` is called before each operation, in the thread that asks for it: it may hold it up, or panic.
    pub fn watch(&self, watcher: impl Fn(Operation) + Send + Sync + 'static) {
        *self.0.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(watcher));
    }

    /// Ends [`Faults::watch`].
    pub fn unwatch(&self) {
        *self.0.watcher.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The `n`-th operation of this kind from now on fails (0 is the next one).
    pub fn fail(&self, operation: Operation, n: usize, failure: Failure) {
        self.lock().push((operation, n, failure));
    }

    /// Forgets the faults that have not struck.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Whether every fault has struck.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn strike(&self, operation: Operation) -> Option<Failure> {
        let watcher = self.0.watcher.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(watcher) = watcher {
            watcher(operation);
        }
        let mut faults = self.lock();
        let mut struck = None;
        faults.retain_mut(|(kind, n, failure)| {
            if *kind != operation {
                return true;
            }
            if *n == 0 && struck.is_none() {
                struck = Some(*failure);
                return false;
            }
            *n = n.saturating_sub(1);
            true
        });
        #[cfg(unix)]
        if struck == Some(Failure::Interrupted) {
            interrupt();
            return None;
        }
        struck
    }
}

/// A driver under another name, whose devices fail as [`Faults`] say.
pub struct FaultyDriver {
    backend: &'static str,
    inner: Box<dyn Driver>,
    faults: Faults,
}

impl FaultyDriver {
    /// `inner`, known as `backend`.
    pub fn new(backend: &'static str, inner: impl Driver + 'static, faults: Faults) -> FaultyDriver {
        FaultyDriver::boxed(backend, Box::new(inner), faults)
    }

    /// As [`FaultyDriver::new`].
    pub fn boxed(backend: &'static str, inner: Box<dyn Driver>, faults: Faults) -> FaultyDriver {
        FaultyDriver { backend, inner, faults }
    }
}

impl Driver for FaultyDriver {
    fn backend(&self) -> &'static str {
        self.backend
    }

    fn topology(&self) -> Vec<Link> {
        self.inner.topology()
    }

    fn discover(&self) -> Discovery {
        let mut found = self.inner.discover();
        for info in &mut found.devices {
            info.backend = self.backend;
            info.software = true; // so that `best` never takes it
        }
        found
    }

    fn open(&self, ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        if self.faults.strike(Operation::Open).is_some() {
            return Err(Error::NotAvailable {
                asked: format!("{}:{ordinal}", self.backend),
                cause: "a test made it fail".to_owned(),
                help: "try again".to_owned(),
            });
        }
        Ok(Arc::new(FaultyDevice {
            name: format!("{}:{ordinal}", self.backend),
            backend: self.backend,
            inner: self.inner.open(ordinal)?,
            faults: self.faults.clone(),
            lost: Arc::default(),
        }))
    }
}

struct FaultyDevice {
    name: String,
    backend: &'static str,
    inner: Arc<dyn OpenDevice>,
    faults: Faults,
    /// One for all queues.
    lost: Arc<AtomicBool>,
}

impl FaultyDevice {
    fn lost(&self) -> Error {
        Error::DeviceLost { device: self.name.clone(), cause: "a test took it away".to_owned() }
    }

    fn strike(&self, operation: Operation) -> Result<Option<Failure>, Error> {
        let failure = self.faults.strike(operation);
        if failure == Some(Failure::Lost) {
            self.lost.store(true, Ordering::Relaxed);
        }
        if self.lost.load(Ordering::Relaxed) { Err(self.lost()) } else { Ok(failure) }
    }

    fn copy_failed(&self) -> Error {
        Error::Copy { device: self.name.clone(), cause: "a test made it fail".to_owned() }
    }

    fn no_memory(&self, asked: u64) -> Error {
        Error::OutOfMemory { device: self.name.clone(), asked, free: 0, total: 0, in_use: 0, largest: String::new() }
    }

    fn kernel_failed(&self, kernel: String) -> Error {
        Error::Launch { device: self.name.clone(), kernel, cause: "a test made it fail".to_owned() }
    }
}

impl OpenDevice for FaultyDevice {
    fn info(&self) -> Info {
        Info { backend: self.backend, software: true, ..self.inner.info() }
    }

    fn allocate(&self, bytes: usize) -> Result<RawBuffer, Error> {
        match self.strike(Operation::Allocate)? {
            None => self.inner.allocate(bytes),
            Some(_) => Err(self.no_memory(bytes as u64)),
        }
    }

    fn free(&self, buffer: RawBuffer) {
        self.inner.free(buffer);
    }

    fn forget(&self, buffer: &RawBuffer) {
        self.inner.forget(buffer);
    }

    fn upload(&self, data: &[u8], to: Slice<'_>) -> Result<(), Error> {
        match self.strike(Operation::Upload)? {
            None => self.inner.upload(data, to),
            Some(Failure::Halfway) => {
                let half = data.len() / 2;
                self.inner.upload(&data[..half], Slice { len: half, ..to })?;
                Err(self.copy_failed())
            }
            Some(_) => Err(self.copy_failed()),
        }
    }

    fn download(&self, from: Slice<'_>, data: &mut [u8]) -> Result<(), Error> {
        match self.strike(Operation::Download)? {
            None => self.inner.download(from, data),
            Some(Failure::Halfway) => {
                let half = data.len() / 2;
                self.inner.download(Slice { len: half, ..from }, &mut data[..half])?;
                Err(self.copy_failed())
            }
            Some(_) => Err(self.copy_failed()),
        }
    }

    fn copy(&self, from: Slice<'_>, to: Slice<'_>) -> Result<(), Error> {
        match self.strike(Operation::Copy)? {
            None => self.inner.copy(from, to),
            Some(Failure::Halfway) => {
                let half = from.len / 2;
                self.inner.copy(Slice { len: half, ..from }, Slice { len: half, ..to })?;
                Err(self.copy_failed())
            }
            Some(_) => Err(self.copy_failed()),
        }
    }

    fn compile(&self, kernel: &Kernel) -> Result<Arc<dyn Executable>, Error> {
        match self.strike(Operation::Compile)? {
            None => self.inner.compile(kernel),
            Some(_) => {
                Err(Error::Compile { device: self.name.clone(), kernel: kernel.kind().to_owned(), cause: "a test made it fail".to_owned() })
            }
        }
    }

    fn launch(&self, program: &dyn Executable, args: &[Slice<'_>], scalars: &[u64], origin: Option<Origin>) -> Result<(), Error> {
        match self.strike(Operation::Launch)? {
            None => self.inner.launch(program, args, scalars, origin),
            Some(Failure::NoMemory) => Err(self.no_memory(64)),
            Some(_) => Err(self.kernel_failed(format!("{program:?}"))),
        }
    }

    fn completes_at_once(&self) -> bool {
        self.inner.completes_at_once()
    }

    fn count_own(&self, budget: &Arc<crate::Budget>) {
        self.inner.count_own(budget);
    }

    fn reserve(&self, program: &dyn Executable) -> Result<(), Error> {
        self.inner.reserve(program)
    }

    fn verify(&self, slice: Slice<'_>) -> Result<(), Error> {
        self.inner.verify(slice)
    }

    fn settle(&self, slice: Slice<'_>) {
        self.inner.settle(slice);
    }

    fn synchronize(&self) -> Result<(), Error> {
        match self.strike(Operation::Synchronize)? {
            None => self.inner.synchronize(),
            Some(_) => Err(self.kernel_failed("(any)".to_owned())),
        }
    }

    fn compiles_slowly(&self) -> bool {
        self.inner.compiles_slowly()
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn recompute(&self) -> usize {
        self.inner.recompute()
    }

    fn joins(&self) -> bool {
        self.inner.joins()
    }

    fn crosses(&self) -> bool {
        self.inner.crosses()
    }

    fn sums_operands(&self) -> bool {
        self.inner.sums_operands()
    }

    fn channels(&self) -> Channels {
        self.inner.channels()
    }

    fn library(&self) -> Option<Library> {
        self.inner.library()
    }

    fn fork(&self) -> Result<Option<Arc<dyn OpenDevice>>, Error> {
        if self.strike(Operation::Fork)?.is_some() {
            return Err(self.kernel_failed("(any)".to_owned()));
        }
        let Some(inner) = self.inner.fork()? else { return Ok(None) };
        let (name, faults, lost) = (self.name.clone(), self.faults.clone(), Arc::clone(&self.lost));
        Ok(Some(Arc::new(FaultyDevice { name, backend: self.backend, inner, faults, lost })))
    }
}

/// Faults strike what a device lacks, too: its callers go through the same calls.
impl Abilities for FaultyDevice {
    fn marks(&self) -> Option<&dyn Marks> {
        Some(self)
    }

    fn flush(&self) -> Option<&dyn Flush> {
        Some(self)
    }

    fn monitor(&self) -> Option<&dyn Monitor> {
        Some(self)
    }

    fn peers(&self) -> Option<&dyn Peers> {
        Some(self)
    }

    fn host_memory(&self) -> Option<&dyn HostMemory> {
        self.inner.host_memory()
    }

    fn exchange(&self) -> Option<&dyn Exchange> {
        self.inner.exchange()
    }

    fn threads(&self) -> Option<&dyn Threads> {
        self.inner.threads()
    }

    fn sequences(&self) -> Option<&dyn Sequences> {
        Some(self)
    }
}

impl Sequences for FaultyDevice {
    fn prepare(&self, launches: &[Launch], temporary: Option<usize>) -> Result<Prepared, Error> {
        self.inner.prepare(launches, temporary)
    }

    /// Up to the launch that a fault strikes.
    fn run(&self, run: &Run<'_>) -> Result<Ran, Stopped> {
        let (start, mut end) = (run.which.start, run.which.start);
        let mut struck = None;
        while end < run.which.end && struck.is_none() {
            struck = match self.strike(Operation::Launch) {
                Ok(None) => {
                    end += 1;
                    None
                }
                Ok(Some(Failure::NoMemory)) => Some(self.no_memory(64)),
                Ok(Some(_)) => {
                    Some(self.kernel_failed(run.launches.get(end).map(|launch| format!("{:?}", launch.program)).unwrap_or_default()))
                }
                Err(lost) => Some(lost),
            };
        }
        let ran = if end > start { self.inner.run(&run.of(start..end))? } else { Ran::default() };
        struck.map_or(Ok(ran), |error| Err(Stopped { at: end, error }))
    }

    fn reserve_for(&self, prepared: &(dyn Any + Send + Sync), launches: &[Launch]) -> Result<(), Error> {
        self.inner.reserve_for(prepared, launches)
    }
}

impl Flush for FaultyDevice {
    fn flush(&self) -> Result<(), Error> {
        match self.strike(Operation::Flush)? {
            None => self.inner.hand_over(),
            Some(_) => Err(self.kernel_failed("(any)".to_owned())),
        }
    }
}

impl Marks for FaultyDevice {
    fn mark(&self) -> Result<Option<Mark>, Error> {
        match self.strike(Operation::Mark)? {
            None => self.inner.mark(),
            Some(_) => Err(self.kernel_failed("(any)".to_owned())),
        }
    }

    fn fence(&self) -> Result<Option<Mark>, Error> {
        match self.strike(Operation::Mark)? {
            None => self.inner.fence(),
            Some(_) => Err(self.kernel_failed("(any)".to_owned())),
        }
    }

    fn is_done(&self, mark: &Mark) -> Result<bool, Error> {
        match self.strike(Operation::IsDone)? {
            None => self.inner.is_done(mark),
            Some(_) => Err(self.kernel_failed("(any)".to_owned())),
        }
    }

    fn wait(&self, mark: &Mark) -> Result<(), Error> {
        match self.strike(Operation::Wait)? {
            None => self.inner.wait(mark),
            Some(_) => Err(self.kernel_failed("(any)".to_owned())),
        }
    }

    fn elapsed(&self, from: &Mark, to: &Mark) -> Result<f64, Error> {
        match self.strike(Operation::Elapsed)? {
            None => self.inner.elapsed(from, to),
            Some(_) => Err(self.kernel_failed("(any)".to_owned())),
        }
    }

    fn wait_for_peer(&self, mark: &Mark) -> Result<bool, Error> {
        match self.strike(Operation::WaitForPeer)? {
            None => self.inner.wait_for_peer(mark),
            Some(_) => Err(self.kernel_failed("(any)".to_owned())),
        }
    }
}

impl Monitor for FaultyDevice {
    fn health(&self) -> Result<Option<Health>, Error> {
        match self.strike(Operation::Health)? {
            None => self.inner.health(),
            Some(_) => Err(self.kernel_failed("(any)".to_owned())),
        }
    }
}

impl Peers for FaultyDevice {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn copy_from_peer(&self, source: &dyn Any, from: Range, to: Range) -> Result<bool, Error> {
        if self.strike(Operation::CopyFromPeer)?.is_some() {
            return Err(self.copy_failed());
        }
        let source = source.downcast_ref::<FaultyDevice>().and_then(|source| source.inner.peers());
        match (self.inner.peers(), source) {
            (Some(own), Some(source)) => own.copy_from_peer(source.as_any(), from, to),
            _ => Ok(false),
        }
    }
}

/// A driver with one device: host memory, and launches that do nothing.
#[derive(Debug, Default)]
pub struct NullDriver {
    /// Bytes the device has; 0 for no limit.
    pub memory: usize,
}

#[derive(Debug, Default)]
struct NullDevice {
    memory: usize,
    blocks: Mutex<(u64, HashMap<u64, Vec<u8>>)>,
}

#[derive(Debug)]
struct NullProgram;

impl Executable for NullProgram {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Driver for NullDriver {
    fn backend(&self) -> &'static str {
        "null"
    }

    fn discover(&self) -> Discovery {
        Discovery { devices: vec![NullDevice { memory: self.memory, ..NullDevice::default() }.info()], problem: None }
    }

    fn open(&self, _ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        Ok(Arc::new(NullDevice { memory: self.memory, ..NullDevice::default() }))
    }
}

impl NullDevice {
    fn lock(&self) -> MutexGuard<'_, (u64, HashMap<u64, Vec<u8>>)> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn used(&self) -> usize {
        self.lock().1.values().map(Vec::len).sum()
    }

    fn with<T>(&self, slice: Slice<'_>, work: impl FnOnce(&mut [u8]) -> T) -> Result<T, Error> {
        let lost = || Error::Copy { device: "null:0".to_owned(), cause: "no such memory".to_owned() };
        let mut blocks = self.lock();
        let block = blocks.1.get_mut(&slice.buffer.handle).ok_or_else(lost)?;
        Ok(work(block.get_mut(slice.offset..slice.offset + slice.len).ok_or_else(lost)?))
    }
}

impl Abilities for NullDevice {}

impl OpenDevice for NullDevice {
    fn info(&self) -> Info {
        let free = self.memory.saturating_sub(self.used()) as u64;
        Info { backend: "null", memory_total: self.memory as u64, memory_free: free, software: true, rank: 1000, ..Info::default() }
    }

    fn allocate(&self, bytes: usize) -> Result<RawBuffer, Error> {
        let in_use = self.used();
        if self.memory > 0 && in_use + bytes > self.memory {
            let (free, total) = ((self.memory - in_use) as u64, self.memory as u64);
            return Err(Error::OutOfMemory {
                device: "null:0".to_owned(),
                asked: bytes as u64,
                free,
                total,
                in_use: in_use as u64,
                largest: String::new(),
            });
        }
        let mut blocks = self.lock();
        blocks.0 += 1;
        let handle = blocks.0;
        blocks.1.insert(handle, vec![0xAA; bytes]);
        Ok(RawBuffer { handle, bytes })
    }

    fn free(&self, buffer: RawBuffer) {
        self.lock().1.remove(&buffer.handle);
    }

    fn upload(&self, data: &[u8], to: Slice<'_>) -> Result<(), Error> {
        self.with(to, |block| block.copy_from_slice(data))
    }

    fn download(&self, from: Slice<'_>, data: &mut [u8]) -> Result<(), Error> {
        self.with(from, |block| data.copy_from_slice(block))
    }

    fn copy(&self, from: Slice<'_>, to: Slice<'_>) -> Result<(), Error> {
        let data = self.with(from, |block| block.to_vec())?;
        self.upload(&data, to)
    }

    fn compile(&self, _kernel: &Kernel) -> Result<Arc<dyn Executable>, Error> {
        Ok(Arc::new(NullProgram))
    }

    fn launch(&self, _program: &dyn Executable, _args: &[Slice<'_>], _scalars: &[u64], _origin: Option<Origin>) -> Result<(), Error> {
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}
