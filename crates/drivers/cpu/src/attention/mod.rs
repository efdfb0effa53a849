//! Attention on the CPU, without materialized scores (Dao, "FlashAttention-2").
//!
//! In: an [`Attention`] or its gradient, and buffers. Out: the output and the logarithms of the sums, or the three gradients.
//! Always: the bits of a result depend on the sizes and the instruction set, not on threads or timing; blocks that the mask hides are skipped.
//! Never: holds more scores than one block of queries by one block of keys per thread.
//!
//! Blocks are transposed: rows are keys, and vectors run over queries. Softmax is then lane by lane, and a block of
//! probabilities is an operand of the next product as it lies. [`forward`] does blocks of queries, [`decode`] few queries against
//! many keys, [`backward`] the gradients, all from the microkernels of [`crate::contract`] ([`products`]); [`math`] is what is between products.

mod backward;
mod decode;
mod forward;
mod math;
mod products;
#[cfg(test)]
mod tests;

use crate::contract::kernel::Kernels;
use crate::contract::output::{Store, StoreAs};
use crate::contract::pack::{PackArgs, find_runs};
use crate::memory::Buf;
use crate::region::{LaneFn, logarithm};
use crate::simd::{Tier, tier};
use crate::threads::threads;
use math::{Math, Visible, philox_word0};
use std::ops::Range;
use unigrad_kernel::{Attention, AttentionGrad, Layout4};
use unigrad_scalar::DType;

/// Runs the forward pass over the thread pool.
///
/// # Safety
/// `args` match the kernel's arguments in order, dtype and length, and nothing else uses the written ones meanwhile.
pub(crate) unsafe fn forward(kernel: &Attention, args: &[Buf], scalars: &[u64]) {
    // SAFETY: the caller's.
    unsafe { forward_on(kernel, args, scalars, tier(), threads()) }
}

/// Runs the backward pass over the thread pool.
///
/// # Safety
/// As for `forward`.
pub(crate) unsafe fn backward(kernel: &AttentionGrad, args: &[Buf], scalars: &[u64]) {
    // SAFETY: the caller's.
    unsafe { backward_on(kernel, args, scalars, tier(), threads()) }
}

unsafe fn forward_on(kernel: &Attention, args: &[Buf], scalars: &[u64], tier: Tier, threads: usize) {
    // SAFETY: the caller's.
    unsafe {
        if kernel.dtype == DType::F64 {
            forward::run(&Context::<f64>::new(kernel, args, scalars, tier), threads);
        } else {
            forward::run(&Context::<f32>::new(kernel, args, scalars, tier), threads);
        }
    }
}

unsafe fn backward_on(kernel: &AttentionGrad, args: &[Buf], scalars: &[u64], tier: Tier, threads: usize) {
    // SAFETY: the caller's.
    unsafe {
        if kernel.forward.dtype == DType::F64 {
            backward::run(&Context::<f64>::new(&kernel.forward, args, scalars, tier), kernel, threads);
        } else {
            backward::run(&Context::<f32>::new(&kernel.forward, args, scalars, tier), kernel, threads);
        }
    }
}

/// A type that attention computes in.
trait Real: StoreAs {
    const NEG_INFINITY: Self;
    fn math(tier: Tier) -> &'static Math<Self>;
    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    /// `1 / self`.
    fn recip(self) -> Self;
}

impl Real for f32 {
    const NEG_INFINITY: f32 = f32::NEG_INFINITY;
    fn math(tier: Tier) -> &'static Math<f32> {
        math::math_f32(tier)
    }
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
    #[inline(always)]
    fn recip(self) -> f32 {
        1.0 / self
    }
}

impl Real for f64 {
    const NEG_INFINITY: f64 = f64::NEG_INFINITY;
    fn math(tier: Tier) -> &'static Math<f64> {
        math::math_f64(tier)
    }
    fn from_f64(x: f64) -> f64 {
        x
    }
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn recip(self) -> f64 {
        1.0 / self
    }
}

/// A tensor argument.
#[derive(Clone, Copy)]
struct Tensor {
    ptr: *mut u8,
    dtype: DType,
    layout: Layout4,
}

impl Tensor {
    fn new(buf: &Buf, layout: Layout4) -> Tensor {
        Tensor { ptr: buf.ptr, dtype: buf.dtype, layout }
    }

    /// The first feature at a position.
    fn at(&self, batch: usize, head: usize, position: usize) -> *mut u8 {
        let [b, h, p, _] = self.layout.strides;
        let offset = self.layout.offset + batch as i64 * b + head as i64 * h + position as i64 * p;
        self.ptr.wrapping_offset(offset as isize * self.dtype.size() as isize)
    }

    fn position_stride(&self) -> i64 {
        self.layout.strides[2]
    }

    fn feature_stride(&self) -> i64 {
        self.layout.strides[3]
    }
}

/// A launch: arguments, scalars and the loops of a tier.
struct Context<'a, T: 'static> {
    kernel: &'a Attention,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Option<Tensor>,
    /// The arguments after the inputs.
    rest: &'a [Buf],
    positions: Positions,
    scale: T,
    seed: u64,
    philox_offset: u64,
    kernels: &'static Kernels<T>,
    math: &'static Math<T>,
    /// Logarithms, lane by lane.
    log: LaneFn,
}

// SAFETY: tasks share the inputs for reading and write disjoint parts of the outputs.
unsafe impl<T> Sync for Context<'_, T> {}

impl<'a, T: Real> Context<'a, T> {
    fn new(kernel: &'a Attention, args: &'a [Buf], scalars: &[u64], tier: Tier) -> Self {
        let n_inputs = kernel.n_inputs();
        let (positions, random) = if kernel.spec.positions.is_tensor() {
            (Positions::Each(args[n_inputs - 1].ptr.cast::<i32>()), 0)
        } else {
            (Positions::Same { kv_len: scalars[0] as i64, q_offset: scalars[1] as i64 }, 2)
        };
        // Without dropout there are no such scalars, and nothing reads them.
        let (seed, philox_offset) = if kernel.spec.dropout.is_some() { (scalars[random], scalars[random + 1]) } else { (0, 0) };
        Context {
            kernel,
            q: Tensor::new(&args[0], kernel.q),
            k: Tensor::new(&args[1], kernel.k),
            v: Tensor::new(&args[2], kernel.v),
            bias: kernel.bias.map(|(layout, _)| Tensor::new(&args[3], layout)),
            rest: &args[n_inputs..],
            positions,
            scale: T::from_f64(f64::from_bits(kernel.spec.scale_bits)),
            seed,
            philox_offset,
            kernels: T::kernels(tier),
            math: T::math(tier),
            log: logarithm(T::DTYPE == DType::F64, tier),
        }
    }

    /// What the queries of a sequence see.
    fn visible(&self, batch: usize) -> Visible {
        let kernel = self.kernel;
        let (kv_len, q_offset) = match self.positions {
            Positions::Same { kv_len, q_offset } => (kv_len, q_offset),
            Positions::Each(table) => {
                let row = table.wrapping_add(batch * kernel.position_columns());
                // SAFETY: the positions have a row for each sequence, of two columns at least.
                unsafe { ((*row).into(), (*row.wrapping_add(1)).into()) }
            }
        };
        let n_keys = kv_len.clamp(0, kernel.k_len as i64) as usize;
        Visible { causal: kernel.spec.causal, window: kernel.spec.window, q_offset, n_keys }
    }

    /// Of all sequences, the end of the keys that some query sees: of a cache, those that have been written so far.
    fn most_keys(&self) -> usize {
        let end = |batch: usize| self.visible(batch).keys(0, self.kernel.q_len).end;
        match self.positions {
            Positions::Same { .. } => end(0),
            Positions::Each(_) => (0..self.kernel.batch).map(end).max().unwrap_or(0),
        }
    }

    /// Where keys or values `range` of a head are: an address, and the way from each to the next. `list` holds the way if they are in pages.
    fn rows<'l>(&self, x: &Tensor, (batch, head): (usize, usize), range: Range<usize>, list: &'l mut Vec<i64>) -> (*mut u8, Along<'l>) {
        let (Some(pages), Positions::Each(table)) = (self.kernel.pages, self.positions) else {
            return (x.at(batch, head, range.start), Along::Stride(range.len(), x.position_stride()));
        };
        let row = table.wrapping_add(batch * self.kernel.position_columns() + unigrad_scalar::Positions::COLUMNS);
        list.clear();
        list.extend(range.map(|position| {
            // SAFETY: the table has a page for each of `k_len` keys, and lengths are not beyond.
            let page = unsafe { *row.wrapping_add(position / pages.size) };
            let page = i64::from(page).clamp(0, pages.count as i64 - 1);
            page * x.layout.strides[0] + (position % pages.size) as i64 * x.position_stride()
        }));
        (x.at(0, head, 0), Along::List(list))
    }

    /// Queries of a block: two registers.
    fn width(&self) -> usize {
        self.kernels.nr
    }

    /// Width of the panels that cut `len` rows into equal tiles.
    fn panel(&self, len: usize) -> usize {
        len.div_ceil(len.div_ceil(self.kernels.mr).max(1)).max(1)
    }

    /// Packs lanes by steps into panels of `width`; the last is as narrow as its lanes, or padded with zeros.
    #[allow(clippy::too_many_arguments)]
    unsafe fn pack<'l, 's>(
        &self,
        src: *const u8,
        dtype: DType,
        lanes: impl Into<Along<'l>>,
        steps: impl Into<Along<'s>>,
        to: *mut T,
        width: usize,
        padded: bool,
        offsets: &mut Offsets,
    ) {
        let (lanes, steps) = (lanes.into(), steps.into());
        let (n_lanes, n_steps) = (lanes.len(), steps.len());
        if n_lanes == 0 || n_steps == 0 || width == 0 {
            // Attention without features: nothing to lay out.
            return;
        }
        offsets.steps.clear();
        steps.extend(0..n_steps, &mut offsets.steps);
        steps.find_runs(&offsets.steps, &mut offsets.runs);
        for first in (0..n_lanes).step_by(width) {
            let n = width.min(n_lanes - first);
            offsets.lanes.clear();
            lanes.extend(first..first + n, &mut offsets.lanes);
            // SAFETY: the caller's buffer holds the panels; offsets are inside the tensor.
            unsafe {
                (self.kernels.pack)(&PackArgs {
                    src,
                    dtype,
                    lanes: &offsets.lanes,
                    steps: &offsets.steps,
                    runs: &offsets.runs,
                    dst: to.add(first * n_steps),
                    width: if padded { width } else { n },
                    ld: if padded { width } else { n },
                });
            }
        }
    }

    /// Lays out the bias of a block like its scores.
    unsafe fn pack_bias(
        &self,
        (batch, head): (usize, usize),
        (first, n): (usize, usize),
        (key, n_keys): (usize, usize),
        to: *mut T,
        offsets: &mut Offsets,
    ) {
        let Some(bias) = &self.bias else { return };
        let src = bias.at(batch, head, first).wrapping_offset(bias.feature_stride() as isize * key as isize * bias.dtype.size() as isize);
        // SAFETY: the caller's buffer holds the block.
        unsafe {
            self.pack(src, bias.dtype, (n, bias.position_stride()), (n_keys, bias.feature_stride()), to, self.width(), true, offsets);
        }
    }

    /// Factors of dropout for a block, laid out like its scores.
    unsafe fn fill_dropout(&self, (batch, head): (usize, usize), (first, n): (usize, usize), (key, n_keys): (usize, usize), to: *mut T) {
        const N: usize = 8;
        let Some(dropout) = &self.kernel.spec.dropout else { return };
        let keep = f32::from_bits(dropout.keep_bits);
        let kept = T::from_f64(1.0 / f64::from(keep));
        let kernel = self.kernel;
        let base = ((batch * kernel.heads + head) * kernel.q_len + first) as u64;
        let width = self.width();
        for j in 0..n_keys {
            for i in (0..n).step_by(N) {
                let indices = std::array::from_fn(|lane| (base + (i + lane) as u64) * kernel.k_len as u64 + (key + j) as u64);
                let words = philox_word0::<N>(indices, self.philox_offset, self.seed);
                for (lane, word) in words.iter().enumerate().take(N.min(width - i)) {
                    let uniform = (word >> 8) as f32 * (1.0 / (1 << 24) as f32);
                    // SAFETY: the caller's buffer holds rows of `width`.
                    unsafe { *to.add(j * width + i + lane) = if uniform < keep { kept } else { T::default() } }
                }
            }
            for i in n.next_multiple_of(N).min(width)..width {
                // SAFETY: as above.
                unsafe { *to.add(j * width + i) = T::default() }
            }
        }
    }

    /// Writes `n` positions from `[features][width]` to a tensor, by way of `[n][features]` in `temporary`.
    #[allow(clippy::too_many_arguments)]
    unsafe fn write_transposed(
        &self,
        from: *const T,
        features: usize,
        n: usize,
        to: &Tensor,
        (batch, head, first): (usize, usize, usize),
        temporary: *mut T,
        offsets: &mut Offsets,
    ) {
        if to.dtype == T::DTYPE
            && to.feature_stride() == 1
            && let Ok(ld) = usize::try_from(to.position_stride())
            && n > 0
            && features > 0
        {
            offsets.lanes.clear();
            offsets.lanes.extend((0..features as i64).map(|i| i * self.width() as i64));
            offsets.steps.clear();
            offsets.steps.extend(0..n as i64);
            find_runs(&offsets.steps, &mut offsets.runs);
            // SAFETY: the caller's: a panel of all features, a step of which is a position of the tensor.
            return unsafe {
                (self.kernels.pack)(&PackArgs {
                    src: from.cast(),
                    dtype: T::DTYPE,
                    lanes: &offsets.lanes,
                    steps: &offsets.steps,
                    runs: &offsets.runs,
                    dst: to.at(batch, head, first).cast(),
                    width: features,
                    ld,
                });
            };
        }
        // SAFETY: the caller's.
        unsafe {
            self.pack(from.cast(), T::DTYPE, (features, self.width() as i64), (n, 1), temporary, features, false, offsets);
            self.write(temporary, features, n, to, (batch, head, first), offsets);
        }
    }

    /// Writes `n` positions from `[n][features]` to a tensor.
    unsafe fn write(
        &self,
        from: *const T,
        features: usize,
        n: usize,
        to: &Tensor,
        (batch, head, first): (usize, usize, usize),
        offsets: &mut Offsets,
    ) {
        offsets.steps.clear();
        offsets.steps.extend((0..n as i64).map(|i| i * to.position_stride()));
        offsets.lanes.clear();
        offsets.lanes.extend((0..features as i64).map(|i| i * to.feature_stride()));
        let out = to.at(batch, head, first);
        if n == 0 || features == 0 {
            return;
        }
        // SAFETY: the caller's.
        unsafe {
            T::store(
                &Store { tier: self.kernels.tier, sums: from, ld: features, out, rows: &offsets.steps, cols: &offsets.lanes },
                to.dtype,
            )
        }
    }
}

/// Lengths and offsets of sequences.
#[derive(Clone, Copy)]
enum Positions {
    Same {
        kv_len: i64,
        q_offset: i64,
    },
    /// As the kernel's positions.
    Each(*const i32),
}

/// Elements from a first one to each of several.
#[derive(Clone, Copy)]
enum Along<'a> {
    /// So many, so far apart.
    Stride(usize, i64),
    List(&'a [i64]),
}

impl From<(usize, i64)> for Along<'_> {
    fn from((len, stride): (usize, i64)) -> Self {
        Along::Stride(len, stride)
    }
}

impl Along<'_> {
    fn len(&self) -> usize {
        match self {
            Along::Stride(len, _) => *len,
            Along::List(list) => list.len(),
        }
    }

    /// As [`find_runs`], of all of them.
    fn find_runs(&self, offsets: &[i64], runs: &mut Vec<usize>) {
        match self {
            Along::Stride(len, stride) if *len > 0 => {
                runs.clear();
                if *stride == 1 {
                    runs.extend([0, *len]);
                } else {
                    runs.extend(0..=*len);
                }
            }
            Along::Stride(..) | Along::List(_) => find_runs(offsets, runs),
        }
    }

    fn extend(&self, range: Range<usize>, to: &mut Vec<i64>) {
        match self {
            Along::Stride(_, stride) => to.extend(range.map(|i| i as i64 * stride)),
            Along::List(list) => to.extend_from_slice(&list[range]),
        }
    }
}

/// Offset lists that packing fills again and again.
#[derive(Default)]
struct Offsets {
    lanes: Vec<i64>,
    steps: Vec<i64>,
    runs: Vec<usize>,
    /// Where rows begin that lie in pages: not touched by packing.
    paged: Vec<i64>,
}

impl Offsets {
    /// Borrows the thread's lists, to be returned by [`Offsets::give_back`].
    fn take(scratch: &mut crate::contract::scratch::PackBuffers) -> Offsets {
        Offsets {
            lanes: std::mem::take(&mut scratch.lanes),
            steps: std::mem::take(&mut scratch.steps),
            runs: std::mem::take(&mut scratch.runs),
            paged: std::mem::take(&mut scratch.paged),
        }
    }

    fn give_back(self, scratch: &mut crate::contract::scratch::PackBuffers) {
        (scratch.lanes, scratch.steps, scratch.runs, scratch.paged) = (self.lanes, self.steps, self.runs, self.paged);
    }
}

/// Parts of one aligned piece of scratch memory.
struct Carve<T> {
    at: *mut T,
}

impl<T> Carve<T> {
    /// What a part of `len` elements takes.
    fn padded(len: usize) -> usize {
        len.next_multiple_of(64)
    }

    /// The next `len` elements. The total asked of all calls, padded, must have been reserved.
    fn take(&mut self, len: usize) -> *mut T {
        let part = self.at;
        self.at = self.at.wrapping_add(Self::padded(len));
        part
    }
}
