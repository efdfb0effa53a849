//! A backend as a device: kernels are lowered and loaded once, launches bind arguments, errors found by the device surface at the next wait.
//!
//! Always: a kernel's steps run in order on the backend's queue; scratch memory is shared by all launches of a queue, whose order makes that
//! safe. Queues of one device share programs, and what is known of errors.
//! A launch whose index was out of range touches nothing out of bounds; its error surfaces at the next wait, and at every read of what was
//! computed from its results.
//! Never: waits in `launch`.

mod block;
mod hazards;
mod library;
mod recurrence;
mod replay;
mod sequence;
mod status;

pub(crate) use status::{Reports, Status};

use crate::{
    Backend, BlockWord, Bound, Lowered, Part, ProgramArg, ProgramLaunch, Range, Resources, deep_stack::with_room, dump, faults::Faults,
    lower,
};
use block::{Block, Filling};
use library::ByLibrary;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::{
    any::Any,
    cmp::Ordering::Equal,
    fmt, ops,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};
use unigrad_device::{
    Abilities, Budget, Choices, Compiled, Config, Error, Exchange, Executable, Flush, HostMemory, Info, Kernels, Launch, MappedMemory,
    Marks, Monitor, OpenDevice, Origin, Peers, Pending, Prepared, Products, Ran, RawBuffer, ReadAsync, Run, Scalars, Sequences, Slice,
    Stopped, tell,
};
use unigrad_ir::{Dialect, Param, Source, Target};
use unigrad_kernel::{Channels, Custom, Flow, Kernel, Library, Limits};
use unigrad_scalar::DType;

#[cfg(test)]
mod tests;

/// Part of a compute unit's threads below which another size of workgroups is tried, and how much better it must be.
const LOW_OCCUPANCY: f64 = 0.5;
const WORTHWHILE: f64 = 1.1;
/// Additions that a GPU does while it stores and loads a number of four bytes: some tens of them a byte, on whatever it is.
const RECOMPUTE: usize = 32;

/// A [`Backend`] as an [`OpenDevice`].
pub struct GpuDevice<B: Backend> {
    pub(crate) backend: B,
    name: String,
    /// What kernels are lowered for.
    target: Target,
    pub(crate) scratch: Mutex<Scratch>,
    /// Locked after `scratch`.
    block: Mutex<Block<B>>,
    /// This queue's number in `shared`.
    pub(crate) queue: usize,
    pub(crate) shared: Arc<DeviceState<B>>,
}

/// No memory.
const NOTHING: Range = Range { handle: 0, offset: 0, len: 0 };

/// Modules of users' programs, by text and signature.
type Sources<B> = FxHashMap<(String, unigrad_ir::Program), Arc<<B as Backend>::Module>>;

/// What the queues of a device have together.
pub(crate) struct DeviceState<B: Backend> {
    modules: Mutex<FxHashMap<unigrad_ir::Program, Arc<B::Module>>>,
    /// Of users' programs in the backend's own language: by text and signature.
    sources: Mutex<Sources<B>>,
    pub(crate) faults: Mutex<Faults>,
    /// Per queue, the memory of its status words once it has some.
    pub(crate) statuses: Mutex<Vec<Option<Status>>>,
    /// What counts memory that is not from the pool.
    budget: OnceLock<Arc<Budget>>,
}

impl<B: Backend> DeviceState<B> {
    fn add_queue(&self) -> usize {
        lock(&self.statuses).push(None);
        lock(&self.faults).add_queue()
    }
}

/// Memory between the steps of a kernel.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    handle: Option<u64>,
    bytes: usize,
}

/// Steps, and a module for each.
type Ready<B> = (Lowered, Vec<Arc<<B as Backend>::Module>>);

/// A compiled kernel.
struct GpuExecutable<B: Backend> {
    name: String,
    lowered: Lowered,
    /// One per step.
    modules: Vec<Arc<B::Module>>,
    /// Per step, the dtypes of its scalar parameters.
    dtypes: Vec<Vec<DType>>,
    /// Where each scratch buffer begins in the shared one, and the bytes of all.
    scratch_at: Vec<usize>,
    scratch_bytes: usize,
    /// Per step, where its part of the parameter block begins, and the words of the whole block.
    block_at: Vec<usize>,
    block: Vec<Option<BlockWord>>,
    /// Whether a launch can find an error.
    reports: bool,
    /// Per kernel argument, whether it is written.
    writes: Vec<bool>,
    /// What each written argument depends on.
    flows: Vec<Flow>,
    /// What the backend's library does, before the steps.
    library: Option<ByLibrary<B>>,
    /// The text of a user's program in the backend's own language, its only step.
    source: Option<Source>,
    /// The kernel, if it can be part of a recurrence's step.
    step: Option<Box<Kernel>>,
}

impl<B: Backend> fmt::Debug for GpuExecutable<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuExecutable({}, {} steps)", self.name, self.lowered.steps.len())
    }
}

impl<B: Backend> Executable for GpuExecutable<B> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn writes(&self, arg: usize) -> bool {
        self.writes.get(arg).is_none_or(|writes| *writes)
    }
}

fn param_dtype(param: &Param) -> DType {
    match param {
        Param::Buffer { dtype, .. } | Param::Table { dtype, .. } | Param::Scalar { dtype, .. } | Param::ScalarTable { dtype, .. } => *dtype,
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What programs may use, where settings say otherwise than the driver.
fn adapt(target: &mut Target, config: &Config) {
    target.own_words &= config.kernels == Kernels::Auto;
    if config.kernels == Kernels::Plain {
        target.subgroup = None;
        target.fragments.clear();
    }
    match config.scalars {
        Scalars::Auto => {}
        Scalars::Block => target.scalars_in_block = true,
        Scalars::Values => target.scalars_in_block = false,
    }
}

impl<B: Backend> GpuDevice<B> {
    /// The device that `backend` has opened.
    pub fn new(backend: B) -> GpuDevice<B> {
        let info = backend.info();
        let name = format!("{}:{}", info.backend, info.ordinal);
        let shared = Arc::new(DeviceState {
            modules: Mutex::default(),
            sources: Mutex::default(),
            faults: Mutex::default(),
            statuses: Mutex::default(),
            budget: OnceLock::new(),
        });
        let mut target = backend.target().clone();
        adapt(&mut target, &Config::current_or_default());
        GpuDevice { target, backend, name, scratch: Mutex::default(), block: Mutex::default(), queue: shared.add_queue(), shared }
    }

    /// The backend itself.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    fn range(slice: Slice<'_>) -> Range {
        slice.into()
    }

    fn module(&self, program: &unigrad_ir::Program) -> Result<Arc<B::Module>, Error> {
        if let Some(module) = lock(&self.shared.modules).get(program) {
            return Ok(Arc::clone(module));
        }
        unigrad_ir::validate(program, self.backend.target()).map_err(|errors| Error::Compile {
            device: self.name.clone(),
            kernel: program.name.clone(),
            cause: errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        })?;
        let module = Arc::new(with_room(|| self.backend.load(program))?);
        Ok(Arc::clone(lock(&self.shared.modules).entry(program.clone()).or_insert(module)))
    }

    /// A user's program in the backend's own language: loaded once for each signature, however it is launched.
    fn source_module(&self, source: &Source, signature: &unigrad_ir::Program) -> Result<Arc<B::Module>, Error> {
        let key = (source.text.clone(), signature.clone());
        if let Some(module) = lock(&self.shared.sources).get(&key) {
            return Ok(Arc::clone(module));
        }
        let module = Arc::new(with_room(|| self.backend.load_source(source, signature))?);
        Ok(Arc::clone(lock(&self.shared.sources).entry(key).or_insert(module)))
    }

    /// What the backend's compiler made of each step of a program.
    fn compiled(&self, program: &GpuExecutable<B>) -> Result<Vec<Compiled>, Error> {
        let mut all = Vec::with_capacity(program.modules.len());
        for (step, module) in program.lowered.steps.iter().zip(&program.modules) {
            let source = match &program.source {
                Some(source) => source.clone(),
                // Nothing is compiled there: the text of what runs.
                None if self.backend.target().dialect == Dialect::Ir => {
                    let (text, entry) = (step.program.to_string(), step.program.name.clone());
                    Source { text, entry, options: Vec::new(), dynamic_shared: 0, waits: false }
                }
                None => unigrad_ir::render(&step.program, self.backend.target()).map_err(|error| Error::Compile {
                    device: self.name.clone(),
                    kernel: program.name.clone(),
                    cause: error.to_string(),
                })?,
            };
            let Resources { registers, shared_bytes, local_bytes } = self.backend.resources(module);
            all.push(Compiled {
                binary: with_room(|| self.backend.binary(module, &source, &step.program))?,
                occupancy: self.backend.occupancy(module),
                language: self.backend.target().dialect.name(),
                entry: source.entry,
                source: source.text,
                registers,
                shared_bytes,
                local_bytes,
            });
        }
        Ok(all)
    }

    /// The scratch buffer, at least `bytes` long.
    fn scratch(&self, scratch: &mut Scratch, bytes: usize) -> Result<u64, Error> {
        if let Some(handle) = scratch.handle.filter(|_| scratch.bytes >= bytes) {
            return Ok(handle);
        }
        if let Some(old) = scratch.handle.take() {
            self.free_own(old, std::mem::take(&mut scratch.bytes));
        }
        let handle = self.allocate_own(bytes)?;
        scratch.bytes = bytes;
        Ok(*scratch.handle.insert(handle))
    }

    /// Memory that the device's pool does not know of, within what the process may take.
    fn allocate_own(&self, bytes: usize) -> Result<u64, Error> {
        let Some(budget) = self.shared.budget.get() else { return self.backend.allocate(bytes) };
        if !budget.take_own(bytes) {
            let info = self.backend.info();
            let cap = budget.cap().unwrap_or(info.memory_total);
            return Err(Error::OutOfMemory {
                device: self.name.clone(),
                asked: bytes as u64,
                free: budget.left(),
                total: cap,
                in_use: cap.saturating_sub(budget.left()),
                largest: format!(
                    "; this process may take {cap} bytes (UNIGRAD_MEMORY_CAP, `set_memory_cap`), and this is for the driver's own work"
                ),
            });
        }
        self.backend.allocate(bytes).inspect_err(|_| budget.give_own(bytes))
    }

    fn free_own(&self, handle: u64, bytes: usize) {
        self.backend.free(handle);
        if let Some(budget) = self.shared.budget.get() {
            budget.give_own(bytes);
        }
    }

    /// What a launch of the kernel needs to know.
    fn program(&self, kernel: &Kernel, name: String, lowered: Lowered, modules: Vec<Arc<B::Module>>) -> GpuExecutable<B> {
        dump::if_asked(&self.name, &name, kernel, &lowered, self.backend.target());
        let dtypes = lowered.steps.iter().map(|step| step.program.params.iter().map(param_dtype).collect()).collect();
        let mut scratch_bytes = 0;
        let mut scratch_at = Vec::with_capacity(lowered.scratch.len());
        for bytes in &lowered.scratch {
            scratch_at.push(scratch_bytes);
            scratch_bytes += bytes.next_multiple_of(256);
        }
        let reports = lowered.steps.iter().any(|step| step.args.contains(&ProgramArg::Status));
        let writes = kernel.args().iter().map(|arg| arg.write).collect();
        let flows = kernel.flows();
        let (block_at, block) = block::lay_out(&lowered);
        GpuExecutable {
            name,
            lowered,
            modules,
            dtypes,
            scratch_at,
            scratch_bytes,
            block_at,
            block,
            reports,
            writes,
            flows,
            library: None,
            source: None,
            step: recurrence::can_be_step(kernel, &self.target).then(|| Box::new(kernel.clone())),
        }
    }

    /// The kernel by the driver's own programs.
    fn own_program(&self, kernel: &Kernel) -> Result<GpuExecutable<B>, Error> {
        let name = match kernel {
            Kernel::Region(region) => region.name.clone(),
            Kernel::Grouped(grouped) => grouped.region.name.clone(),
            Kernel::Custom(custom) => custom.program.name.clone(),
            Kernel::Joined(_)
            | Kernel::Crossed(_)
            | Kernel::Contract(_)
            | Kernel::Summed(_)
            | Kernel::Attention(_)
            | Kernel::AttentionGrad(_)
            | Kernel::Scan(_)
            | Kernel::Scatter(_)
            | Kernel::ArgSort(_)
            | Kernel::TopK(_)
            | Kernel::MaxPool(_) => kernel.kind().to_owned(),
        };
        let (lowered, modules) = self.lower(kernel, &name, &self.target)?;
        let (lowered, modules) = self.with_more_occupancy(kernel, &name, lowered, modules);
        Ok(self.program(kernel, name, lowered, modules))
    }

    /// A kernel's steps and their modules, for a target that this device is, or more narrowly limited.
    fn lower(&self, kernel: &Kernel, name: &str, target: &Target) -> Result<Ready<B>, Error> {
        let lowered = lower(kernel, target).map_err(|unsupported| Error::Compile {
            device: self.name.clone(),
            kernel: name.to_owned(),
            cause: unsupported.to_string(),
        })?;
        match lowered.steps.iter().map(|step| self.module(&step.program)).collect::<Result<Vec<_>, Error>>() {
            // A compiler that does not take what its device offers: the same kernel without matrix instructions and words of the dialect.
            Err(error @ Error::Compile { .. }) if lowered.steps.iter().any(|step| !step.program.is_plain()) => {
                let plain = Target { arch: String::new(), fragments: Vec::new(), ..target.clone() };
                if plain == *target {
                    return Err(error);
                }
                tell(format_args!("unigrad: {}: {name} is compiled without matrix instructions because of: {error}", self.name));
                self.lower(kernel, name, &plain)
            }
            modules => Ok((lowered, modules?)),
        }
    }

    /// A map whose workgroups leave much of a compute unit idle, because too few of their size fit: in smaller workgroups, if more threads are
    /// at work then. Only maps, whose points do not depend on the workgroup they are in.
    fn with_more_occupancy(&self, kernel: &Kernel, name: &str, lowered: Lowered, modules: Vec<Arc<B::Module>>) -> Ready<B> {
        let is_map = match kernel {
            Kernel::Region(region) => region.n_parallel == region.axes.len(),
            Kernel::Grouped(grouped) => grouped.region.n_parallel == grouped.region.axes.len(),
            Kernel::Joined(_)
            | Kernel::Crossed(_)
            | Kernel::Contract(_)
            | Kernel::Summed(_)
            | Kernel::Attention(_)
            | Kernel::AttentionGrad(_)
            | Kernel::Scan(_)
            | Kernel::Scatter(_)
            | Kernel::ArgSort(_)
            | Kernel::TopK(_)
            | Kernel::MaxPool(_)
            | Kernel::Custom(_) => false,
        };
        let occupancy = |modules: &[Arc<B::Module>]| {
            modules.iter().map(|module| self.backend.occupancy(module)).min_by(|a, b| a.partial_cmp(b).unwrap_or(Equal))
        };
        let Some(mut best) = occupancy(&modules).flatten().filter(|part| is_map && *part < LOW_OCCUPANCY) else {
            return (lowered, modules);
        };
        let mut chosen = (lowered, modules);
        for max_threads in [128, 64] {
            let target = Target { max_threads: max_threads.min(self.target.max_threads), ..self.target.clone() };
            // An attempt that fails changes nothing: there is a program already.
            let Ok(other) = self.lower(kernel, name, &target) else { continue };
            if let Some(part) = occupancy(&other.1).flatten().filter(|part| *part > best * WORTHWHILE) {
                (best, chosen) = (part, other);
            }
        }
        chosen
    }

    /// A user's program: in the backend's language if there is such a text, else from kernel IR.
    fn compile_custom(&self, custom: &Custom) -> Result<Arc<dyn Executable>, Error> {
        let refuse = |cause: String| Error::Compile { device: self.name.clone(), kernel: custom.program.name.clone(), cause };
        let target = self.backend.target();
        let threads = custom.program.block.iter().try_fold(1u32, |product, extent| product.checked_mul(*extent)).unwrap_or(u32::MAX);
        if threads == 0 || threads > target.max_threads {
            let cause = format!("a workgroup of {:?} threads; the device has 1 to {}", custom.program.block, target.max_threads);
            return Err(refuse(cause));
        }
        let buffers: Vec<(DType, bool)> = custom.args.iter().map(|arg| (arg.dtype, arg.write)).collect();
        let mut program = unigrad_ir::signature(&custom.program.entry, custom.program.block, &buffers, &custom.scalars);
        let language = target.dialect.name();
        if let Some(empty) = custom.program.text(language).filter(|text| text.trim().is_empty()) {
            // To OpenCL's functions a length of 0 says that the text ends with a NUL, which it does not.
            return Err(refuse(format!("its {language} source is empty ({} bytes)", empty.len())));
        }
        let mut source = None;
        let module = match (custom.program.text(language), custom.program.text(Dialect::Ir.name())) {
            (Some(text), _) if target.dialect != Dialect::Ir => {
                let own = Source {
                    text: text.to_owned(),
                    entry: custom.program.entry.clone(),
                    options: Vec::new(),
                    dynamic_shared: 0,
                    waits: false,
                };
                self.source_module(source.insert(own), &program)?
            }
            (_, Some(text)) => {
                let parsed = unigrad_ir::parse_as(text, &program).map_err(refuse)?;
                let module = self.module(&parsed)?;
                program = parsed;
                module
            }
            _ => {
                let known: Vec<&str> = custom.program.texts.iter().map(|(language, _)| language.as_str()).collect();
                let cause = format!("it has no {language} source, nor kernel IR (it has: {})", known.join(", "));
                return Err(refuse(format!("{cause}\n help: add `.source(\"{language}\", …)` or `.source(\"ir\", …)`")));
            }
        };
        let buffers = (0..custom.args.len()).map(ProgramArg::Arg);
        let args = buffers.chain((0..custom.scalars.len()).map(|at| ProgramArg::Scalar(at, Part::Whole))).collect();
        let lowered = Lowered { steps: vec![ProgramLaunch { program, grid: custom.grid, args }], scratch: Vec::new() };
        let program = self.program(&Kernel::Custom(custom.clone()), custom.program.name.clone(), lowered, vec![module]);
        Ok(Arc::new(GpuExecutable { source, ..program }))
    }

    fn refuse(&self, kernel: &str, cause: impl Into<String>) -> Error {
        Error::Launch { device: self.name.clone(), kernel: kernel.to_owned(), cause: cause.into() }
    }

    /// An error between a kernel's steps: to launch it again would have the first steps done twice, and some change their inputs.
    fn not_again(&self, kernel: &str, error: Error) -> Error {
        match error {
            Error::OutOfMemory { .. } | Error::Launch { .. } | Error::Copy { .. } => {
                Error::Interrupted { device: self.name.clone(), kernel: kernel.to_owned(), cause: error.to_string() }
            }
            Error::NotAvailable { .. }
            | Error::Compile { .. }
            | Error::Interrupted { .. }
            | Error::Cancelled { .. }
            | Error::IndexOutOfRange { .. }
            | Error::OtherProcess { .. }
            | Error::DeviceLost { .. } => error,
        }
    }

    fn misses_arguments(&self, kernel: &str) -> Error {
        self.refuse(kernel, "a launch passes fewer arguments than the kernel has")
    }

    /// Launches some of a program's steps; `begun` if what comes before them must not be done twice.
    fn steps(&self, program: &GpuExecutable<B>, steps: ops::Range<usize>, brought: &Brought<'_>, mut begun: bool) -> Result<(), Error> {
        let scratch_only = program.library.as_ref().map_or(0, |library| library.before);
        for at in steps {
            let step = &program.lowered.steps[at];
            if step.grid.contains(&0) {
                continue;
            }
            let bound = self.bind(program, at, brought)?;
            let launched = self.backend.launch(&program.modules[at], step.grid, &bound);
            launched.map_err(|error| if begun { self.not_again(&program.name, error) } else { error })?;
            begun |= at >= scratch_only;
        }
        Ok(())
    }

    fn bind(&self, program: &GpuExecutable<B>, step: usize, brought: &Brought<'_>) -> Result<Vec<Bound>, Error> {
        let missing = || self.misses_arguments(&program.name);
        let arg = |at: usize| brought.args.get(at).map(|slice| Self::range(*slice)).ok_or_else(missing);
        let scalar = |at: usize| brought.scalars.get(at).copied().ok_or_else(missing);
        let args = &program.lowered.steps[step].args;
        let each = args.iter().zip(&program.dtypes[step]).enumerate();
        each.map(|(at, (step_arg, dtype))| {
            Ok(match step_arg {
                ProgramArg::Arg(at) => Bound::Buffer(arg(*at)?),
                ProgramArg::Scratch(at) => {
                    Bound::Buffer(Range { handle: brought.scratch, offset: program.scratch_at[*at], len: program.lowered.scratch[*at] })
                }
                ProgramArg::Status => Bound::Buffer(brought.status),
                ProgramArg::StatusSlot => Bound::Scalar(*dtype, brought.slot.into()),
                ProgramArg::Scalar(at, part) => Bound::Scalar(*dtype, part.of(scalar(*at)?)),
                ProgramArg::Word(word) => Bound::Scalar(*dtype, *word),
                ProgramArg::Block(words) => {
                    Bound::Buffer(block::part(brought.block, block::behind(program.block_at[step], &args[..at]), words))
                }
                ProgramArg::Table(at) => Bound::Table(at.iter().map(|at| arg(*at)).collect::<Result<_, _>>()?),
                ProgramArg::ScalarTable(at) => Bound::ScalarTable(*dtype, at.iter().map(|at| scalar(*at)).collect::<Result<_, _>>()?),
                ProgramArg::WordTable(words) => Bound::ScalarTable(*dtype, words.clone()),
            })
        })
        .collect()
    }
}

/// What a launch brings for the parameters of its steps.
struct Brought<'a> {
    args: &'a [Slice<'a>],
    scalars: &'a [u64],
    /// Handles of the memory that the steps share, and of the parameter block; and the words for their reports.
    scratch: u64,
    block: u64,
    status: Range,
    /// Which of these words are this launch's.
    slot: u32,
}

impl<B: Backend> Drop for GpuDevice<B> {
    fn drop(&mut self) {
        let scratch = std::mem::take(self.scratch.get_mut().unwrap_or_else(PoisonError::into_inner));
        if let Some(handle) = scratch.handle {
            self.free_own(handle, scratch.bytes);
        }
        if let Some((handle, bytes)) = self.block.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            self.free_own(handle, bytes);
        }
        self.drop_status();
    }
}

impl<B: Backend> OpenDevice for GpuDevice<B> {
    fn info(&self) -> Info {
        self.backend.info()
    }

    fn allocate(&self, bytes: usize) -> Result<RawBuffer, Error> {
        Ok(RawBuffer { handle: self.backend.allocate(bytes)?, bytes })
    }

    fn count_own(&self, budget: &Arc<Budget>) {
        // A device is opened once.
        let _ = self.shared.budget.set(Arc::clone(budget));
    }

    fn free(&self, buffer: RawBuffer) {
        lock(&self.shared.faults).free(buffer.handle);
        self.backend.free(buffer.handle);
    }

    fn forget(&self, buffer: &RawBuffer) {
        lock(&self.shared.faults).free(buffer.handle);
    }

    fn upload(&self, data: &[u8], to: Slice<'_>) -> Result<(), Error> {
        let to = Self::range(to);
        self.backend.upload(data, to)?;
        lock(&self.shared.faults).upload(to);
        Ok(())
    }

    fn download(&self, from: Slice<'_>, data: &mut [u8]) -> Result<(), Error> {
        let from = Self::range(from);
        let awaited = self.before_wait(Some(from));
        self.wait_for(Some((from, data)), &awaited)?;
        lock(&self.shared.faults).of(from).map_or(Ok(()), Err)
    }

    fn copy(&self, from: Slice<'_>, to: Slice<'_>) -> Result<(), Error> {
        let (from, to) = (Self::range(from), Self::range(to));
        self.backend.copy(from, to)?;
        lock(&self.shared.faults).copy(from, to);
        Ok(())
    }

    fn compile(&self, kernel: &Kernel) -> Result<Arc<dyn Executable>, Error> {
        if let Kernel::Custom(custom) = kernel {
            return self.compile_custom(custom);
        }
        match self.library_program(kernel)? {
            Some(program) => Ok(Arc::new(program)),
            None => Ok(Arc::new(self.own_program(kernel)?)),
        }
    }

    fn launch(&self, program: &dyn Executable, args: &[Slice<'_>], scalars: &[u64], origin: Option<Origin>) -> Result<(), Error> {
        let Some(program) = program.as_any().downcast_ref::<GpuExecutable<B>>() else {
            return Err(self.refuse("unknown", "the program was compiled for another device"));
        };
        let program = program.library.as_ref().and_then(|library| library.own.get()).map_or(program, |own| own);
        if program.reports && lock(&self.shared.faults).is_full(self.queue) {
            self.wait(None)?;
        }
        // Held to the end: a grown scratch buffer must not be freed between the steps of another launch.
        let mut scratch = lock(&self.scratch);
        let memory = if program.scratch_bytes > 0 { self.scratch(&mut scratch, program.scratch_bytes)? } else { 0 };
        let status = if program.reports { self.status()? } else { NOTHING };
        let ranges: SmallVec<[Range; 16]> = args.iter().map(|slice| Self::range(*slice)).collect();
        let mut block = self.block(4 * program.block.len())?;
        let fill = |block: &mut Filling<'_, B>, slot: u32| -> Result<(), Error> {
            if program.block.is_empty() {
                return Ok(());
            }
            let words: Option<Vec<u32>> = program.block.iter().map(|word| word.map_or(Some(0), |word| word.of(scalars, slot))).collect();
            self.fill(block, &words.ok_or_else(|| self.misses_arguments(&program.name))?)
        };
        let brought = Brought { args, scalars, scratch: memory, block: block.handle(), status, slot: 0 };
        let first = program.library.as_ref().map_or(0, |library| library.before);
        if first > 0 {
            fill(&mut block, 0)?;
        }
        self.steps(program, 0..first, &brought, false)?;
        if let Some(library) = &program.library
            && !self.perform(program, library, &ranges, scalars, memory)?
        {
            drop((scratch, block));
            let own = Arc::new(self.own_program(&library.kernel)?);
            return self.launch(&**library.own.get_or_init(|| own), args, scalars, origin);
        }
        let mut faults = lock(&self.shared.faults);
        let reporting = program.reports.then(|| faults.begin(self.queue, &program.name, origin));
        let slot = reporting.map_or(0, |(_, slot)| slot);
        fill(&mut block, slot)?;
        let brought = Brought { slot, ..brought };
        self.steps(program, first..program.lowered.steps.len(), &brought, program.library.is_some())?;
        let noted = faults.launch(&ranges, &program.flows, reporting.map(|(id, _)| id));
        noted.ok_or_else(|| self.not_again(&program.name, self.misses_arguments(&program.name)))
    }

    fn reserve(&self, program: &dyn Executable) -> Result<(), Error> {
        let Some(program) = program.as_any().downcast_ref::<GpuExecutable<B>>() else {
            return Err(self.refuse("unknown", "the program was compiled for another device"));
        };
        if program.scratch_bytes > 0 {
            self.scratch(&mut lock(&self.scratch), program.scratch_bytes)?;
        }
        drop(self.block(4 * program.block.len())?);
        if program.reports {
            self.status()?;
        }
        Ok(())
    }

    fn verify(&self, slice: Slice<'_>) -> Result<(), Error> {
        let range = Self::range(slice);
        if lock(&self.shared.faults).is_clean(range) {
            return Ok(());
        }
        self.wait(Some(range))?;
        lock(&self.shared.faults).of(range).map_or(Ok(()), Err)
    }

    fn settle(&self, slice: Slice<'_>) {
        lock(&self.shared.faults).upload(Self::range(slice));
    }

    fn compiles_slowly(&self) -> bool {
        true
    }

    fn library(&self) -> Option<Library> {
        match Config::current_or_default().products {
            Products::Own => None,
            Products::Auto => self.backend.library(),
            Products::Library => self.backend.library().map(Library::always),
        }
    }

    fn channels(&self) -> Channels {
        lower::channels(&self.target)
    }

    fn recompute(&self) -> usize {
        RECOMPUTE
    }

    fn joins(&self) -> bool {
        true
    }

    fn crosses(&self) -> bool {
        true
    }

    fn sums_operands(&self) -> bool {
        lower::sums_operands(&self.target) && Config::current_or_default().products != Products::Library
    }

    fn limits(&self) -> Limits {
        let target = &self.target;
        // The block is a buffer more than a kernel has.
        Limits {
            buffers: (target.max_buffers - u32::from(target.scalars_in_block)) as usize,
            bytes: target.max_param_bytes as usize,
            buffer_bytes: target.buffer_param_bytes() as usize,
            // Where bindings of one launch that overlap are refused, they are copied aside.
            shares: target.overlapping,
        }
    }

    fn describe(&self, program: &dyn Executable) -> Result<Vec<Compiled>, Error> {
        match program.as_any().downcast_ref::<GpuExecutable<B>>() {
            Some(program) => self.compiled(program),
            None => Err(self.refuse("kernel", "it was compiled by another driver")),
        }
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.wait(None)?;
        lock(&self.shared.faults).report().map_or(Ok(()), Err)
    }

    fn fork(&self) -> Result<Option<Arc<dyn OpenDevice>>, Error> {
        let Some(backend) = self.backend.fork()? else { return Ok(None) };
        let shared = Arc::clone(&self.shared);
        let queue = shared.add_queue();
        let (name, target) = (self.name.clone(), self.target.clone());
        Ok(Some(Arc::new(GpuDevice { backend, name, target, scratch: Mutex::default(), block: Mutex::default(), queue, shared })))
    }
}

/// What the backend can, this can: but memory is known by ranges whose contents errors may concern.
impl<B: Backend> Abilities for GpuDevice<B> {
    fn marks(&self) -> Option<&dyn Marks> {
        self.backend.marks()
    }

    fn flush(&self) -> Option<&dyn Flush> {
        self.backend.flush()
    }

    fn monitor(&self) -> Option<&dyn Monitor> {
        self.backend.monitor()
    }

    fn peers(&self) -> Option<&dyn Peers> {
        self.backend.peers().map(|_| self as &dyn Peers)
    }

    fn host_memory(&self) -> Option<&dyn HostMemory> {
        self.backend.host_memory()
    }

    fn choices(&self) -> Option<&dyn Choices> {
        self.backend.choices()
    }

    fn exchange(&self) -> Option<&dyn Exchange> {
        self.backend.exchange().map(|_| self as &dyn Exchange)
    }

    fn mapped_memory(&self) -> Option<&dyn MappedMemory> {
        self.backend.mapped_memory()
    }

    fn read_async(&self) -> Option<&dyn ReadAsync> {
        self.backend.read_async().map(|_| self as &dyn ReadAsync)
    }

    fn sequences(&self) -> Option<&dyn Sequences> {
        Some(self)
    }
}

impl<B: Backend> Sequences for GpuDevice<B> {
    fn prepare(&self, launches: &[Launch], temporary: Option<usize>) -> Result<Prepared, Error> {
        self.prepare_steps(launches, temporary)
    }

    fn run(&self, run: &Run<'_>) -> Result<Ran, Stopped> {
        self.run_steps(run)
    }

    fn reserve_for(&self, prepared: &(dyn Any + Send + Sync), launches: &[Launch]) -> Result<(), Error> {
        if self.reserve_steps(prepared)? { Ok(()) } else { launches.iter().try_for_each(|launch| self.reserve(&*launch.program)) }
    }
}

impl<B: Backend> Peers for GpuDevice<B> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn copy_from_peer(&self, source: &dyn Any, from: Range, to: Range) -> Result<bool, Error> {
        let Some(source) = source.downcast_ref::<GpuDevice<B>>() else { return Ok(false) };
        let (Some(own), Some(theirs)) = (self.backend.peers(), source.backend.peers()) else { return Ok(false) };
        // What is not known to be right is read through the host, where an error surfaces.
        if !lock(&source.shared.faults).is_clean(from) || !own.copy_from_peer(theirs.as_any(), from, to)? {
            return Ok(false);
        }
        lock(&self.shared.faults).upload(to);
        Ok(true)
    }
}

impl<B: Backend> GpuDevice<B> {
    fn with_exchange<T>(&self, work: impl FnOnce(&dyn Exchange) -> Result<T, Error>) -> Result<T, Error> {
        self.backend.exchange().map_or_else(|| Err(self.refuse("exchange", "the backend has none")), work)
    }
}

impl<B: Backend> Exchange for GpuDevice<B> {
    fn alignment(&self) -> usize {
        self.backend.exchange().map_or(1, Exchange::alignment)
    }

    fn adopt(&self, address: u64, bytes: usize) -> Result<u64, Error> {
        let handle = self.with_exchange(|exchange| exchange.adopt(address, bytes))?;
        // What errors said of memory that was here before does not concern it.
        lock(&self.shared.faults).upload(Range { handle, offset: 0, len: bytes });
        Ok(handle)
    }

    fn address(&self, range: Range) -> u64 {
        self.backend.exchange().map_or(0, |exchange| exchange.address(range))
    }

    fn queue(&self) -> Option<u64> {
        self.backend.exchange()?.queue()
    }

    fn wait_for_queue(&self, queue: u64) -> Result<(), Error> {
        self.with_exchange(|exchange| exchange.wait_for_queue(queue))
    }

    fn queue_waits(&self, queue: u64) -> Result<(), Error> {
        self.with_exchange(|exchange| exchange.queue_waits(queue))
    }

    fn take_back(&self, queue: u64) -> Result<(), Error> {
        self.with_exchange(|exchange| exchange.take_back(queue))
    }
}

impl<B: Backend> ReadAsync for GpuDevice<B> {
    fn download_async(&self, from: Range) -> Option<Pending<'_, Result<Vec<u8>, Error>>> {
        self.read_range(from)
    }
}
