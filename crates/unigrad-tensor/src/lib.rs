//! Tensors: what a user holds. Math records a graph; reading a value plans and runs it.
//!
//! In: shapes, values, ops on [`Tensor`]. Out: tensors, and numbers when they are read.
//! Always: an op returns a tensor; a broken rule gives an invalid tensor whose error names the caller's line and surfaces at the first
//! read, `realize`, `backward` or `dims`. Every op of floats has a gradient or says that it has none.
//! Never: computes before a value is needed, panics on the user's input, or moves data between devices unasked.
//!
//! ```
//! # unigrad_device::register(unigrad_cpu::CpuDriver::default());
//! use unigrad_tensor::{Device, Tensor};
//!
//! let device = Device::open("cpu")?;
//! let x = Tensor::new([[1.0f32, 2.0], [3.0, 4.0]], &device);
//! let w = Tensor::new([[0.5f32], [-1.0]], &device).requires_grad();
//! let loss = (x.matmul(&w) - 1.0).square().mean(());
//! loss.backward()?;
//! assert_eq!(loss.item::<f32>()?, 9.25);
//! assert_eq!(w.grad().unwrap().to_vec::<f32>()?, [-13.0, -19.0]);
//!
//! // A broken rule is an error that names this line, where a value is first asked for.
//! let error = x.matmul(&x.i(0).unsqueeze(0)).to_vec::<f32>().unwrap_err();
//! assert!(error.to_string().contains("inner sizes differ"));
//! # Ok::<(), unigrad_tensor::Error>(())
//! ```

#![warn(clippy::wildcard_enum_match_arm)]

pub mod accuracy;
mod activation;
mod arithmetic;
mod arrange;
mod attention;
mod autocast;
mod autograd;
mod axes;
mod composite;
mod conv;
mod covariance;
mod creation;
mod default_dtype;
mod dims;
mod embedding;
mod error;
pub mod eval;
mod exchange;
mod float8;
mod gradient_node;
mod half_copy;
mod hooks;
mod index;
mod interpolate;
mod kernel;
mod linalg;
mod loss;
mod math;
#[cfg(feature = "ndarray")]
mod ndarray;
mod norm;
mod paged;
mod pixels;
mod pool;
mod products;
pub mod promotion;
mod quantized;
mod random;
mod read;
mod reduce;
pub mod registry;
mod replay;
mod rules;
mod sample;
mod scan;
mod search;
mod selection;
mod statistics;
mod tensor;
mod transform;
mod unique;
mod view;
mod vmap;
mod windows;

pub use arithmetic::{Operand, Value};
pub use attention::{AttentionOptions, RopeLayout};
pub use autocast::{AutocastGuard, autocast, autocast_dtype, autocast_fp8, autocast_fp8_guard, autocast_guard};
pub use autograd::{
    checkpoint, custom, enable_grad, enable_grad_guard, grad, grad_allow_unused, grad_with, no_grad, no_grad_guard, take_gradients,
};
pub use axes::{Axes, Dims, IntList, Ints};
pub use composite::{Arguments, Composite};
pub use conv::ConvOptions;
pub use creation::NestedValues;
pub use default_dtype::{default_dtype, set_default_dtype};
pub use embedding::{BagMode, EmbeddingBagOptions, EmbeddingOptions};
pub use error::{Error, ErrorKind, NotFinite, StateDictMismatch};
pub use float8::{DelayedScaling, Fp8Recipe, Fp8Scaling};
pub use gradient_node::GradientNode;
pub use hooks::GradientHook;
pub use index::{Ellipsis, Index, IndexItem, NewAxis, step};
pub use interpolate::{InterpolateMode, InterpolateOptions};
pub use kernel::{CompiledKernel, CustomKernel};
pub use loss::{CrossEntropyOptions, CtcOptions, Reduction, TripletOptions};
pub use pool::PoolOptions;
pub use quantized::Quantized;
pub use random::{Generator, manual_seed};
pub use replay::{Replay, replay};
pub use sample::{GridMode, GridPadding, GridSampleOptions};
pub use scan::{ScanOptions, scan};
pub use selection::ScatterReduce;
pub use statistics::Interpolation;
pub use tensor::Tensor;
pub use transform::{differentiating, hessian, is_differentiated, jacobian, jvp, vjp};
pub use unigrad_device::Device;
pub use unigrad_graph::{
    DType, Dim, Element, EnableGradGuard, F8E4M3, F8E5M2, Factor, Format, Literal, Names, NoGradGuard, Origin, OriginGuard, Randomness,
    ScatterMode, bf16, f16, grad_enabled, set_grad_enabled,
};
pub use view::PadMode;
pub use vmap::{VmapOptions, vmap, vmap_with};
pub use windows::WindowOptions;

/// What fails or gives.
pub type Result<T, E = Error> = std::result::Result<T, E>;
