//! Kernels as data: what the compiler hands to a driver, and nothing about how a driver runs it.
//!
//! A [`Kernel`] is one launch. Most are a [`Region`]: a domain of parallel and reduce axes with a scalar program, made by
//! fusion. The others are the few operations that deserve a hand-designed algorithm: [`Contract`], [`Attention`], …
//!
//! Always: buffers are typed and row-major strides are in elements; every index a kernel forms is in bounds where its mask is
//! true. The maker of a kernel vouches for that, and drivers rely on it. Kernels print as text, and regions are read back from it.
//! Never: names a backend, a thread or an instruction set.

#![warn(clippy::wildcard_enum_match_arm)]

mod attention;
mod channels;
mod contract;
mod crossed;
mod custom;
mod flow;
mod indexed;
mod joined;
mod library;
mod region;
mod summed;
#[cfg(feature = "testing")]
// An oracle of values: its `_` arms are over dtypes, which come in families.
#[allow(clippy::wildcard_enum_match_arm)]
pub mod testing;
mod text;

pub use attention::{Attention, AttentionGrad, Layout4, Pages};
pub use channels::Channels;
pub use contract::{BatchDim, Contract, KDim, MDim, NDim, merge_dims};
pub use crossed::{ColumnSum, Columns, Crossed, OneWalk};
pub use custom::Custom;
pub use flow::{Flow, check_bit};
pub use indexed::{ArgSort, MaxPool, Scan, Scatter, ScatterBase, TopK};
pub use joined::Joined;
pub use library::{ByDtype, Library, Rates, Words};
pub use region::{Arg, Grouped, Index, Inst, InstOp, Level, Region, Value};
pub use summed::{LaneSum, Summed};
pub use text::{MAX_AXES, ParseError, parse_regions};

use unigrad_scalar::DType;

/// What a launch can pass at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Buffers.
    pub buffers: usize,
    /// Bytes of all arguments together.
    pub bytes: usize,
    /// Bytes of them that one buffer takes.
    pub buffer_bytes: usize,
    /// Whether several arguments that are written may be one buffer, of which each writes elements of its own.
    pub shares: bool,
}

impl Limits {
    /// Of a device that takes whatever there is.
    pub const NONE: Limits = Limits { buffers: usize::MAX, bytes: usize::MAX, buffer_bytes: 8, shares: false };
}

/// One launch.
///
/// A launch passes one buffer per entry of [`Kernel::args`], in order, and one 64-bit word per entry of [`Kernel::scalars`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kernel {
    Region(Region),
    Grouped(Grouped),
    Joined(Joined),
    Crossed(Crossed),
    Contract(Contract),
    Summed(Summed),
    Attention(Attention),
    AttentionGrad(AttentionGrad),
    Scan(Scan),
    Scatter(Scatter),
    ArgSort(ArgSort),
    TopK(TopK),
    MaxPool(MaxPool),
    Custom(Custom),
}

impl Kernel {
    /// The buffers a launch passes, in order.
    pub fn args(&self) -> Vec<Arg> {
        match self {
            Kernel::Region(k) => k.args.clone(),
            Kernel::Grouped(k) => k.args(),
            Kernel::Joined(k) => k.args(),
            Kernel::Crossed(k) => k.args(),
            Kernel::Contract(k) => k.args(),
            Kernel::Summed(k) => k.args(),
            Kernel::Attention(k) => k.args(),
            Kernel::AttentionGrad(k) => k.args(),
            Kernel::Scan(k) => k.args(),
            Kernel::Scatter(k) => k.args(),
            Kernel::ArgSort(k) => k.args(),
            Kernel::TopK(k) => k.args(),
            Kernel::MaxPool(k) => k.args(),
            Kernel::Custom(k) => k.args.clone(),
        }
    }

    /// How many buffers a launch passes.
    pub fn n_args(&self) -> usize {
        match self {
            Kernel::Region(k) => k.args.len(),
            Kernel::Grouped(k) => k.region.args.len() * k.lens.len(),
            Kernel::Joined(k) => k.parts.iter().map(Kernel::n_args).sum(),
            Kernel::Crossed(k) => k.n_args(),
            Kernel::Summed(k) => k.n_args(),
            Kernel::Contract(_) | Kernel::Attention(_) | Kernel::AttentionGrad(_) | Kernel::Scan(_) | Kernel::Scatter(_) => {
                self.args().len()
            }
            Kernel::ArgSort(_) | Kernel::TopK(_) | Kernel::MaxPool(_) | Kernel::Custom(_) => self.args().len(),
        }
    }

    /// The dtypes of the run-time scalars a launch passes, in order. Each travels as [`unigrad_scalar::Literal::to_raw`].
    pub fn scalars(&self) -> Vec<DType> {
        match self {
            Kernel::Region(k) => k.scalars.clone(),
            Kernel::Grouped(k) => k.scalars(),
            Kernel::Joined(k) => k.scalars(),
            Kernel::Crossed(k) => k.scalars(),
            Kernel::Contract(k) => k.epilogue.as_ref().map_or_else(Vec::new, |e| e.scalars.clone()),
            Kernel::Summed(k) => k.scalars(),
            Kernel::Attention(k) => k.scalars(),
            Kernel::AttentionGrad(k) => k.forward.scalars(),
            Kernel::Custom(k) => k.scalars.clone(),
            Kernel::Scan(_) | Kernel::Scatter(_) | Kernel::ArgSort(_) | Kernel::TopK(_) | Kernel::MaxPool(_) => Vec::new(),
        }
    }

    /// Short name of the kind, for plans: `map`, `row`, `contract`, …
    pub fn kind(&self) -> &'static str {
        match self {
            Kernel::Region(r) if r.n_parallel == r.axes.len() => "map",
            Kernel::Region(_) => "row",
            Kernel::Grouped(_) => "grouped",
            Kernel::Joined(_) => "joined",
            Kernel::Crossed(_) => "crossed",
            Kernel::Contract(_) => "contract",
            Kernel::Summed(_) => "contract.sums",
            Kernel::Attention(_) => "attention",
            Kernel::AttentionGrad(_) => "attention.grad",
            Kernel::Scan(_) => "scan",
            Kernel::Scatter(_) => "scatter",
            Kernel::ArgSort(_) => "argsort",
            Kernel::TopK(_) => "topk",
            Kernel::MaxPool(_) => "max_pool",
            Kernel::Custom(_) => "custom",
        }
    }

    /// Floating-point operations of one launch, for reports; 0 where the notion is of no use.
    pub fn flops(&self) -> f64 {
        match self {
            Kernel::Contract(k) => k.flops(),
            Kernel::Summed(k) => k.product.flops(),
            Kernel::Attention(k) => k.flops(),
            Kernel::Joined(k) => k.parts.iter().map(Kernel::flops).sum(),
            Kernel::AttentionGrad(k) => 2.5 * k.forward.flops(),
            Kernel::Region(_)
            | Kernel::Grouped(_)
            | Kernel::Crossed(_)
            | Kernel::Scan(_)
            | Kernel::Scatter(_)
            | Kernel::ArgSort(_)
            | Kernel::TopK(_)
            | Kernel::MaxPool(_)
            | Kernel::Custom(_) => 0.0,
        }
    }
}
