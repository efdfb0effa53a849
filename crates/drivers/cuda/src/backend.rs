//! One queue of a GPU: the primary context, a stream, memory and loaded modules.
//!
//! Always: every call makes the context current first, so any thread may call. A failure that ruins the context becomes
//! [`Error::DeviceLost`], now and for every later call.

use crate::{
    BACKEND, api,
    blas::{self, CublasLt},
    compile,
    describe::{attribute, bus_id, capability, describe, handle, target},
    dnn::{self, Cudnn},
    loaded::Answer,
    parameters::{Map, Parameters},
    staging::Staging,
};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};
use std::{
    any::Any,
    ffi::{CString, c_void},
    fmt,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use unigrad_device::{Abilities, Choices, Error, Exchange, Health, Info, MappedMemory, Marks, Monitor, Peers, Timeline};
use unigrad_gpu::{As, Backend, Bound, KernelCache, Key, Library, Offer, Range, Replays, Resources, Taken, Work};
use unigrad_ir::{Program, Source, Target};

/// What went wrong in a call.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) what: &'static str,
    pub(crate) result: CUresult,
}

impl Failure {
    pub(crate) fn check(what: &'static str, result: CUresult) -> Result<(), Failure> {
        if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(Failure { what, result }) }
    }
}

/// An open NVIDIA GPU.
pub struct CudaBackend {
    pub(crate) ordinal: usize,
    pub(crate) name: String,
    context: sys::CUcontext,
    pub(crate) stream: sys::CUstream,
    target: Target,
    architecture: String,
    /// Whether memory comes from the driver's stream-ordered pool.
    pooled: bool,
    staging: Mutex<Option<Staging>>,
    /// Of the context; `None` where the library is not to be had. One for all queues of the device.
    blas: Arc<OnceLock<Option<CublasLt>>>,
    /// Likewise.
    dnn: Arc<OnceLock<Option<Cudnn>>>,
    /// One for all queues of the device.
    lost: Arc<AtomicBool>,
    /// Ordinals of devices whose memory this one was allowed to reach, as far as it can.
    peers: Mutex<Vec<usize>>,
}

// SAFETY: context and stream may be used by any thread; the driver API locks itself, and staging memory has a lock.
unsafe impl Send for CudaBackend {}
// SAFETY: as above.
unsafe impl Sync for CudaBackend {}

/// A loaded kernel.
pub struct CudaModule {
    name: String,
    function: sys::CUfunction,
    block: [u32; 3],
    dynamic_shared: u32,
    /// Whether it may be launched before the launch ahead of it has ended.
    pub(crate) waits: bool,
    /// Whether it asks for memory before it waits.
    pub(crate) asks_ahead: bool,
    /// What it takes as tensor maps besides.
    maps: Vec<Map>,
}

// SAFETY: a function handle may be used by any thread.
unsafe impl Send for CudaModule {}
// SAFETY: as above; nothing in it changes.
unsafe impl Sync for CudaModule {}

impl fmt::Debug for CudaModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaModule({})", self.name)
    }
}

/// An event in the stream.
pub struct CudaMark(sys::CUevent);

// SAFETY: an event may be used by any thread.
unsafe impl Send for CudaMark {}
// SAFETY: as above.
unsafe impl Sync for CudaMark {}

impl CudaMark {
    /// Of an event that is the mark's from here on.
    pub(crate) fn of(event: sys::CUevent) -> CudaMark {
        CudaMark(event)
    }

    /// The event.
    pub(crate) fn event(&self) -> sys::CUevent {
        self.0
    }
}

impl Drop for CudaMark {
    fn drop(&mut self) {
        // SAFETY: made by `mark`, destroyed once.
        unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

impl CudaBackend {
    /// Opens the device: retains its primary context and makes a stream.
    pub fn open(ordinal: usize) -> Result<CudaBackend, Error> {
        let name = format!("{BACKEND}:{ordinal}");
        let refuse = |(cause, help): api::Problem| Error::NotAvailable { asked: name.clone(), cause, help };
        let count = api::devices().map_err(refuse)?;
        if ordinal >= count {
            return Err(refuse((format!("there are {count} devices"), format!("choose {BACKEND}:0 to {BACKEND}:{}", count - 1))));
        }
        if let Some(problem) = compile::problem() {
            return Err(refuse(problem));
        }
        let failed = |cause: String| refuse((cause, "check the device with nvidia-smi".to_owned()));
        let device = handle(ordinal).map_err(failed)?;
        let mut context = std::ptr::null_mut();
        let mut stream = std::ptr::null_mut();
        // SAFETY: pointers to locals; the context stays retained as long as the process lives.
        unsafe {
            api::check(sys::cuDevicePrimaryCtxRetain(&mut context, device)).map_err(failed)?;
            api::check(sys::cuCtxSetCurrent(context)).map_err(failed)?;
            api::check(sys::cuStreamCreate(&mut stream, sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32)).map_err(failed)?;
        }
        let target = target(device).map_err(failed)?;
        let architecture = compile::architecture(capability(device).map_err(failed)?);
        let pooled = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED).is_ok_and(|yes| yes != 0);
        let (staging, blas, dnn, lost, peers) = (Mutex::default(), Arc::default(), Arc::default(), Arc::default(), Mutex::default());
        Ok(CudaBackend { ordinal, name, context, stream, target, architecture, pooled, staging, blas, dnn, lost, peers })
    }

    /// cuBLASLt; the context is current.
    fn blas(&self) -> Option<&CublasLt> {
        let name = || describe(self.ordinal).map_or_else(|_| self.target.arch.clone(), |info| info.name);
        self.blas.get_or_init(|| CublasLt::new(name())).as_ref()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The primary context, retained.
    pub(crate) fn context(&self) -> sys::CUcontext {
        self.context
    }

    /// cuDNN; the context is current.
    fn dnn(&self) -> Option<&Cudnn> {
        self.dnn.get_or_init(|| Cudnn::new(self.memory().1)).as_ref()
    }

    /// Has a library queue its part on a stream; false if it refuses.
    pub(crate) fn perform_on(&self, taken: &Taken, work: &Work<'_>, workspace: Range, stream: sys::CUstream) -> Result<bool, Error> {
        let is_captured = stream != self.stream;
        let stream = stream.cast();
        let (answer, kernel) = match work {
            Work::Product(product, at) => {
                let multiplied = self.blas().map(|blas| blas.multiply(taken.id, (product, at), workspace, (stream, is_captured)));
                (multiplied.transpose().map_err(|failure| self.error(failure))?, "contract")
            }
            Work::Convolution(c, at) => (self.dnn().map(|dnn| dnn.convolve(taken.id, c, at, workspace, stream)), "convolution"),
            Work::Kernel(of, args, numbers) => {
                (self.dnn().map(|dnn| dnn.attend(taken.id, of, (args, numbers), workspace, stream)), of.kind())
            }
            Work::Norm(..) => (None, "norm"),
        };
        match answer {
            Some(Answer::Queued) => Ok(true),
            Some(Answer::Refused) | None => Ok(false),
            Some(Answer::Failed(cause)) => Err(Error::Launch { device: self.name.clone(), kernel: kernel.to_owned(), cause }),
        }
    }

    /// Which of the products that are on offer cuBLASLt takes on.
    fn take_product(&self, offer: &Offer<'_>) -> Option<Taken> {
        let wanted = |product: &&(usize, _)| blas::can(product.1, &self.target.arch) && (offer.always || blas::wins(product.1));
        let mut wanted = offer.products.iter().enumerate().filter(|product| wanted(&product)).peekable();
        wanted.peek()?;
        self.enter().ok()?;
        let library = self.blas()?;
        wanted.find_map(|(at, product)| {
            let (id, workspace) = library.prepare(product)?;
            Some(Taken { what: As::Product(at), workspace, nanoseconds: blas::nanoseconds(product, self.target.compute_units), id })
        })
    }

    /// Which of the convolutions that are on offer cuDNN takes on.
    fn take_convolution(&self, offer: &Offer<'_>) -> Option<Taken> {
        let wanted = |c: &&(usize, _)| dnn::convolution::can(c.1) && (offer.always || dnn::convolution::wins(c.1));
        let mut wanted = offer.convolutions.iter().enumerate().filter(|c| wanted(&c)).peekable();
        wanted.peek()?;
        self.enter().ok()?;
        let library = self.dnn()?;
        wanted.find_map(|(at, c)| {
            let (id, workspace) = library.prepare(c)?;
            let nanoseconds = dnn::convolution::nanoseconds(c, self.target.compute_units);
            Some(Taken { what: As::Convolution(at), workspace, nanoseconds, id })
        })
    }

    /// Attention or its gradients, if cuDNN takes them on.
    fn take_attention(&self, offer: &Offer<'_>) -> Option<Taken> {
        let (a, is_grad) = dnn::attention_of(offer.kernel)?;
        let is_hopper = self.target.arch.starts_with("sm_90");
        if !dnn::attention::can(a) || !(offer.always || dnn::attention::wins(a, is_grad, is_hopper)) {
            return None;
        }
        self.enter().ok()?;
        let (id, workspace) = self.dnn()?.prepare_kernel(offer.kernel)?;
        let nanoseconds = dnn::attention::nanoseconds(a, is_grad, self.target.compute_units);
        Some(Taken { what: As::Kernel, workspace, nanoseconds, id })
    }

    /// Gives a kernel and its parameters as a graph's node has them.
    pub(crate) fn with_node(
        &self,
        module: &CudaModule,
        [x, y, z]: [u32; 3],
        args: &[Bound],
        mut work: impl FnMut(&sys::CUDA_KERNEL_NODE_PARAMS) -> CUresult,
    ) -> CUresult {
        let [bx, by, bz] = module.block;
        Parameters::with(args, &module.maps, |pointers| {
            work(&sys::CUDA_KERNEL_NODE_PARAMS {
                func: module.function,
                gridDimX: x,
                gridDimY: y,
                gridDimZ: z,
                blockDimX: bx,
                blockDimY: by,
                blockDimZ: bz,
                sharedMemBytes: module.dynamic_shared,
                kernelParams: pointers,
                extra: std::ptr::null_mut(),
                kern: std::ptr::null_mut(),
                ctx: std::ptr::null_mut(),
            })
        })
    }

    /// Makes the context current for this thread.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        if self.lost.load(Relaxed) {
            return Err(self.gone("an earlier failure made the context unusable".to_owned()));
        }
        // SAFETY: a context that is retained.
        self.check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.context) })
    }

    fn gone(&self, cause: String) -> Error {
        Error::DeviceLost { device: self.name.clone(), cause }
    }

    pub(crate) fn check(&self, what: &'static str, result: CUresult) -> Result<(), Error> {
        Failure::check(what, result).map_err(|failure| self.error(failure))
    }

    fn error(&self, Failure { what, result }: Failure) -> Error {
        let cause = format!("{what}: {}", api::describe(result));
        if api::is_fatal(result) {
            self.lost.store(true, Relaxed);
            return self.gone(cause);
        }
        if result == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return self.out_of_memory(0);
        }
        Error::Launch { device: self.name.clone(), kernel: what.to_owned(), cause }
    }

    fn out_of_memory(&self, asked: usize) -> Error {
        let (free, total) = self.memory();
        Error::OutOfMemory { device: self.name.clone(), asked: asked as u64, free, total, in_use: 0, largest: String::new() }
    }

    /// Bytes free and in all; the context is current.
    fn memory(&self) -> (u64, u64) {
        let (mut free, mut total) = (0, 0);
        // SAFETY: pointers to locals.
        let _ = api::check(unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) });
        (free as u64, total as u64)
    }

    fn with_staging<T>(&self, work: impl FnOnce(&mut Staging) -> Result<T, Failure>) -> Result<T, Error> {
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        let staging = match &mut *staging {
            Some(staging) => staging,
            none => none.insert(Staging::new().map_err(|cause| Error::Copy { device: self.name.clone(), cause })?),
        };
        work(staging).map_err(|failure| self.error(failure))
    }

    /// Lets this device reach the other's memory directly, where the hardware can; copies between them work either way.
    fn befriend(&self, source: &CudaBackend) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.contains(&source.ordinal) {
            return;
        }
        peers.push(source.ordinal);
        let allow = || {
            let (own, theirs) = (handle(self.ordinal)?, handle(source.ordinal)?);
            let mut access = 0;
            // SAFETY: pointer to a local.
            api::check(unsafe { sys::cuDeviceCanAccessPeer(&mut access, own, theirs) })?;
            if access == 0 {
                return Ok(());
            }
            // SAFETY: a retained context; this device's is current.
            let enabled = unsafe { sys::cuCtxEnablePeerAccess(source.context, 0) };
            if enabled != CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED {
                api::check(enabled)?;
            }
            if source.pooled {
                let mut pool = std::ptr::null_mut();
                let location = sys::CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: own };
                let access = sys::CUmemAccessDesc { location, flags: sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
                // SAFETY: pointers to locals.
                unsafe {
                    api::check(sys::cuDeviceGetDefaultMemPool(&mut pool, theirs))?;
                    api::check(sys::cuMemPoolSetAccess(pool, &access, 1))?;
                }
            }
            Ok::<(), String>(())
        };
        let _ = allow();
    }

    /// An event after what the stream has.
    fn event(&self, flags: u32) -> Result<Option<CudaMark>, Error> {
        self.enter()?;
        let mut event = std::ptr::null_mut();
        // SAFETY: pointer to a local; the event is owned by the mark from here on.
        self.check("event", unsafe { sys::cuEventCreate(&mut event, flags) })?;
        let mark = CudaMark(event);
        // SAFETY: event and stream of this context.
        self.check("event", unsafe { sys::cuEventRecord(mark.0, self.stream) })?;
        Ok(Some(mark))
    }

    /// Where the cache has what the source becomes, and the compiler's options.
    fn key(&self, source: &Source, program: &Program) -> Result<(Key, Vec<String>), Error> {
        let mut options = vec![self.architecture.clone(), "--std=c++17".to_owned()];
        options.extend(source.options.iter().cloned());
        let (major, minor) = compile::version().map_err(|(cause, help)| self.compile_error(program, format!("{cause}\n help: {help}")))?;
        let version = format!("nvrtc {major}.{minor}");
        let parts = [BACKEND, version.as_str(), source.text.as_str()].into_iter().chain(options.iter().map(String::as_str));
        Ok((Key::of(&parts.map(str::as_bytes).collect::<Vec<_>>()), options))
    }

    fn compile_error(&self, program: &Program, cause: String) -> Error {
        Error::Compile { device: self.name.clone(), kernel: program.name.clone(), cause }
    }

    /// The stream, for programs that call CUDA themselves: work queued there is ordered with unigrad's.
    pub fn raw_stream(&self) -> *mut c_void {
        self.stream.cast()
    }
}

impl Drop for CudaBackend {
    fn drop(&mut self) {
        if self.enter().is_ok() {
            *self.staging.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
            // SAFETY: the stream is this value's own. The primary context is shared with the process and stays.
            unsafe {
                sys::cuStreamSynchronize(self.stream);
                sys::cuStreamDestroy_v2(self.stream);
            }
        }
    }
}

/// Loads machine code or PTX into the current context. Modules live as long as the process, as devices do.
fn load_image(mut image: Vec<u8>, entry: &str, dynamic_shared: u32) -> Result<sys::CUfunction, String> {
    let entry = CString::new(entry).map_err(|_| "the name has a zero byte".to_owned())?;
    let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
    // PTX must end with a zero byte; machine code does not mind one.
    image.push(0);
    // SAFETY: the image outlives the call; handles are used only after the call that makes them succeeded.
    unsafe {
        api::check(sys::cuModuleLoadData(&mut module, image.as_ptr().cast()))?;
        api::check(sys::cuModuleGetFunction(&mut function, module, entry.as_ptr()))?;
        if dynamic_shared > 0 {
            let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            api::check(sys::cuFuncSetAttribute(function, most, i32::try_from(dynamic_shared).unwrap_or(i32::MAX)))?;
        }
    }
    Ok(function)
}

impl Backend for CudaBackend {
    type Module = CudaModule;

    fn info(&self) -> Info {
        let mut info = describe(self.ordinal).unwrap_or_else(|_| Info { backend: BACKEND, ordinal: self.ordinal, ..Info::default() });
        if self.enter().is_ok() {
            (info.memory_free, info.memory_total) = self.memory();
        }
        info
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        self.enter()?;
        let mut address = 0;
        // SAFETY: pointer to a local.
        let result = unsafe {
            if self.pooled { sys::cuMemAllocAsync(&mut address, bytes, self.stream) } else { sys::cuMemAlloc_v2(&mut address, bytes) }
        };
        if result == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return Err(self.out_of_memory(bytes));
        }
        self.check("allocation", result).map(|()| address)
    }

    fn free(&self, handle: u64) {
        if self.enter().is_err() {
            return;
        }
        // SAFETY: memory that `allocate` gave, freed once. The pool frees in stream order; the other call waits for the device.
        unsafe {
            if self.pooled {
                sys::cuMemFreeAsync(handle, self.stream);
            } else {
                sys::cuMemFree_v2(handle);
            }
        }
    }

    fn upload(&self, data: &[u8], to: Range) -> Result<(), Error> {
        self.enter()?;
        self.with_staging(|staging| staging.upload(data, to.handle + to.offset as u64, self.stream))
    }

    fn download(&self, from: Range, data: &mut [u8]) -> Result<(), Error> {
        self.enter()?;
        self.with_staging(|staging| staging.download(from.handle + from.offset as u64, data, self.stream))
    }

    fn copy(&self, from: Range, to: Range) -> Result<(), Error> {
        self.enter()?;
        let (source, target) = (from.handle + from.offset as u64, to.handle + to.offset as u64);
        // SAFETY: ranges within allocations, checked by the caller.
        self.check("copy", unsafe { sys::cuMemcpyDtoDAsync_v2(target, source, to.len, self.stream) })
    }

    fn load(&self, program: &Program) -> Result<CudaModule, Error> {
        let source = unigrad_ir::render(program, &self.target).map_err(|e| self.compile_error(program, e.to_string()))?;
        self.load_source(&source, program)
    }

    fn load_source(&self, source: &Source, program: &Program) -> Result<CudaModule, Error> {
        let (key, options) = self.key(source, program)?;
        let cache = KernelCache::shared();
        self.enter()?;
        let dynamic_shared = u32::try_from(source.dynamic_shared).unwrap_or(u32::MAX);
        let kept =
            cache.get(key).and_then(|image| load_image(image, &source.entry, dynamic_shared).inspect_err(|_| cache.remove(key)).ok());
        let function = match kept {
            Some(function) => function,
            None => {
                let image = compile::compile(&program.name, &source.text, &options).map_err(|log| self.compile_error(program, log))?;
                cache.put(key, &image);
                load_image(image, &source.entry, dynamic_shared).map_err(|cause| self.compile_error(program, cause))?
            }
        };
        let (waits, asks_ahead) = (source.waits, source.waits && program.prefetch.is_some());
        let maps = program.tensor_maps.iter().map(|map| Map::of(map, program)).collect::<Option<_>>();
        let maps = maps.ok_or_else(|| self.compile_error(program, "a tensor map that the driver does not have".to_owned()))?;
        Ok(CudaModule { name: program.name.clone(), function, block: program.block, dynamic_shared, waits, asks_ahead, maps })
    }

    fn occupancy(&self, module: &CudaModule) -> Option<f64> {
        self.enter().ok()?;
        let threads = module.block.iter().product::<u32>();
        let most = handle(self.ordinal).and_then(|device| attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
        let mut blocks = 0;
        // SAFETY: a function of this context; pointer to a local.
        let asked = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                module.function,
                i32::try_from(threads).ok()?,
                module.dynamic_shared as usize,
            )
        };
        api::check(asked).ok()?;
        Some(f64::from(blocks) * f64::from(threads) / f64::from(most.ok()?.max(1)))
    }

    fn binary(&self, _module: &CudaModule, source: &Source, program: &Program) -> Result<Option<Vec<u8>>, Error> {
        let (key, options) = self.key(source, program)?;
        if let Some(image) = KernelCache::shared().get(key) {
            return Ok(Some(image));
        }
        compile::compile(&program.name, &source.text, &options).map(Some).map_err(|log| self.compile_error(program, log))
    }

    fn resources(&self, module: &CudaModule) -> Resources {
        if self.enter().is_err() {
            return Resources::default();
        }
        let ask = |which| {
            let mut value = 0;
            // SAFETY: a function of this context; pointer to a local.
            let asked = api::check(unsafe { sys::cuFuncGetAttribute(&mut value, which, module.function) });
            asked.ok().and_then(|()| u32::try_from(value).ok())
        };
        let fixed = ask(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
        Resources {
            registers: ask(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS),
            shared_bytes: fixed.map(|fixed| u64::from(fixed) + u64::from(module.dynamic_shared)),
            local_bytes: ask(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES).map(u64::from),
        }
    }

    fn launch(&self, module: &CudaModule, grid: [u32; 3], args: &[Bound]) -> Result<(), Error> {
        self.enter()?;
        let [x, y, z] = grid;
        let [bx, by, bz] = module.block;
        // SAFETY: one pointer per parameter of the function, to a value of its size; the driver copies them before it returns.
        let result = Parameters::with(args, &module.maps, |pointers| unsafe {
            let shared = module.dynamic_shared;
            sys::cuLaunchKernel(module.function, x, y, z, bx, by, bz, shared, self.stream, pointers, std::ptr::null_mut())
        });
        if result == CUresult::CUDA_SUCCESS {
            return Ok(());
        }
        let cause = format!(
            "{} (grid {grid:?}, block {:?}, {} bytes of dynamic shared memory)",
            api::describe(result),
            module.block,
            module.dynamic_shared
        );
        if api::is_fatal(result) {
            self.lost.store(true, Relaxed);
            return Err(self.gone(format!("{}: {cause}", module.name)));
        }
        Err(Error::Launch { device: self.name.clone(), kernel: module.name.clone(), cause })
    }

    fn library(&self) -> Option<Library> {
        let units = self.target.compute_units;
        Some(Library { convolution: dnn::convolutions(units), ..blas::library(units)? })
    }

    fn take(&self, offer: &Offer<'_>) -> Option<Taken> {
        self.take_product(offer).or_else(|| self.take_convolution(offer)).or_else(|| self.take_attention(offer))
    }

    fn plan(&self, parts: &[Taken]) {
        let products = parts.iter().filter(|part| matches!(part.what, As::Product(_))).map(|part| (part.id, part.nanoseconds));
        // Opened already, where it has taken something on.
        if let Some(Some(blas)) = self.blas.get() {
            blas.may_time(products);
        }
    }

    fn perform(&self, taken: &Taken, work: &Work<'_>, workspace: Range) -> Result<bool, Error> {
        self.enter()?;
        self.perform_on(taken, work, workspace, self.stream)
    }

    fn replays(&self) -> Option<&dyn Replays<CudaModule>> {
        Some(self)
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.enter()?;
        // SAFETY: this device's stream.
        self.check("synchronize", unsafe { sys::cuStreamSynchronize(self.stream) })
    }

    fn fork(&self) -> Result<Option<CudaBackend>, Error> {
        self.enter()?;
        let mut stream = std::ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: pointer to a local.
        self.check("stream", unsafe { sys::cuStreamCreate(&mut stream, flags) })?;
        Ok(Some(CudaBackend {
            ordinal: self.ordinal,
            name: self.name.clone(),
            context: self.context,
            stream,
            target: self.target.clone(),
            architecture: self.architecture.clone(),
            pooled: self.pooled,
            staging: Mutex::default(),
            blas: Arc::clone(&self.blas),
            dnn: Arc::clone(&self.dnn),
            lost: Arc::clone(&self.lost),
            peers: Mutex::default(),
        }))
    }
}

impl Abilities for CudaBackend {
    fn marks(&self) -> Option<&dyn Marks> {
        Some(self)
    }

    fn monitor(&self) -> Option<&dyn Monitor> {
        Some(self)
    }

    fn peers(&self) -> Option<&dyn Peers> {
        Some(self)
    }

    fn mapped_memory(&self) -> Option<&dyn MappedMemory> {
        Some(self)
    }

    fn choices(&self) -> Option<&dyn Choices> {
        Some(self)
    }

    fn exchange(&self) -> Option<&dyn Exchange> {
        Some(self)
    }
}

impl Timeline for CudaBackend {
    type Mark = CudaMark;

    fn mark(&self) -> Result<Option<CudaMark>, Error> {
        self.event(0)
    }

    fn fence(&self) -> Result<Option<CudaMark>, Error> {
        self.event(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32)
    }

    fn is_done(&self, mark: &CudaMark) -> Result<bool, Error> {
        self.enter()?;
        // SAFETY: an event of this context, recorded before.
        let result = unsafe { sys::cuEventQuery(mark.0) };
        if result == CUresult::CUDA_ERROR_NOT_READY {
            return Ok(false);
        }
        self.check("event", result).map(|()| true)
    }

    fn wait(&self, mark: &CudaMark) -> Result<(), Error> {
        self.enter()?;
        // SAFETY: an event of this context, recorded before.
        self.check("event", unsafe { sys::cuEventSynchronize(mark.0) })
    }

    fn elapsed(&self, from: &CudaMark, to: &CudaMark) -> Result<f64, Error> {
        self.enter()?;
        // SAFETY: an event of this context, recorded before.
        self.check("event", unsafe { sys::cuEventSynchronize(to.0) })?;
        let milliseconds = api::event_elapsed_ms(from.0, to.0).map_err(|failure| self.error(failure))?;
        Ok(f64::from(milliseconds) * 1e6)
    }

    fn wait_for_peer(&self, mark: &CudaMark) -> Result<bool, Error> {
        self.enter()?;
        // SAFETY: streams may wait for events of other contexts.
        self.check("event", unsafe { sys::cuStreamWaitEvent(self.stream, mark.0, 0) }).map(|()| true)
    }
}

impl Monitor for CudaBackend {
    fn health(&self) -> Result<Option<Health>, Error> {
        Ok(bus_id(self.ordinal).ok().and_then(|bus_id| unigrad_nvml::health(&bus_id)))
    }
}

impl Peers for CudaBackend {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn copy_from_peer(&self, source: &dyn Any, from: Range, to: Range) -> Result<bool, Error> {
        let Some(source) = source.downcast_ref::<CudaBackend>() else { return Ok(false) };
        self.enter()?;
        self.befriend(source);
        let (from, target) = (from.handle + from.offset as u64, to.handle + to.offset as u64);
        // SAFETY: ranges within allocations of the two contexts, checked by the caller.
        let copied = unsafe { sys::cuMemcpyPeerAsync(target, self.context, from, source.context, to.len, self.stream) };
        self.check("copy between devices", copied).map(|()| true)
    }
}

impl Choices for CudaBackend {
    fn choices(&self) -> Vec<(String, String)> {
        self.blas.get().and_then(Option::as_ref).map_or(Vec::new(), |blas| blas.choices().export())
    }

    fn choose(&self, choices: &[(String, String)]) {
        if self.enter().is_ok()
            && let Some(blas) = self.blas()
        {
            blas.choices().import(choices);
        }
    }
}
