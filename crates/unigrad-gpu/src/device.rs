//! A backend as a device: kernels are lowered and loaded once, launches bind arguments, errors found by the device surface at the next wait.
//!
//! Always: a kernel's steps run in order on the backend's queue; scratch memory is shared by all launches, which the queue's order makes safe.
//! A launch whose index was out of range writes zeros where it read nothing, and its error is reported once, at the next wait.
//! Never: waits in `launch`.

use crate::{Backend, Bound, Lowered, Part, Range, StepArg, lower};
use rustc_hash::FxHashMap;
use std::{
    any::Any,
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use unigrad_device::{Error, Info, OpenDevice, Program, RawBuffer, Slice};
use unigrad_ir::Param;
use unigrad_kernel::Kernel;
use unigrad_scalar::DType;

/// Launches that the status buffer's number is looked up in.
const REMEMBERED: usize = 4096;
/// Bytes of the status buffer; see [`StepArg::Status`].
const STATUS_BYTES: usize = 256;

/// A [`Backend`] as an [`OpenDevice`].
pub struct GpuDevice<B: Backend> {
    backend: B,
    name: String,
    modules: Mutex<FxHashMap<unigrad_ir::Program, Arc<B::Module>>>,
    scratch: Mutex<Scratch>,
    launches: Mutex<Launches>,
    /// Whether a launch that can report an error is under way.
    unchecked: AtomicBool,
}

/// Memory between the steps of a kernel.
#[derive(Debug, Default)]
struct Scratch {
    handle: Option<u64>,
    bytes: usize,
    status: Option<u64>,
}

/// Numbers and names of the latest launches.
#[derive(Debug, Default)]
struct Launches {
    next: u32,
    names: VecDeque<(u32, String)>,
}

/// A compiled kernel.
struct GpuProgram<B: Backend> {
    name: String,
    lowered: Lowered,
    /// One per step.
    modules: Vec<Arc<B::Module>>,
    /// Per step, the dtypes of its scalar parameters.
    dtypes: Vec<Vec<DType>>,
    /// Where each scratch buffer begins in the shared one, and the bytes of all.
    scratch_at: Vec<usize>,
    scratch_bytes: usize,
    reports: bool,
}

impl<B: Backend> fmt::Debug for GpuProgram<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuProgram({}, {} steps)", self.name, self.lowered.steps.len())
    }
}

impl<B: Backend> Program for GpuProgram<B> {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<B: Backend> GpuDevice<B> {
    /// The device that `backend` has opened.
    pub fn new(backend: B) -> GpuDevice<B> {
        let info = backend.info();
        let name = format!("{}:{}", info.backend, info.ordinal);
        GpuDevice {
            backend,
            name,
            modules: Mutex::default(),
            scratch: Mutex::default(),
            launches: Mutex::default(),
            unchecked: AtomicBool::new(false),
        }
    }

    /// The backend itself.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    fn range(slice: Slice<'_>) -> Range {
        Range { handle: slice.buffer.handle, offset: slice.offset, len: slice.len }
    }

    fn module(&self, program: &unigrad_ir::Program) -> Result<Arc<B::Module>, Error> {
        if let Some(module) = lock(&self.modules).get(program) {
            return Ok(Arc::clone(module));
        }
        let module = Arc::new(self.backend.load(program)?);
        Ok(Arc::clone(lock(&self.modules).entry(program.clone()).or_insert(module)))
    }

    fn status(&self, scratch: &mut Scratch) -> Result<u64, Error> {
        if let Some(handle) = scratch.status {
            return Ok(handle);
        }
        let handle = self.backend.allocate(STATUS_BYTES)?;
        if let Err(error) = self.backend.upload(&[0; STATUS_BYTES], Range { handle, offset: 0, len: STATUS_BYTES }) {
            self.backend.free(handle);
            return Err(error);
        }
        Ok(*scratch.status.insert(handle))
    }

    /// The scratch buffer, at least `bytes` long.
    fn scratch(&self, scratch: &mut Scratch, bytes: usize) -> Result<u64, Error> {
        if let Some(handle) = scratch.handle.filter(|_| scratch.bytes >= bytes) {
            return Ok(handle);
        }
        if let Some(old) = scratch.handle.take() {
            scratch.bytes = 0;
            self.backend.free(old);
        }
        let handle = self.backend.allocate(bytes)?;
        scratch.bytes = bytes;
        Ok(*scratch.handle.insert(handle))
    }

    /// A number for a launch that can report an error.
    fn launch_id(&self, name: &str) -> u32 {
        let mut launches = lock(&self.launches);
        launches.next = launches.next.checked_add(1).unwrap_or(1);
        let id = launches.next;
        if launches.names.len() == REMEMBERED {
            launches.names.pop_front();
        }
        launches.names.push_back((id, name.to_owned()));
        id
    }

    /// Reports what launches found wrong since the last check. The queue is idle.
    fn check(&self) -> Result<(), Error> {
        if !self.unchecked.swap(false, Relaxed) {
            return Ok(());
        }
        let mut scratch = lock(&self.scratch);
        let status = Range { handle: self.status(&mut scratch)?, offset: 0, len: STATUS_BYTES };
        let mut bytes = [0; STATUS_BYTES];
        self.backend.download(status, &mut bytes)?;
        let word = |at: usize| u32::from_le_bytes([bytes[4 * at], bytes[4 * at + 1], bytes[4 * at + 2], bytes[4 * at + 3]]);
        if word(0) == 0 {
            return Ok(());
        }
        self.backend.upload(&[0; STATUS_BYTES], status)?;
        let name = lock(&self.launches).names.iter().find(|(id, _)| *id == word(0)).map(|(_, name)| name.clone());
        let wide = |at: usize| (u64::from(word(at)) | u64::from(word(at + 1)) << 32) as i64;
        Err(Error::IndexOutOfRange { index: wide(1), size: wide(3), kernel: name.unwrap_or_else(|| "an earlier launch".to_owned()) })
    }

    fn refuse(&self, kernel: &str, cause: impl Into<String>) -> Error {
        Error::Launch { device: self.name.clone(), kernel: kernel.to_owned(), cause: cause.into() }
    }

    fn bind(
        &self,
        program: &GpuProgram<B>,
        step: usize,
        args: &[Slice<'_>],
        scalars: &[u64],
        scratch: u64,
        status: u64,
        id: u32,
    ) -> Result<Vec<Bound>, Error> {
        let missing = || self.refuse(&program.name, "a launch passes fewer arguments than the kernel has");
        let arg = |at: usize| args.get(at).map(|slice| Self::range(*slice)).ok_or_else(missing);
        let scalar = |at: usize| scalars.get(at).copied().ok_or_else(missing);
        let each = program.lowered.steps[step].args.iter().zip(&program.dtypes[step]);
        each.map(|(step_arg, dtype)| {
            Ok(match step_arg {
                StepArg::Arg(at) => Bound::Buffer(arg(*at)?),
                StepArg::Scratch(at) => {
                    Bound::Buffer(Range { handle: scratch, offset: program.scratch_at[*at], len: program.lowered.scratch[*at] })
                }
                StepArg::Status => Bound::Buffer(Range { handle: status, offset: 0, len: STATUS_BYTES }),
                StepArg::LaunchId => Bound::Scalar(*dtype, id.into()),
                StepArg::Scalar(at, Part::Whole) => Bound::Scalar(*dtype, scalar(*at)?),
                StepArg::Scalar(at, Part::Low) => Bound::Scalar(*dtype, scalar(*at)? & 0xffff_ffff),
                StepArg::Scalar(at, Part::High) => Bound::Scalar(*dtype, scalar(*at)? >> 32),
                StepArg::Word(word) => Bound::Scalar(*dtype, *word),
                StepArg::Table(at) => Bound::Table(at.iter().map(|at| arg(*at)).collect::<Result<_, _>>()?),
                StepArg::ScalarTable(at) => Bound::ScalarTable(*dtype, at.iter().map(|at| scalar(*at)).collect::<Result<_, _>>()?),
                StepArg::WordTable(words) => Bound::ScalarTable(*dtype, words.clone()),
            })
        })
        .collect()
    }
}

impl<B: Backend> Drop for GpuDevice<B> {
    fn drop(&mut self) {
        let scratch = self.scratch.get_mut().unwrap_or_else(PoisonError::into_inner);
        [scratch.handle.take(), scratch.status.take()].into_iter().flatten().for_each(|handle| self.backend.free(handle));
    }
}

impl<B: Backend> OpenDevice for GpuDevice<B> {
    fn info(&self) -> Info {
        self.backend.info()
    }

    fn allocate(&self, bytes: usize) -> Result<RawBuffer, Error> {
        Ok(RawBuffer { handle: self.backend.allocate(bytes)?, bytes })
    }

    fn free(&self, buffer: RawBuffer) {
        self.backend.free(buffer.handle);
    }

    fn upload(&self, data: &[u8], to: Slice<'_>) -> Result<(), Error> {
        self.backend.upload(data, Self::range(to))
    }

    fn download(&self, from: Slice<'_>, data: &mut [u8]) -> Result<(), Error> {
        self.backend.download(Self::range(from), data)?;
        self.check()
    }

    fn copy(&self, from: Slice<'_>, to: Slice<'_>) -> Result<(), Error> {
        self.backend.copy(Self::range(from), Self::range(to))
    }

    fn compile(&self, kernel: &Kernel) -> Result<Arc<dyn Program>, Error> {
        let name = match kernel {
            Kernel::Region(region) => region.name.clone(),
            Kernel::Grouped(grouped) => grouped.region.name.clone(),
            other => other.kind().to_owned(),
        };
        let lowered = lower(kernel, self.backend.target()).map_err(|unsupported| Error::Compile {
            device: self.name.clone(),
            kernel: name.clone(),
            cause: unsupported.to_string(),
        })?;
        let modules = lowered.steps.iter().map(|step| self.module(&step.program)).collect::<Result<_, _>>()?;
        let dtype = |param: &Param| match param {
            Param::Buffer { dtype, .. } | Param::Table { dtype, .. } | Param::Scalar { dtype, .. } | Param::ScalarTable { dtype, .. } => {
                *dtype
            }
        };
        let dtypes = lowered.steps.iter().map(|step| step.program.params.iter().map(dtype).collect()).collect();
        let mut scratch_bytes = 0;
        let mut scratch_at = Vec::with_capacity(lowered.scratch.len());
        for bytes in &lowered.scratch {
            scratch_at.push(scratch_bytes);
            scratch_bytes += bytes.next_multiple_of(256);
        }
        let reports = lowered.steps.iter().any(|step| step.args.contains(&StepArg::Status));
        Ok(Arc::new(GpuProgram::<B> { name, lowered, modules, dtypes, scratch_at, scratch_bytes, reports }))
    }

    fn launch(&self, program: &dyn Program, args: &[Slice<'_>], scalars: &[u64]) -> Result<(), Error> {
        let Some(program) = program.as_any().downcast_ref::<GpuProgram<B>>() else {
            return Err(self.refuse("unknown", "the program was compiled for another device"));
        };
        // Held to the end: a grown scratch buffer must not be freed between the steps of another launch.
        let mut scratch = lock(&self.scratch);
        let memory = if program.scratch_bytes > 0 { self.scratch(&mut scratch, program.scratch_bytes)? } else { 0 };
        let (status, id) = if program.reports { (self.status(&mut scratch)?, self.launch_id(&program.name)) } else { (0, 0) };
        for (at, step) in program.lowered.steps.iter().enumerate() {
            if step.grid.contains(&0) {
                continue;
            }
            let bound = self.bind(program, at, args, scalars, memory, status, id)?;
            self.backend.launch(&program.modules[at], step.grid, &bound)?;
        }
        if program.reports {
            self.unchecked.store(true, Relaxed);
        }
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.backend.synchronize()?;
        self.check()
    }

    fn host_bytes(&self, slice: Slice<'_>) -> Option<*const u8> {
        self.backend.host_bytes(Self::range(slice))
    }
}
