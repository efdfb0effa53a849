//! Where the maximum of each pooling window is.
//!
//! In: contiguous `[outer, input…]`. Out: row-major positions within `input…`. Always: the first of equal elements wins, and a NaN wins
//! over numbers; padding is never read. A window that lies in the padding alone gives 0.

use super::element::{Element, Shared, elements, part, tasks, with_element};
use crate::{
    memory::Buf,
    simd::{Tier, tier},
    threads::parallel,
};
use std::ops::Range;
use unigrad_kernel::PoolIndex;

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

    /// The kernel positions of window `o` that are inside the input, and the input position (shifted by `pad`) of its position 0.
    fn window(&self, o: usize) -> (Range<usize>, usize) {
        let start = o * self.stride;
        let first = self.pad.saturating_sub(start).div_ceil(self.dilation);
        let end = (self.input + self.pad).saturating_sub(start).div_ceil(self.dilation).min(self.kernel);
        (first.min(end)..end, start)
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
fn dims(kernel: &PoolIndex) -> [Dim; 3] {
    let mut dims = [Dim::NONE; 3];
    let n = kernel.input.len().min(3);
    for (i, dim) in dims[3 - n..].iter_mut().enumerate() {
        *dim = Dim {
            input: kernel.input[i],
            output: kernel.output[i],
            kernel: kernel.kernel[i],
            stride: kernel.stride[i],
            pad: kernel.pad[i],
            dilation: kernel.dilation[i],
        };
    }
    dims
}

/// Whether [`pool_index`] can run it.
pub(crate) fn check(kernel: &PoolIndex) -> Result<(), String> {
    let rank = kernel.input.len();
    if rank > 3 {
        return Err(format!("{rank} spatial dimensions; at most 3 can be pooled"));
    }
    let lists = [&kernel.output, &kernel.kernel, &kernel.stride, &kernel.pad, &kernel.dilation];
    if lists.iter().any(|list| list.len() != rank) {
        return Err(format!("its lists are not all of {rank} dimensions"));
    }
    if kernel.stride.contains(&0) || kernel.dilation.contains(&0) {
        return Err("a stride or dilation of 0".to_owned());
    }
    Ok(())
}

/// # Safety
/// `args` match the kernel's arguments in order, dtype and length, nothing else uses the written ones meanwhile, and [`check`] passed.
pub(crate) unsafe fn pool_index(kernel: &PoolIndex, args: &[Buf]) {
    // SAFETY: the caller's promise.
    with_element!(kernel.dtype, T => unsafe { run::<T>(kernel, args) })
}

/// # Safety
/// As for [`pool_index`].
unsafe fn run<T: Element>(kernel: &PoolIndex, args: &[Buf]) {
    let [d0, d1, d2] = dims(kernel);
    let (plane, n_out) = (d0.input * d1.input * d2.input, d0.output * d1.output * d2.output);
    let n_rows = kernel.outer * d0.output * d1.output;
    if n_rows * d2.output == 0 {
        return;
    }
    if plane == 0 {
        // SAFETY: the output has this many elements.
        unsafe { std::slice::from_raw_parts_mut(args[1].ptr.cast::<i64>(), n_rows * d2.output) }.fill(0);
        return;
    }
    // SAFETY: the caller's promise.
    let x = unsafe { elements::<T>(&args[0]) };
    let out = Shared::new(args[1].ptr.cast::<i64>());
    let n_tasks = tasks(kernel.outer * n_out * d0.kernel * d1.kernel * d2.kernel).min(n_rows);
    parallel(n_tasks, &|t| {
        let mut best: Vec<T> = Vec::new();
        for r in part(n_rows, n_tasks, t) {
            let (o, o0, o1) = (r / (d0.output * d1.output), r / d1.output % d0.output, r % d1.output);
            let x = &x[o * plane..][..plane];
            // SAFETY: the row lies in the output, and belongs to this task alone.
            let places = unsafe { std::slice::from_raw_parts_mut(out.ptr().add(r * d2.output), d2.output) };
            places.fill(NONE);
            best.resize(d2.output, x[0]);
            let ((k0, s0), (k1, s1)) = (d0.window(o0), d1.window(o1));
            for k0 in k0 {
                let i0 = s0 + k0 * d0.dilation - d0.pad;
                for k1 in k1.clone() {
                    let line = (i0 * d1.input + s1 + k1 * d1.dilation - d1.pad) * d2.input;
                    for k2 in 0..d2.kernel {
                        let windows = d2.windows(k2);
                        if windows.is_empty() {
                            continue;
                        }
                        let first = line + windows.start * d2.stride + k2 * d2.dilation - d2.pad;
                        let (best, places) = (&mut best[windows.clone()], &mut places[windows]);
                        match tier() {
                            #[cfg(target_arch = "x86_64")]
                            // SAFETY: the tier was detected.
                            Tier::Avx2 | Tier::Avx512 => unsafe { improve_avx2(&x[first..], first, d2.stride, best, places) },
                            _ => improve(&x[first..], first, d2.stride, best, places),
                        }
                    }
                }
            }
            places.iter_mut().filter(|place| **place == NONE).for_each(|place| *place = 0);
        }
    });
}

/// No place yet.
const NONE: i64 = -1;

/// Compares each window's best with the next element of that window; those are `stride` apart.
#[inline(always)]
fn improve<T: Element>(x: &[T], first: usize, stride: usize, best: &mut [T], places: &mut [i64]) {
    for (j, ((best, place), value)) in best.iter_mut().zip(places).zip(x.iter().step_by(stride)).enumerate() {
        // Both sides are evaluated, and the stores unconditional: data decides nothing that a branch would have to guess.
        let better = T::beats(*value, *best) | (*place == NONE);
        *best = if better { *value } else { *best };
        *place = if better { (first + j * stride) as i64 } else { *place };
    }
}

/// # Safety
/// The machine has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn improve_avx2<T: Element>(x: &[T], first: usize, stride: usize, best: &mut [T], places: &mut [i64]) {
    improve(x, first, stride, best, places);
}
