//! Packing: strided elements of any dtype into panels that the microkernels read front to back.
//!
//! In: where the lanes (rows of `a` or columns of `b`) and the steps of `k` lie. Out: `dst[k][width]`, converted to the compute
//! type, zero beyond the last lane. Always: reads exactly the elements named. Never: assumes that either direction is contiguous;
//! contiguous lanes, runs along `k`, and lanes in a few runs (rows of an image) have their own loops.

use super::vector::{LoadFrom, Vector};
use half::{bf16, f16};
use unigrad_scalar::DType;

/// One panel to pack.
pub(crate) struct PackArgs<'a, T> {
    /// The element that offsets count from.
    pub(crate) src: *const u8,
    pub(crate) dtype: DType,
    /// Offset of each lane, at most `width`.
    pub(crate) lanes: &'a [i64],
    /// Offset of each step of `k`.
    pub(crate) steps: &'a [i64],
    /// Where runs of contiguous steps begin, and the end of the last.
    pub(crate) runs: &'a [usize],
    pub(crate) dst: *mut T,
    pub(crate) width: usize,
    /// Elements of `dst` from a step to the next: the width of a panel, or more in a tensor that is written directly.
    pub(crate) ld: usize,
}

/// Fills `runs` for [`PackArgs`].
pub(crate) fn find_runs(steps: &[i64], runs: &mut Vec<usize>) {
    runs.clear();
    runs.push(0);
    runs.extend((1..steps.len()).filter(|&i| steps[i] != steps[i - 1] + 1));
    runs.push(steps.len());
}

/// Most runs that a register of lanes is merged from; with more, elements are read one by one.
const MAX_SPANS: usize = 4;
/// Registers of lanes hold at most this many elements.
const MAX_LANES: usize = 16;

/// Packs from a type that registers load directly.
///
/// # Safety
/// All elements `lanes[i] + steps[k]` of `src` are readable, and `dst` holds `width` at each of `steps.len()` steps.
#[inline(always)]
pub(crate) unsafe fn panel<V: Vector + LoadFrom<S>, S: Copy>(p: &PackArgs<'_, V::Elem>)
where
    V::Elem: Convert<S> + Default,
{
    let src = p.src.cast::<S>();
    let contiguous = p.lanes.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let along_k = !contiguous && p.steps.len() >= 4 * (p.runs.len() - 1);
    let mut first = 0;
    while first < p.width {
        let n_dst = (p.width - first).min(V::LANES);
        let n = p.lanes.len().saturating_sub(first).min(V::LANES);
        let lanes = &p.lanes[p.lanes.len().min(first)..][..n];
        // SAFETY: lanes `first..first + n_dst` of every step are inside `dst`; reads are the caller's promise.
        unsafe {
            let dst = p.dst.add(first);
            if along_k && n > 1 {
                transposed::<V, S>(src, lanes, p.steps, p.runs, dst, p.ld, n_dst);
            } else {
                merged::<V, S>(src, lanes, p.steps, dst, p.ld, n_dst);
            }
        }
        first += V::LANES;
    }
}

/// Panels side by side to pack, of lanes that follow each other in memory.
pub(crate) struct RowsArgs<'a, T> {
    /// The element that `steps` count from: the first lane's.
    pub(crate) src: *const u8,
    pub(crate) dtype: DType,
    pub(crate) lanes: usize,
    pub(crate) steps: &'a [i64],
    /// The first panel's first step, of which `at` are there already: of each panel they are skipped.
    pub(crate) dst: *mut T,
    pub(crate) at: usize,
    pub(crate) width: usize,
    /// Elements from a panel to the next.
    pub(crate) panel: usize,
    /// Whether the last panel is as wide as the others, with zeros beyond the last lane, and not just as wide as its lanes.
    pub(crate) whole: bool,
}

impl<T> RowsArgs<'_, T> {
    /// Calls with each panel: its first lane, how many it has, its width and where its first new step goes, `done` steps after `at`.
    #[inline(always)]
    pub(crate) fn each_panel(&self, done: usize, mut f: impl FnMut(usize, usize, usize, *mut T)) {
        let mut to = self.dst;
        for lane in (0..self.lanes).step_by(self.width) {
            let n = self.width.min(self.lanes - lane);
            let width = if self.whole { self.width } else { n };
            f(lane, n, width, to.wrapping_add((self.at + done) * width));
            to = to.wrapping_add(self.panel);
        }
    }
}

/// Steps of rows that are read side by side: rows that are a power of two apart share few places of the nearest cache.
pub(crate) const ROWS: usize = 8;

/// Packs panel after panel of a few rows, so that what is left of a line, and of a page, is near when the next panel reads it.
///
/// # Safety
/// All elements `steps[k] + lane` of `src` are readable, and `dst` holds the panels.
#[inline(always)]
pub(crate) unsafe fn rows<V: Vector + LoadFrom<S>, S: Copy>(p: &RowsArgs<'_, V::Elem>) {
    let src = p.src.cast::<S>();
    for (i, steps) in p.steps.chunks(ROWS).enumerate() {
        p.each_panel(i * ROWS, |lane, n, width, to| {
            for first in (0..width).step_by(V::LANES) {
                let (n, n_dst) = (n.saturating_sub(first).min(V::LANES), (width - first).min(V::LANES));
                let (src, mut to) = (src.wrapping_add(lane + first), to.wrapping_add(first));
                for step in steps {
                    let from = src.wrapping_offset(*step as isize);
                    // SAFETY: the lanes are the caller's, and so is the panel's step.
                    unsafe { put(if n == V::LANES { V::widen(from) } else { V::widen_span(from, 0, n) }, to, n_dst) };
                    to = to.wrapping_add(width);
                }
            }
        });
    }
}

#[inline(always)]
unsafe fn put<V: Vector>(x: V, to: *mut V::Elem, n: usize) {
    // SAFETY: the caller lets `n` elements be written.
    unsafe { if n == V::LANES { x.store(to) } else { x.store_first(to, n) } }
}

/// One register of lanes, from runs of contiguous steps.
#[inline(always)]
unsafe fn transposed<V: Vector + LoadFrom<S>, S: Copy>(
    src: *const S,
    lanes: &[i64],
    steps: &[i64],
    runs: &[usize],
    dst: *mut V::Elem,
    ld: usize,
    n_dst: usize,
) {
    // SAFETY: see `panel`.
    unsafe {
        let zero = V::widen_span(src, 0, 0);
        let mut block = [zero; MAX_LANES];
        for run in runs.windows(2) {
            let mut k = run[0];
            while k < run[1] {
                let n = (run[1] - k).min(V::LANES);
                let base = src.wrapping_offset(steps[k] as isize);
                if n == V::LANES && lanes.len() == V::LANES && n_dst == V::LANES {
                    // Whole squares: nothing to look at on the way.
                    for (x, offset) in block.iter_mut().zip(lanes) {
                        *x = V::widen(base.wrapping_offset(*offset as isize));
                    }
                    V::transpose(block.as_mut_ptr());
                    let mut to = dst.add(k * ld);
                    for x in &block[..V::LANES] {
                        x.store(to);
                        to = to.wrapping_add(ld);
                    }
                    k += n;
                    continue;
                }
                for lane in 0..V::LANES {
                    block[lane] = match lanes.get(lane) {
                        Some(offset) if n == V::LANES => V::widen(base.wrapping_offset(*offset as isize)),
                        Some(offset) => V::widen_span(base.wrapping_offset(*offset as isize), 0, n),
                        None => zero,
                    };
                }
                V::transpose(block.as_mut_ptr());
                for (i, x) in block.iter().enumerate().take(n) {
                    put(*x, dst.add((k + i) * ld), n_dst);
                }
                k += n;
            }
        }
    }
}

/// One register of lanes, step by step, from few runs of contiguous lanes.
#[inline(always)]
unsafe fn merged<V: Vector + LoadFrom<S>, S: Copy>(src: *const S, lanes: &[i64], steps: &[i64], dst: *mut V::Elem, ld: usize, n_dst: usize)
where
    V::Elem: Convert<S> + Default,
{
    let mut spans = [(0isize, 0usize, 0usize); MAX_SPANS];
    let mut n_spans = 0;
    let mut lane = 0;
    while lane < lanes.len() {
        let mut end = lane + 1;
        while end < lanes.len() && lanes[end] == lanes[end - 1] + 1 {
            end += 1;
        }
        if n_spans == MAX_SPANS {
            n_spans = MAX_SPANS + 1;
            break;
        }
        spans[n_spans] = ((lanes[lane] - lane as i64) as isize, lane, end);
        n_spans += 1;
        lane = end;
    }
    // SAFETY: see `panel`; a span reads only the lanes it holds.
    unsafe {
        match n_spans {
            1 if lanes.len() == V::LANES => {
                for (k, step) in steps.iter().enumerate() {
                    put(V::widen(src.wrapping_offset(*step as isize + spans[0].0)), dst.add(k * ld), n_dst);
                }
            }
            0..=MAX_SPANS => {
                for (k, step) in steps.iter().enumerate() {
                    let (offset, lo, hi) = spans[0];
                    let mut x = V::widen_span(src.wrapping_offset(*step as isize + offset), lo, hi);
                    for (offset, lo, hi) in &spans[1..n_spans.max(1)] {
                        x = x.merge(V::widen_span(src.wrapping_offset(*step as isize + offset), *lo, *hi));
                    }
                    put(x, dst.add(k * ld), n_dst);
                }
            }
            _ => {
                for (k, step) in steps.iter().enumerate() {
                    let to = dst.add(k * ld);
                    for (i, lane) in lanes.iter().enumerate() {
                        *to.add(i) = V::Elem::convert(*src.wrapping_offset((step + lane) as isize));
                    }
                    for i in lanes.len()..n_dst {
                        *to.add(i) = V::Elem::default();
                    }
                }
            }
        }
    }
}

/// Packs from any dtype, element by element.
///
/// # Safety
/// As for [`panel`].
pub(crate) unsafe fn panel_of_any<T: FromAny>(p: &PackArgs<'_, T>) {
    // SAFETY: the caller's.
    unsafe {
        match p.dtype {
            DType::Bool => scalar(p, |x: u8| T::convert(u8::from(x != 0))),
            // 8-bit floats are codes; the driver takes no kernel that has them by name.
            DType::U8 | DType::F8E4M3 | DType::F8E5M2 => scalar(p, |x: u8| T::convert(x)),
            DType::I8 => scalar(p, |x: i8| T::convert(x)),
            DType::U16 => scalar(p, |x: u16| T::convert(x)),
            DType::I16 => scalar(p, |x: i16| T::convert(x)),
            DType::U32 => scalar(p, |x: u32| T::convert(x)),
            DType::I32 => scalar(p, |x: i32| T::convert(x)),
            DType::U64 => scalar(p, |x: u64| T::convert(x)),
            DType::I64 => scalar(p, |x: i64| T::convert(x)),
            DType::F16 => scalar(p, |x: f16| T::convert(x)),
            DType::BF16 => scalar(p, |x: bf16| T::convert(x)),
            DType::F32 => scalar(p, |x: f32| T::convert(x)),
            DType::F64 => scalar(p, |x: f64| T::convert(x)),
        }
    }
}

#[inline(always)]
unsafe fn scalar<S: Copy, T: FromAny>(p: &PackArgs<'_, T>, convert: impl Fn(S) -> T) {
    let src = p.src.cast::<S>();
    for (k, step) in p.steps.iter().enumerate() {
        // SAFETY: see `panel`.
        unsafe {
            let to = p.dst.add(k * p.ld);
            for (i, lane) in p.lanes.iter().enumerate() {
                *to.add(i) = convert(*src.wrapping_offset((step + lane) as isize));
            }
            for i in p.lanes.len()..p.width {
                *to.add(i) = T::default();
            }
        }
    }
}

/// Conversion of a stored element to a compute type, as `as` does it.
pub(crate) trait Convert<S> {
    fn convert(x: S) -> Self;
}

/// Conversion from every dtype.
pub(crate) trait FromAny:
    Default
    + Convert<u8>
    + Convert<i8>
    + Convert<u16>
    + Convert<i16>
    + Convert<u32>
    + Convert<i32>
    + Convert<u64>
    + Convert<i64>
    + Convert<f16>
    + Convert<bf16>
    + Convert<f32>
    + Convert<f64>
{
}

macro_rules! from_any {
    ($($t:ty),*) => { $(
        impl FromAny for $t {}
        from_any!(@each $t; u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);
        impl Convert<f16> for $t {
            #[inline(always)]
            fn convert(x: f16) -> $t {
                x.to_f32() as $t
            }
        }
        impl Convert<bf16> for $t {
            #[inline(always)]
            fn convert(x: bf16) -> $t {
                x.to_f32() as $t
            }
        }
    )* };
    (@each $t:ty; $($s:ty)*) => { $(
        impl Convert<$s> for $t {
            #[inline(always)]
            fn convert(x: $s) -> $t {
                x as $t
            }
        }
    )* };
}
from_any!(f32, f64, i32, i64);
