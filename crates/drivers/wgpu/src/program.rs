//! Programs: rendered, checked by naga, compiled by the device's driver.

use crate::{backend::WgpuBackend, ready};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use unigrad_device::Error;
use unigrad_ir::{
    Program,
    wgsl::{self, Shader},
};
use wgpu::{BindGroupLayout, BindingType, BufferBindingType, ComputePipeline, ErrorFilter, ShaderStages};

/// A compiled program.
#[derive(Debug)]
pub struct Module {
    /// Tells modules apart in the cache of bind groups.
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) pipeline: ComputePipeline,
    pub(crate) layout: BindGroupLayout,
    pub(crate) shader: Shader,
    /// Element sizes of the buffers, by parameter.
    pub(crate) sizes: Vec<usize>,
}

impl WgpuBackend {
    fn refuse_program(&self, program: &Program, cause: impl Into<String>) -> Error {
        Error::Compile { device: self.name.clone(), kernel: program.name.clone(), cause: cause.into() }
    }

    /// Renders and compiles.
    pub(crate) fn compile(&self, program: &Program) -> Result<Module, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        self.reports.alive(&self.name)?;
        let shader = wgsl::render(program, &self.target, self.options).map_err(|error| self.refuse_program(program, error.to_string()))?;
        if shader.words * 4 > self.uniform_bytes {
            let cause = format!("{} bytes of numbers, a launch passes {}\n help: split the kernel", shader.words * 4, self.uniform_bytes);
            return Err(self.refuse_program(program, cause));
        }
        let scopes = [ErrorFilter::Validation, ErrorFilter::Internal, ErrorFilter::OutOfMemory].map(|f| self.device.push_error_scope(f));
        let checks =
            wgpu::ShaderRuntimeChecks { force_loop_bounding: false, int_div_checks: false, ..wgpu::ShaderRuntimeChecks::default() };
        let descriptor =
            wgpu::ShaderModuleDescriptor { label: Some(&program.name), source: wgpu::ShaderSource::Wgsl(shader.text.as_str().into()) };
        // SAFETY: what is not checked is that loops end and that no integer is divided by zero. Programs come from the lowering,
        // whose loops count to a bound, and the renderer's divisions look at the divisor first.
        let module = unsafe { self.device.create_shader_module_trusted(descriptor, checks) };
        let entry = |binding: u32, ty: BufferBindingType, has_dynamic_offset: bool| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
            count: None,
        };
        let mut entries = vec![entry(0, BufferBindingType::Uniform, true)];
        entries.extend((1..=shader.buffers.len() as u32).map(|at| entry(at, BufferBindingType::Storage { read_only: false }, false)));
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
            entry_point: Some(shader.entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..wgpu::PipelineCompilationOptions::default()
            },
            cache: self.pipelines.cache(),
        });
        // The last scope pushed is popped first.
        let errors: Vec<wgpu::Error> = scopes.into_iter().rev().filter_map(|scope| ready(scope.pop()).flatten()).collect();
        self.reports.alive(&self.name)?;
        if let Some(error) = errors.first() {
            return Err(match error {
                wgpu::Error::OutOfMemory { .. } => crate::reports::out_of_memory(&self.name, 0, 0, "; a kernel was being compiled"),
                other => self.refuse_program(program, other.to_string().trim()),
            });
        }
        self.pipelines.grown();
        let sizes = program.params.iter().map(|param| crate::backend::dtype_of(param).size()).collect();
        Ok(Module { id: NEXT.fetch_add(1, Relaxed), name: program.name.clone(), pipeline, layout, shader, sizes })
    }
}
