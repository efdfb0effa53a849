//! One in-order queue of an open device: the context, buffers.
//!
//! Always: launches and small uploads return at once, reads wait; an allocation has its memory when it returns; a failure that the
//! device does not recover from makes every later call [`Error::DeviceLost`].
//! Never: holds a lock while it waits for the device, but for switching time measurement on.
//!
//! A buffer's handle is its `cl_mem`. A range of it is passed as the buffer and the offset in elements, since sub-buffers begin
//! only where the device's addresses are aligned (512 bytes and more).

use crate::{
    BACKEND,
    api::{Api, Code, Handle},
    describe::Found,
    driver,
    object::Object,
    program::{Compiler, Convention, Module},
    query::{self, Device, name},
};
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use unigrad_device::{Abilities, Error, Flush, Health, Info, Marks, Monitor, Timeline};
use unigrad_gpu::{Backend, Bound, KernelCache, Range, Resources};
use unigrad_ir::{Builder, Fragment, FragmentRole, FragmentShape, Op, Program, Source, Stmt, SubgroupOp, Target, Type, render};
use unigrad_scalar::{DType, ReduceOp};

pub(crate) const READ_WRITE: u64 = 1 << 0;
const PROFILING: u64 = 1 << 1;
/// Allocations are multiples of this many bytes.
const UNIT: usize = 256;
/// Uploads up to this size are copied aside, so that they need not wait for the queue.
const ASIDE: usize = 16 << 20;
/// Bytes set aside at most; an upload beyond waits.
const ASIDE_TOTAL: usize = 64 << 20;

/// One open OpenCL device.
pub struct OpenClBackend {
    pub(crate) api: &'static Api,
    pub(crate) found: Found,
    ordinal: usize,
    pub(crate) target: Target,
    identity: String,
    max_alloc: u64,
    /// Bytes that sub-buffers begin at multiples of.
    pub(crate) alignment: u64,
    total: u64,
    // Dropped in this order: what a context made goes before it.
    uploads: Mutex<Vec<Upload>>,
    pub(crate) queue: Mutex<Queue>,
    pub(crate) shared: Arc<ContextState>,
}

/// What the queues of a device have together.
pub(crate) struct ContextState {
    /// Passed where a buffer of no bytes is: some drivers do not take a null.
    pub(crate) nothing: Object,
    pub(crate) context: Object,
    /// Bytes of the buffers in use, by handle.
    sizes: Mutex<HashMap<u64, usize>>,
    lost: AtomicBool,
    /// Whether there are several: then what one waits for must be on its way.
    forked: AtomicBool,
}

/// The queue, and whether it measures time.
pub(crate) struct Queue {
    pub(crate) object: Object,
    measures: bool,
    /// The queue before time was measured: another thread may be waiting for it.
    _retired: Option<Object>,
}

/// Data on its way to the device.
struct Upload {
    event: Object,
    data: Vec<u8>,
}

/// A point in a queue.
pub struct Mark {
    event: Object,
    /// The queue's device.
    shared: Arc<ContextState>,
}

impl fmt::Debug for OpenClBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name())
    }
}

// SAFETY: platform and device handles live as long as the process; objects may be used from any thread (see `Object`).
unsafe impl Send for OpenClBackend {}
// SAFETY: as above. A kernel's arguments are set under its lock.
unsafe impl Sync for OpenClBackend {}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn queue(api: &'static Api, context: &Object, device: Device, measures: bool) -> Result<Queue, Code> {
    let properties = if measures { PROFILING } else { 0 };
    // SAFETY: the device belongs to the context.
    let object = Object::queue(api, |status| unsafe { (api.clCreateCommandQueue)(context.handle(), device.handle, properties, status) });
    Ok(Queue { object: object?, measures, _retired: None })
}

pub(crate) fn buffer(api: &'static Api, context: &Object, bytes: usize) -> Result<Object, Code> {
    // SAFETY: no host memory is given.
    Object::memory(api, |status| unsafe { (api.clCreateBuffer)(context.handle(), READ_WRITE, bytes, std::ptr::null_mut(), status) })
}

/// A program with what is written in PTX.
fn probe(shape: FragmentShape) -> Program {
    let mut b = Builder::new("probe", [32, 1, 1]);
    let (from, to) = (b.buffer("from", shape.input), b.buffer_mut("to", shape.sum));
    let shared = b.shared("shared", shape.input, 256);
    let (thread, zero, stride) = (b.thread(0), b.u32(0), b.u32(16));
    let number = b.load(from, thread);
    let number = b.cast(number, DType::F32);
    let sum = b.subgroup(SubgroupOp::Reduce(ReduceOp::Sum), number);
    let rounded = b.cast(sum, DType::BF16);
    let sum = b.cast(rounded, DType::F32);
    let rounded = b.cast(sum, shape.input);
    b.store(shared, thread, rounded);
    b.barrier();
    let of = |role| Type::Fragment(Fragment { shape, role });
    let load = |place| Op::FragmentLoad { place, index: zero, stride, transposed: false };
    let (left, right) = (b.inst(load(from), of(FragmentRole::A)), b.inst(load(shared), of(FragmentRole::B)));
    let filled = b.inst(Op::FragmentFill(sum), of(FragmentRole::C));
    let value = b.inst(Op::FragmentMma(left, right, filled), of(FragmentRole::C));
    b.stmt(Stmt::FragmentStore { place: to, index: zero, stride, value });
    b.finish()
}

/// What the device's programs may use: words of PTX too, where its compiler takes a program with them. Otherwise the architecture is not named,
/// so that nothing relies on it.
fn with_ptx(found: &Found, context: &Object) -> Target {
    let mut target = found.target();
    let Some(subgroup) = found.vendor.wave(found.device).filter(|_| found.vendor.takes_ptx) else { return target };
    let capability: u32 = target.arch.trim_start_matches("sm_").parse().unwrap_or(0);
    if capability < 70 {
        return target;
    }
    let shape = |input| FragmentShape { m: 16, n: 16, k: 16, input, sum: DType::F32 };
    let halves = [DType::F16, DType::BF16];
    let fragments = halves.into_iter().take(if capability >= 80 { 2 } else { 1 }).map(shape).collect();
    let with_ptx = Target { subgroup: Some(subgroup), fragments, ..target.clone() };
    let probe = probe(shape(DType::F16));
    let compiler = Compiler {
        api: found.device.api,
        context: context.handle(),
        device: found.device.handle,
        identity: &found.identity(),
        options: found.options(),
        cache: found.vendor.saves_binaries.then(KernelCache::shared),
        shared_bytes: target.shared_bytes,
    };
    let compiled = render(&probe, &with_ptx).ok().map(|source| compiler.compile(&probe, &source, Convention::Offsets));
    if matches!(compiled, Some(Ok(_))) {
        return with_ptx;
    }
    target.arch.clear();
    target
}

impl OpenClBackend {
    /// Opens the device of this ordinal in the driver's list.
    pub fn open(ordinal: usize) -> Result<OpenClBackend, Error> {
        let found = driver::device(ordinal)?;
        OpenClBackend::new(found, ordinal).map_err(|code| Error::NotAvailable {
            asked: format!("{BACKEND}:{ordinal}"),
            cause: format!("{} cannot be opened: {code}", found.device.text(name::DEVICE_NAME)),
            help: "see whether another program holds the device, or update its driver".to_owned(),
        })
    }

    fn new(found: Found, ordinal: usize) -> Result<OpenClBackend, Code> {
        let (api, device) = (found.device.api, found.device);
        const PLATFORM: isize = 0x1084;
        let properties = [PLATFORM, found.platform.handle as isize, 0];
        let context = Object::context(api, |status| {
            // SAFETY: properties end with 0; one device of that platform; no callback.
            unsafe { (api.clCreateContext)(properties.as_ptr(), 1, &device.handle, std::ptr::null(), std::ptr::null_mut(), status) }
        })?;
        let target = with_ptx(&found, &context);
        let queue = queue(api, &context, device, false)?;
        let nothing = buffer(api, &context, UNIT)?;
        let (total, max_alloc) = (device.number(name::DEVICE_GLOBAL_MEM_SIZE), device.number(name::DEVICE_MAX_MEM_ALLOC_SIZE));
        let total = total.unwrap_or(u64::MAX);
        Ok(OpenClBackend {
            api,
            found,
            ordinal,
            target,
            identity: found.identity(),
            max_alloc: if found.vendor.large_buffers { total } else { max_alloc.unwrap_or(total) },
            alignment: device.number(name::DEVICE_MEM_BASE_ADDR_ALIGN).map_or(4096, |bits| (bits / 8).max(1)),
            total,
            uploads: Mutex::default(),
            queue: Mutex::new(queue),
            shared: Arc::new(ContextState {
                nothing,
                context,
                sizes: Mutex::default(),
                lost: AtomicBool::new(false),
                forked: AtomicBool::new(false),
            }),
        })
    }

    pub(crate) fn name(&self) -> String {
        format!("{BACKEND}:{}", self.ordinal)
    }

    fn alive(&self) -> Result<(), Error> {
        if self.shared.lost.load(Relaxed) { Err(self.gone("an earlier failure".to_owned())) } else { Ok(()) }
    }

    fn gone(&self, cause: String) -> Error {
        self.shared.lost.store(true, Relaxed);
        Error::DeviceLost { device: self.name(), cause }
    }

    /// The device's end, if that is what a number means. `waited`: it came from waiting for work, where running out of resources means
    /// that a kernel failed.
    pub(crate) fn lost(&self, code: Code, waited: bool) -> Option<Error> {
        let is_lost = match code {
            Code::DEVICE_NOT_AVAILABLE | Code::INVALID_CONTEXT | Code::INVALID_COMMAND_QUEUE | Code::ILLEGAL_ACCESS => true,
            Code::OUT_OF_RESOURCES | Code::EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST => waited,
            _ => false,
        };
        is_lost.then(|| self.gone(code.to_string()))
    }

    fn copy_error(&self, code: Code, waited: bool) -> Error {
        self.lost(code, waited).unwrap_or_else(|| match code {
            Code::MEM_OBJECT_ALLOCATION_FAILURE | Code::OUT_OF_HOST_MEMORY => self.out_of_memory(0, ""),
            _ => Error::Copy { device: self.name(), cause: code.to_string() },
        })
    }

    fn in_use(&self) -> u64 {
        lock(&self.shared.sizes).values().map(|bytes| *bytes as u64).sum()
    }

    pub(crate) fn out_of_memory(&self, asked: usize, note: &str) -> Error {
        let (in_use, total) = (self.in_use(), self.total);
        let free = self.found.free_memory().unwrap_or(total.saturating_sub(in_use));
        Error::OutOfMemory { device: self.name(), asked: asked as u64, free, total, in_use, largest: note.to_owned() }
    }

    /// Makes the driver find memory for a buffer, which many do at its first use only.
    fn touch(&self, buffer: &Object) -> Result<(), Code> {
        let queue = lock(&self.queue);
        let zero = [0_u8; 16];
        // SAFETY: the buffer has at least UNIT bytes; OpenCL copies the pattern.
        Code::check(unsafe {
            (self.api.clEnqueueFillBuffer)(
                queue.object.handle(),
                buffer.handle(),
                zero.as_ptr().cast(),
                zero.len(),
                0,
                zero.len(),
                0,
                std::ptr::null(),
                std::ptr::null_mut(),
            )
        })
    }

    /// Queues a write; `data` must live until the event is complete.
    fn write(&self, data: &[u8], to: Range) -> Result<Object, Code> {
        let queue = lock(&self.queue);
        Object::event(self.api, |event| {
            // SAFETY: the range lies in the buffer, and the data live until the write is done (the callers' promises).
            unsafe {
                (self.api.clEnqueueWriteBuffer)(
                    queue.object.handle(),
                    to.handle as Handle,
                    0,
                    to.offset,
                    data.len(),
                    data.as_ptr().cast(),
                    0,
                    std::ptr::null(),
                    event,
                )
            }
        })
    }

    /// Queues a read; `data` must be left alone until the event is complete.
    fn read(&self, queue: &Queue, from: Range, data: &mut [u8]) -> Result<Object, Code> {
        Object::event(self.api, |event| {
            // SAFETY: the range lies in the buffer, and the data are left alone until the read is done (the callers' promises).
            unsafe {
                (self.api.clEnqueueReadBuffer)(
                    queue.object.handle(),
                    from.handle as Handle,
                    0,
                    from.offset,
                    data.len(),
                    data.as_mut_ptr().cast(),
                    0,
                    std::ptr::null(),
                    event,
                )
            }
        })
    }

    /// Waits for a command. Not by a blocking call: that would hold the queue's lock.
    fn wait_for(&self, event: &Object) -> Result<(), Code> {
        let event = event.handle();
        // SAFETY: one event.
        Code::check(unsafe { (self.api.clWaitForEvents)(1, &event) })
    }

    /// Copies the data aside and queues the write; false if it should wait instead.
    fn write_aside(&self, data: &[u8], to: Range) -> Result<bool, Code> {
        let mut uploads = lock(&self.uploads);
        uploads.retain(|upload| !self.is_complete(&upload.event));
        let aside: usize = uploads.iter().map(|upload| upload.data.len()).sum();
        let mut copy = Vec::new();
        if data.len() > ASIDE || aside + data.len() > ASIDE_TOTAL || copy.try_reserve_exact(data.len()).is_err() {
            return Ok(false);
        }
        copy.extend_from_slice(data);
        let event = self.write(&copy, to)?;
        uploads.push(Upload { event, data: copy });
        Ok(true)
    }

    fn is_complete(&self, event: &Object) -> bool {
        let status = query::bytes(|size, data, needed| {
            // SAFETY: `bytes` passes room of the size it states.
            unsafe { (self.api.clGetEventInfo)(event.handle(), name::EVENT_COMMAND_EXECUTION_STATUS, size, data, needed) }
        });
        // Complete is 0, a failed command is negative: as a `u32`, past the states of waiting ones.
        status.ok().and_then(|bytes| query::number(&bytes)).is_some_and(|state| state == 0 || state > i32::MAX as u64)
    }

    /// A point after what the queue has.
    fn marker(&self, queue: &Queue) -> Result<Mark, Code> {
        let event = Object::event(self.api, |event| {
            // SAFETY: waits for all that was queued before; `event` is a place for one.
            unsafe { (self.api.clEnqueueMarkerWithWaitList)(queue.object.handle(), 0, std::ptr::null(), event) }
        })?;
        if self.shared.forked.load(Relaxed) {
            // What waits in another queue waits for what is on its way.
            // SAFETY: the queue is this device's.
            Code::check(unsafe { (self.api.clFlush)(queue.object.handle()) })?;
        }
        Ok(Mark { event, shared: Arc::clone(&self.shared) })
    }

    fn compile_error(&self, program: &Program, cause: String) -> Error {
        Error::Compile { device: self.name(), kernel: program.name.clone(), cause }
    }

    fn compile(&self, source: &Source, program: &Program, convention: Convention) -> Result<Module, Error> {
        self.alive()?;
        let compiler = Compiler {
            api: self.api,
            context: self.shared.context.handle(),
            device: self.found.device.handle,
            identity: &self.identity,
            options: self.found.options(),
            cache: self.found.vendor.saves_binaries.then(KernelCache::shared),
            shared_bytes: self.target.shared_bytes,
        };
        compiler.compile(program, source, convention).map_err(|cause| self.compile_error(program, cause))
    }

    pub(crate) fn queue_copy(&self, queue: &Queue, from: (Handle, usize), to: (Handle, usize), bytes: usize) -> Result<(), Code> {
        // SAFETY: both ranges lie in their buffers and do not overlap (the callers' promise).
        Code::check(unsafe {
            (self.api.clEnqueueCopyBuffer)(
                queue.object.handle(),
                from.0,
                to.0,
                from.1,
                to.1,
                bytes,
                0,
                std::ptr::null(),
                std::ptr::null_mut(),
            )
        })
    }
}

impl Backend for OpenClBackend {
    type Module = Module;

    fn info(&self) -> Info {
        let mut info = self.found.info(self.ordinal);
        if info.memory_free == 0 {
            info.memory_free = self.total.saturating_sub(self.in_use());
        }
        info
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        self.alive()?;
        let Some(rounded) = bytes.max(1).checked_next_multiple_of(UNIT) else {
            return Err(self.out_of_memory(bytes, ""));
        };
        if rounded as u64 > self.max_alloc {
            return Err(self.out_of_memory(bytes, &format!("; one buffer takes {} bytes at most", self.max_alloc)));
        }
        // Platforms whose memory is the machine's would grant more than there is, and swap.
        if self.in_use().saturating_add(rounded as u64) > self.total {
            return Err(self.out_of_memory(bytes, ""));
        }
        let made = buffer(self.api, &self.shared.context, rounded).and_then(|buffer| self.touch(&buffer).map(|()| buffer));
        let buffer = made.map_err(|code| match code {
            Code::MEM_OBJECT_ALLOCATION_FAILURE | Code::OUT_OF_RESOURCES | Code::OUT_OF_HOST_MEMORY | Code::INVALID_BUFFER_SIZE => {
                self.out_of_memory(bytes, "")
            }
            other => self.copy_error(other, false),
        })?;
        let handle = buffer.into_handle() as u64;
        lock(&self.shared.sizes).insert(handle, rounded);
        Ok(handle)
    }

    fn free(&self, handle: u64) {
        if lock(&self.shared.sizes).remove(&handle).is_some() {
            // SAFETY: `allocate` gave the handle away, and the table had it until now. OpenCL keeps the memory until queued work is done.
            drop(unsafe { Object::from_memory(self.api, handle as Handle) });
        }
    }

    fn upload(&self, data: &[u8], to: Range) -> Result<(), Error> {
        self.alive()?;
        if data.is_empty() || self.write_aside(data, to).map_err(|code| self.copy_error(code, false))? {
            return Ok(());
        }
        self.write(data, to).and_then(|event| self.wait_for(&event)).map_err(|code| self.copy_error(code, true))
    }

    fn download(&self, from: Range, data: &mut [u8]) -> Result<(), Error> {
        self.download_all(&mut [(from, data)])
    }

    fn download_all(&self, parts: &mut [(Range, &mut [u8])]) -> Result<(), Error> {
        self.alive()?;
        let mut last = None;
        let queue = lock(&self.queue);
        let queued = parts.iter_mut().filter(|(_, data)| !data.is_empty()).try_for_each(|(from, data)| {
            last = Some(self.read(&queue, *from, data)?);
            Ok(())
        });
        drop(queue);
        // The queue is in order, so the last one is there when all are. Waited for also where a later one was refused: until then the device writes.
        let waited = last.map_or(Ok(()), |event| self.wait_for(&event));
        queued.and(waited).map_err(|code| self.copy_error(code, true))
    }

    fn copy(&self, from: Range, to: Range) -> Result<(), Error> {
        self.alive()?;
        if from.len == 0 {
            return Ok(());
        }
        let queue = lock(&self.queue);
        let (source, target) = ((from.handle as Handle, from.offset), (to.handle as Handle, to.offset));
        self.queue_copy(&queue, source, target, from.len).map_err(|code| self.copy_error(code, false))
    }

    fn load(&self, program: &Program) -> Result<Module, Error> {
        let source = render(program, &self.target).map_err(|error| self.compile_error(program, error.to_string()))?;
        self.compile(&source, program, Convention::Offsets)
    }

    fn load_source(&self, source: &Source, signature: &Program) -> Result<Module, Error> {
        self.compile(source, signature, Convention::Plain)
    }

    fn binary(&self, module: &Module, _source: &Source, _program: &Program) -> Result<Option<Vec<u8>>, Error> {
        self.alive()?;
        Ok(module.binary(self.api))
    }

    fn resources(&self, module: &Module) -> Resources {
        module.resources(self.api, self.found.device.handle)
    }

    fn launch(&self, module: &Module, grid: [u32; 3], args: &[Bound]) -> Result<(), Error> {
        self.alive()?;
        self.queue_launch(module, grid, args)
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.alive()?;
        let queue = lock(&self.queue).object.handle();
        // SAFETY: the queue is this device's.
        Code::check(unsafe { (self.api.clFinish)(queue) }).map_err(|code| {
            let lost = self.lost(code, true);
            lost.unwrap_or_else(|| Error::Launch { device: self.name(), kernel: "unknown".to_owned(), cause: code.to_string() })
        })
    }

    fn fork(&self) -> Result<Option<OpenClBackend>, Error> {
        self.alive()?;
        let fail = |code| self.copy_error(code, false);
        let queue = queue(self.api, &self.shared.context, self.found.device, false).map_err(fail)?;
        self.shared.forked.store(true, Relaxed);
        Ok(Some(OpenClBackend {
            api: self.api,
            found: self.found,
            ordinal: self.ordinal,
            target: self.target.clone(),
            identity: self.identity.clone(),
            max_alloc: self.max_alloc,
            alignment: self.alignment,
            total: self.total,
            uploads: Mutex::default(),
            queue: Mutex::new(queue),
            shared: Arc::clone(&self.shared),
        }))
    }
}

impl Abilities for OpenClBackend {
    fn marks(&self) -> Option<&dyn Marks> {
        Some(self)
    }

    fn flush(&self) -> Option<&dyn Flush> {
        Some(self)
    }

    fn monitor(&self) -> Option<&dyn Monitor> {
        Some(self)
    }
}

impl Timeline for OpenClBackend {
    type Mark = Mark;

    fn mark(&self) -> Result<Option<Mark>, Error> {
        self.alive()?;
        let mut current = lock(&self.queue);
        let fail = |code| self.copy_error(code, true);
        if !current.measures {
            let measuring = queue(self.api, &self.shared.context, self.found.device, true).map_err(fail)?;
            // SAFETY: the queue is this device's. Its work must be done before the new queue begins.
            Code::check(unsafe { (self.api.clFinish)(current.object.handle()) }).map_err(fail)?;
            let retired = std::mem::replace(&mut *current, measuring);
            current._retired = Some(retired.object);
        }
        self.marker(&current).map(Some).map_err(fail)
    }

    fn fence(&self) -> Result<Option<Mark>, Error> {
        self.alive()?;
        let queue = lock(&self.queue);
        self.marker(&queue).map(Some).map_err(|code| self.copy_error(code, true))
    }

    fn is_done(&self, mark: &Mark) -> Result<bool, Error> {
        self.alive()?;
        Ok(self.is_complete(&mark.event))
    }

    fn wait(&self, mark: &Mark) -> Result<(), Error> {
        self.alive()?;
        self.wait_for(&mark.event).map_err(|code| self.copy_error(code, true))
    }

    fn elapsed(&self, from: &Mark, to: &Mark) -> Result<f64, Error> {
        self.alive()?;
        let time = |mark: &Mark| {
            self.wait_for(&mark.event)?;
            let event = mark.event.handle();
            let bytes = query::bytes(|size, data, needed| {
                // SAFETY: `bytes` passes room of the size it states.
                unsafe { (self.api.clGetEventProfilingInfo)(event, name::PROFILING_COMMAND_END, size, data, needed) }
            });
            bytes.map(|bytes| query::number(&bytes).unwrap_or(0))
        };
        let (from, to) = (time(from), time(to));
        match (from, to) {
            // Marks may be given in the other order.
            (Ok(from), Ok(to)) => Ok(to.wrapping_sub(from) as i64 as f64),
            (Err(code), _) | (_, Err(code)) => Err(self.copy_error(code, true)),
        }
    }

    fn wait_for_peer(&self, mark: &Mark) -> Result<bool, Error> {
        self.alive()?;
        if !Arc::ptr_eq(&mark.shared, &self.shared) {
            // Events are of one context.
            return Ok(false);
        }
        let queue = lock(&self.queue);
        let event = mark.event.handle();
        // SAFETY: one event of the queue's context; no event is asked for.
        let queued =
            Code::check(unsafe { (self.api.clEnqueueBarrierWithWaitList)(queue.object.handle(), 1, &event, std::ptr::null_mut()) });
        queued.map_err(|code| self.copy_error(code, false)).map(|()| true)
    }
}

impl Flush for OpenClBackend {
    fn flush(&self) -> Result<(), Error> {
        self.alive()?;
        let queue = lock(&self.queue);
        // SAFETY: the queue is this device's.
        Code::check(unsafe { (self.api.clFlush)(queue.object.handle()) }).map_err(|code| self.copy_error(code, false))
    }
}

impl Monitor for OpenClBackend {
    fn health(&self) -> Result<Option<Health>, Error> {
        Ok(self.found.health())
    }
}

impl Drop for OpenClBackend {
    fn drop(&mut self) {
        // Data set aside are read until the queue is done with them.
        let queue = lock(&self.queue).object.handle();
        // SAFETY: the queue is this device's. An error changes nothing: the device is given up.
        let _ = unsafe { (self.api.clFinish)(queue) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_is_a_program_with_words_of_ptx() {
        let shape = FragmentShape { m: 16, n: 16, k: 16, input: DType::F16, sum: DType::F32 };
        let target = Target {
            dialect: unigrad_ir::Dialect::OpenCl,
            arch: "sm_80".to_owned(),
            subgroup: Some(32),
            fragments: vec![shape],
            ..Target::interpreter()
        };
        let probe = probe(shape);
        unigrad_ir::validate(&probe, &target).unwrap();
        let text = render(&probe, &target).unwrap().text;
        for word in ["shfl.sync.bfly", "cvt.rn.bf16.f32", "wmma.load.a", "wmma.mma", "wmma.store.d"] {
            assert!(text.contains(word), "{word} is not in\n{text}");
        }
    }
}
