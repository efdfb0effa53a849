//! The maximum of each pooling window, and where it is.
//!
//! In: contiguous `[outer, input…]`. Out: the maxima, and their row-major positions within `input…`. Always: the first of equal elements
//! wins, and a NaN wins over numbers; padding is never read. A window with nothing but padding is refused.
//!
//! A row of windows is done in blocks of neighbours: for each place in the window in turn, the block's elements there are compared with
//! the block's best so far. All windows of a block have the same shape, so that a position is one number, the distance from the
//! window's start, for all of them, which becomes an index only when it is stored. The last block of a row is moved back to end with the
//! row; what it does twice comes out the same. Windows that reach into the padding are done one by one.

use super::element::{Element, elements, part, tasks, with_element};
use crate::task_ptr::TaskPtr;
use crate::{
    memory::Buf,
    simd::{Tier, tier},
    threads::parallel,
};
use std::ops::Range;
use unigrad_kernel::MaxPool;

/// One spatial dimension.
#[derive(Clone, Copy, Debug)]
struct Dim {
    input: usize,
    output: usize,
    kernel: usize,
    stride: usize,
    pad: usize,
    dilation: usize,
}

impl Dim {
    const NONE: Dim = Dim { input: 1, output: 1, kernel: 1, stride: 1, pad: 0, dilation: 1 };

    /// The kernel positions of window `o` that are inside the input.
    fn window(&self, o: usize) -> Range<usize> {
        let start = o * self.stride;
        let first = self.pad.saturating_sub(start).div_ceil(self.dilation);
        let end = (self.input + self.pad).saturating_sub(start).div_ceil(self.dilation).min(self.kernel);
        first.min(end)..end
    }

    /// What [`Dim::window`] says, for all windows: the divisions are not done again in each row.
    fn all(&self) -> Vec<Range<usize>> {
        (0..self.output).map(|o| self.window(o)).collect()
    }

    /// The windows that are inside the input as a whole.
    fn whole(&self) -> Range<usize> {
        let (first, last) = (self.windows(0), self.windows(self.kernel - 1));
        first.start.min(last.end)..last.end
    }

    /// The windows whose kernel position `k` is inside the input.
    fn windows(&self, k: usize) -> Range<usize> {
        let shift = k * self.dilation;
        let first = self.pad.saturating_sub(shift).div_ceil(self.stride);
        let end = (self.input + self.pad).saturating_sub(shift).div_ceil(self.stride).min(self.output);
        first.min(end)..end
    }
}

/// The dimensions, as three.
fn dims(kernel: &MaxPool) -> [Dim; 3] {
    let mut dims = [Dim::NONE; 3];
    let n = kernel.input.len().min(3);
    for (i, dim) in dims[3 - n..].iter_mut().enumerate() {
        *dim = Dim {
            input: kernel.input[i],
            output: kernel.output[i],
            kernel: kernel.spec.kernel[i],
            stride: kernel.spec.stride[i],
            pad: kernel.spec.pad[i],
            dilation: kernel.spec.dilation[i],
        };
    }
    dims
}

/// Whether [`max_pool`] can run it.
pub(crate) fn check(kernel: &MaxPool) -> Result<(), String> {
    let rank = kernel.input.len();
    if rank > 3 {
        return Err(format!("{rank} spatial dimensions; at most 3 can be pooled"));
    }
    let lists = [&kernel.output, &kernel.spec.kernel, &kernel.spec.stride, &kernel.spec.pad, &kernel.spec.dilation];
    if lists.iter().any(|list| list.len() != rank) {
        return Err(format!("its lists are not all of {rank} dimensions"));
    }
    if kernel.spec.kernel.contains(&0) || kernel.spec.stride.contains(&0) || kernel.spec.dilation.contains(&0) {
        return Err("a window, stride or dilation of 0".to_owned());
    }
    if kernel.input.contains(&0) && kernel.outer > 0 && !kernel.output.contains(&0) {
        return Err("windows over nothing".to_owned());
    }
    let outside = |d: usize| kernel.spec.first_outside(d, kernel.input[d], kernel.output[d]);
    if let Some(window) = (0..rank).find_map(outside).filter(|_| kernel.outer > 0 && !kernel.output.contains(&0)) {
        return Err(format!("window {window} has nothing but padding"));
    }
    Ok(())
}

/// # Safety
/// `args` match the kernel's arguments in order, dtype and length, nothing else uses the written ones meanwhile, and [`check`] passed.
pub(crate) unsafe fn max_pool(kernel: &MaxPool, args: &[Buf]) {
    // SAFETY: the caller's promise.
    unsafe { max_pool_on(kernel, args, tier()) }
}

/// # Safety
/// As for [`max_pool`], on a machine of this tier.
pub(super) unsafe fn max_pool_on(kernel: &MaxPool, args: &[Buf], tier: Tier) {
    // SAFETY: the caller's promise.
    with_element!(kernel.dtype, T => unsafe { run::<T>(kernel, args, tier) })
}

/// # Safety
/// As for [`max_pool_on`].
unsafe fn run<T: Element>(kernel: &MaxPool, args: &[Buf], tier: Tier) {
    let dims = dims(kernel);
    let [d0, d1, d2] = dims;
    let n_rows = kernel.outer * d0.output * d1.output;
    if n_rows * d2.output == 0 {
        return;
    }
    let job = Job {
        // SAFETY: the caller's promise.
        x: unsafe { elements::<T>(&args[0]) },
        dims,
        windows: dims.map(|dim| dim.all()),
        maxima: TaskPtr::new(args[1].ptr.cast::<T>()),
        places: TaskPtr::new(args[2].ptr.cast::<i64>()),
    };
    let n_tasks = tasks(n_rows * d2.output * d0.kernel * d1.kernel * d2.kernel).min(n_rows);
    parallel(n_tasks, &|t| {
        let rows = part(n_rows, n_tasks, t);
        match tier {
            // SAFETY: the machine has the tier; tasks have rows of their own.
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512 => unsafe { rows_avx512(&job, rows) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => unsafe { rows_avx2(&job, rows) },
            // SAFETY: as above.
            _ => unsafe { rows_by_stride(&job, rows) },
        }
    });
}

/// A launch.
struct Job<'a, T> {
    x: &'a [T],
    dims: [Dim; 3],
    /// Per dimension and window, the kernel positions inside the input.
    windows: [Vec<Range<usize>>; 3],
    maxima: TaskPtr<T>,
    places: TaskPtr<i64>,
}

/// # Safety
/// The machine has AVX-512 F, BW, DQ, VL; and as for [`rows`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn rows_avx512<T: Element>(job: &Job<'_, T>, range: Range<usize>) {
    // SAFETY: the caller's promise.
    unsafe { rows_by_stride(job, range) }
}

/// # Safety
/// The machine has AVX2 and FMA; and as for [`rows`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn rows_avx2<T: Element>(job: &Job<'_, T>, range: Range<usize>) {
    // SAFETY: the caller's promise.
    unsafe { rows_by_stride(job, range) }
}

/// # Safety
/// As for [`rows`].
#[inline(always)]
unsafe fn rows_by_stride<T: Element>(job: &Job<'_, T>, range: Range<usize>) {
    // SAFETY: the caller's promise.
    unsafe {
        match job.dims[2].stride {
            1 => rows::<T, 1>(job, range),
            2 => rows::<T, 2>(job, range),
            _ => rows::<T, 0>(job, range),
        }
    }
}

/// Rows of windows; `S` is the stride along a row, or 0 if it is not known beforehand.
///
/// # Safety
/// The rows are in the outputs, and nothing else uses them meanwhile.
#[inline(always)]
unsafe fn rows<T: Element, const S: usize>(job: &Job<'_, T>, range: Range<usize>) {
    let [d0, d1, d2] = job.dims;
    let plane = d0.input * d1.input * d2.input;
    let mut row = Row::<T, S> {
        x: &[],
        dim: d2,
        windows: &job.windows[2],
        // Distances are `u32` in blocks.
        blocks: if plane <= u32::MAX as usize { d2.whole() } else { 0..0 },
        origin: 0,
        lines: Vec::new(),
        taps: Vec::new(),
    };
    let mut clipped = (0..0, 0..0);
    let (mut o, mut o0, mut o1) = (range.start / (d0.output * d1.output), range.start / d1.output % d0.output, range.start % d1.output);
    for r in range {
        let (k0, k1) = (&job.windows[0][o0], &job.windows[1][o1]);
        if clipped.0 != *k0 || clipped.1 != *k1 {
            clipped = (k0.clone(), k1.clone());
            let line = |k0: usize, k1: usize| (k0 * d0.dilation * d1.input + k1 * d1.dilation) * d2.input;
            row.lines.clear();
            row.lines.extend(k0.clone().flat_map(|k0| k1.clone().map(move |k1| line(k0, k1))));
            row.taps.clear();
            row.taps.extend(row.lines.iter().flat_map(|line| (0..d2.kernel).map(move |k2| line + k2 * d2.dilation)));
        }
        row.x = &job.x[o * plane..][..plane];
        let start = ((o0 * d0.stride).wrapping_sub(d0.pad), (o1 * d1.stride).wrapping_sub(d1.pad));
        row.origin = start.0.wrapping_mul(d1.input).wrapping_add(start.1).wrapping_mul(d2.input).wrapping_sub(d2.pad);
        // SAFETY: the row lies in the outputs, and belongs to this task alone.
        let (maxima, places) = unsafe {
            let (maxima, places) = (job.maxima.get().add(r * d2.output), job.places.get().add(r * d2.output));
            (std::slice::from_raw_parts_mut(maxima, d2.output), std::slice::from_raw_parts_mut(places, d2.output))
        };
        row.run(maxima, places);
        o1 += 1;
        if o1 == d1.output {
            (o1, o0) = (0, o0 + 1);
            if o0 == d0.output {
                (o0, o) = (0, o + 1);
            }
        }
    }
}

/// One row of windows.
struct Row<'a, T, const S: usize> {
    /// The plane that the windows are in.
    x: &'a [T],
    /// The dimension along the row.
    dim: Dim,
    windows: &'a [Range<usize>],
    /// The windows that blocks may do.
    blocks: Range<usize>,
    /// Where the first window starts in the plane; before 0, modulo the size of numbers, if that is padding.
    origin: usize,
    /// The distances from a window's start to the starts of its lines that are inside the input.
    lines: Vec<usize>,
    /// The distances to all elements of these lines.
    taps: Vec<usize>,
}

impl<T: Element, const S: usize> Row<'_, T, S> {
    #[inline(always)]
    fn run(&self, maxima: &mut [T], places: &mut [i64]) {
        let mut done = 0..0;
        if let Some((first, rest)) = self.taps.split_first() {
            done = self.blocks.clone();
            match done.len() {
                16.. => self.blocks::<16>(*first, rest, maxima, places),
                8.. => self.blocks::<8>(*first, rest, maxima, places),
                4.. => self.blocks::<4>(*first, rest, maxima, places),
                _ => done = 0..0,
            }
        }
        for c in (0..done.start).chain(done.end..maxima.len()) {
            (maxima[c], places[c]) = self.window(c);
        }
    }

    #[inline(always)]
    fn stride(&self) -> usize {
        if S == 0 { self.dim.stride } else { S }
    }

    /// All windows that need no care, of which there are at least `W`.
    #[inline(always)]
    fn blocks<const W: usize>(&self, first: usize, rest: &[usize], maxima: &mut [T], places: &mut [i64]) {
        let mut c = self.blocks.start;
        while c < self.blocks.end {
            let start = c.min(self.blocks.end - W);
            match (maxima[start..].first_chunk_mut(), places[start..].first_chunk_mut()) {
                (Some(maxima), Some(places)) => self.block::<W>(start, first, rest, maxima, places),
                _ => (start..self.blocks.end).for_each(|c| (maxima[c], places[c]) = self.window(c)),
            }
            c += W;
        }
    }

    /// The windows from `c` on.
    #[inline(always)]
    fn block<const W: usize>(&self, c: usize, first: usize, rest: &[usize], maxima: &mut [T; W], places: &mut [i64; W]) {
        let stride = self.stride();
        let origin = self.origin.wrapping_add(c * stride);
        let mut best = self.elements::<W>(origin.wrapping_add(first));
        let mut taps = [first as u32; W];
        for &tap in rest {
            let values = self.elements::<W>(origin.wrapping_add(tap));
            for j in 0..W {
                // Without branches: which element is greater is anyone's guess.
                let better = T::beats(values[j], best[j]);
                best[j] = if better { values[j] } else { best[j] };
                taps[j] = if better { tap as u32 } else { taps[j] };
            }
        }
        *maxima = best;
        for j in 0..W {
            places[j] = origin.wrapping_add(j * stride) as i64 + i64::from(taps[j]);
        }
    }

    /// An element per window.
    #[inline(always)]
    fn elements<const W: usize>(&self, at: usize) -> [T; W] {
        let stride = self.stride();
        let x = &self.x[at..][..(W - 1) * stride + 1];
        std::array::from_fn(|j| x[j * stride])
    }

    /// A window that may reach into the padding.
    #[inline(always)]
    fn window(&self, c: usize) -> (T, i64) {
        let origin = self.origin.wrapping_add(c * self.stride());
        let place = |line: usize, k: usize| origin.wrapping_add(line + k * self.dim.dilation);
        // Every window has an element: see `check`.
        let mut at = place(self.lines[0], self.windows[c].start);
        let mut best = self.x[at];
        for line in &self.lines {
            for k in self.windows[c].clone() {
                let new = place(*line, k);
                let value = self.x[new];
                let better = T::beats(value, best);
                (best, at) = (if better { value } else { best }, if better { new } else { at });
            }
        }
        (best, at as i64)
    }
}
