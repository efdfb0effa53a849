//! What sizes and strides decide of a product: how `b` is read, how `k` is cut, where tiles go.
//!
//! In: a [`Problem`], the instruction set. Out: its [`Blocking`]. Always: the same problem gives the same blocking, whatever the number of threads.
//! Never: looks at memory.

use super::{Compute, Kernels, Operand, Output, Problem, SHARED_K};
use crate::contract::axis::Axis;
use crate::simd::{Bf16, Tier};
use unigrad_scalar::DType;

/// Most rows for which `b` is used in place: with fewer uses, packing costs more than it gains.
const IN_PLACE_ROWS: usize = 64;
/// The same where rows of `b` are near each other, at most so many elements apart: they share pages.
const IN_PLACE_ROWS_NEAR: usize = 128;
const NEAR: u64 = 512;
/// Most rows for which a product is bound by reading `b`: then a pass takes few steps of `k` and sweeps along all columns, as memory likes it.
const STREAM_ROWS: usize = 6;
const STREAM_KC: usize = 32;
/// Most rows for which a `b` that is contiguous along `k` is used in place, by dot products.
const DOT_ROWS: usize = 24;

/// How `b` is read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Mode {
    /// From packed panels.
    Panels,
    /// Where it lies, a row of contiguous columns per step of `k`, which are `step` apart.
    InPlace { step: i64 },
    /// Where it lies, a column of contiguous `k` at a time, which are `stride` apart.
    Dot { stride: i64 },
}

/// What sizes and strides decide.
#[derive(Clone, Debug)]
pub(crate) struct Blocking {
    pub(super) mode: Mode,
    /// How operands are multiplied if they are `bf16`; `Widened` for all others.
    pub(super) bf16: Bf16,
    /// Steps of `k` that panels hold in one element: two where they hold pairs, else one. All other lengths along `k` count such elements.
    pub(super) unit: usize,
    /// Elements of `k`, those that panels are filled up with included.
    pub(super) k: usize,
    /// Of these, per pass over a tile.
    pub(super) kc: usize,
    /// Parts that `k` is split into, computed independently and added in order.
    pub(super) splits: usize,
    /// Tiles go straight to `c`: its leading dimension.
    pub(super) direct: Option<usize>,
    /// Whether items are small enough for one task to pack its own panels.
    pub(super) small: bool,
}

impl Blocking {
    /// `bf16`: how the processor multiplies `bf16`.
    pub(crate) fn new<T: Compute>(p: &Problem, tier: Tier, bf16: Bf16) -> Blocking {
        let kernels = T::kernels(tier);
        // What lies in no memory is packed.
        let unit_k = p.k > 1 && p.b.k.uniform() == Some(1) && !p.b.is_made;
        let unit_n = p.b.lanes.uniform().is_some_and(|s| s == 1 || p.n == 1) && !p.b.is_made;
        let dot = p.b.lanes.uniform().filter(|_| p.m <= DOT_ROWS && unit_k && kernels.dot_loads.contains(&p.b.dtype));
        let near = |step: i64| p.m <= IN_PLACE_ROWS || p.m <= IN_PLACE_ROWS_NEAR && step.unsigned_abs() <= NEAR;
        let in_place = p.b.k.uniform().filter(|step| unit_n && p.b.dtype == T::DTYPE && near(*step));
        let mode = match (dot, in_place) {
            (Some(stride), _) => Mode::Dot { stride },
            (None, Some(step)) => Mode::InPlace { step },
            (None, None) => Mode::Panels,
        };
        // Pairs are packed fast along either direction; from other places elements are better widened.
        let is_paired = |operand: &Operand| {
            let along = |axis: &Axis| axis.uniform() == Some(1);
            operand.dtype == DType::BF16 && (operand.is_made || along(&operand.lanes) || along(&operand.k))
        };
        let of_halves = T::bf16(bf16).filter(|_| mode == Mode::Panels && is_paired(&p.a) && is_paired(&p.b));
        let most = match mode {
            Mode::Dot { .. } => SHARED_K,
            Mode::InPlace { .. } if p.m <= STREAM_ROWS => STREAM_KC,
            Mode::InPlace { .. } | Mode::Panels => of_halves.unwrap_or(kernels).kc,
        };
        let bf16 = if of_halves.is_some() { bf16 } else { Bf16::Widened };
        let unit = if of_halves.is_some() { 2 } else { 1 };
        let multiple = of_halves.unwrap_or(kernels).k_multiple;
        let k = p.k.div_ceil(unit).next_multiple_of(multiple);
        let passes = k.div_ceil(most).max(1);
        // Few outputs and long sums: only `k` is left to spread over threads.
        let outputs = p.batch * p.m * p.n;
        let splits = if outputs <= 1 << 16 && p.k >= 4096 { (p.k / 2048).min(16).next_power_of_two() } else { 1 };
        let direct = match &p.c {
            Output::Memory { dtype, rows, cols, .. } if *dtype == T::DTYPE => match (rows.uniform(), cols.uniform()) {
                (Some(row), Some(1)) if row >= 0 => Some(row as usize),
                (Some(row), Some(0)) if row >= 0 && p.n == 1 => Some(row as usize),
                _ => None,
            },
            Output::Memory { .. } | Output::Epilogue { .. } => None,
        };
        let small = p.m <= 256 && p.n <= 1024 && p.m * p.k <= 1 << 18 && p.n * p.k <= 1 << 19 || mode != Mode::Panels;
        let kc = k.div_ceil(passes).max(1).next_multiple_of(multiple);
        Blocking { mode, bf16, unit, k, kc, splits, direct, small }
    }

    /// The loops that it is for.
    pub(super) fn kernels<T: Compute>(&self, tier: Tier) -> &'static Kernels<T> {
        T::bf16(self.bf16).unwrap_or_else(|| T::kernels(tier))
    }
}
