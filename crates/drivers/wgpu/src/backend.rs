//! An open adapter: memory, a queue, launches.

use crate::{
    BACKEND, Mark, Module, adapters,
    batch::Batch,
    capacity::{self, Capacity},
    marks::Clock,
    memory::{Binding, Block, Memory},
    overlap,
    pipelines::Pipelines,
    ready,
    reports::{Reports, out_of_memory},
    transfer::Staging,
};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use unigrad_device::{Abilities, Error, Flush, Health, Info, Marks, Monitor, Pending, ReadAsync, Timeline, Timestamp};
use unigrad_gpu::{Backend, Bound, Range};
use unigrad_ir::{
    Dialect, FragmentShape, Program, Source, Target,
    wgsl::{Options, Slot},
};
use wgpu::{Adapter, Buffer, BufferUsages, Device, Features, PollError, PollStatus, PollType, Queue, SubmissionIndex};

/// Bytes of the uniform buffer that holds the numbers of gathered launches.
const UNIFORM: u64 = 256 << 10;
/// Bytes that are bound for an argument of no elements.
const NOTHING: u64 = 256;
/// Compute units of a GPU whose driver does not tell.
const UNITS: u32 = 64;
/// What offsets of arguments are multiples of.
const ALIGNED: u64 = 64;

/// How long a wait for a GPU asks before it lets itself be woken, which takes longer than a small step's work.
const AWAKE: Duration = Duration::from_millis(1);

/// Features to do without, as if the adapter did not have them: so that the ways around them are tested everywhere.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Without {
    pub int64: bool,
    pub int16: bool,
    pub subgroups: bool,
    /// Binding at multiples of 64 bytes: then at multiples of 256, as WebGPU allows a device to demand.
    pub offsets: bool,
    /// The driver's copies of buffers, but for small ones.
    pub buffer_copies: bool,
    /// Waiting, which a browser's page cannot.
    pub waiting: bool,
    /// Arguments of one launch that share memory, which a browser refuses.
    pub overlapping: bool,
    /// Loops that the renderer writes out, as for a compiler that does so itself.
    pub written_out: bool,
    /// Launches that cost hardly anything, as where there is no GPU: then few launches do a group of tensors, as on one.
    pub cheap_launches: bool,
}

/// One device of wgpu's.
pub struct WgpuBackend {
    pub(crate) name: String,
    info: Info,
    adapter: &'static Adapter,
    pub(crate) target: Target,
    pub(crate) options: Options,
    pub(crate) device: Device,
    pub(crate) queue: Queue,
    pub(crate) reports: Arc<Reports>,
    pub(crate) pipelines: Pipelines,
    /// Bytes that one launch's numbers may take.
    pub(crate) uniform_bytes: usize,
    uniform_align: usize,
    offset_align: u64,
    grid_extent: u32,
    max_buffer: u64,
    uniform: Buffer,
    /// For arguments of no elements.
    nothing: Buffer,
    queued: Mutex<Queued>,
    /// Whether waits ask for a while: a processor that is the device has better things to do.
    stays_awake: bool,
    /// Whether arguments of a launch may share memory.
    may_overlap: bool,
    /// Whether anything may wait for the device.
    pub(crate) waits: bool,
    /// Whether a kernel copies faster within the device than the driver.
    pub(crate) copies_by_kernel: bool,
    pub(crate) copier: OnceLock<Module>,
}

/// What changes.
#[derive(Default)]
pub(crate) struct Queued {
    pub(crate) batch: Batch,
    pub(crate) clock: Clock,
    pub(crate) memory: Memory,
    pub(crate) staging: Staging,
}

impl fmt::Debug for WgpuBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WgpuBackend({}, {})", self.name, self.info.name)
    }
}

/// Whether arguments of one launch may share memory: not in a browser.
fn may_overlap(without: Without) -> bool {
    !cfg!(target_arch = "wasm32") && !without.overlapping
}

fn target(adapter: &Adapter, features: Features, fragments: Vec<FragmentShape>, without: Without) -> Target {
    let (info, limits) = (adapter.get_info(), adapter.limits());
    let fixed = info.subgroup_min_size == info.subgroup_max_size && info.subgroup_min_size.is_power_of_two();
    let software = info.device_type == wgpu::DeviceType::Cpu;
    Target {
        dialect: Dialect::Wgsl,
        max_threads: limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x),
        // Longer ones are folded.
        max_grid: [u32::MAX >> 1, limits.max_compute_workgroups_per_dimension, limits.max_compute_workgroups_per_dimension],
        shared_bytes: limits.max_compute_workgroup_storage_size as usize,
        subgroup: (fixed && features.contains(Features::SUBGROUP) && !without.subgroups).then_some(info.subgroup_min_size),
        compute_units: if software {
            std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
        } else {
            capacity::units(adapter).unwrap_or(UNITS)
        },
        max_buffers: limits.max_storage_buffers_per_shader_stage.min(limits.max_bindings_per_bind_group.saturating_sub(1)).min(64),
        max_param_bytes: 4096,
        max_buffer_bytes: limits.max_storage_buffer_binding_size,
        f64: features.contains(Features::SHADER_F64),
        i64: features.contains(Features::SHADER_INT64) && !without.int64,
        // Half types are kept in words, or in 16-bit integers.
        f16: false,
        // By compare and exchange.
        atomic_f32: true,
        atomic_i64: false,
        // Choosing from them takes branches, which the processor takes in full where there is no GPU. A table may have a buffer twice.
        tables: (!software || without.cheap_launches) && may_overlap(without),
        overlapping: may_overlap(without),
        vectors: true,
        fragments,
        ..Target::interpreter()
    }
}

impl WgpuBackend {
    /// Opens the adapter of this ordinal.
    pub fn open(ordinal: usize) -> Result<WgpuBackend, Error> {
        WgpuBackend::open_without(ordinal, Without::default())
    }

    /// Opens an adapter and leaves some of its features unused.
    pub fn open_without(ordinal: usize, without: Without) -> Result<WgpuBackend, Error> {
        ready(WgpuBackend::open_async(ordinal, without)).unwrap_or_else(|| {
            Err(Error::NotAvailable {
                asked: format!("{BACKEND}:{ordinal}"),
                cause: adapters::NO_WAITING.to_owned(),
                help: adapters::AWAIT_INSTEAD.to_owned(),
            })
        })
    }

    /// As [`WgpuBackend::open_without`], where nothing may wait.
    pub async fn open_async(ordinal: usize, without: Without) -> Result<WgpuBackend, Error> {
        let adapter = adapters::adapter(ordinal)?;
        let name = format!("{BACKEND}:{ordinal}");
        let wanted = Features::SHADER_F64
            | Features::SHADER_INT64
            | Features::SHADER_I16
            | Features::SUBGROUP
            | Features::TIMESTAMP_QUERY
            | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS
            | Features::PIPELINE_CACHE;
        let limits = adapter.limits();
        // Matrices are experimental: a device that does not open with them may do so without.
        let mut fragments = adapters::fragments(adapter);
        let mut features = (adapter.features() & wanted) | adapters::features_of(&fragments);
        let descriptor = |features: Features| wgpu::DeviceDescriptor {
            label: None,
            required_features: features,
            required_limits: limits.clone(),
            experimental_features: adapters::leave_for(features),
            memory_hints: wgpu::MemoryHints::Performance,
            ..wgpu::DeviceDescriptor::default()
        };
        let mut opened = adapter.request_device(&descriptor(features)).await;
        if opened.is_err() && !fragments.is_empty() {
            fragments.clear();
            features = adapter.features() & wanted;
            opened = adapter.request_device(&descriptor(features)).await;
        }
        let refused = |cause: String| Error::NotAvailable {
            asked: name.clone(),
            cause,
            help: "update the GPU's driver, or choose another device".to_owned(),
        };
        let (device, queue) = opened.map_err(|error| refused(error.to_string()))?;
        let reports = Reports::listen(&device, &name);
        let buffer = |size, usage| device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
        let uniform_bytes = limits.max_uniform_buffer_binding_size.min(UNIFORM) as usize;
        let backend = WgpuBackend {
            info: adapters::describe(adapter, ordinal),
            adapter,
            target: target(adapter, features, fragments, without),
            options: Options {
                browser: cfg!(target_arch = "wasm32"),
                int16: features.contains(Features::SHADER_I16) && !without.int16,
                offsets: u64::from(limits.min_storage_buffer_offset_alignment) > ALIGNED || without.offsets,
                unrolls: adapters::is_nvidias(adapter) || without.written_out,
            },
            uniform: buffer(UNIFORM, BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            nothing: buffer(NOTHING * u64::from(limits.max_storage_buffers_per_shader_stage.clamp(1, 1024)), BufferUsages::STORAGE),
            pipelines: Pipelines::new(&device, adapter),
            uniform_bytes,
            uniform_align: limits.min_uniform_buffer_offset_alignment as usize,
            offset_align: if without.offsets { 256 } else { u64::from(limits.min_storage_buffer_offset_alignment).max(ALIGNED) },
            grid_extent: limits.max_compute_workgroups_per_dimension,
            max_buffer: limits.max_buffer_size,
            queued: Mutex::default(),
            copies_by_kernel: adapter.get_info().device_type != wgpu::DeviceType::Cpu || without.buffer_copies,
            copier: OnceLock::new(),
            stays_awake: adapter.get_info().device_type != wgpu::DeviceType::Cpu,
            may_overlap: may_overlap(without),
            waits: !cfg!(target_arch = "wasm32") && !without.waiting,
            name,
            device,
            queue,
            reports,
        };
        backend.reports.take(&backend.name)?;
        Ok(backend)
    }

    /// Memory figures as of now, with `in_use` bytes of this device's own buffers.
    fn capacity(&self, in_use: u64) -> Capacity {
        Capacity::of(self.adapter).after(in_use)
    }

    pub(crate) fn queued(&self) -> MutexGuard<'_, Queued> {
        self.queued.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn copy_failed(&self, cause: impl Into<String>) -> Error {
        Error::Copy { device: self.name.clone(), cause: cause.into() }
    }

    /// Hands over what was gathered. What wgpu thinks is wrong with it is reported at the next wait.
    pub(crate) fn submit(&self, queued: &mut Queued) -> Result<Option<SubmissionIndex>, Error> {
        self.reports.alive(&self.name)?;
        let index = queued.batch.submit(&self.device, &self.queue, &self.uniform, &self.name).unwrap_or_else(|error| {
            self.reports.add(error);
            None
        });
        // Lets wgpu take back what finished work held.
        self.poll(PollType::Poll)?;
        Ok(index)
    }

    /// Asks for a while whether work is done; `None` if it takes longer.
    fn stay_awake(&self, index: Option<&SubmissionIndex>) -> Option<Result<PollStatus, PollError>> {
        let begun = Timestamp::now();
        while begun.elapsed() < AWAKE {
            match self.device.poll(PollType::Wait { submission_index: index.cloned(), timeout: Some(Duration::ZERO) }) {
                Err(PollError::Timeout) => std::thread::yield_now(),
                done => return Some(done),
            }
        }
        None
    }

    pub(crate) fn poll(&self, how: PollType) -> Result<(), Error> {
        let polled = match &how {
            PollType::Wait { submission_index, timeout: None } if self.stays_awake => self.stay_awake(submission_index.as_ref()),
            PollType::Wait { .. } | PollType::Poll => None,
        };
        match polled.unwrap_or_else(|| self.device.poll(how)) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.reports.alive(&self.name)?;
                Err(self.copy_failed(format!("the device cannot be waited for: {error}")))
            }
        }
    }

    pub(crate) fn out_of_memory(&self, asked: u64, in_use: u64, more: &str) -> Error {
        out_of_memory(&self.name, asked, in_use, self.capacity(in_use), more)
    }

    fn refuse(&self, module: &Module, cause: impl Into<String>) -> Error {
        Error::Launch { device: self.name.clone(), kernel: module.name.clone(), cause: cause.into() }
    }

    /// Where an argument is bound, and how many bytes after that it begins.
    pub(crate) fn binding(&self, module: &Module, memory: &Memory, range: Range) -> Result<(Binding, u64), Error> {
        if range.len == 0 {
            return Ok((Binding { handle: 0, offset: 0, size: NOTHING }, 0));
        }
        let block = memory.get(range.handle).ok_or_else(|| self.refuse(module, "an argument is no memory of this device"))?;
        let offset = range.offset as u64;
        let first = offset - offset % self.offset_align;
        if offset != first && !self.options.offsets {
            return Err(self.refuse(module, format!("an argument begins at byte {offset}, which is no multiple of {}", self.offset_align)));
        }
        // Whole vectors of 16 bytes: those of the last one that are not the argument's are there, and are not written.
        let size = (offset - first + range.len as u64).next_multiple_of(16);
        if first + size > block.bytes {
            return Err(self.refuse(module, format!("an argument of {} bytes at {offset} of {}", range.len, block.bytes)));
        }
        if size > self.target.max_buffer_bytes {
            let cause = format!(
                "an argument of {} bytes, the device binds at most {}\n help: split the tensor, or use another device",
                range.len, self.target.max_buffer_bytes
            );
            return Err(self.refuse(module, cause));
        }
        Ok((Binding { handle: range.handle, offset: first, size }, offset - first))
    }

    /// The grid to dispatch, and the first extent if it is not the one asked for.
    fn fold(&self, module: &Module, grid: [u32; 3]) -> Result<([u32; 3], u32), Error> {
        if grid.iter().all(|extent| *extent <= self.grid_extent) {
            return Ok((grid, 0));
        }
        let total = grid.iter().fold(1u64, |product, extent| product.saturating_mul(u64::from(*extent)));
        let width = u64::from(self.grid_extent);
        let rows = total.div_ceil(width);
        if rows > width || total > u64::from(u32::MAX) - width {
            return Err(self.refuse(module, format!("{total} workgroups, the device takes {}", width * width)));
        }
        // As wide as needed: workgroups beyond the grid end at once, but starting them takes time.
        let width = total.div_ceil(rows.max(1)) as u32;
        Ok(([width, rows as u32, 1], width))
    }

    /// Launches with the arguments where they are.
    pub(crate) fn launch_bound(&self, module: &Module, grid: [u32; 3], args: &[Bound]) -> Result<(), Error> {
        let (dispatched, folded) = self.fold(module, grid)?;
        if folded != 0 && !module.bindings.grid {
            return Err(self.refuse(module, format!("a grid of {grid:?}; the device takes {} per axis", self.grid_extent)));
        }
        if args.len() != module.sizes.len() {
            return Err(self.refuse(module, format!("{} arguments, the kernel has {}", args.len(), module.sizes.len())));
        }
        let mut queued = self.queued();
        let mut bindings = Vec::with_capacity(module.bindings.buffers.len());
        let mut shifts = Vec::with_capacity(module.bindings.buffers.len());
        for (param, entry) in &module.bindings.buffers {
            let range = match &args[*param] {
                Bound::Buffer(range) => Some(range),
                Bound::Table(ranges) => ranges.get(*entry),
                Bound::Scalar(..) | Bound::ScalarTable(..) => None,
            };
            let Some(range) = range else { return Err(self.refuse(module, "an argument is not a buffer")) };
            let (mut binding, shift) = self.binding(module, &queued.memory, *range)?;
            if binding.handle == 0 {
                // A place of its own.
                binding.offset = NOTHING * bindings.len() as u64;
            }
            if !self.may_overlap && bindings.iter().any(|other| overlap::overlap(other, &binding)) {
                return Err(self.refuse(module, "two arguments share memory, which this system does not take"));
            }
            bindings.push(binding);
            shifts.push(shift / module.sizes[*param] as u64);
        }
        let mut words = vec![0u32; module.bindings.words];
        if module.bindings.grid {
            words[..4].copy_from_slice(&[grid[0], grid[1], grid[2], folded]);
        } else if shifts.iter().any(|shift| *shift != 0) {
            return Err(self.refuse(module, format!("an argument begins at no multiple of {} bytes", self.offset_align)));
        }
        for slot in &module.bindings.slots {
            match *slot {
                Slot::Offset { binding, at } => words[at] = shifts[binding] as u32,
                Slot::Scalar { param, at } => {
                    let values = match &args[param] {
                        Bound::Scalar(_, value) => std::slice::from_ref(value),
                        Bound::ScalarTable(_, values) => values,
                        Bound::Buffer(_) | Bound::Table(_) => return Err(self.refuse(module, "an argument is not a number")),
                    };
                    let wide = module.sizes[param].div_ceil(4);
                    for (k, value) in values.iter().enumerate() {
                        for half in 0..wide {
                            if let Some(word) = words.get_mut(at + k * wide + half) {
                                *word = (value >> (32 * half)) as u32;
                            }
                        }
                    }
                }
            }
        }
        let mut place = None;
        if !words.is_empty() {
            place = queued.batch.reserve(&words, self.uniform_align, UNIFORM as usize);
            if place.is_none() {
                self.submit(&mut queued)?;
                place = queued.batch.reserve(&words, self.uniform_align, UNIFORM as usize);
            }
            if place.is_none() {
                return Err(self.refuse(module, "more numbers than a launch passes"));
            }
        }
        let queued = &mut *queued;
        let group = queued.memory.group(module, bindings.clone(), |memory| {
            let whole = |buffer, offset, size| {
                wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size: wgpu::BufferSize::new(size) })
            };
            let mut entries = Vec::with_capacity(bindings.len() + 1);
            if module.bindings.words > 0 {
                let resource = whole(&self.uniform, 0, module.bindings.words as u64 * 4);
                entries.push(wgpu::BindGroupEntry { binding: module.bindings.uniform_at, resource });
            }
            for (at, binding) in bindings.iter().enumerate() {
                let buffer = match binding.handle {
                    0 => &self.nothing,
                    handle => &memory.get(handle)?.buffer,
                };
                entries.push(wgpu::BindGroupEntry {
                    binding: module.bindings.first + at as u32,
                    resource: whole(buffer, binding.offset, binding.size),
                });
            }
            Some(self.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &module.layout, entries: &entries }))
        });
        let Some(group) = group else { return Err(self.refuse(module, "an argument is no memory of this device")) };
        queued.batch.dispatch(&self.device, module, &group, place, dispatched);
        if queued.batch.is_full() {
            self.submit(queued)?;
        }
        Ok(())
    }
}

impl Backend for WgpuBackend {
    type Module = Module;

    fn info(&self) -> Info {
        let memory = self.capacity(self.queued().memory.in_use());
        Info { memory_total: memory.total, memory_free: memory.free, ..self.info.clone() }
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        self.reports.alive(&self.name)?;
        let mut queued = self.queued();
        let size = bytes as u64;
        if size > self.max_buffer.saturating_sub(256) {
            let more = format!("; one buffer has {} bytes at most", self.max_buffer);
            return Err(self.out_of_memory(size, queued.memory.in_use(), &more));
        }
        let size = size.next_multiple_of(256);
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let buffer = self.new_buffer(size, usage, false, &queued.memory)?;
        Ok(queued.memory.add(Block { buffer, bytes: size }))
    }

    fn free(&self, handle: u64) {
        self.queued().memory.remove(handle);
    }

    fn upload(&self, data: &[u8], to: Range) -> Result<(), Error> {
        self.write(data, to)
    }

    fn download(&self, from: Range, data: &mut [u8]) -> Result<(), Error> {
        if data.is_empty() {
            return self.synchronize();
        }
        let block = self.block(&self.queued(), from)?;
        self.read_back(&block.buffer, from.offset as u64, data)
    }

    fn download_all(&self, parts: &mut [(Range, &mut [u8])]) -> Result<(), Error> {
        if self.read_back_all(parts)? {
            return Ok(());
        }
        parts.iter_mut().try_for_each(|(from, data)| self.download(*from, data))
    }

    fn copy(&self, from: Range, to: Range) -> Result<(), Error> {
        self.copy_within(from, to)
    }

    fn load(&self, program: &Program) -> Result<Module, Error> {
        self.compile(program)
    }

    fn load_source(&self, source: &Source, signature: &Program) -> Result<Module, Error> {
        self.compile_source(source, signature)
    }

    fn launch(&self, module: &Module, grid: [u32; 3], args: &[Bound]) -> Result<(), Error> {
        if self.may_overlap { self.launch_bound(module, grid, args) } else { self.launch_apart(module, grid, args) }
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.submit(&mut self.queued())?;
        self.may_wait()?;
        self.poll(PollType::wait_indefinitely())?;
        self.queued().batch.hurry();
        self.pipelines.save();
        self.reports.take(&self.name)
    }
}

impl Abilities for WgpuBackend {
    fn marks(&self) -> Option<&dyn Marks> {
        Some(self)
    }

    fn flush(&self) -> Option<&dyn Flush> {
        Some(self)
    }

    fn monitor(&self) -> Option<&dyn Monitor> {
        Some(self)
    }

    fn read_async(&self) -> Option<&dyn ReadAsync> {
        Some(self)
    }
}

impl Timeline for WgpuBackend {
    type Mark = Mark;

    fn mark(&self) -> Result<Option<Mark>, Error> {
        self.place_mark().map(Some)
    }

    fn is_done(&self, mark: &Mark) -> Result<bool, Error> {
        self.reached(mark)
    }

    fn wait(&self, mark: &Mark) -> Result<(), Error> {
        self.await_mark(mark)
    }

    fn elapsed(&self, from: &Mark, to: &Mark) -> Result<f64, Error> {
        self.between(from, to)
    }
}

impl Flush for WgpuBackend {
    fn flush(&self) -> Result<(), Error> {
        self.submit(&mut self.queued()).map(|_| ())
    }
}

impl Monitor for WgpuBackend {
    fn health(&self) -> Result<Option<Health>, Error> {
        Ok(capacity::health(self.adapter))
    }
}

impl ReadAsync for WgpuBackend {
    fn download_async(&self, from: Range) -> Option<Pending<'_, Result<Vec<u8>, Error>>> {
        Some(self.read_async(from))
    }
}
