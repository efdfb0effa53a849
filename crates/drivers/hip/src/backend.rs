//! One queue of a GPU: a stream, memory and loaded modules.
//!
//! Always: every call makes the device current first, so any thread may call. A failure that ruins the device's context becomes
//! [`Error::DeviceLost`], now and for every later call.
//!
//! Memory comes from `hipMalloc`: the pool above keeps what is freed, so the wait inside of `hipFree` is rare, and a full device says so at
//! the allocation.

use crate::{
    BACKEND,
    api::{Api, Code, Compiler, Handle},
    blas::{self, Answer, RocBlas},
    compile,
    describe::{self, Gpu},
};
use std::{
    any::Any,
    collections::HashMap,
    ffi::{CString, c_void},
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use unigrad_device::{Abilities, Error, Info, Marks, Peers, Timeline};
use unigrad_gpu::{As, Backend, Bound, KernelCache, Key, Offer, Product, Range, Taken, Work};
use unigrad_ir::{Program, Source, Target, render};
use unigrad_scalar::DType;

/// The stream does not wait for the default stream, nor that for it.
const NON_BLOCKING: u32 = 1;
/// An event that is only waited for.
const DISABLE_TIMING: u32 = 2;

/// An open AMD GPU.
pub struct HipBackend {
    api: &'static Api,
    compiler: Compiler,
    gpu: Gpu,
    stream: Handle,
    target: Target,
    /// rocBLAS, once a product asked for it.
    blas: OnceLock<Option<RocBlas>>,
    /// Bytes of the allocations in use, by address; one table for all queues of the device.
    sizes: Arc<Mutex<HashMap<u64, usize>>>,
    /// One for all queues of the device.
    lost: Arc<AtomicBool>,
    /// Devices whose memory this one was allowed to reach, as far as it can.
    peers: Mutex<Vec<i32>>,
}

// SAFETY: streams may be used by any thread; the runtime locks itself.
unsafe impl Send for HipBackend {}
// SAFETY: as above.
unsafe impl Sync for HipBackend {}

impl fmt::Debug for HipBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name())
    }
}

/// A loaded program.
pub struct Module {
    name: String,
    block: [u32; 3],
    dynamic_shared: u32,
    module: Handle,
    function: Handle,
    api: &'static Api,
}

// SAFETY: modules and functions may be used by any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({}, {:?})", self.name, self.block)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded by `load_code`, unloaded once. The runtime waits for launches; an error has nowhere to go.
        let _ = unsafe { (self.api.runtime.hipModuleUnload)(self.module) };
    }
}

/// A point in the stream.
#[derive(Debug)]
pub struct Mark {
    event: Handle,
    destroy: unsafe extern "C" fn(Handle) -> i32,
}

// SAFETY: events may be used by any thread.
unsafe impl Send for Mark {}
// SAFETY: as above.
unsafe impl Sync for Mark {}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: made by hipEventCreateWithFlags, destroyed once.
        let _ = unsafe { (self.destroy)(self.event) };
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn address(range: Range) -> *mut c_void {
    if range.len == 0 { std::ptr::null_mut() } else { (range.handle + range.offset as u64) as *mut c_void }
}

/// Appends a number in its own width, aligned to it.
fn push_scalar(bytes: &mut Vec<u8>, dtype: DType, raw: u64) {
    bytes.resize(bytes.len().next_multiple_of(dtype.size()), 0);
    bytes.extend_from_slice(&raw.to_le_bytes()[..dtype.size()]);
}

impl HipBackend {
    /// Opens a GPU.
    pub fn open(ordinal: usize) -> Result<HipBackend, Error> {
        let refuse =
            |cause: String, help: &str| Error::NotAvailable { asked: format!("{BACKEND}:{ordinal}"), cause, help: help.to_owned() };
        let api = Api::get().map_err(|missing| refuse(missing.cause, &missing.help))?;
        let compiler = api.compiler.clone().map_err(|missing| refuse(missing.cause, &missing.help))?;
        let remedy = "update the amdgpu driver and ROCm together";
        let count = describe::count(api).map_err(|code| refuse(format!("GPUs cannot be counted: {code}"), remedy))?;
        if ordinal >= count {
            return Err(refuse(format!("the HIP runtime finds {count} GPUs"), "choose another device"));
        }
        HipBackend::new(api, compiler, ordinal).map_err(|code| refuse(format!("GPU {ordinal} cannot be opened: {code}"), remedy))
    }

    fn new(api: &'static Api, compiler: Compiler, ordinal: usize) -> Result<HipBackend, Code> {
        let gpu = describe::gpu(api, ordinal)?;
        let mut stream = std::ptr::null_mut();
        // SAFETY: pointer to a local; the device exists.
        unsafe {
            Code::check((api.runtime.hipSetDevice)(gpu.device))?;
            Code::check((api.runtime.hipStreamCreateWithFlags)(&mut stream, NON_BLOCKING))?;
        }
        let target = gpu.target();
        let (sizes, lost, peers) = (Arc::default(), Arc::default(), Mutex::default());
        Ok(HipBackend { api, compiler, gpu, stream, target, blas: OnceLock::new(), sizes, lost, peers })
    }

    fn name(&self) -> String {
        format!("{BACKEND}:{}", self.gpu.ordinal)
    }

    /// Makes the device current in this thread.
    fn enter(&self) -> Result<(), Error> {
        if self.lost.load(Relaxed) {
            return Err(Error::DeviceLost { device: self.name(), cause: "an earlier failure".to_owned() });
        }
        // SAFETY: the device exists.
        self.check("the device", unsafe { (self.api.runtime.hipSetDevice)(self.gpu.device) })
    }

    fn fatal(&self, code: Code, what: &str) -> Option<Error> {
        code.is_fatal().then(|| {
            self.lost.store(true, Relaxed);
            Error::DeviceLost { device: self.name(), cause: format!("{what}: {code}") }
        })
    }

    fn check(&self, what: &str, status: i32) -> Result<(), Error> {
        Code::check(status).map_err(|code| match self.fatal(code, what) {
            Some(lost) => lost,
            None if code == Code::OUT_OF_MEMORY => self.out_of_memory(0),
            None => Error::Copy { device: self.name(), cause: format!("{what}: {code}") },
        })
    }

    /// Bytes free and in all, as the runtime says.
    fn memory(&self) -> Option<(u64, u64)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: pointers to locals.
        let status = unsafe { (self.api.runtime.hipMemGetInfo)(&mut free, &mut total) };
        Code::check(status).ok().map(|()| (free as u64, total as u64))
    }

    fn out_of_memory(&self, bytes: usize) -> Error {
        let (free, total) = self.memory().unwrap_or((0, self.target.max_buffer_bytes));
        let in_use = lock(&self.sizes).values().map(|bytes| *bytes as u64).sum();
        Error::OutOfMemory { device: self.name(), asked: bytes as u64, free, total, in_use, largest: String::new() }
    }

    /// Where the cache has what the source becomes, and the compiler's options.
    fn key(&self, source: &Source) -> (Key, Vec<String>) {
        let mut options = vec!["-O3".to_owned(), "-std=c++17".to_owned()];
        if !self.gpu.architecture.is_empty() {
            options.push(format!("--offload-arch={}", self.gpu.architecture));
        }
        options.extend(source.options.iter().cloned());
        let version = compile::version(&self.compiler);
        let parts = [BACKEND, version.as_str(), source.text.as_str()].into_iter().chain(options.iter().map(String::as_str));
        (Key::of(&parts.map(str::as_bytes).collect::<Vec<_>>()), options)
    }

    fn load_code(&self, code: &[u8], source: &Source, program: &Program) -> Result<Module, String> {
        let entry = CString::new(source.entry.as_str()).map_err(|_| "the entry point's name has a NUL".to_owned())?;
        let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the code outlives the call, which copies what it needs.
        let loaded = Code::check(unsafe { (self.api.runtime.hipModuleLoadData)(&mut module, code.as_ptr().cast()) });
        loaded.map_err(|code| format!("hipModuleLoadData: {code}"))?;
        let mut module = Module {
            name: program.name.clone(),
            block: program.block,
            dynamic_shared: u32::try_from(source.dynamic_shared).unwrap_or(u32::MAX),
            module,
            function,
            api: self.api,
        };
        // SAFETY: a loaded module, a name that ends with NUL.
        let found = Code::check(unsafe { (self.api.runtime.hipModuleGetFunction)(&mut function, module.module, entry.as_ptr()) });
        found.map_err(|code| format!("entry point {}: {code}", source.entry))?;
        module.function = function;
        Ok(module)
    }

    /// Lets this device reach the other's memory directly, where the hardware can; copies between them work either way.
    fn befriend(&self, source: &HipBackend) {
        let mut peers = lock(&self.peers);
        if peers.contains(&source.gpu.device) {
            return;
        }
        peers.push(source.gpu.device);
        if describe::can_access(self.api, self.gpu.device, source.gpu.device) {
            // Another queue of this device may have done it; then, and if it fails, the runtime copies through memory of its own.
            // SAFETY: this device is current, the other exists.
            let _ = unsafe { (self.api.runtime.hipDeviceEnablePeerAccess)(source.gpu.device, 0) };
        }
    }

    /// rocBLAS, if it is there. The device is current.
    fn blas(&self) -> Option<&RocBlas> {
        self.blas.get_or_init(|| RocBlas::new(self.api.blas(&self.gpu.architecture)?, self.stream)).as_ref()
    }

    /// An event after what the stream has.
    fn event(&self, flags: u32) -> Result<Option<Mark>, Error> {
        self.enter()?;
        let runtime = &self.api.runtime;
        let mut event = std::ptr::null_mut();
        // SAFETY: pointer to a local; the mark owns the event from here on.
        self.check("event", unsafe { (runtime.hipEventCreateWithFlags)(&mut event, flags) })?;
        let mark = Mark { event, destroy: runtime.hipEventDestroy };
        // SAFETY: event and stream of this device.
        self.check("event", unsafe { (runtime.hipEventRecord)(mark.event, self.stream) })?;
        Ok(Some(mark))
    }

    /// Why a launch with this grid cannot be.
    fn grid_obstacle(&self, module: &Module, grid: [u32; 3]) -> Option<String> {
        let most = self.target.max_grid;
        let axis = (0..3).find(|axis| grid[*axis] > most[*axis])?;
        let cause = format!("{} workgroups along axis {axis}; the device takes {}", grid[axis], most[axis]);
        Some(format!("{cause} (kernel {})", module.name))
    }
}

impl Backend for HipBackend {
    type Module = Module;

    fn info(&self) -> Info {
        let mut info = self.gpu.info(self.api);
        if self.enter().is_ok()
            && let Some((free, total)) = self.memory()
        {
            (info.memory_free, info.memory_total) = (free, total);
        }
        info
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        self.enter()?;
        let mut address = std::ptr::null_mut();
        // SAFETY: pointer to a local.
        match Code::check(unsafe { (self.api.runtime.hipMalloc)(&mut address, bytes.max(1)) }) {
            Ok(()) if !address.is_null() => {
                lock(&self.sizes).insert(address as u64, bytes);
                Ok(address as u64)
            }
            Ok(()) | Err(Code::OUT_OF_MEMORY) => Err(self.out_of_memory(bytes)),
            Err(code) => {
                Err(self.fatal(code, "allocation").unwrap_or_else(|| Error::Copy { device: self.name(), cause: code.to_string() }))
            }
        }
    }

    fn free(&self, handle: u64) {
        if lock(&self.sizes).remove(&handle).is_some() && self.enter().is_ok() {
            // SAFETY: `allocate` gave the address; hipFree waits for the work that uses it. A failure has nowhere to go.
            let _ = unsafe { (self.api.runtime.hipFree)(handle as *mut c_void) };
        }
    }

    fn upload(&self, data: &[u8], to: Range) -> Result<(), Error> {
        self.enter()?;
        if data.is_empty() {
            return Ok(());
        }
        // SAFETY: the range lies in the allocation (the caller's promise). Copies from pageable memory have read it when they return.
        self.check("host to device", unsafe {
            (self.api.runtime.hipMemcpyHtoDAsync)(address(to), data.as_ptr().cast(), data.len(), self.stream)
        })
    }

    fn download(&self, from: Range, data: &mut [u8]) -> Result<(), Error> {
        self.enter()?;
        if data.is_empty() {
            return Ok(());
        }
        // SAFETY: the range lies in the allocation (the caller's promise); the wait below ends before `data` is used.
        let queued = unsafe { (self.api.runtime.hipMemcpyDtoHAsync)(data.as_mut_ptr().cast(), address(from), data.len(), self.stream) };
        // Waits in any case: a copy that was queued must not outlive `data`.
        // SAFETY: this device's stream.
        let waited = unsafe { (self.api.runtime.hipStreamSynchronize)(self.stream) };
        self.check("device to host", queued)?;
        self.check("device to host", waited)
    }

    fn copy(&self, from: Range, to: Range) -> Result<(), Error> {
        self.enter()?;
        if from.len == 0 {
            return Ok(());
        }
        // SAFETY: both ranges lie in their allocations and do not overlap (the caller's promise).
        self.check("copy", unsafe { (self.api.runtime.hipMemcpyDtoDAsync)(address(to), address(from), from.len, self.stream) })
    }

    fn load(&self, program: &Program) -> Result<Module, Error> {
        let source = render(program, &self.target).map_err(|error| Error::Compile {
            device: self.name(),
            kernel: program.name.clone(),
            cause: error.to_string(),
        })?;
        self.load_source(&source, program)
    }

    fn load_source(&self, source: &Source, program: &Program) -> Result<Module, Error> {
        self.enter()?;
        let (key, options) = self.key(source);
        let cache = KernelCache::shared();
        if let Some(code) = cache.get(key) {
            match self.load_code(&code, source, program) {
                Ok(module) => return Ok(module),
                Err(_) => cache.remove(key),
            }
        }
        let compiled = compile::compile(&self.compiler, &program.name, &source.text, &options).and_then(|code| {
            let module = self.load_code(&code, source, program)?;
            cache.put(key, &code);
            Ok(module)
        });
        compiled.map_err(|cause| Error::Compile { device: self.name(), kernel: program.name.clone(), cause })
    }

    fn binary(&self, _module: &Module, source: &Source, program: &Program) -> Result<Option<Vec<u8>>, Error> {
        let (key, options) = self.key(source);
        if let Some(code) = KernelCache::shared().get(key) {
            return Ok(Some(code));
        }
        let compiled = compile::compile(&self.compiler, &program.name, &source.text, &options);
        compiled.map(Some).map_err(|cause| Error::Compile { device: self.name(), kernel: program.name.clone(), cause })
    }

    fn launch(&self, module: &Module, grid: [u32; 3], args: &[Bound]) -> Result<(), Error> {
        self.enter()?;
        let refuse = |cause: String| Error::Launch { device: self.name(), kernel: module.name.clone(), cause };
        if let Some(obstacle) = self.grid_obstacle(module, grid) {
            return Err(refuse(obstacle));
        }
        // All values in one block, each at a multiple of 8 bytes: the runtime wants a pointer to each.
        let mut bytes: Vec<u8> = Vec::with_capacity(16 * args.len());
        let mut starts = Vec::with_capacity(args.len());
        for arg in args {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            starts.push(bytes.len());
            let mut push = |range: &Range| bytes.extend_from_slice(&(address(*range) as u64).to_le_bytes());
            match arg {
                Bound::Buffer(range) => push(range),
                Bound::Table(ranges) => ranges.iter().for_each(push),
                Bound::Scalar(dtype, raw) => push_scalar(&mut bytes, *dtype, *raw),
                Bound::ScalarTable(dtype, raw) => raw.iter().for_each(|raw| push_scalar(&mut bytes, *dtype, *raw)),
            }
        }
        let mut params: Vec<*mut c_void> = starts.iter().map(|at| bytes[*at..].as_mut_ptr().cast()).collect();
        let ([x, y, z], [bx, by, bz]) = (grid, module.block);
        // SAFETY: one pointer per parameter of the function, to a value of its size; the runtime copies them before it returns.
        let status = unsafe {
            (self.api.runtime.hipModuleLaunchKernel)(
                module.function,
                x,
                y,
                z,
                bx,
                by,
                bz,
                module.dynamic_shared,
                self.stream,
                params.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        Code::check(status).map_err(|code| {
            self.fatal(code, &module.name).unwrap_or_else(|| refuse(format!("{code} (grid {grid:?}, block {:?})", module.block)))
        })
    }

    fn take(&self, offer: &Offer<'_>) -> Option<Taken> {
        // rocBLAS has no words for epilogues.
        let product = offer.products.iter().position(Product::is_plain)?;
        let nanoseconds = blas::nanoseconds(&offer.products[product]);
        if !(offer.always || blas::wins(&offer.products[product])) || self.enter().is_err() {
            return None;
        }
        self.blas().map(|_| Taken { what: As::Product(product), workspace: 0, nanoseconds, id: 0 })
    }

    fn perform(&self, _: &Taken, work: &Work<'_>, _: Range) -> Result<bool, Error> {
        self.enter()?;
        let (Some(blas), Work::Product(product, operands)) = (self.blas(), work) else { return Ok(false) };
        match blas.multiply(product, operands) {
            Answer::Queued => Ok(true),
            Answer::Refused => Ok(false),
            Answer::Failed(cause) => Err(Error::Launch { device: self.name(), kernel: "contract".to_owned(), cause }),
        }
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.enter()?;
        // SAFETY: this device's stream.
        self.check("synchronize", unsafe { (self.api.runtime.hipStreamSynchronize)(self.stream) })
    }

    fn fork(&self) -> Result<Option<HipBackend>, Error> {
        self.enter()?;
        let mut stream = std::ptr::null_mut();
        // SAFETY: pointer to a local; the device is current.
        self.check("stream", unsafe { (self.api.runtime.hipStreamCreateWithFlags)(&mut stream, NON_BLOCKING) })?;
        Ok(Some(HipBackend {
            api: self.api,
            compiler: self.compiler,
            gpu: self.gpu.clone(),
            stream,
            target: self.target.clone(),
            blas: OnceLock::new(),
            sizes: Arc::clone(&self.sizes),
            lost: Arc::clone(&self.lost),
            peers: Mutex::default(),
        }))
    }

    fn occupancy(&self, module: &Module) -> Option<f64> {
        self.enter().ok()?;
        let threads = i32::try_from(module.block.iter().product::<u32>()).ok()?;
        let most = self.gpu.threads_per_unit?;
        let mut blocks = 0;
        // SAFETY: a function of this device; pointer to a local.
        let asked = unsafe {
            (self.api.runtime.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)(
                &mut blocks,
                module.function,
                threads,
                module.dynamic_shared as usize,
            )
        };
        Code::check(asked).ok().map(|()| f64::from(blocks) * f64::from(threads) / f64::from(most))
    }
}

impl Abilities for HipBackend {
    fn marks(&self) -> Option<&dyn Marks> {
        Some(self)
    }

    fn peers(&self) -> Option<&dyn Peers> {
        Some(self)
    }
}

impl Timeline for HipBackend {
    type Mark = Mark;

    fn mark(&self) -> Result<Option<Mark>, Error> {
        self.event(0)
    }

    fn fence(&self) -> Result<Option<Mark>, Error> {
        self.event(DISABLE_TIMING)
    }

    fn is_done(&self, mark: &Mark) -> Result<bool, Error> {
        self.enter()?;
        // SAFETY: a recorded event.
        match Code::check(unsafe { (self.api.runtime.hipEventQuery)(mark.event) }) {
            Err(Code::NOT_READY) => Ok(false),
            Err(code) => self.check("event", code.0).map(|()| true),
            Ok(()) => Ok(true),
        }
    }

    fn wait(&self, mark: &Mark) -> Result<(), Error> {
        self.enter()?;
        // SAFETY: a recorded event.
        self.check("event", unsafe { (self.api.runtime.hipEventSynchronize)(mark.event) })
    }

    fn elapsed(&self, from: &Mark, to: &Mark) -> Result<f64, Error> {
        Timeline::wait(self, from)?;
        Timeline::wait(self, to)?;
        let mut milliseconds = 0.0;
        // SAFETY: pointer to a local; both events have happened.
        self.check("event", unsafe { (self.api.runtime.hipEventElapsedTime)(&mut milliseconds, from.event, to.event) })?;
        Ok(f64::from(milliseconds) * 1e6)
    }

    fn wait_for_peer(&self, mark: &Mark) -> Result<bool, Error> {
        self.enter()?;
        // SAFETY: streams may wait for events of other streams and devices.
        self.check("event", unsafe { (self.api.runtime.hipStreamWaitEvent)(self.stream, mark.event, 0) }).map(|()| true)
    }
}

impl Peers for HipBackend {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn copy_from_peer(&self, source: &dyn Any, from: Range, to: Range) -> Result<bool, Error> {
        let Some(source) = source.downcast_ref::<HipBackend>() else { return Ok(false) };
        self.enter()?;
        self.befriend(source);
        let (target, peer) = (self.gpu.device, source.gpu.device);
        // SAFETY: both ranges lie in allocations of their devices (the caller's promise).
        let copied = unsafe { (self.api.runtime.hipMemcpyPeerAsync)(address(to), target, address(from), peer, to.len, self.stream) };
        self.check("copy between devices", copied).map(|()| true)
    }
}

impl Drop for HipBackend {
    fn drop(&mut self) {
        if self.enter().is_ok() {
            // It works on the stream.
            drop(self.blas.take());
            // SAFETY: this device's stream, destroyed once; the runtime finishes its work first. A failure has nowhere to go.
            let _ = unsafe { (self.api.runtime.hipStreamDestroy)(self.stream) };
        }
    }
}
