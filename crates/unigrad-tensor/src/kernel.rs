//! Custom kernels: programs that the user wrote, as ops of the lazy graph.
//!
//! In: source in one or several languages (or kernel IR as text), tensors, numbers. Out: a tensor like any other: planned, cached, and
//! differentiable if a gradient is given.
//! Always: a device takes the source in its own language, else the kernel IR, else the read is an error that says what is missing. The CPU has
//! kernel IR only, and reports what a program does wrong.
//! Never: checks on a GPU what the program does. It must write all of its output, and stay inside of its buffers.

use crate::{Device, Result, Tensor, custom, no_grad_guard};
use std::{fmt, sync::Arc};
use unigrad_device::{Compiled, Executable};
use unigrad_graph::{DType, ErrorKind, Expr, KernelSpec, Literal, UserProgram};
use unigrad_kernel::{Arg, Custom, Kernel};

type Backward = dyn Fn(&[Tensor], &Tensor, &Tensor) -> Vec<Option<Tensor>> + Send + Sync;

/// A program that the user wrote.
///
/// Its parameters are, in order: the inputs, the output, the numbers. As sources see them:
///
/// | language | entry point | a buffer | a number |
/// |---|---|---|---|
/// | `cuda`, `hip` | `extern "C" __global__` | `const float* x`, `float* y` | by value |
/// | `opencl` | `__kernel` | `__global const float* x` | by value |
/// | `msl` | `kernel` | `device const float* x [[buffer(0)]]` | `constant uint& n [[buffer(2)]]` |
/// | `wgsl` | `@compute @workgroup_size(…)` | `@group(0) @binding(0) var<storage, read_write> x: array<f32>` | a member of one `var<uniform>` struct, bound last, 4 bytes each |
/// | `ir` | `kernel` | `x: [f32]`, written: `y: mut [f32]` | `n: u32` |
///
/// `ir` is the text form of the kernel IR; every device takes it. The CPU executes it without compiling: an instruction costs some nanoseconds
/// per thread, so a small program takes about 0.1 s for a million elements. In return accesses out of bounds, races, and barriers that not all
/// threads reach are errors there, which name the statement, the workgroup and the thread.
///
/// ```no_run
/// use unigrad_tensor::{CustomKernel, DType, Device, Literal, Tensor};
/// # fn main() -> unigrad_tensor::Result<()> {
/// let square_plus_one = CustomKernel::new("square_plus_one", [256, 1, 1])
///     .source("cuda", r#"extern "C" __global__ void square_plus_one(const float* x, float* y, unsigned n) {
///         unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
///         if (i < n) y[i] = x[i] * x[i] + 1.0f;
///     }"#)
///     .source("ir", "kernel square_plus_one(x: [f32], y: mut [f32], n: u32) threads(256, 1, 1) {
///         %0 = param n
///         %1 = group.x
///         %2 = thread.x
///         %3 = mul u32 %1, 256
///         %i = add u32 %3, %2
///         %5 = lt u32 %i, %0
///         if %5 {
///             %6 = load f32 x[%i]
///             %7 = fma f32 %6, %6, 1.0
///             store y[%i], %7
///         }
///     }")
///     .with_gradient(|x, _y, dy| vec![Some(&(dy * &x[0]) * 2.0)]);
/// let x = Tensor::randn([1000], DType::F32, &Device::best()?).requires_grad();
/// let n = Literal::int(DType::U32, 1000);
/// let y = square_plus_one.apply(&[&x], &[n], [1000], DType::F32, [4, 1, 1]);
/// y.sum(()).backward()?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct CustomKernel {
    program: Arc<UserProgram>,
    backward: Option<Arc<Backward>>,
}

/// A [`CustomKernel`] that is compiled for a device; see [`CustomKernel::compile`].
#[derive(Debug)]
pub struct CompiledKernel {
    told: Option<Compiled>,
    /// So that the device keeps it.
    _executable: Arc<dyn Executable>,
}

impl CompiledKernel {
    /// All that the driver tells of it; `None` where the device compiles nothing.
    pub fn details(&self) -> Option<&Compiled> {
        self.told.as_ref()
    }

    /// The machine code, or what the driver has in its place: a cubin, a code object, an OpenCL binary.
    pub fn binary(&self) -> Option<&[u8]> {
        self.told.as_ref()?.binary.as_deref()
    }

    /// The part, from 0 to 1, of a compute unit's threads that can be at work in it at a time, as its registers and shared memory allow.
    pub fn occupancy(&self) -> Option<f64> {
        self.told.as_ref()?.occupancy
    }
}

impl fmt::Debug for CustomKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let languages: Vec<&str> = self.program.texts.iter().map(|(language, _)| language.as_str()).collect();
        write!(f, "CustomKernel({}, {})", self.program.name, languages.join(", "))
    }
}

impl CustomKernel {
    /// A program whose entry point has this name, run by workgroups of `block` threads.
    pub fn new(name: &str, block: [u32; 3]) -> CustomKernel {
        let program = UserProgram { name: name.to_owned(), entry: name.to_owned(), texts: Vec::new(), block };
        CustomKernel { program: Arc::new(program), backward: None }
    }

    /// The program in a language (in any case); see the table above. A second text in the same language replaces the first.
    pub fn source(mut self, language: &str, text: impl Into<String>) -> CustomKernel {
        let language = language.to_ascii_lowercase();
        let program = Arc::make_mut(&mut self.program);
        program.texts.retain(|(name, _)| *name != language);
        program.texts.push((language, text.into()));
        self
    }

    /// The entry point, where it is not the kernel's name.
    pub fn entry(mut self, entry: &str) -> CustomKernel {
        Arc::make_mut(&mut self.program).entry = entry.to_owned();
        self
    }

    /// The gradient: from the inputs, the output and the gradient that reached it, one gradient (or `None`) per input.
    pub fn with_gradient(
        mut self,
        backward: impl Fn(&[Tensor], &Tensor, &Tensor) -> Vec<Option<Tensor>> + Send + Sync + 'static,
    ) -> CustomKernel {
        self.backward = Some(Arc::new(backward));
        self
    }

    /// Compiles the program for a device before it is used, for inputs, numbers and an output of these types. A launch of these types then compiles
    /// nothing. The errors are those that a read of a launch would give: no text in the device's language, one that its compiler refuses, workgroups
    /// that are too large.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{CustomKernel, DType, Device};
    ///
    /// let device = Device::open("cpu")?;
    /// let double = CustomKernel::new("double", [64, 1, 1]).source("ir", "kernel double(x: [f32], y: mut [f32]) threads(64, 1, 1) {
    ///     %0 = group.x
    ///     %1 = thread.x
    ///     %2 = mul u32 %0, 64
    ///     %i = add u32 %2, %1
    ///     %3 = load f32 x[%i]
    ///     %4 = add f32 %3, %3
    ///     store y[%i], %4
    /// }");
    /// let compiled = double.compile(&device, &[DType::F32], &[], DType::F32)?;
    /// // Machine code, registers and occupancy where the driver tells; the CPU runs kernel IR as it is.
    /// assert!(compiled.binary().is_none() && compiled.occupancy().is_none());
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    pub fn compile(&self, device: &Device, inputs: &[DType], scalars: &[DType], output: DType) -> Result<CompiledKernel> {
        let arg = |dtype: &DType, write| Arg { dtype: *dtype, len: 0, write };
        let args = inputs.iter().map(|dtype| arg(dtype, false)).chain([arg(&output, true)]).collect();
        let custom = Custom { program: Arc::clone(&self.program), grid: [1; 3], args, scalars: scalars.to_vec() };
        let executable = device.compile(&Kernel::Custom(custom))?;
        let told = device.describe(&*executable)?.into_iter().next();
        Ok(CompiledKernel { told, _executable: executable })
    }

    /// What the program makes of the inputs, when `grid` workgroups run it: a tensor of this shape and dtype. The inputs are given as
    /// contiguous buffers. Without inputs, use [`CustomKernel::apply_on`].
    #[track_caller]
    pub fn apply(&self, inputs: &[&Tensor], scalars: &[Literal], shape: impl Into<Vec<usize>>, dtype: DType, grid: [u32; 3]) -> Tensor {
        match inputs.first() {
            Some(first) => self.run(inputs, scalars, &shape.into(), dtype, grid, first.device_id()),
            None => Tensor::from_expr(Expr::fail(
                ErrorKind::Argument,
                "kernel",
                format!("{} has no inputs, so no device", self.program.name),
                "use `apply_on(&device, …)`",
                &[],
            )),
        }
    }

    /// As [`CustomKernel::apply`], on a device.
    #[track_caller]
    pub fn apply_on(
        &self,
        device: &Device,
        inputs: &[&Tensor],
        scalars: &[Literal],
        shape: impl Into<Vec<usize>>,
        dtype: DType,
        grid: [u32; 3],
    ) -> Tensor {
        self.run(inputs, scalars, &shape.into(), dtype, grid, device.id())
    }

    #[track_caller]
    fn run(&self, inputs: &[&Tensor], scalars: &[Literal], shape: &[usize], dtype: DType, grid: [u32; 3], device: u32) -> Tensor {
        let spec = Arc::new(KernelSpec { program: self.program.clone(), grid, n_tensors: inputs.len() });
        match &self.backward {
            Some(backward) => {
                let backward = Arc::clone(backward);
                // Not computed in the closure: there nodes would belong to this line instead of the caller's.
                let value = {
                    let _guard = no_grad_guard();
                    launch(spec, &inputs.iter().map(|tensor| tensor.detach()).collect::<Vec<_>>(), scalars, shape, dtype, device)
                };
                custom(&self.program.name, inputs, |_| value, move |x, y, dy| backward(x, y, dy))
            }
            None => launch(spec, &inputs.iter().map(|tensor| (*tensor).clone()).collect::<Vec<_>>(), scalars, shape, dtype, device),
        }
    }
}

/// The node of a program's launch.
#[track_caller]
fn launch(spec: Arc<KernelSpec>, inputs: &[Tensor], scalars: &[Literal], shape: &[usize], dtype: DType, device: u32) -> Tensor {
    let scalars = scalars.iter().map(|literal| Expr::scalar(*literal, &[], device));
    let all: Vec<Expr> = inputs.iter().map(Tensor::expr).chain(scalars).collect();
    let result = Expr::kernel(spec, &all, shape, dtype, device);
    // A program may write any byte; from here on a `Bool` is 0 or 1.
    let result = if dtype == DType::Bool { result.bitcast(DType::U8).cast(DType::Bool) } else { result };
    Tensor::from_expr(result)
}
