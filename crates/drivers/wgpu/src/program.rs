//! Programs: rendered, or a user's own; checked by naga, compiled by the device's driver.
//!
//! A user's program has its buffers at bindings 0, 1, … and its numbers, if it has any, in one uniform structure at the next.

use crate::{backend::WgpuBackend, capacity::Capacity, reports, reports::Scopes};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use unigrad_device::Error;
use unigrad_ir::{
    Param, Program, Source,
    wgsl::{self, Shader, Slot},
};
use wgpu::{BindGroupLayout, BindingType, BufferBindingType, ComputePipeline, ShaderStages};

/// A compiled program.
#[derive(Debug)]
pub struct Module {
    /// Tells modules apart in the cache of bind groups.
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) pipeline: ComputePipeline,
    pub(crate) layout: BindGroupLayout,
    pub(crate) bindings: Bindings,
    /// Element sizes of the parameters.
    pub(crate) sizes: Vec<usize>,
    /// Whether each is written.
    pub(crate) writes: Vec<bool>,
}

/// Where a program finds its arguments.
#[derive(Debug)]
pub(crate) struct Bindings {
    /// Whether the uniform buffer begins with the grid, which then may be folded.
    pub(crate) grid: bool,
    pub(crate) slots: Vec<Slot>,
    /// Words of the uniform buffer; without any there is none.
    pub(crate) words: usize,
    pub(crate) uniform_at: u32,
    /// The buffers: which parameter each is, and which of its table.
    pub(crate) buffers: Vec<(usize, usize)>,
    /// The binding of the first.
    pub(crate) first: u32,
}

impl WgpuBackend {
    fn refuse_program(&self, program: &Program, cause: impl Into<String>) -> Error {
        Error::Compile { device: self.name.clone(), kernel: program.name.clone(), cause: cause.into() }
    }

    /// Renders and compiles.
    pub(crate) fn compile(&self, program: &Program) -> Result<Module, Error> {
        let shader = wgsl::render(program, &self.target, self.options).map_err(|error| self.refuse_program(program, error.to_string()))?;
        let Shader { text, entry, slots, words, buffers } = shader;
        self.build(program, &text, entry, Bindings { grid: true, slots, words, uniform_at: 0, buffers, first: 1 })
    }

    /// Compiles a user's text.
    pub(crate) fn compile_source(&self, source: &Source, signature: &Program) -> Result<Module, Error> {
        let (mut slots, mut buffers) = (Vec::new(), Vec::new());
        for (param, declared) in signature.params.iter().enumerate() {
            match declared {
                Param::Buffer { .. } => buffers.push((param, 0)),
                Param::Scalar { name, dtype } if dtype.size() > 4 => {
                    return Err(self.refuse_program(signature, format!("{name} is {dtype}\n help: pass numbers of at most 4 bytes")));
                }
                Param::Scalar { .. } => slots.push(Slot::Scalar { param, at: slots.len() }),
                Param::Table { name, .. } | Param::ScalarTable { name, .. } => {
                    return Err(self.refuse_program(signature, format!("{name} is a table")));
                }
            }
        }
        let (words, uniform_at) = (slots.len().next_multiple_of(4), buffers.len() as u32);
        self.build(signature, &source.text, &source.entry, Bindings { grid: false, slots, words, uniform_at, buffers, first: 0 })
    }

    fn build(&self, program: &Program, text: &str, entry: &str, bindings: Bindings) -> Result<Module, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        self.reports.alive(&self.name)?;
        if bindings.words * 4 > self.uniform_bytes {
            let cause = format!("{} bytes of numbers, a launch passes {}\n help: split the kernel", bindings.words * 4, self.uniform_bytes);
            return Err(self.refuse_program(program, cause));
        }
        let scopes = Scopes::open(&self.device);
        let descriptor = wgpu::ShaderModuleDescriptor { label: Some(&program.name), source: wgpu::ShaderSource::Wgsl(text.into()) };
        let module = if bindings.grid {
            let checks = wgpu::ShaderRuntimeChecks {
                bounds_checks: false,
                force_loop_bounding: false,
                int_div_checks: false,
                ..wgpu::ShaderRuntimeChecks::default()
            };
            // SAFETY: what is not checked is that indices are in bounds, that loops end and that no integer is divided by zero. The text
            // comes from the lowering, whose loops count to a bound and whose indices stay in their places (other languages check them
            // neither; tests run every family in the interpreter, which does), and the renderer's divisions look at the divisor first. A
            // user's kernel IR is as trusted as a user's program in another backend's language. Device memory is bounded by the driver too.
            unsafe { self.device.create_shader_module_trusted(descriptor, checks) }
        } else {
            self.device.create_shader_module(descriptor)
        };
        let entry_of = |binding: u32, ty: BufferBindingType, has_dynamic_offset: bool| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
            count: None,
        };
        let storage = BufferBindingType::Storage { read_only: false };
        let mut entries: Vec<_> = (0..bindings.buffers.len() as u32).map(|at| entry_of(bindings.first + at, storage, false)).collect();
        if bindings.words > 0 {
            entries.push(entry_of(bindings.uniform_at, BufferBindingType::Uniform, true));
        }
        let layout = self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
        let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&program.name),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..wgpu::PipelineCompilationOptions::default()
            },
            cache: self.pipelines.cache(),
        });
        let error = scopes.close();
        self.reports.alive(&self.name)?;
        if let Some(error) = error {
            return Err(match error {
                wgpu::Error::OutOfMemory { .. } => {
                    reports::out_of_memory(&self.name, 0, 0, Capacity::default(), "; a kernel was being compiled")
                }
                wgpu::Error::Validation { .. } | wgpu::Error::Internal { .. } => self.refuse_program(program, error.to_string().trim()),
            });
        }
        self.pipelines.grown();
        let sizes = program.params.iter().map(|param| param.dtype().size()).collect();
        let writes = program.params.iter().map(|param| matches!(param, Param::Buffer { write: true, .. })).collect();
        Ok(Module { id: NEXT.fetch_add(1, Relaxed), name: program.name.clone(), pipeline, layout, bindings, sizes, writes })
    }
}
