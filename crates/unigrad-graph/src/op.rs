//! The closed set of ops. Every pass matches on it without `_`, so a new op fails to compile until each pass has decided about it.

use crate::{Composite, Error, Expr, Loop};
use smallvec::SmallVec;
use std::{fmt, hash, sync::Arc};
use unigrad_scalar::{ArgReduceOp, AttentionSpec, BinaryOp, Literal, PoolSpec, ReduceOp, ScanOp, ScatterMode, UnaryOp, UserProgram};

/// Names a trainable or otherwise differentiable leaf: where gradients arrive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct VariableId(pub u64);

/// One axis of a slice: element `i` of the result is element `start + i * step` of the input.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct SliceAxis {
    pub start: usize,
    pub step: i64,
    pub len: usize,
}

/// One axis of a pad: `interior` fill elements between neighbours, then `lo` and `hi` at the ends (never negative).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs)]
pub struct PadAxis {
    pub lo: usize,
    pub hi: usize,
    pub interior: usize,
}

/// Convolution settings, one entry per spatial dimension.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct ConvSpec {
    pub stride: SmallVec<[usize; 3]>,
    /// Zeros before and after.
    pub padding: SmallVec<[(usize, usize); 3]>,
    pub dilation: SmallVec<[usize; 3]>,
    pub groups: usize,
}

/// A launch of a program that the user wrote.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct KernelSpec {
    pub program: Arc<UserProgram>,
    /// Workgroups.
    pub grid: [u32; 3],
    /// How many of the node's inputs are tensors; numbers follow.
    pub n_tensors: usize,
}

/// A gradient that the user gives for a function of their own.
pub trait CustomGradient: Send + Sync + fmt::Debug {
    /// The function's name.
    fn name(&self) -> &str;
    /// Gradients for `inputs`, in order, from the function's `output` and the gradient `dy` that reached it.
    fn backward(&self, inputs: &[Expr], output: &Expr, dy: &Expr) -> Result<Vec<Option<Expr>>, Error>;
}

/// What a node does to its inputs. Elementwise inputs have the node's shape; broadcasting is an explicit `Expand`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    // Leaves.
    /// Realized data: the node's storage. Always contiguous.
    Buffer,
    /// One constant in every element; part of the plan's key.
    Const(Literal),
    /// One run-time value in every element (its value is in the node, outside of the plan's key).
    Scalar,
    /// The index along the axis.
    Iota {
        /// Which.
        axis: usize,
    },
    /// Word `word` of Philox4x32-10 at each element's row-major index; `U32`. Inputs: rank-0 `U64` scalars seed, offset.
    Random {
        /// 0 to 3.
        word: u8,
    },
    /// The identity; the place where a gradient arrives and stops.
    Variable(VariableId),

    // Maps.
    /// Elementwise, one argument.
    Unary(UnaryOp),
    /// Elementwise, two arguments of one dtype.
    Binary(BinaryOp),
    /// `if 0 { 1 } else { 2 }`.
    Where,
    /// To the node's dtype.
    Cast,
    /// The same bits in the node's dtype, of the same size.
    Bitcast,
    /// An `I64` index checked to be in `-size..size`, and wrapped to `0..size`; or checked to be in `0..size`.
    Bounded {
        /// Elements of the indexed axis.
        size: usize,
        /// Whether negative ones count from the end.
        from_end: bool,
    },

    // Views.
    /// The same elements in row-major order.
    Reshape,
    /// Axis `i` of the result is axis `perm[i]` of the input.
    Permute(SmallVec<[u8; 8]>),
    /// NumPy's `broadcast_to` the node's shape.
    Expand,
    /// A part, with steps.
    Slice(Box<[SliceAxis]>),
    /// Fill around and between.
    Pad(Box<[PadAxis]>, Literal),
    /// Inputs one after another.
    Concat {
        /// Along which axis.
        axis: usize,
    },
    /// Sliding windows: axis `axis` becomes the number of windows, and a new last axis runs within a window.
    /// Element `[.., w, .., j]` is input `[.., w * step + j * dilation, ..]`.
    Window {
        /// Which axis.
        axis: usize,
        /// Elements of a window.
        size: usize,
        /// Distance of windows.
        step: usize,
        /// Distance of a window's elements.
        dilation: usize,
    },
    /// A part of fixed length (the node's) that begins at a run-time position. Inputs: x, start (rank 0, `I64`), which must be in range.
    DynSlice {
        /// Along which axis.
        axis: usize,
    },
    /// The first input with the second written over it from a run-time position on. Inputs: base, update, start (rank 0, `I64`).
    DynUpdate {
        /// Along which axis.
        axis: usize,
    },

    // Reductions and scans.
    /// Over the axes of the mask, which keep size 1.
    Reduce(ReduceOp, u32),
    /// The first extreme element's index (`I64`) along one axis, which keeps size 1.
    ArgReduce(ArgReduceOp, usize),
    /// A running reduction.
    Scan {
        /// Of what.
        op: ScanOp,
        /// Along which axis.
        axis: usize,
        /// From the end.
        reverse: bool,
    },

    // Data-dependent access.
    /// `out[p] = x[p with p[axis] := index[p]]`. Inputs: x, index (`I64`, the node's shape; equal to x's but along the axis).
    Gather {
        /// Along which axis.
        axis: usize,
    },
    /// `out = base; out[p with p[axis] := index[p]] op= src[p]`. Inputs: base, index (`I64`), src (index's shape, at most base's).
    Scatter {
        /// Along which axis.
        axis: usize,
        /// What happens where they meet.
        mode: ScatterMode,
    },
    /// Stable argsort; `I64`.
    ArgSort {
        /// Along which axis.
        axis: usize,
        /// Greatest first.
        descending: bool,
    },
    /// Indices of the `k` best; `I64`.
    TopK {
        /// Along which axis.
        axis: usize,
        /// How many.
        k: usize,
        /// Greatest, not least.
        largest: bool,
    },

    // Contractions.
    /// `[batch.., m, k] @ [batch.., k, n]`; equal batch sizes.
    MatMul,
    /// Inputs: x `[n, c, spatial..]`, w `[o, c / groups, kernel..]`.
    Conv(Arc<ConvSpec>),
    /// The gradient with respect to x; the node has its shape. Inputs: dy, w.
    ConvDataGrad(Arc<ConvSpec>),
    /// The gradient with respect to w; the node has its shape. Inputs: x, dy.
    ConvWeightGrad(Arc<ConvSpec>),
    /// Parts: each window's maximum, and where it is: the row-major index (`I64`) within the spatial dimensions. Input: x `[n, c, spatial..]`.
    MaxPool(Arc<PoolSpec>),

    // Composites that stay nodes, with a decomposition.
    /// Over one axis.
    Softmax {
        /// Which.
        axis: usize,
    },
    /// Over one axis.
    LogSoftmax {
        /// Which.
        axis: usize,
    },
    /// `(x - mean) / sqrt(var + eps)` over the last `axes` axes, or without the mean: `x / sqrt(mean(x²) + eps)`.
    Normalize {
        /// How many trailing axes.
        axes: usize,
        /// Subtract the mean (layer norm) or not (RMS norm).
        center: bool,
        /// Bits of the `f64` epsilon.
        eps_bits: u64,
    },
    /// Parts: out `[b, h, t, dv]`, lse `[b, h, t]`. Inputs: q, k, v, (bias), kv_len, q_offset (scalars `I64`), (seed, offset: scalars `U64`).
    Attention(Arc<AttentionSpec>),
    /// Parts: dq, dk, dv. Inputs: those of `Attention`, then out, lse, dout.
    AttentionGrad(Arc<AttentionSpec>),

    /// Several ops at once; parts: their results.
    Composite(Arc<Composite>),
    /// Several ops for each element of sequences, one after the other; parts: the last states, then what each step gives, in a sequence. Inputs:
    /// the states before the first step, the sequences (along axis 0), what every step takes.
    Loop(Arc<Loop>),

    // Structure.
    /// Part `i` of a node with several outputs.
    Part(usize),
    /// The first input's value, but computed apart: nothing is shared through it, and not before the others are there. Holds recomputation back.
    Barrier,
    /// A program that the user wrote. Inputs that are `Scalar`s are passed after the buffers.
    Kernel(Arc<KernelSpec>),
    /// The first input's value, with the user's gradient for the other inputs.
    Custom(CustomOp),
    /// The input's value on the node's device.
    Copy,
    /// What an assignment gives: input 0, the new value; but input 1, the value before, where input 2 (`Bool`, rank 0, if there is one) is
    /// false, and where any index that the same evaluation checks is out of range. So an evaluation that fails on the device changes nothing.
    /// Others of the same evaluation that read the node see what they would if nothing failed: their own errors tell. With a number, input 0 is a
    /// composite, and the new value that result of it: it needs no [`Op::Part`].
    Commit(Option<u32>),
    /// An op that could not be built.
    Invalid(InvalidOp),
}

/// A user's function as a node; equal only to itself.
#[derive(Clone, Debug)]
pub struct CustomOp(pub Arc<dyn CustomGradient>);

impl PartialEq for CustomOp {
    fn eq(&self, other: &CustomOp) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CustomOp {}

impl hash::Hash for CustomOp {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).cast::<()>().hash(state);
    }
}

/// The error of an op that could not be built; equal only to itself.
#[derive(Clone, Debug)]
pub struct InvalidOp(pub Arc<Error>);

impl PartialEq for InvalidOp {
    fn eq(&self, other: &InvalidOp) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for InvalidOp {}

impl hash::Hash for InvalidOp {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

impl Op {
    /// Whether it only moves elements, or makes other ones of them bit by bit: what can be done to dtypes that only store.
    pub fn moves(&self) -> bool {
        match self {
            Op::Buffer | Op::Const(_) | Op::Scalar | Op::Variable(_) | Op::Where | Op::Cast | Op::Bitcast => true,
            Op::Reshape | Op::Permute(_) | Op::Expand | Op::Slice(_) | Op::Pad(..) | Op::Concat { .. } | Op::Window { .. } => true,
            Op::DynSlice { .. } | Op::DynUpdate { .. } | Op::Gather { .. } => true,
            Op::Scatter { mode, .. } => *mode == ScatterMode::Set,
            Op::Composite(_) | Op::Loop(_) | Op::Part(_) | Op::Barrier | Op::Custom(_) | Op::Copy | Op::Commit(_) | Op::Invalid(_) => true,
            Op::Iota { .. } | Op::Random { .. } | Op::Unary(_) | Op::Binary(_) | Op::Bounded { .. } => false,
            Op::Reduce(..) | Op::ArgReduce(..) | Op::Scan { .. } | Op::ArgSort { .. } | Op::TopK { .. } | Op::MatMul => false,
            Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) | Op::MaxPool(_) => false,
            Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } | Op::Attention(_) | Op::AttentionGrad(_) => false,
            // A user's program sees the bytes, and there is no language with the type.
            Op::Kernel(_) => false,
        }
    }

    /// The name in plans and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Buffer => "buffer",
            Op::Const(_) => "const",
            Op::Scalar => "scalar",
            Op::Iota { .. } => "iota",
            Op::Random { .. } => "random",
            Op::Variable(_) => "variable",
            Op::Unary(op) => op.name(),
            Op::Binary(op) => op.name(),
            Op::Where => "where",
            Op::Cast => "cast",
            Op::Bitcast => "bitcast",
            Op::Bounded { .. } => "bounded",
            Op::Reshape => "reshape",
            Op::Permute(_) => "permute",
            Op::Expand => "expand",
            Op::Slice(_) => "slice",
            Op::Pad(..) => "pad",
            Op::Concat { .. } => "concat",
            Op::Window { .. } => "window",
            Op::DynSlice { .. } => "dyn_slice",
            Op::DynUpdate { .. } => "dyn_update",
            Op::Reduce(op, _) => op.name(),
            Op::ArgReduce(op, _) => op.name(),
            Op::Scan { op, .. } => op.name(),
            Op::Gather { .. } => "gather",
            Op::Scatter { .. } => "scatter",
            Op::ArgSort { .. } => "argsort",
            Op::TopK { .. } => "topk",
            Op::MatMul => "matmul",
            Op::Conv(_) => "conv",
            Op::ConvDataGrad(_) => "conv.dx",
            Op::ConvWeightGrad(_) => "conv.dw",
            Op::MaxPool(_) => "max_pool",
            Op::Softmax { .. } => "softmax",
            Op::LogSoftmax { .. } => "log_softmax",
            Op::Normalize { center: true, .. } => "layer_norm",
            Op::Normalize { center: false, .. } => "rms_norm",
            Op::Attention(_) => "attention",
            Op::AttentionGrad(_) => "attention.grad",
            Op::Composite(composite) => composite.name(),
            Op::Loop(_) => "scan",
            Op::Part(_) => "part",
            Op::Barrier => "barrier",
            Op::Kernel(_) => "kernel",
            Op::Custom(_) => "custom",
            Op::Copy => "copy",
            Op::Commit(_) => "commit",
            Op::Invalid(_) => "invalid",
        }
    }
}
