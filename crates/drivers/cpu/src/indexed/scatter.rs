//! Scatter: elements meet their targets in row-major order.
//!
//! In: a base, an index, a source. Out: the base with the source's elements set, added, … where the index says.
//! Always: every index is checked before the output is touched. A target belongs to one column (the coordinates off the axis), and a column's
//! elements are combined in order along the axis, so however columns and target ranges are split over threads, results are the same.
//! Never: uses atomics, or reads where a shape has no point.

use super::element::{Element, elements, part, tasks, with_element};
use crate::task_ptr::TaskPtr;
use crate::{
    memory::{Buf, Fault},
    simd::{Tier, tier},
    threads::parallel,
};
use smallvec::SmallVec;
use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};
use unigrad_kernel::{Scatter, ScatterBase};
use unigrad_scalar::{DType, Literal, ScatterMode};

/// Elements of wide accumulators that a task keeps at once.
const WIDE_BLOCK: usize = 1 << 20;

/// Whether [`scatter`] can run it: its lists agree, and every element it reads exists.
pub(crate) fn check(kernel: &Scatter) -> Result<(), String> {
    let rank = kernel.shape.len();
    if kernel.axis >= rank || [kernel.index_strides.len(), kernel.src_strides.len(), kernel.out_shape.len()].iter().any(|n| *n != rank) {
        return Err(format!("axis {} and strides do not fit a shape of rank {rank}", kernel.axis));
    }
    if !kernel.index.dtype.is_int() {
        return Err(format!("an index of {}", kernel.index.dtype));
    }
    if kernel.src.dtype != kernel.dtype {
        return Err(format!("a source of {} into {}", kernel.src.dtype, kernel.dtype));
    }
    for (axis, (size, room)) in kernel.shape.iter().zip(&kernel.out_shape).enumerate() {
        if axis != kernel.axis && size > room {
            return Err(format!("{size} source elements along axis {axis}, where the output has {room}"));
        }
    }
    let inside = |strides: &[i64], offset: i64, len: usize| {
        if kernel.shape.contains(&0) {
            return true;
        }
        let (mut low, mut high) = (i128::from(offset), i128::from(offset));
        for (size, stride) in kernel.shape.iter().zip(strides) {
            let reach = (*size as i128 - 1) * i128::from(*stride);
            if reach < 0 { low += reach } else { high += reach }
        }
        low >= 0 && high < len as i128
    };
    if !inside(&kernel.index_strides, kernel.index_offset, kernel.index.len) {
        return Err("its index leaves its buffer".to_owned());
    }
    if !inside(&kernel.src_strides, kernel.src_offset, kernel.src.len) {
        return Err("its source leaves its buffer".to_owned());
    }
    Ok(())
}

/// # Safety
/// `args` match the kernel's arguments in order, dtype and length, nothing else uses the written ones meanwhile, and [`check`] passed.
pub(crate) unsafe fn scatter(kernel: &Scatter, args: &[Buf]) -> Result<(), Fault> {
    // SAFETY: the caller's promise.
    unsafe { scatter_on(kernel, args, tier()) }
}

/// # Safety
/// As for [`scatter`], on a machine of this tier.
pub(super) unsafe fn scatter_on(kernel: &Scatter, args: &[Buf], tier: Tier) -> Result<(), Fault> {
    let (base, index, src, out) = match (&kernel.base, args) {
        (ScatterBase::Arg, [base, index, src, out]) => (Base::Of(base), index, src, out),
        (ScatterBase::Out, [index, src, out]) => (Base::Of(out), index, src, out),
        (ScatterBase::Fill(value), [index, src, out]) => (Base::Value(*value), index, src, out),
        _ => return Err(Fault::Internal("a scatter of other arguments than its kernel has")),
    };
    let empty = kernel.shape.contains(&0);
    // SAFETY: the caller's promise.
    let targets = if empty { Targets::default() } else { unsafe { Targets::read(kernel, index) }? };
    // SAFETY: the caller's promise, and the targets are inside the axis.
    with_element!(kernel.dtype, T => unsafe {
        start::<T>(base, out);
        if !empty {
            run::<T>(kernel, &targets, elements::<T>(src), out, tier);
        }
    });
    Ok(())
}

/// The checked index: positions along the axis, once per element that the index really has.
#[derive(Default)]
struct Targets {
    at: Vec<usize>,
    /// Strides of the source's shape in `at`; 0 where the index is expanded.
    strides: SmallVec<[usize; 6]>,
}

impl Targets {
    /// # Safety
    /// As for [`scatter`]; the shape has points.
    unsafe fn read(kernel: &Scatter, index: &Buf) -> Result<Targets, Fault> {
        // SAFETY: for all arms, the dtype is the buffer's.
        unsafe {
            match index.dtype {
                DType::U8 => Targets::convert(kernel, elements::<u8>(index), |i| i.into()),
                DType::I8 => Targets::convert(kernel, elements::<i8>(index), |i| i.into()),
                DType::U16 => Targets::convert(kernel, elements::<u16>(index), |i| i.into()),
                DType::I16 => Targets::convert(kernel, elements::<i16>(index), |i| i.into()),
                DType::U32 => Targets::convert(kernel, elements::<u32>(index), |i| i.into()),
                DType::I32 => Targets::convert(kernel, elements::<i32>(index), |i| i.into()),
                DType::U64 => Targets::convert(kernel, elements::<u64>(index), |i| i64::try_from(i).unwrap_or(i64::MAX)),
                DType::I64 => Targets::convert(kernel, elements::<i64>(index), |i| i),
                DType::Bool | DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::F8E4M3 | DType::F8E5M2 => {
                    Err(Fault::Internal("a scatter by an index that is no integer"))
                }
            }
        }
    }

    fn convert<I: Copy + Sync>(kernel: &Scatter, index: &[I], to_i64: impl Fn(I) -> i64 + Sync) -> Result<Targets, Fault> {
        let rank = kernel.shape.len();
        let size = kernel.out_shape[kernel.axis] as i64;
        let mut strides: SmallVec<[usize; 6]> = SmallVec::from_elem(0, rank);
        // What the index really has, outermost first, neighbours merged: (size, stride).
        let mut dims: SmallVec<[(usize, i64); 6]> = SmallVec::new();
        let mut n = 1;
        for d in (0..rank).rev() {
            let (size, stride) = (kernel.shape[d], kernel.index_strides[d]);
            if size == 1 || stride == 0 {
                continue;
            }
            strides[d] = n;
            n *= size;
            match dims.last_mut() {
                Some((inner, inner_stride)) if stride == *inner_stride * *inner as i64 => *inner *= size,
                _ => dims.push((size, stride)),
            }
        }
        let (line, line_stride) = dims.first().copied().unwrap_or((1, 0));
        let mut at = vec![0usize; n];
        let shared = TaskPtr::new(at.as_mut_ptr());
        let fault: Mutex<Option<(usize, i64)>> = Mutex::new(None);
        let n_tasks = tasks(n);
        parallel(n_tasks, &|t| {
            let range = part(n, n_tasks, t);
            let mut p = range.start;
            while p < range.end {
                let (mut row, first) = (p / line, p % line);
                let mut offset = kernel.index_offset;
                for (size, stride) in dims.iter().skip(1) {
                    offset += (row % size) as i64 * stride;
                    row /= size;
                }
                for j in first..line.min(first + range.end - p) {
                    let index = to_i64(index[(offset + j as i64 * line_stride) as usize]);
                    let target = if index < 0 { index + size } else { index };
                    if target < 0 || target >= size {
                        let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
                        if fault.is_none_or(|(place, _)| p < place) {
                            *fault = Some((p, index));
                        }
                        return;
                    }
                    // SAFETY: `p` is below `n`, and this task's alone.
                    unsafe { shared.get().add(p).write(target as usize) };
                    p += 1;
                }
            }
        });
        match fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, index)) => Err(Fault::Index { index, size }),
            None => Ok(Targets { at, strides }),
        }
    }
}

/// What the output is before elements meet it.
enum Base<'a> {
    Of(&'a Buf),
    Value(Literal),
}

/// Lets `out` be the base.
///
/// # Safety
/// As for [`scatter`].
unsafe fn start<T: Element>(base: Base<'_>, out: &Buf) {
    let n = out.len;
    let target = TaskPtr::new(out.ptr.cast::<T>());
    let n_tasks = tasks(n * size_of::<T>() / 4);
    match base {
        Base::Of(base) if base.ptr == out.ptr => {}
        Base::Of(base) => {
            let source = TaskPtr::new(base.ptr.cast::<T>());
            parallel(n_tasks, &|t| {
                let range = part(n, n_tasks, t);
                // SAFETY: both have `n` elements, and tasks have their own ranges.
                unsafe { std::ptr::copy(source.get().add(range.start), target.get().add(range.start), range.len()) };
            });
        }
        Base::Value(value) => {
            let value = T::from_literal(value.cast(out.dtype));
            parallel(n_tasks, &|t| {
                for i in part(n, n_tasks, t) {
                    // SAFETY: as above.
                    unsafe { target.get().add(i).write(value) };
                }
            });
        }
    }
}

/// A dimension off the axis: its size, and its strides in the output, the source and the targets.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Dim {
    size: usize,
    out: usize,
    src: i64,
    at: usize,
}

/// Innermost first.
type Dims = SmallVec<[Dim; 6]>;

/// Adds a dimension outside of those in `dims` (innermost first), merged with its neighbour where strides allow.
fn push(dims: &mut Dims, dim: Dim) {
    match dims.last_mut() {
        _ if dim.size == 1 => {}
        Some(inner) if dim.out == inner.out * inner.size && dim.src == inner.src * inner.size as i64 && dim.at == inner.at * inner.size => {
            inner.size *= dim.size;
        }
        _ => dims.push(dim),
    }
}

/// A part of the work: some columns of one group, and the targets within a range.
struct Block<'a, T> {
    tier: Tier,
    at: &'a [usize],
    src: &'a [T],
    /// Where the first column's first element is, in `at` and `src`.
    at_offset: usize,
    src_offset: i64,
    axis: Dim,
    /// The columns.
    columns: Dim,
    targets: Range<usize>,
}

/// # Safety
/// As for [`scatter`]; the shape has points.
unsafe fn run<T: Element>(kernel: &Scatter, targets: &Targets, src: &[T], out: &Buf, tier: Tier) {
    // SAFETY: for all arms, the caller's promise.
    unsafe {
        match kernel.mode {
            ScatterMode::Set => split::<T>(kernel, targets, src, out, tier, |_, s| s, |d, _| d, false),
            ScatterMode::Add => split::<T>(
                kernel,
                targets,
                src,
                out,
                tier,
                |d, s| T::narrow(T::add(d.widen(), s.widen())),
                |d, s| T::add(d, s.widen()),
                true,
            ),
            ScatterMode::Mul => split::<T>(
                kernel,
                targets,
                src,
                out,
                tier,
                |d, s| T::narrow(T::mul(d.widen(), s.widen())),
                |d, s| T::mul(d, s.widen()),
                true,
            ),
            ScatterMode::Max => {
                split::<T>(kernel, targets, src, out, tier, |d, s| T::narrow(T::greater(d.widen(), s.widen())), |d, _| d, false)
            }
            ScatterMode::Min => {
                split::<T>(kernel, targets, src, out, tier, |d, s| T::narrow(T::lesser(d.widen(), s.widen())), |d, _| d, false)
            }
        }
    }
}

/// Splits the work into blocks and runs them. If the mode accumulates, `wide` is used instead of `combine` where several elements may
/// meet in a half type.
///
/// # Safety
/// As for [`run`].
#[allow(clippy::too_many_arguments)]
unsafe fn split<T: Element>(
    kernel: &Scatter,
    targets: &Targets,
    src: &[T],
    out: &Buf,
    tier: Tier,
    combine: impl Fn(T, T) -> T + Sync + Copy,
    wide: impl Fn(T::Acc, T) -> T::Acc + Sync + Copy,
    accumulates: bool,
) {
    let rank = kernel.shape.len();
    let mut out_strides: SmallVec<[usize; 6]> = SmallVec::from_elem(1, rank);
    for d in (1..rank).rev() {
        out_strides[d - 1] = out_strides[d] * kernel.out_shape[d];
    }
    let dim = |d: usize| Dim { size: kernel.shape[d], out: out_strides[d], src: kernel.src_strides[d], at: targets.strides[d] };
    let axis = dim(kernel.axis);
    let axis_len = kernel.out_shape[kernel.axis];
    let (mut inside, mut outside): (Dims, Dims) = Default::default();
    (kernel.axis + 1..rank).rev().for_each(|d| push(&mut inside, dim(d)));
    (0..kernel.axis).rev().for_each(|d| push(&mut outside, dim(d)));
    // The columns a block runs over; short sums are better done for many columns at once, long ones one by one.
    let columns = match () {
        () if !inside.is_empty() => inside.remove(0),
        () if !outside.is_empty() && axis.size < 8 => outside.remove(0),
        () => Dim { size: 1, out: 1, src: 0, at: 0 },
    };
    let mut groups = inside;
    groups.extend(outside);
    let n_groups: usize = groups.iter().map(|d| d.size).product();

    let widens = T::WIDENS && accumulates && axis.size > 1;
    // Few elements meet few targets: then accumulators are made for those alone.
    let mut at = std::borrow::Cow::Borrowed(targets.at.as_slice());
    let rows = (widens && targets.at.len() < axis_len).then(|| compact(at.to_mut(), axis_len));
    let axis_len = rows.as_ref().map_or(axis_len, Vec::len);
    let n_tasks = tasks(n_groups * columns.size * axis.size);
    // Columns are split down to a cache line, and into what wide accumulators fit; then target ranges.
    let least = (64 / size_of::<T>()).max(1);
    let mut n_chunks = n_tasks.div_ceil(n_groups).min(columns.size.div_ceil(least));
    if widens {
        n_chunks = n_chunks.max(columns.size.div_ceil((WIDE_BLOCK / axis_len).max(least)));
    }
    let n_ranges = (n_tasks / (n_groups * n_chunks)).clamp(1, axis_len.max(1));
    let n_blocks = n_groups * n_chunks * n_ranges;
    let n_tasks = n_tasks.min(n_blocks);
    let target = TaskPtr::new(out.ptr.cast::<T>());
    parallel(n_tasks, &|t| {
        let mut scratch: Vec<T::Acc> = Vec::new();
        for b in part(n_blocks, n_tasks, t) {
            let (mut group, chunk, range) = (b / (n_chunks * n_ranges), b / n_ranges % n_chunks, b % n_ranges);
            let chunk = part(columns.size, n_chunks, chunk);
            let targets_of_block = part(axis_len, n_ranges, range);
            let mut out_offset = chunk.start * columns.out;
            let mut block = Block {
                tier,
                at: &at,
                src,
                at_offset: chunk.start * columns.at,
                src_offset: kernel.src_offset + chunk.start as i64 * columns.src,
                axis,
                columns: Dim { size: chunk.len(), ..columns },
                targets: targets_of_block,
            };
            for dim in &groups {
                let i = group % dim.size;
                group /= dim.size;
                out_offset += i * dim.out;
                block.at_offset += i * dim.at;
                block.src_offset += i as i64 * dim.src;
            }
            // SAFETY: the offset is that of an element of the output, and blocks have different elements.
            unsafe {
                let first = target.get().add(out_offset);
                if widens {
                    apply_wide(&block, first, rows.as_deref(), &mut scratch, wide);
                } else {
                    apply(&block, first.add(block.targets.start * axis.out), columns.out, axis.out, combine);
                }
            }
        }
    });
}

/// Through accumulators of the block's own: `rows` are the targets that the block's positions stand for, or all of them.
///
/// # Safety
/// As for [`apply`], with `first` the first column of target 0.
unsafe fn apply_wide<T: Element>(
    block: &Block<'_, T>,
    first: *mut T,
    rows: Option<&[usize]>,
    scratch: &mut Vec<T::Acc>,
    combine: impl Fn(T::Acc, T) -> T::Acc + Copy,
) {
    let (targets, width) = (block.targets.clone(), block.columns.size);
    let place = |target: usize| rows.map_or(target, |rows| rows[target]) * block.axis.out;
    let stride = block.columns.out;
    scratch.clear();
    scratch.reserve(targets.len() * width);
    // SAFETY: places are those of the block's elements, and the scratch has one accumulator for each.
    unsafe {
        for target in targets.clone() {
            let row = first.add(place(target));
            if stride == 1 {
                scratch.extend(std::slice::from_raw_parts(row, width).iter().map(|x| x.widen()));
            } else {
                scratch.extend((0..width).map(|c| row.add(c * stride).read().widen()));
            }
        }
        apply(block, scratch.as_mut_ptr(), 1, width, combine);
        for (target, accs) in targets.zip(scratch.chunks_exact(width)) {
            let row = first.add(place(target));
            if stride == 1 {
                T::narrow_all(accs, std::slice::from_raw_parts_mut(row, width));
            } else {
                accs.iter().enumerate().for_each(|(c, acc)| row.add(c * stride).write(T::narrow(*acc)));
            }
        }
    }
}

/// The targets that occur in `at`, in order; `at` then tells positions in this list.
fn compact(at: &mut [usize], axis_len: usize) -> Vec<usize> {
    let mut position = vec![usize::MAX; axis_len];
    at.iter().for_each(|target| position[*target] = 0);
    let mut rows = Vec::with_capacity(at.len());
    for (target, position) in position.iter_mut().enumerate().filter(|(_, p)| **p == 0) {
        *position = rows.len();
        rows.push(target);
    }
    at.iter_mut().for_each(|target| *target = position[*target]);
    rows
}

/// Combines the block's elements into what `first` points to.
///
/// # Safety
/// Column `c` of target `t` is `first + (t - targets.start) * row_stride + c * column_stride`, and nothing else uses it.
unsafe fn apply<T: Element, D: Copy>(
    block: &Block<'_, T>,
    first: *mut D,
    column_stride: usize,
    row_stride: usize,
    combine: impl Fn(D, T) -> D + Copy,
) {
    // SAFETY: the caller's promise, and the machine has the tier.
    unsafe {
        match block.tier {
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 | Tier::Avx512 => apply_avx2(block, first, column_stride, row_stride, combine),
            _ => apply_any(block, first, column_stride, row_stride, combine),
        }
    }
}

/// # Safety
/// As for [`apply`], on a machine with AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn apply_avx2<T: Element, D: Copy>(
    block: &Block<'_, T>,
    first: *mut D,
    column_stride: usize,
    row_stride: usize,
    combine: impl Fn(D, T) -> D + Copy,
) {
    // SAFETY: the caller's promise.
    unsafe { apply_any(block, first, column_stride, row_stride, combine) }
}

/// # Safety
/// As for [`apply`].
#[inline(always)]
unsafe fn apply_any<T: Element, D: Copy>(
    block: &Block<'_, T>,
    first: *mut D,
    column_stride: usize,
    row_stride: usize,
    combine: impl Fn(D, T) -> D + Copy,
) {
    let Block { axis, columns, targets, .. } = block;
    let n = columns.size;
    if n == 1 {
        // SAFETY: the caller's promise.
        return unsafe { apply_column(block, first, row_stride, combine) };
    }
    for i in 0..axis.size {
        let at = block.at_offset + i * axis.at;
        let src = block.src_offset + i as i64 * axis.src;
        if columns.at != 0 {
            for c in 0..n {
                let target = block.at[at + c * columns.at];
                if targets.contains(&target) {
                    let element = block.src[(src + c as i64 * columns.src) as usize];
                    // SAFETY: the caller's promise.
                    unsafe {
                        let place = first.add((target - targets.start) * row_stride + c * column_stride);
                        place.write(combine(place.read(), element));
                    }
                }
            }
            continue;
        }
        let target = block.at[at];
        if !targets.contains(&target) {
            continue;
        }
        // SAFETY: the caller's promise.
        let row = unsafe { first.add((target - targets.start) * row_stride) };
        if columns.src == 1 && column_stride == 1 {
            let elements = &block.src[src as usize..][..n];
            // SAFETY: as above; nothing else uses the row.
            let row = unsafe { std::slice::from_raw_parts_mut(row, n) };
            for (place, element) in row.iter_mut().zip(elements) {
                *place = combine(*place, *element);
            }
        } else {
            for c in 0..n {
                let element = block.src[(src + c as i64 * columns.src) as usize];
                // SAFETY: as above.
                unsafe {
                    let place = row.add(c * column_stride);
                    place.write(combine(place.read(), element));
                }
            }
        }
    }
}

/// [`apply`] to one column. Which target an element has is anyone's guess, so a branch on it would be mispredicted: elements of
/// other blocks' targets go into a place that is never read.
///
/// # Safety
/// As for [`apply`].
#[inline(always)]
unsafe fn apply_column<T: Element, D: Copy>(block: &Block<'_, T>, first: *mut D, row_stride: usize, combine: impl Fn(D, T) -> D + Copy) {
    let Block { axis, targets, .. } = block;
    if targets.is_empty() {
        return;
    }
    // Several places, so that one element does not wait for the last.
    // SAFETY: the block has a target.
    let mut nowhere = [unsafe { first.read() }; 16];
    let nowhere = nowhere.as_mut_ptr();
    for i in 0..axis.size {
        let target = block.at[block.at_offset + i * axis.at];
        let element = block.src[(block.src_offset + i as i64 * axis.src) as usize];
        // SAFETY: the caller's promise, or one of the 16 places.
        unsafe {
            let inside = first.wrapping_add(target.wrapping_sub(targets.start).wrapping_mul(row_stride));
            let place = if targets.contains(&target) { inside } else { nowhere.add(i % 16) };
            place.write(combine(place.read(), element));
        }
    }
}
