//! Indexing: `x.i((.., 1, 2..5))`, and ops whose access the data decides: gather, scatter, sort, select.

use crate::{
    Error, Result, Tensor,
    axes::{clamped, resolve_axis, scalar_as_vector},
    promotion::promote,
    view::{moved, whole},
};
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
use unigrad_graph::{DType, ErrorKind, Expr, Literal, ScatterMode, Shape, SliceAxis, broadcast_shapes, is_countable};

/// A new axis of size 1, in an index.
#[derive(Clone, Copy, Debug)]
pub struct NewAxis;

/// As many whole axes as are left, in an index.
#[derive(Clone, Copy, Debug)]
pub struct Ellipsis;

/// One entry of an index.
#[derive(Clone)]
pub enum IndexItem {
    /// One element; the axis goes. Negative counts from the end.
    At(i64),
    /// A part, as in Python: bounds may be negative or beyond the end, the step may be negative.
    Range {
        /// First element.
        start: Option<i64>,
        /// Where to stop.
        end: Option<i64>,
        /// Distance of elements.
        step: i64,
    },
    /// A new axis of size 1.
    NewAxis,
    /// Whole axes.
    Ellipsis,
    /// Elements by number, or (`Bool`) by a mask; a mask without axes gives a new axis of 1 element or of none.
    Tensor(Tensor),
}

/// `range` in steps: `x.i(step(.., -1))` reverses.
pub fn step(range: impl Into<IndexItem>, step: i64) -> IndexItem {
    match range.into() {
        IndexItem::Range { start, end, .. } => IndexItem::Range { start, end, step },
        whole @ (IndexItem::At(_) | IndexItem::NewAxis | IndexItem::Ellipsis | IndexItem::Tensor(_)) => whole,
    }
}

/// What `x.i(..)` takes: an entry, or a tuple, array or `Vec` of entries.
pub trait Index {
    /// The entries.
    fn items(self) -> Vec<IndexItem>;
}

impl From<RangeFull> for IndexItem {
    fn from(_: RangeFull) -> IndexItem {
        IndexItem::Range { start: None, end: None, step: 1 }
    }
}

impl From<NewAxis> for IndexItem {
    fn from(_: NewAxis) -> IndexItem {
        IndexItem::NewAxis
    }
}

impl From<Ellipsis> for IndexItem {
    fn from(_: Ellipsis) -> IndexItem {
        IndexItem::Ellipsis
    }
}

impl From<Tensor> for IndexItem {
    fn from(tensor: Tensor) -> IndexItem {
        IndexItem::Tensor(tensor)
    }
}

impl From<&Tensor> for IndexItem {
    fn from(tensor: &Tensor) -> IndexItem {
        IndexItem::Tensor(tensor.clone())
    }
}

macro_rules! single {
    ($($ty:ty),*) => { $(
        impl Index for $ty {
            fn items(self) -> Vec<IndexItem> {
                vec![self.into()]
            }
        }
    )* };
}

macro_rules! numbers {
    ($($ty:ty),*) => { $(
        impl From<$ty> for IndexItem {
            fn from(at: $ty) -> IndexItem {
                IndexItem::At(clamped(at))
            }
        }
        impl From<Range<$ty>> for IndexItem {
            fn from(range: Range<$ty>) -> IndexItem {
                IndexItem::Range { start: Some(clamped(range.start)), end: Some(clamped(range.end)), step: 1 }
            }
        }
        impl From<RangeFrom<$ty>> for IndexItem {
            fn from(range: RangeFrom<$ty>) -> IndexItem {
                IndexItem::Range { start: Some(clamped(range.start)), end: None, step: 1 }
            }
        }
        impl From<RangeTo<$ty>> for IndexItem {
            fn from(range: RangeTo<$ty>) -> IndexItem {
                IndexItem::Range { start: None, end: Some(clamped(range.end)), step: 1 }
            }
        }
        impl From<RangeInclusive<$ty>> for IndexItem {
            fn from(range: RangeInclusive<$ty>) -> IndexItem {
                let end = clamped(*range.end());
                // `..=-1` ends with the last element: there is no number after it.
                IndexItem::Range { start: Some(clamped(*range.start())), end: (end != -1).then_some(end.saturating_add(1)), step: 1 }
            }
        }
        impl From<RangeToInclusive<$ty>> for IndexItem {
            fn from(range: RangeToInclusive<$ty>) -> IndexItem {
                let end = clamped(range.end);
                IndexItem::Range { start: None, end: (end != -1).then_some(end.saturating_add(1)), step: 1 }
            }
        }
        single!($ty, Range<$ty>, RangeFrom<$ty>, RangeTo<$ty>, RangeInclusive<$ty>, RangeToInclusive<$ty>);
    )* };
}
numbers!(i32, i64, isize, usize);
single!(RangeFull, NewAxis, Ellipsis, Tensor, &Tensor, IndexItem);

impl<T: Into<IndexItem>> Index for Vec<T> {
    fn items(self) -> Vec<IndexItem> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<T: Into<IndexItem>, const N: usize> Index for [T; N] {
    fn items(self) -> Vec<IndexItem> {
        self.into_iter().map(Into::into).collect()
    }
}

macro_rules! tuples {
    ($($($name:ident)+;)*) => { $(
        impl<$($name: Into<IndexItem>),+> Index for ($($name,)+) {
            #[allow(non_snake_case)]
            fn items(self) -> Vec<IndexItem> {
                let ($($name,)+) = self;
                vec![$($name.into()),+]
            }
        }
    )* };
}
tuples!(A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H;);

/// Python's rule for one axis.
fn slice_axis(start: Option<i64>, end: Option<i64>, step: i64, size: usize) -> SliceAxis {
    let n = size as i64;
    let wrap = |i: i64| if i < 0 { i.saturating_add(n) } else { i };
    if step > 0 {
        let start = wrap(start.unwrap_or(0)).clamp(0, n);
        let end = wrap(end.unwrap_or(n)).clamp(0, n);
        let len = if end > start { (end - start - 1) / step + 1 } else { 0 };
        SliceAxis { start: start as usize, step, len: len as usize }
    } else {
        let start = wrap(start.unwrap_or(n - 1)).clamp(-1, n - 1);
        let end = end.map_or(-1, |end| wrap(end).clamp(-1, n - 1));
        let len = if start > end { (start - end - 1) / step.saturating_neg() + 1 } else { 0 };
        SliceAxis { start: start.max(0) as usize, step, len: len as usize }
    }
}

/// Element `back` from the end of an axis with a name, which keeps size 1.
#[track_caller]
pub(crate) fn element_from_end(x: &Expr, axis: usize, back: usize) -> Expr {
    let at = x.shape()[axis].saturating_sub(back);
    x.dyn_slice(axis, &Expr::scalar(Literal::int(DType::I64, at as i64), &[], x.device()), 1)
}

/// A part of an axis with a name, where a bound counts from its end, or is its end; `None` where the numbers say all.
#[track_caller]
fn part_of_named(x: &Expr, axis: usize, start: Option<i64>, end: Option<i64>, step: i64) -> Option<Expr> {
    let size = x.shape()[axis];
    let from_end = |at: i64| usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX); // DEFAULT: beyond any axis
    let after = match end {
        None => 0,
        Some(end) if end < 0 => from_end(end),
        Some(_) => return None,
    };
    let step = usize::try_from(step).ok()?;
    match start.unwrap_or(0) {
        start if start >= 0 => Some(x.inner(axis, usize::try_from(start).ok()?, after, step)),
        start if from_end(start) <= size => {
            let last = x.last(axis, from_end(start));
            let len = from_end(start).saturating_sub(after).div_ceil(step);
            let mut spec = whole(&last);
            spec[axis] = SliceAxis { start: 0, step: step as i64, len };
            Some(last.slice(&spec))
        }
        _ => Some(x.inner(axis, 0, after, step)),
    }
}

/// An index tensor as `I64`.
#[track_caller]
pub(crate) fn as_index(op: &str, index: &Expr) -> Result<Expr, Expr> {
    if index.error().is_some() {
        return Err(index.clone());
    }
    if !index.dtype().is_int() {
        let message = format!("an index of {}", index.dtype());
        return Err(Expr::fail(ErrorKind::DType, op, message, "use an integer dtype", &[index]));
    }
    Ok(index.cast(DType::I64))
}

/// A mask whose sizes are not those of the axes that it stands for.
fn misfit(x: &Expr, items: &[IndexItem]) -> Option<(String, &'static str)> {
    let width = |item: &IndexItem| match item {
        IndexItem::NewAxis | IndexItem::Ellipsis => 0,
        IndexItem::Tensor(mask) if mask.dtype() == DType::Bool => mask.rank(),
        IndexItem::At(_) | IndexItem::Range { .. } | IndexItem::Tensor(_) => 1,
    };
    let left = x.rank().checked_sub(items.iter().map(width).sum())?;
    let mut axis = 0;
    for item in items {
        match item {
            IndexItem::Ellipsis => axis += left,
            IndexItem::Tensor(mask) if mask.dtype() == DType::Bool && !mask.is_invalid() => {
                let (own, theirs) = (mask.shape(), x.shape().get(axis..axis + mask.rank())?.to_vec());
                // A mask without elements names none, whatever the axis has.
                if own.iter().zip(&theirs).any(|(own, size)| own != size && *own != 0) {
                    return Some((format!("a mask {own:?} for axes {theirs:?} of {:?}", x.shape()), "give a mask of these sizes"));
                }
                axis += mask.rank();
            }
            IndexItem::At(_) | IndexItem::Range { .. } | IndexItem::NewAxis | IndexItem::Tensor(_) => axis += width(item),
        }
    }
    None
}

#[track_caller]
pub(crate) fn try_index(x: &Expr, items: Vec<IndexItem>) -> Result<Expr, Expr> {
    if x.error().is_some() {
        return Err(x.clone());
    }
    // A mask of n axes stands for n index tensors, one without axes for a new axis and an index tensor along it: of one 0, or of none.
    let mut entries = Vec::with_capacity(items.len());
    let mut problem = misfit(x, &items);
    let mut truths = Vec::new();
    for item in items {
        match item {
            IndexItem::Tensor(tensor) if tensor.dtype() == DType::Bool && !tensor.is_invalid() => {
                let n = tensor.rank();
                if n == 0 {
                    truths.push((entries.len(), tensor.reshape([1]).nonzero().select(1, 0)));
                    entries.push(IndexItem::NewAxis);
                    continue;
                }
                let positions = tensor.nonzero();
                for axis in 0..n {
                    entries.push(IndexItem::Tensor(positions.select(1, axis as i64)));
                }
            }
            entry @ (IndexItem::At(_) | IndexItem::Range { .. } | IndexItem::NewAxis | IndexItem::Ellipsis | IndexItem::Tensor(_)) => {
                entries.push(entry);
            }
        }
    }
    if !entries.iter().any(|entry| matches!(entry, IndexItem::Ellipsis)) {
        entries.push(IndexItem::Ellipsis);
    }
    let taken = entries.iter().filter(|entry| !matches!(entry, IndexItem::NewAxis | IndexItem::Ellipsis)).count();
    if taken > x.rank() {
        problem = Some((format!("{taken} entries for {:?}", x.shape()), "give at most one entry per axis"));
    } else if entries.iter().filter(|entry| matches!(entry, IndexItem::Ellipsis)).count() > 1 {
        problem = Some(("more than one ellipsis".into(), "an ellipsis stands for all axes that are left: one is enough"));
    }
    // Along axes with names, what counts from the end is cut first: another step has other numbers.
    let mut named = x.clone();
    let mut spec = whole(x);
    // Per axis of the result: how large, and which index tensor if one is there.
    let mut shape = Shape::new();
    let mut tensors: Vec<(usize, Expr)> = Vec::new();
    let mut axis = 0;
    if problem.is_none() {
        for (number, entry) in entries.iter().enumerate() {
            match entry {
                IndexItem::At(at) => {
                    let size = x.shape()[axis] as i64;
                    let wrapped = if *at < 0 { at + size } else { *at };
                    if !(0..size).contains(&wrapped) {
                        let message = format!("element {at} of axis {axis} of {:?}", x.shape());
                        problem = Some((message, "elements count from 0, or from -1 at the end"));
                        break;
                    }
                    spec[axis] = SliceAxis { start: wrapped as usize, step: 1, len: 1 };
                    if x.is_named_axis(axis) && *at < 0 {
                        named = element_from_end(&named, axis, at.unsigned_abs() as usize);
                        spec[axis].start = 0;
                    }
                    axis += 1;
                }
                IndexItem::Range { step: 0, .. } => {
                    problem = Some(("a step of 0".into(), "a step is positive, or negative to go backward"));
                    break;
                }
                IndexItem::Range { start, end, step } => {
                    spec[axis] = slice_axis(*start, *end, *step, x.shape()[axis]);
                    if x.is_named_axis(axis)
                        && let Some(part) = part_of_named(&named, axis, *start, *end, *step)
                    {
                        named = part;
                        spec[axis] = SliceAxis { start: 0, step: 1, len: spec[axis].len };
                    }
                    shape.push(spec[axis].len);
                    axis += 1;
                }
                IndexItem::NewAxis => {
                    if let Some((_, truth)) = truths.iter().find(|(at, _)| *at == number) {
                        tensors.push((shape.len(), as_index("index", &truth.expr())?));
                    }
                    shape.push(1);
                }
                IndexItem::Ellipsis => {
                    for _ in 0..x.rank() - taken {
                        shape.push(x.shape()[axis]);
                        axis += 1;
                    }
                }
                IndexItem::Tensor(tensor) => {
                    tensors.push((shape.len(), as_index("index", &tensor.expr())?));
                    shape.push(x.shape()[axis]);
                    axis += 1;
                }
            }
        }
    }
    if let Some((message, help)) = problem {
        return Err(Expr::fail(ErrorKind::Index, "index", message, help, &[x]));
    }
    let part = named.slice(&spec).reshape(&shape);
    // An ellipsis between index tensors sets them apart, whatever axes it stands for.
    let is_tensor = |entry: usize| matches!(entries.get(entry), Some(IndexItem::Tensor(_))) || truths.iter().any(|(at, _)| *at == entry);
    let ellipsis = entries.iter().position(|entry| matches!(entry, IndexItem::Ellipsis)).unwrap_or(entries.len());
    let apart = (0..ellipsis).any(is_tensor) && (ellipsis..entries.len()).any(is_tensor);
    if tensors.is_empty() { Ok(part) } else { take_together(&part, "index", &tensors, apart) }
}

/// NumPy's indexing with integer tensors, which broadcast with each other and replace their axes; `apart` says that they are not side by side even where their
/// axes are.
#[track_caller]
fn take_together(x: &Expr, op: &str, tensors: &[(usize, Expr)], apart: bool) -> Result<Expr, Expr> {
    if x.error().is_some() {
        return Err(x.clone());
    }
    let mut common = Shape::new();
    for (_, index) in tensors {
        common = match broadcast_shapes(&common, index.shape()) {
            Some(shape) => shape,
            None => {
                let message = format!("index tensors {common:?} and {:?} do not broadcast", index.shape());
                let help = "sizes match from the last axis back, or are 1";
                return Err(Expr::fail(ErrorKind::Shape, op, message, help, &[x, index]));
            }
        };
    }
    let axes: Vec<usize> = tensors.iter().map(|(axis, _)| *axis).collect();
    let adjacent = !apart && axes.windows(2).all(|pair| pair[1] == pair[0] + 1);
    // Indexed axes come together: at their place if they are side by side, else in front.
    let place = if adjacent { axes[0] } else { 0 };
    let mut order: Vec<usize> = (0..x.rank()).filter(|axis| !axes.contains(axis)).collect();
    for (i, axis) in axes.iter().enumerate() {
        order.insert(place + i, *axis);
    }
    let x = x.permute(&order);
    let sizes: Vec<usize> = x.shape()[place..place + axes.len()].to_vec();
    let mut merged = Shape::from_slice(&x.shape()[..place]);
    merged.push(sizes.iter().product());
    merged.extend_from_slice(&x.shape()[place + axes.len()..]);
    let mut linear: Option<Expr> = None;
    for ((_, index), size) in tensors.iter().zip(&sizes) {
        let index = index.expand(&common).bounded(*size);
        linear = Some(match linear {
            Some(linear) => linear.mul(&Expr::constant(Literal::int(DType::I64, *size as i64), &common, index.device())).add(&index),
            None => index,
        });
    }
    let linear = linear.unwrap_or_else(|| x.zeros_like());
    let picked = select_rows(&x.reshape(&merged), place, &linear.reshape(&[linear.numel()]));
    let mut shape = Shape::from_slice(&merged[..place]);
    shape.extend_from_slice(&common);
    shape.extend_from_slice(&merged[place + 1..]);
    Ok(picked.reshape(&shape))
}

/// Slices of `x` along `axis` by a vector of numbers.
#[track_caller]
fn select_rows(x: &Expr, axis: usize, index: &Expr) -> Expr {
    let mut apart: Shape = Shape::from_elem(1, x.rank());
    apart[axis] = index.numel();
    let mut shape = x.shape().clone();
    shape[axis] = index.numel();
    x.gather(axis, &index.reshape(&apart).expand(&shape))
}

#[track_caller]
fn try_gather(x: &Expr, op: &str, axis: i64, index: &Expr) -> Result<Expr, Expr> {
    let index = as_index(op, index)?;
    if let Some(vector) = scalar_as_vector(x, axis) {
        let shape = index.shape().clone();
        let index = if index.rank() == 0 { index.reshape(&[1]) } else { index };
        return Ok(try_gather(&vector, op, axis, &index)?.reshape(&shape));
    }
    let axis = resolve_axis(x, op, axis)?;
    if index.rank() != x.rank() || (0..x.rank()).any(|i| i != axis && index.shape()[i] > x.shape()[i]) {
        let message = format!("index {:?} along axis {axis} of {:?}", index.shape(), x.shape());
        let help = "the index has as many axes, and beside the gathered one no larger sizes; see `take_along` for broadcasting";
        return Err(Expr::fail(ErrorKind::Shape, op, message, help, &[x, &index]));
    }
    let mut x = x.clone();
    for i in (0..x.rank()).filter(|i| *i != axis) {
        x = x.narrow(i, 0, index.shape()[i]);
    }
    Ok(x.gather(axis, &index))
}

#[track_caller]
fn try_index_select(x: &Expr, op: &str, axis: i64, index: &Expr) -> Result<Expr, Expr> {
    let index = as_index(op, index)?;
    if let Some(vector) = scalar_as_vector(x, axis).filter(|_| index.numel() == 1) {
        return Ok(take_together(&vector, op, &[(0, index)], false)?.reshape(&[]));
    }
    let axis = resolve_axis(x, op, axis)?;
    take_together(x, op, &[(axis, index)], false)
}

#[track_caller]
pub(crate) fn try_scatter(base: &Expr, op: &str, axis: i64, index: &Expr, src: &Expr, mode: ScatterMode) -> Result<Expr, Expr> {
    let index = as_index(op, index)?;
    if let Some(vector) = scalar_as_vector(base, axis) {
        let whole = |x: &Expr| if x.error().is_none() && x.rank() == 0 { x.reshape(&[1]) } else { x.clone() };
        return Ok(try_scatter(&vector, op, axis, &whole(&index), &whole(src), mode)?.reshape(&[]));
    }
    let axis = resolve_axis(base, op, axis)?;
    if src.error().is_some() {
        return Err(src.clone());
    }
    if src.rank() != index.rank() || (0..src.rank()).any(|i| index.shape()[i] > src.shape()[i]) {
        let message = format!("index {:?} for source {:?}", index.shape(), src.shape());
        return Err(Expr::fail(ErrorKind::Shape, op, message, "there is a source element for every index", &[base, &index, src]));
    }
    let mut src = src.cast(base.dtype());
    for i in 0..src.rank() {
        src = src.narrow(i, 0, index.shape()[i]);
    }
    Ok(base.scatter(axis, mode, &index, &src))
}

#[track_caller]
pub(crate) fn try_index_scatter(base: &Expr, op: &str, axis: i64, index: &Expr, src: &Expr, mode: ScatterMode) -> Result<Expr, Expr> {
    let index = as_index(op, index)?;
    // A number is a vector of one.
    let index = if index.rank() == 0 { index.reshape(&[1]) } else { index };
    if let Some(vector) = scalar_as_vector(base, axis) {
        let src = if src.error().is_none() && src.rank() == 0 { src.reshape(&[1]) } else { src.clone() };
        return Ok(try_index_scatter(&vector, op, axis, &index, &src, mode)?.reshape(&[]));
    }
    let axis = resolve_axis(base, op, axis)?;
    if src.error().is_some() {
        return Err(src.clone());
    }
    if index.rank() != 1 || src.rank() != base.rank() || src.shape()[axis] != index.numel() {
        let message = format!("index {:?} and source {:?} along axis {axis} of {:?}", index.shape(), src.shape(), base.shape());
        let help = "the index is a vector with one number per slice of the source";
        return Err(Expr::fail(ErrorKind::Shape, op, message, help, &[base, &index, src]));
    }
    let mut apart: Shape = Shape::from_elem(1, src.rank());
    apart[axis] = index.numel();
    let index = index.reshape(&apart).expand_like(src);
    Ok(base.scatter(axis, mode, &index, &src.cast(base.dtype())))
}

impl Tensor {
    /// A part of the tensor by index, as in NumPy: numbers, ranges, [`step`], [`NewAxis`], [`Ellipsis`], tensors of numbers, and masks
    /// (which wait for the host, see [`Tensor::nonzero`]).
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{DType, Device, Ellipsis, NewAxis, Tensor, step};
    ///
    /// let device = Device::open("cpu")?;
    /// let x = Tensor::range(24, DType::I64, &device).reshape([2, 3, 4]);
    /// assert_eq!(x.i((.., 1, 2..4)).to_vec::<i64>()?, [6, 7, 18, 19]);
    /// assert_eq!(x.i((-1, -1, step(.., -2))).to_vec::<i64>()?, [23, 21]);
    /// assert_eq!(x.i((Ellipsis, NewAxis, 0)).dims()?, [2, 3, 1]);
    /// let rows = Tensor::new([2i64, 0], &device);
    /// assert_eq!(x.i((0, &rows, 1)).to_vec::<i64>()?, [9, 1]);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn i(&self, index: impl Index) -> Tensor {
        Tensor::from_result(try_index(&self.expr(), index.items()))
    }

    /// Another name for [`Tensor::i`].
    #[track_caller]
    pub fn index(&self, index: impl Index) -> Tensor {
        self.i(index)
    }

    /// `out[p] = self[p with p[axis] := index[p]]`, as PyTorch's: other sizes of the index are at most the tensor's. As in every op that takes
    /// positions, negative ones count from the end, as in NumPy (PyTorch refuses them here); beyond the axis they are an error when it runs.
    /// Labels are no positions: see [`Tensor::one_hot`] and [`Tensor::cross_entropy`].
    #[track_caller]
    pub fn gather(&self, axis: isize, index: &Tensor) -> Tensor {
        Tensor::from_result(try_gather(&self.expr(), "gather", axis as i64, &index.expr()))
    }

    /// As [`Tensor::gather`], but sizes beside the axis broadcast (NumPy's `take_along_axis`).
    #[track_caller]
    pub fn take_along(&self, axis: isize, index: &Tensor) -> Tensor {
        let (x, index) = (self.expr(), index.expr());
        if scalar_as_vector(&x, axis as i64).is_some() {
            return Tensor::from_result(try_gather(&x, "take_along", axis as i64, &index));
        }
        let at = match resolve_axis(&x, "take_along", axis as i64) {
            Ok(at) => at,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        if index.error().is_some() || index.rank() != x.rank() {
            return Tensor::from_result(try_gather(&x, "take_along", axis as i64, &index));
        }
        let mut mine = x.shape().clone();
        let mut theirs = index.shape().clone();
        for i in (0..x.rank()).filter(|i| *i != at) {
            let size = if mine[i] == 1 { theirs[i] } else { mine[i] };
            (mine[i], theirs[i]) = (size, size);
        }
        Tensor::from_result(try_gather(&x.expand(&mine), "take_along", at as i64, &index.expand(&theirs)))
    }

    /// Slices along an axis by numbers, negative ones from the end (see [`Tensor::gather`]); an index of several axes puts them in place of
    /// the axis.
    #[track_caller]
    pub fn index_select(&self, axis: isize, index: &Tensor) -> Tensor {
        Tensor::from_result(try_index_select(&self.expr(), "index_select", axis as i64, &index.expr()))
    }

    /// Elements by their row-major number, in the index's shape.
    #[track_caller]
    pub fn take(&self, index: &Tensor) -> Tensor {
        Tensor::from_result(try_index_select(&self.flatten_all().expr(), "take", 0, &index.expr()))
    }

    /// Rows of a table `[entries, features]` by number, negative ones from the end (see [`Tensor::gather`]): `[index.., features]`.
    #[track_caller]
    pub fn embedding(&self, index: &Tensor) -> Tensor {
        Tensor::from_result(try_index_select(&self.expr(), "embedding", 0, &index.expr()))
    }

    /// `self` with `src` put in where `index` says: `out[p with p[axis] := index[p]] = src[p]`. Negative ones count from the end (see
    /// [`Tensor::gather`]).
    #[track_caller]
    pub fn scatter(&self, axis: isize, index: &Tensor, src: &Tensor) -> Tensor {
        self.scatter_as("scatter", axis, index, src, ScatterMode::Set)
    }

    /// `self` with `src` added where `index` says.
    #[track_caller]
    pub fn scatter_add(&self, axis: isize, index: &Tensor, src: &Tensor) -> Tensor {
        self.scatter_as("scatter_add", axis, index, src, ScatterMode::Add)
    }

    /// `self` combined with `src` where `index` says: set, add, max, min or mul.
    #[track_caller]
    pub fn scatter_with(&self, axis: isize, index: &Tensor, src: &Tensor, mode: ScatterMode) -> Tensor {
        self.scatter_as("scatter_with", axis, index, src, mode)
    }

    #[track_caller]
    fn scatter_as(&self, op: &str, axis: isize, index: &Tensor, src: &Tensor, mode: ScatterMode) -> Tensor {
        Tensor::from_result(try_scatter(&self.expr(), op, axis as i64, &index.expr(), &src.expr(), mode))
    }

    /// `self` with slices of `src` added to the slices that a vector of numbers names.
    #[track_caller]
    pub fn index_add(&self, axis: isize, index: &Tensor, src: &Tensor) -> Tensor {
        Tensor::from_result(try_index_scatter(&self.expr(), "index_add", axis as i64, &index.expr(), &src.expr(), ScatterMode::Add))
    }

    /// `self` with slices of `src` in place of the slices that a vector of numbers names.
    #[track_caller]
    pub fn index_copy(&self, axis: isize, index: &Tensor, src: &Tensor) -> Tensor {
        Tensor::from_result(try_index_scatter(&self.expr(), "index_copy", axis as i64, &index.expr(), &src.expr(), ScatterMode::Set))
    }

    /// 1 at the class, 0 elsewhere, `I64`: `[.., classes]` of integers `[..]` in `0..classes`; others, negative ones too, are an error when it
    /// runs.
    #[track_caller]
    pub fn one_hot(&self, classes: usize) -> Tensor {
        let index = match as_index("one_hot", &self.expr()) {
            Ok(index) => index,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let mut apart = index.shape().clone();
        apart.push(1);
        let mut shape = index.shape().clone();
        shape.push(classes);
        if !is_countable(&shape, DType::I64.size()) {
            let message = format!("{classes} classes for each of {:?}", index.shape());
            return Tensor::fail(ErrorKind::Shape, "one_hot", message, "no memory has so many elements: give fewer classes", &[self]);
        }
        let class = Expr::iota(&shape, shape.len() - 1, DType::I64, index.device());
        Tensor::from_expr(class.eq(&index.label(classes).reshape(&apart).expand(&shape)).cast(DType::I64))
    }

    /// Indices (`I64`) that sort an axis; equal elements keep their order, NaN is the greatest.
    #[track_caller]
    pub fn argsort(&self, axis: isize, descending: bool) -> Tensor {
        self.argsort_as("argsort", axis, descending)
    }

    #[track_caller]
    fn argsort_as(&self, op: &str, axis: isize, descending: bool) -> Tensor {
        let x = self.expr();
        if let Some(vector) = scalar_as_vector(&x, axis as i64) {
            return Tensor::from_expr(vector.argsort(0, descending).reshape(&[]));
        }
        match resolve_axis(&x, op, axis as i64) {
            Ok(axis) => Tensor::from_expr(x.argsort(axis, descending)),
            Err(invalid) => Tensor::from_expr(invalid),
        }
    }

    /// An axis sorted, and the indices (`I64`) that sort it.
    #[track_caller]
    pub fn sort(&self, axis: isize, descending: bool) -> (Tensor, Tensor) {
        let index = self.argsort_as("sort", axis, descending);
        (self.gather(axis, &index), index)
    }

    /// The `k` greatest (or least) along an axis, best first, and their indices (`I64`).
    #[track_caller]
    pub fn topk(&self, k: usize, axis: isize, largest: bool) -> (Tensor, Tensor) {
        let x = self.expr();
        if let Some(vector) = scalar_as_vector(&x, axis as i64) {
            // None of its one element is that element, as in PyTorch.
            let index = Tensor::from_expr(vector.topk(0, k.max(1), largest).reshape(&[]));
            if index.is_invalid() {
                return (index.clone(), index);
            }
            return (self.gather(axis, &index), index);
        }
        let index = match resolve_axis(&x, "topk", axis as i64) {
            Ok(axis) => Tensor::from_expr(x.topk(axis, k, largest)),
            Err(invalid) => Tensor::from_expr(invalid),
        };
        (self.gather(axis, &index), index)
    }

    /// Positions of the elements that are true (not 0): `[count, rank]`, `I64`, in row-major order.
    ///
    /// Waits for the values: the shape depends on them.
    #[track_caller]
    pub fn nonzero(&self) -> Tensor {
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        let positions = match true_positions(&x) {
            Ok(positions) => positions,
            Err(error) => return Tensor::fail(ErrorKind::Argument, "nonzero", error.to_string(), UNREAD, &[self]),
        };
        let count = positions.len();
        let strides = unigrad_graph::contiguous_strides(x.shape());
        let mut rows = Vec::with_capacity(count * x.rank());
        for at in positions {
            rows.extend(strides.iter().zip(x.shape()).map(|(stride, size)| at / *stride % (*size as i64).max(1)));
        }
        upload_i64(&rows, &[count, x.rank()], x.device(), "nonzero")
    }

    /// The elements where a mask (which broadcasts) is true, as a vector. Waits for the mask: the length depends on it.
    #[track_caller]
    pub fn masked_select(&self, mask: &Tensor) -> Tensor {
        let (x, mask) = match crate::promotion::broadcast("masked_select", &self.expr(), &mask.expr()) {
            Ok(pair) => pair,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        for e in [&x, &mask] {
            if e.error().is_some() {
                return Tensor::from_expr(e.clone());
            }
        }
        let positions = match true_positions(&mask) {
            Ok(positions) => positions,
            Err(error) => return Tensor::fail(ErrorKind::Argument, "masked_select", error.to_string(), UNREAD, &[self]),
        };
        let index = upload_i64(&positions, &[positions.len()], x.device(), "masked_select");
        Tensor::from_expr(x).take(&index)
    }

    /// The different values, ascending. Waits for the values: the length depends on them.
    #[track_caller]
    pub fn unique(&self) -> Tensor {
        let (sorted, _) = self.flatten_all().sort(0, false);
        let n = sorted.size(0);
        if n < 2 {
            return sorted;
        }
        let differs = sorted.narrow(0, 1, n - 1).ne(sorted.narrow(0, 0, n - 1));
        let first = Tensor::from_expr(Expr::constant(Literal::one(DType::Bool), &[1], sorted.device_id()));
        sorted.masked_select(&Tensor::concat(&[&first, &differs], 0))
    }

    /// `self` with `value` in place of the part that an index of numbers and ranges names; `value` broadcasts to the part.
    ///
    /// It may have more axes of one element before the part's, as in NumPy.
    #[track_caller]
    pub fn set_at(&self, index: impl Index, value: &Tensor) -> Tensor {
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        // The positions of the part are what the same index picks from the elements' numbers.
        let numbers = Expr::iota(&[x.numel()], 0, DType::I64, x.device()).reshape(x.shape());
        let part = match try_index(&numbers, index.items()) {
            Ok(part) => part,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let v = value.expr();
        if v.error().is_none() && (promote(&x, &v) != x.dtype() || !x.dtype().promotes_with(v.dtype())) {
            let message = format!("a value of {} into {}", v.dtype(), x.dtype());
            return Tensor::fail(ErrorKind::DType, "set_at", message, "cast the value", &[self, value]);
        }
        // Assignment alone drops leading axes of one element.
        let more = v.rank().saturating_sub(part.rank());
        let v = if v.error().is_none() && v.shape()[..more].iter().all(|size| *size == 1) { v.reshape(&v.shape()[more..]) } else { v };
        let v = v.cast(x.dtype()).expand(part.shape());
        if v.error().is_some() {
            return Tensor::from_expr(v);
        }
        let flat = x.reshape(&[x.numel()]).scatter(0, ScatterMode::Set, &part.reshape(&[part.numel()]), &v.reshape(&[v.numel()]));
        Tensor::from_expr(flat.reshape(x.shape()))
    }

    /// Axes in a new order that brings `axis` to the end.
    #[track_caller]
    pub fn axis_last(&self, axis: isize) -> Tensor {
        let x = self.expr();
        match resolve_axis(&x, "axis_last", axis as i64) {
            Ok(axis) => Tensor::from_expr(x.permute(&moved(x.rank(), axis, x.rank() - 1))),
            Err(invalid) => Tensor::from_expr(invalid),
        }
    }
}

/// What helps where values that an op needs at once are not to be had.
pub(crate) const UNREAD: &str = "the shape depends on the values, which could not be computed; see the cause";

/// Row-major numbers of the elements that are not 0.
#[track_caller]
fn true_positions(x: &Expr) -> Result<Vec<i64>> {
    let bytes = crate::eval::download(&x.cast(DType::Bool))?;
    if bytes.len() != x.numel() {
        return Err(Error::Internal(format!("{} bytes for {} bools", bytes.len(), x.numel())));
    }
    Ok(bytes.iter().enumerate().filter(|(_, byte)| **byte != 0).map(|(at, _)| at as i64).collect())
}

#[track_caller]
pub(crate) fn upload_i64(values: &[i64], shape: &[usize], device: u32, op: &str) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    match crate::eval::upload(&bytes, shape, DType::I64, device) {
        Ok(expr) => Tensor::from_expr(expr),
        Err(error) => {
            Tensor::fail(ErrorKind::Argument, op, error.to_string(), "the device could not take the positions; see the cause", &[])
        }
    }
}
