//! unigrad: one lazy tensor graph, compiled to fused kernels for every device.
//!
//! In: programs that use [`prelude`]. Out: everything they need from the crates below, under one name.
//! Always: the drivers that were built in are registered before `main` begins, so that `Device::best()` finds them unasked.
//! Never: has logic of its own.
//!
//! ```
//! use unigrad::prelude::*;
//! # fn main() -> Result<()> {
//! let device = Device::best()?;
//! let x = Tensor::randn([64, 784], DType::F32, &device);
//! let w = Tensor::randn([784, 10], DType::F32, &device);
//! let y = (x.matmul(&w) * 0.1).softmax(-1); // nothing has run yet
//! assert_eq!(y.to_vec::<f32>()?.len(), 640); // a read evaluates
//! # Ok(()) }
//! ```

pub use unigrad_bench as bench;
pub use unigrad_data as data;
pub use unigrad_device as device;
pub use unigrad_nn as nn;
pub use unigrad_tensor as tensor;
pub use unigrad_train as train;

pub use unigrad_tensor::{Error, ErrorKind, Replay, Result, replay};

/// What nearly every program uses.
pub mod prelude {
    pub use crate::nn::{self, Layer, Module};
    pub use crate::tensor::{
        AttentionOptions, ConvOptions, CrossEntropyOptions, CustomKernel, DType, Device, Generator, Origin, PoolOptions, Reduction, Tensor,
        bf16, f16, grad, manual_seed, no_grad, step,
    };
    pub use crate::{Error, ErrorKind, Result};
}

/// Registers the drivers that were built in. Runs by itself before `main` on Linux, macOS and Windows; calling it again does nothing.
/// Programs for other systems call it first.
pub fn init() {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    #[cfg(feature = "cuda")]
    unigrad_device::register(unigrad_cuda::CudaDriver);
    #[cfg(feature = "hip")]
    unigrad_device::register(unigrad_hip::HipDriver);
    #[cfg(feature = "metal")]
    unigrad_device::register(unigrad_metal::MetalDriver);
    #[cfg(feature = "opencl")]
    unigrad_device::register(unigrad_opencl::OpenClDriver);
    #[cfg(feature = "wgpu")]
    unigrad_device::register(unigrad_wgpu::WgpuDriver);
    for (backend, title, aliases) in [
        ("cpu", "CPU", &[][..]),
        ("cuda", "CUDA (NVIDIA)", &[]),
        ("hip", "ROCm (AMD)", &["rocm"]),
        ("metal", "Metal (Apple)", &[]),
        ("wgpu", "WebGPU (Vulkan, Metal, DirectX 12)", &["vulkan", "webgpu"]),
        ("opencl", "OpenCL", &[]),
    ] {
        unigrad_device::register_names(backend, title, aliases);
    }
    for (backend, is_built_in, help) in [
        ("cuda", cfg!(feature = "cuda"), "build with `--features cuda`"),
        ("hip", cfg!(feature = "hip"), "build with `--features rocm`"),
        ("metal", cfg!(feature = "metal"), "build with `--features metal`"),
        ("opencl", cfg!(feature = "opencl"), "build with `--features opencl`"),
        ("wgpu", cfg!(feature = "wgpu"), "build with `--features wgpu`"),
    ] {
        if !is_built_in {
            unigrad_device::register_left_out(backend, help);
        }
    }
}

/// Says on standard error what memory tensors still own, if `UNIGRAD_DEBUG=leaks` asks for it. Plans' arenas are no leaks.
pub fn report_leaks() {
    if !device::Config::current_or_default().debug.leaks {
        return;
    }
    for device in device::Device::opened() {
        let stats = device.memory_stats();
        let kept = stats.tags.iter().filter(|tag| tag.allocated > 0 && tag.tag != "arena");
        let kept: Vec<String> = kept.map(|tag| format!("{} bytes in {} buffers of {}", tag.allocated, tag.n_buffers, tag.tag)).collect();
        match kept.is_empty() {
            true => device::tell(format_args!("unigrad: {device}: no memory is left in use")),
            false => device::tell(format_args!("unigrad: {device}: still in use: {}", kept.join(", "))),
        }
    }
}

extern "C" fn report_at_end() {
    report_leaks();
}

#[used]
#[cfg_attr(any(target_os = "linux", target_os = "android", target_os = "freebsd"), unsafe(link_section = ".fini_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_term_func"))]
#[cfg_attr(windows, unsafe(link_section = ".CRT$XPU"))]
static REPORT_AT_END: extern "C" fn() = report_at_end;

extern "C" fn init_at_start() {
    // Nothing runs outside of `main` that could catch a panic, and `init` has nothing to panic with.
    init();
}

// The linker gathers these pointers, and the system calls them before `main`.
// SAFETY: the sections are where their systems look for functions without arguments; the two are such, need no other
// initialization, and may run before or after those of other libraries.
#[used]
#[cfg_attr(any(target_os = "linux", target_os = "android", target_os = "freebsd"), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
static INIT_AT_START: extern "C" fn() = init_at_start;

/// The README's programs are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// So is the program of the page about named axes.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/named-axes.md")]
struct NamedAxes;
