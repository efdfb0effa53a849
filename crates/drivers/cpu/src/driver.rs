//! The driver's face: discovery, memory, dispatch of kernels to the modules that run them.
//!
//! In: the calls of [`OpenDevice`]. Out: results in memory, or a typed error.
//! Always: a launch is complete when it returns; its arguments are checked against the kernel before a module sees a pointer;
//! a panic in a kernel becomes an error of that launch.
//! Never: runs two kernels of one launch list out of order, or keeps memory that was freed.

use crate::{
    attention,
    contract::{CompiledContract, Panels},
    custom::CompiledCustom,
    indexed,
    memory::{self, Buf, Fault, NOWHERE},
    region::{CompiledGrouped, CompiledRegion},
    sequence, simd, threads,
};
use smallvec::SmallVec;
use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use unigrad_device::{
    Abilities, Config, Discovery, Driver, Error, Exchange, Executable, HostMemory, Info, Launch, OpenDevice, Origin, Prepared, Ran, Range,
    RawBuffer, Run, Sequences, Slice, Stopped, Threads, tell,
};
use unigrad_kernel::{Arg, ArgSort, Attention, AttentionGrad, Kernel, MaxPool, Region, Scan, Scatter, TopK};

pub(crate) const NAME: &str = "cpu:0";

/// Below this, an allocation is only held against the total; above, also against what the system says is available.
const LARGE: usize = 16 << 20;

/// The CPU as a backend: one device, all cores.
#[derive(Debug, Default)]
pub struct CpuDriver;

impl Driver for CpuDriver {
    fn backend(&self) -> &'static str {
        "cpu"
    }

    fn discover(&self) -> Discovery {
        Discovery { devices: vec![info()], problem: None }
    }

    fn open(&self, ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        if ordinal != 0 {
            return Err(Error::NotAvailable {
                asked: format!("cpu:{ordinal}"),
                cause: "all cores are one device".to_owned(),
                help: format!("use {NAME}"),
            });
        }
        Ok(Arc::new(Cpu { in_use: AtomicU64::new(0) }))
    }
}

fn info() -> Info {
    let physical = memory::physical();
    Info {
        backend: "cpu",
        ordinal: 0,
        name: model().to_owned(),
        version: version().to_owned(),
        memory_total: physical.map_or(0, |p| p.total),
        memory_free: physical.map_or(0, |p| p.available),
        compute_units: std::thread::available_parallelism().map_or(1, |n| n.get()),
        features: vec![version().to_owned()],
        software: false,
        rank: 1000,
        limits: Vec::new(),
    }
}

/// The instruction set in use.
fn version() -> &'static str {
    match simd::tier() {
        simd::Tier::Avx512 => "avx512",
        simd::Tier::Avx2 => "avx2",
        simd::Tier::Baseline if cfg!(target_arch = "aarch64") => "neon",
        simd::Tier::Baseline => "baseline",
    }
}

/// The processor's name, as the system spells it.
fn model() -> &'static str {
    static MODEL: OnceLock<String> = OnceLock::new();
    MODEL.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':')).map(str::trim);
        field("model name").or_else(|| field("Model")).unwrap_or(std::env::consts::ARCH).to_owned()
    })
}

/// A kernel, ready to run.
pub(crate) struct CpuProgram {
    name: String,
    args: Vec<Arg>,
    n_scalars: usize,
    body: Body,
}

enum Body {
    Region(Box<CompiledRegion>),
    Grouped(Box<CompiledGrouped>),
    Joined(Vec<CpuProgram>),
    Parts(Vec<Part>),
    Contract(Box<CompiledContract>),
    Attention(Box<Attention>),
    AttentionGrad(Box<AttentionGrad>),
    Scan(Scan),
    Scatter(Box<Scatter>),
    ArgSort(ArgSort),
    TopK(TopK),
    MaxPool(Box<MaxPool>),
    Custom(Box<CompiledCustom>),
}

/// A region, or a product, of a kernel of several.
struct Part {
    program: CpuProgram,
    /// Its arguments among the kernel's.
    args: Vec<usize>,
    /// The first of its scalars among the kernel's.
    scalars: usize,
}

impl fmt::Debug for CpuProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Executable for CpuProgram {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl CpuProgram {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn args(&self) -> &[Arg] {
        &self.args
    }

    /// Why so many buffers and scalars do not fit.
    pub(crate) fn check_counts(&self, args: usize, scalars: usize) -> Result<(), String> {
        if args != self.args.len() || scalars != self.n_scalars {
            return Err(format!("it takes {} buffers and {} scalars, not {args} and {scalars}", self.args.len(), self.n_scalars));
        }
        Ok(())
    }

    /// What of an operand may be kept for further launches that have the same.
    pub(crate) fn panels(&self) -> Option<Panels> {
        if let Body::Contract(contract) = &self.body { contract.panels() } else { None }
    }

    /// Runs it; a panic becomes an error.
    ///
    /// # Safety
    /// As for `run`.
    pub(crate) unsafe fn launch(&self, bufs: &[Buf], scalars: &[u64]) -> Result<(), Error> {
        // SAFETY: passed on.
        self.caught(|| unsafe { self.run(bufs, scalars) })
    }

    /// As `launch`, with the panels at `at`, which it packs first where `packs` says so.
    ///
    /// # Safety
    /// As for `launch`. `at` has the bytes of [`CpuProgram::panels`], aligned to 64, and panels where `packs` does not say so: as a program with equal panels
    /// packed them from what the operand holds now.
    pub(crate) unsafe fn launch_with(&self, bufs: &[Buf], scalars: &[u64], at: *mut u8, packs: bool) -> Result<(), Error> {
        self.caught(|| {
            let Body::Contract(contract) = &self.body else { return Err(Fault::Internal("panels of what is no product")) };
            // SAFETY: the caller's.
            unsafe {
                if packs {
                    contract.keep(bufs, at)?;
                }
                contract.run_with(bufs, scalars, at)
            }
        })
    }

    fn caught(&self, run: impl FnOnce() -> Result<(), Fault>) -> Result<(), Error> {
        let failed = |cause: String| Error::Launch { device: NAME.to_owned(), kernel: self.name.clone(), cause };
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(Fault::Index { index, size })) => Err(Error::IndexOutOfRange { index, size, kernel: self.name.clone() }),
            Ok(Err(Fault::Program(cause))) => Err(failed(cause)),
            Ok(Err(Fault::Internal(cause))) => Err(failed(format!("{cause}: a mistake of this driver, which is worth a report"))),
            Err(panic) => Err(failed(panic_message(&*panic).to_owned())),
        }
    }

    /// # Safety
    /// `bufs` match the kernel's arguments in order, dtype and length, and nothing else uses the written ones meanwhile.
    unsafe fn run(&self, bufs: &[Buf], scalars: &[u64]) -> Result<(), Fault> {
        // SAFETY: for all arms, the caller's promise is the callee's requirement.
        unsafe {
            match &self.body {
                Body::Region(region) => region.run(bufs, scalars)?,
                Body::Grouped(grouped) => grouped.run(bufs, scalars)?,
                Body::Joined(parts) => {
                    let (mut bufs, mut scalars) = (bufs, scalars);
                    for part in parts {
                        let (own, other) = bufs.split_at(part.args.len());
                        let (own_scalars, other_scalars) = scalars.split_at(part.n_scalars);
                        part.run(own, own_scalars)?;
                        (bufs, scalars) = (other, other_scalars);
                    }
                }
                Body::Parts(parts) => {
                    for Part { program, args, scalars: first } in parts {
                        let own: SmallVec<[_; 16]> = args.iter().map(|arg| bufs[*arg]).collect();
                        program.run(&own, &scalars[*first..*first + program.n_scalars])?;
                    }
                }
                Body::Contract(contract) => contract.run(bufs, scalars)?,
                Body::Attention(kernel) => attention::forward(kernel, bufs, scalars),
                Body::AttentionGrad(kernel) => attention::backward(kernel, bufs, scalars),
                Body::Scan(kernel) => indexed::scan(kernel, bufs),
                Body::Scatter(kernel) => indexed::scatter(kernel, bufs)?,
                Body::ArgSort(kernel) => indexed::argsort(kernel, bufs),
                Body::TopK(kernel) => indexed::topk(kernel, bufs),
                Body::MaxPool(kernel) => indexed::max_pool(kernel, bufs),
                Body::Custom(program) => program.run(bufs, scalars)?,
            }
        }
        Ok(())
    }
}

/// The kernel's name in messages.
fn name(kernel: &Kernel) -> String {
    match kernel {
        Kernel::Region(region) => region.name.clone(),
        Kernel::Grouped(grouped) => grouped.region.name.clone(),
        Kernel::Contract(contract) => match &contract.epilogue {
            Some(epilogue) if !epilogue.name.is_empty() => format!("contract.{}", epilogue.name),
            _ => "contract".to_owned(),
        },
        Kernel::Custom(custom) => custom.program.name.clone(),
        Kernel::Joined(_)
        | Kernel::Crossed(_)
        | Kernel::Summed(_)
        | Kernel::Attention(_)
        | Kernel::AttentionGrad(_)
        | Kernel::Scan(_)
        | Kernel::Scatter(_)
        | Kernel::ArgSort(_)
        | Kernel::TopK(_)
        | Kernel::MaxPool(_) => kernel.kind().to_owned(),
    }
}

/// A kernel as a program, or why there is none.
fn compile(kernel: &Kernel) -> Result<CpuProgram, String> {
    if let Some(arg) = kernel.args().iter().find(|arg| arg.dtype.only_stores()) {
        return Err(format!("a buffer of {}: kernels have its codes, as u8", arg.dtype));
    }
    let body = match kernel {
        Kernel::Region(region) => Body::Region(Box::new(CompiledRegion::new(region)?)),
        Kernel::Grouped(grouped) => Body::Grouped(Box::new(CompiledGrouped::new(grouped)?)),
        Kernel::Joined(joined) => Body::Joined(joined.parts.iter().map(compile).collect::<Result<_, String>>()?),
        Kernel::Crossed(crossed) => {
            let part = |(region, places, scalars): (&Region, Vec<usize>, usize)| {
                Ok(Part { program: compile(&Kernel::Region(region.clone()))?, args: places, scalars })
            };
            Body::Parts(crossed.parts().into_iter().map(part).collect::<Result<_, String>>()?)
        }
        Kernel::Summed(summed) => {
            let product = compile(&Kernel::Contract(summed.product.clone()))?;
            let (args, scalars) = ((0..summed.product.n_args()).collect(), summed.n_scalars_of_product());
            let sums = compile(&Kernel::Region(summed.sums.region.clone()))?;
            Body::Parts(vec![Part { program: product, args, scalars: 0 }, Part { program: sums, args: summed.places(), scalars }])
        }
        Kernel::Contract(contract) => Body::Contract(Box::new(CompiledContract::new(contract)?)),
        Kernel::Attention(kernel) => Body::Attention(Box::new(kernel.clone())),
        Kernel::AttentionGrad(kernel) if kernel.forward.pages.is_some() => {
            return Err("the gradient of attention over pages".to_owned());
        }
        Kernel::AttentionGrad(kernel) => Body::AttentionGrad(Box::new(kernel.clone())),
        Kernel::Scan(kernel) if kernel.op.needs_floats() && !kernel.dtype.is_float() => {
            return Err(format!("{} of {}", kernel.op, kernel.dtype));
        }
        Kernel::Scan(kernel) => Body::Scan(kernel.clone()),
        Kernel::Scatter(kernel) => {
            indexed::check_scatter(kernel)?;
            Body::Scatter(Box::new(kernel.clone()))
        }
        Kernel::ArgSort(kernel) => Body::ArgSort(kernel.clone()),
        Kernel::TopK(kernel) if kernel.k > kernel.len => return Err(format!("the best {} of {}", kernel.k, kernel.len)),
        Kernel::TopK(kernel) => Body::TopK(kernel.clone()),
        Kernel::MaxPool(kernel) => {
            indexed::check_pool(kernel)?;
            Body::MaxPool(Box::new(kernel.clone()))
        }
        Kernel::Custom(custom) => Body::Custom(Box::new(CompiledCustom::new(custom)?)),
    };
    Ok(CpuProgram { name: name(kernel), args: kernel.args(), n_scalars: kernel.scalars().len(), body })
}

/// The open device.
struct Cpu {
    /// Bytes allocated and not freed. Fresh memory is not backed before it is used, so what the system calls available does not
    /// know of it.
    in_use: AtomicU64,
}

impl Cpu {
    fn out_of_memory(&self, bytes: usize) -> Error {
        let info = info();
        Error::OutOfMemory {
            device: NAME.to_owned(),
            asked: bytes as u64,
            free: info.memory_free,
            total: info.memory_total,
            in_use: self.in_use.load(Relaxed),
            largest: String::new(),
        }
    }

    /// Whether the machine can back `bytes` more.
    fn has_room(bytes: usize, in_use_with_it: u64) -> bool {
        static TOTAL: OnceLock<u64> = OnceLock::new();
        let total = *TOTAL.get_or_init(|| memory::physical().map_or(u64::MAX, |p| p.total));
        in_use_with_it <= total && (bytes < LARGE || memory::physical().is_none_or(|p| bytes as u64 <= p.available))
    }
}

/// Where a slice's bytes are, if it lies within its buffer.
pub(crate) fn bytes_of(slice: &Slice<'_>) -> Option<*mut u8> {
    if slice.len == 0 {
        return Some(NOWHERE);
    }
    let end = slice.offset.checked_add(slice.len)?;
    if end > slice.buffer.bytes || slice.buffer.handle == 0 {
        return None;
    }
    let start = std::ptr::with_exposed_provenance_mut::<u8>(slice.buffer.handle as usize);
    // SAFETY: the handle is the start of a block of `buffer.bytes` bytes, and the offset lies in it.
    Some(unsafe { start.add(slice.offset) })
}

fn copy_error(cause: impl Into<String>) -> Error {
    Error::Copy { device: NAME.to_owned(), cause: cause.into() }
}

/// The text of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked")
}

/// The arguments as kernels see them, or why they do not fit the kernel.
fn bind(program: &CpuProgram, args: &[Slice<'_>], scalars: &[u64]) -> Result<SmallVec<[Buf; 8]>, String> {
    program.check_counts(args.len(), scalars.len())?;
    let mut bufs = SmallVec::new();
    for (i, (slice, arg)) in args.iter().zip(&program.args).enumerate() {
        let needed = arg.len.checked_mul(arg.dtype.size()).ok_or_else(|| format!("argument {i} is larger than memory"))?;
        if slice.len < needed {
            return Err(format!("argument {i} has {} bytes, not the {needed} of {} {}", slice.len, arg.len, arg.dtype));
        }
        let ptr = bytes_of(slice).ok_or_else(|| format!("argument {i} leaves its buffer"))?;
        if !(ptr as usize).is_multiple_of(arg.dtype.size()) {
            return Err(format!("argument {i} starts at byte {}, which is no place for {}", slice.offset, arg.dtype));
        }
        bufs.push(Buf { ptr, len: arg.len, dtype: arg.dtype });
    }
    Ok(bufs)
}

impl OpenDevice for Cpu {
    fn info(&self) -> Info {
        info()
    }

    fn completes_at_once(&self) -> bool {
        true
    }

    fn allocate(&self, bytes: usize) -> Result<RawBuffer, Error> {
        let in_use = self.in_use.fetch_add(bytes as u64, Relaxed).saturating_add(bytes as u64);
        let block = if Cpu::has_room(bytes, in_use) { memory::allocate(bytes) } else { None };
        match block {
            Some(block) => Ok(RawBuffer { handle: block.as_ptr().expose_provenance() as u64, bytes }),
            None => {
                self.in_use.fetch_sub(bytes as u64, Relaxed);
                Err(self.out_of_memory(bytes))
            }
        }
    }

    fn free(&self, buffer: RawBuffer) {
        if let Some(block) = NonNull::new(std::ptr::with_exposed_provenance_mut::<u8>(buffer.handle as usize)) {
            // SAFETY: `allocate` made the buffer of this block and size, and a buffer is not copied. Launches are synchronous,
            // so nothing uses it any more.
            unsafe { memory::free(block, buffer.bytes) };
            self.in_use.fetch_sub(buffer.bytes as u64, Relaxed);
        }
    }

    fn upload(&self, data: &[u8], to: Slice<'_>) -> Result<(), Error> {
        if data.len() != to.len {
            return Err(copy_error(format!("{} bytes into a slice of {}", data.len(), to.len)));
        }
        let target = bytes_of(&to).ok_or_else(|| copy_error("the target leaves its buffer"))?;
        // SAFETY: both have `len` bytes; `data` may be the same memory (from `host_bytes`), which `copy` allows.
        unsafe { std::ptr::copy(data.as_ptr(), target, data.len()) };
        Ok(())
    }

    fn download(&self, from: Slice<'_>, data: &mut [u8]) -> Result<(), Error> {
        if data.len() != from.len {
            return Err(copy_error(format!("a slice of {} bytes into {}", from.len, data.len())));
        }
        let source = bytes_of(&from).ok_or_else(|| copy_error("the source leaves its buffer"))?;
        // SAFETY: as in `upload`.
        unsafe { std::ptr::copy(source, data.as_mut_ptr(), data.len()) };
        Ok(())
    }

    fn copy(&self, from: Slice<'_>, to: Slice<'_>) -> Result<(), Error> {
        if from.len != to.len {
            return Err(copy_error(format!("a slice of {} bytes into one of {}", from.len, to.len)));
        }
        let source = bytes_of(&from).ok_or_else(|| copy_error("the source leaves its buffer"))?;
        let target = bytes_of(&to).ok_or_else(|| copy_error("the target leaves its buffer"))?;
        // SAFETY: as in `upload`.
        unsafe { std::ptr::copy(source, target, from.len) };
        Ok(())
    }

    fn compile(&self, kernel: &Kernel) -> Result<Arc<dyn Executable>, Error> {
        if Config::current_or_default().debug.kernels {
            tell(format_args!("; {NAME}: {} {}\n{kernel}", kernel.kind(), name(kernel)));
        }
        let compiled = catch_unwind(AssertUnwindSafe(|| compile(kernel))).unwrap_or_else(|panic| Err(panic_message(&*panic).to_owned()));
        let program = compiled.map_err(|cause| Error::Compile { device: NAME.to_owned(), kernel: name(kernel), cause })?;
        Ok(Arc::new(program))
    }

    fn launch(&self, program: &dyn Executable, args: &[Slice<'_>], scalars: &[u64], _origin: Option<Origin>) -> Result<(), Error> {
        let Some(program) = program.as_any().downcast_ref::<CpuProgram>() else {
            let cause = "it was compiled for another driver".to_owned();
            return Err(Error::Launch { device: NAME.to_owned(), kernel: format!("{program:?}"), cause });
        };
        let failed = |cause: String| Error::Launch { device: NAME.to_owned(), kernel: program.name.clone(), cause };
        let bufs = bind(program, args, scalars).map_err(failed)?;
        // SAFETY: `bind` checked order and length, dtypes are the kernel's own, and the caller gives each launch its outputs alone.
        unsafe { program.launch(&bufs, scalars) }
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

impl Abilities for Cpu {
    fn host_memory(&self) -> Option<&dyn HostMemory> {
        Some(self)
    }

    fn exchange(&self) -> Option<&dyn Exchange> {
        Some(self)
    }

    fn threads(&self) -> Option<&dyn Threads> {
        Some(self)
    }

    fn sequences(&self) -> Option<&dyn Sequences> {
        Some(self)
    }
}

impl HostMemory for Cpu {
    fn host_bytes(&self, range: Range) -> Option<*const u8> {
        let address = usize::try_from(range.handle).ok()?.checked_add(range.offset)?;
        Some(std::ptr::with_exposed_provenance(address))
    }
}

/// Work is done when it was given, so there is nothing to order.
impl Exchange for Cpu {
    fn alignment(&self) -> usize {
        1
    }

    fn adopt(&self, address: u64, bytes: usize) -> Result<u64, Error> {
        let end = usize::try_from(address).ok().and_then(|start| start.checked_add(bytes));
        match end {
            Some(_) if address != 0 => Ok(address),
            _ => Err(copy_error(format!("{bytes} bytes at address {address:#x} are no memory"))),
        }
    }

    fn address(&self, range: Range) -> u64 {
        range.handle + range.offset as u64
    }

    fn queue(&self) -> Option<u64> {
        None
    }

    fn wait_for_queue(&self, _queue: u64) -> Result<(), Error> {
        Ok(())
    }

    fn queue_waits(&self, _queue: u64) -> Result<(), Error> {
        Ok(())
    }

    fn take_back(&self, _queue: u64) -> Result<(), Error> {
        Ok(())
    }
}

impl Threads for Cpu {
    fn set_threads(&self, threads: usize) {
        threads::set_threads(threads);
    }
}

impl Sequences for Cpu {
    fn prepare(&self, launches: &[Launch], _temporary: Option<usize>) -> Result<Prepared, Error> {
        sequence::prepare(launches)
    }

    fn run(&self, run: &Run<'_>) -> Result<Ran, Stopped> {
        sequence::run(run)
    }

    fn reserve_for(&self, _prepared: &(dyn Any + Send + Sync), _launches: &[Launch]) -> Result<(), Error> {
        Ok(())
    }
}
