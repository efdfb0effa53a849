//! What all GPU drivers share: kernels become IR programs, programs become launches, launches run on a [`Backend`].
//!
//! In: [`unigrad_kernel::Kernel`]s from the compiler, a backend's memory and queue. Out: an [`unigrad_device::OpenDevice`].
//! Always: one lowering for every dialect; what a target lacks is decided from its [`unigrad_ir::Target`], never from its name.
//! Never: loads a library, or knows which backends there are.

#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod backend;
mod cache;
mod convolution;
mod deep_stack;
mod device;
mod dump;
mod faults;
pub mod lower;
mod norm;
mod product;
mod read_async;
mod replay;
mod taints;
mod take;

pub use backend::{Backend, Bound, Resources};
pub use cache::{KernelCache, Key};
pub use convolution::{Beside, Convolution, ConvolutionOperands, Grid, MOST_AXES, Pass, SpatialAxis};
pub use device::GpuDevice;
pub use lower::{BlockWord, Lowered, Part, ProgramArg, ProgramLaunch, Unsupported, lower};
pub use norm::{Formula, Norm, NormOperands, ROW_AXES, Rows};
pub use product::{Activation, Inside, Matrix, Operands, Product};
pub use replay::{Kept, Recording, Replays};
pub use take::{As, Offer, Taken, Work};
pub use unigrad_device::Range;
pub use unigrad_kernel::{ByDtype, Library, Rates, Words};
