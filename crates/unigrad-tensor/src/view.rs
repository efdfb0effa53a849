//! Views: the same elements in another arrangement. Nothing is copied before a kernel needs it.

use crate::{
    Dims, Ints, Tensor, Value,
    axes::{resolve_axes, resolve_axis, resolve_in, scalar_as_vector},
    creation::unheld,
    index::element_from_end,
    promotion::refuse_mixed,
};
use unigrad_graph::{DType, ErrorKind, Expr, Inputs, Literal, MAX_RANK, PadAxis, Shape, SliceAxis};

/// What [`Tensor::pad_with`] puts around a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// One value.
    Constant(f64),
    /// Mirrored at the edge, which is not repeated.
    Reflect,
    /// The edge again and again.
    Replicate,
    /// From the other end.
    Circular,
}

/// Parts that one call gives, at most.
const MAX_PARTS: usize = 1 << 20;

#[track_caller]
fn try_reshape(x: Expr, ints: &[i64]) -> Result<Expr, Expr> {
    if x.is_invalid() {
        return Err(x);
    }
    // All sizes are given, as mostly: the graph compares the number of elements.
    let mut few = [0; 6];
    if let Some(sizes) = few.get_mut(..ints.len()) {
        let mut all = 0;
        for (to, size) in sizes.iter_mut().zip(ints) {
            (*to, all) = (*size as usize, all | *size);
        }
        if all >= 0 {
            return Ok(x.reshape_with(sizes));
        }
    }
    let fail = |message: String| -> (ErrorKind, String) { (ErrorKind::Shape, message) };
    let help = "the number of elements stays; one size may be -1 and is found out";
    let open = ints.iter().filter(|size| **size == -1).count();
    let problem = if open > 1 {
        Some(fail(format!("{ints:?} has more than one -1")))
    } else if ints.iter().any(|size| *size < -1) {
        Some(fail(format!("{ints:?} has a negative size")))
    } else {
        None
    };
    let known = ints.iter().filter(|size| **size >= 0).try_fold(1_usize, |product, size| product.checked_mul(*size as usize));
    let problem = problem.or_else(|| match known {
        None => Some(fail(format!("{ints:?} has more elements than can be counted"))),
        Some(known) if open == 1 && (known == 0 || !x.numel().is_multiple_of(known)) => {
            Some(fail(format!("{} elements of {:?} do not divide into {ints:?}", x.numel(), x.shape())))
        }
        _ => None,
    });
    if let Some((kind, message)) = problem {
        return Err(Expr::fail(kind, "reshape", message, help, &[&x]));
    }
    let rest = if open == 1 { x.numel() / known.unwrap_or(1).max(1) } else { 0 };
    let shape: Shape = ints.iter().map(|size| if *size < 0 { rest } else { *size as usize }).collect();
    Ok(x.reshape_with(&shape))
}

#[track_caller]
pub(crate) fn whole(x: &Expr) -> Vec<SliceAxis> {
    x.shape().iter().map(|size| SliceAxis { start: 0, step: 1, len: *size }).collect()
}

/// Moves entry `from` of an order to place `to`.
pub(crate) fn moved(rank: usize, from: usize, to: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rank).filter(|axis| *axis != from).collect();
    order.insert(to.min(order.len()), from);
    order
}

impl Tensor {
    /// The same elements in row-major order; one size may be -1 and is found out.
    #[track_caller]
    pub fn reshape(&self, shape: impl Ints) -> Tensor {
        self.reshape_ints(&shape.ints())
    }

    #[track_caller]
    fn reshape_ints(&self, ints: &[i64]) -> Tensor {
        Tensor::from_result(try_reshape(self.expr(), ints))
    }

    /// Another name for [`Tensor::reshape`].
    #[track_caller]
    pub fn view(&self, shape: impl Ints) -> Tensor {
        self.reshape(shape)
    }

    #[track_caller]
    pub(crate) fn reshape_to(&self, shape: &[usize]) -> Tensor {
        Tensor::from_expr(self.expr().reshape_with(shape))
    }

    /// One axis instead of `first..=last`.
    #[track_caller]
    pub fn flatten(&self, first: isize, last: isize) -> Tensor {
        let x = self.expr();
        if x.error().is_none() && x.rank() == 0 {
            return self.reshape([1_usize]);
        }
        let (first, last) = match (resolve_axis(&x, "flatten", first as i64), resolve_axis(&x, "flatten", last as i64)) {
            (Ok(first), Ok(last)) if first <= last => (first, last),
            (Err(invalid), _) | (_, Err(invalid)) => return Tensor::from_expr(invalid),
            (Ok(first), Ok(last)) => {
                return Tensor::fail(
                    ErrorKind::Axis,
                    "flatten",
                    format!("axis {first} is after axis {last}"),
                    "name the earlier one first",
                    &[self],
                );
            }
        };
        let mut shape = Shape::from_slice(&x.shape()[..first]);
        shape.push(x.shape()[first..=last].iter().product());
        shape.extend_from_slice(&x.shape()[last + 1..]);
        Tensor::from_expr(x.reshape(&shape))
    }

    /// One axis with all elements.
    #[track_caller]
    pub fn flatten_all(&self) -> Tensor {
        self.reshape([-1])
    }

    /// Axis `axis` becomes several, of these sizes (one may be -1).
    #[track_caller]
    pub fn unflatten(&self, axis: isize, sizes: impl Ints) -> Tensor {
        let x = self.expr();
        let axis = match resolve_axis(&x, "unflatten", axis as i64) {
            Ok(axis) => axis,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let mut shape: Vec<i64> = x.shape().iter().map(|size| *size as i64).collect();
        shape.splice(axis..=axis, sizes.ints());
        self.reshape(shape)
    }

    /// Axis `i` of the result is axis `order[i]`.
    #[track_caller]
    pub fn permute(&self, order: impl Ints) -> Tensor {
        let x = self.expr();
        let mut perm = Vec::new();
        for axis in order.ints() {
            match resolve_axis(&x, "permute", axis) {
                Ok(axis) => perm.push(axis),
                Err(invalid) => return Tensor::from_expr(invalid),
            }
        }
        Tensor::from_expr(x.permute(&perm))
    }

    /// Two axes change places.
    #[track_caller]
    pub fn transpose(&self, a: isize, b: isize) -> Tensor {
        let x = self.expr();
        if x.rank() == 0 && [a, b].iter().all(|axis| scalar_as_vector(&x, *axis as i64).is_some()) {
            return Tensor::from_expr(x.permute(&[]));
        }
        let (a, b) = match (resolve_axis(&x, "transpose", a as i64), resolve_axis(&x, "transpose", b as i64)) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(invalid), _) | (_, Err(invalid)) => return Tensor::from_expr(invalid),
        };
        if x.rank() == 2 && a != b {
            return Tensor::from_expr(x.permute_with(&[1, 0]));
        }
        let mut all: [usize; MAX_RANK] = std::array::from_fn(|axis| axis);
        // No tensor has more axes.
        let order = &mut all[..x.rank()];
        order.swap(a, b);
        Tensor::from_expr(x.permute_with(order))
    }

    /// Another name for [`Tensor::transpose`].
    #[track_caller]
    pub fn swap_axes(&self, a: isize, b: isize) -> Tensor {
        self.transpose(a, b)
    }

    /// The last two axes change places.
    #[track_caller]
    pub fn t(&self) -> Tensor {
        self.transpose(-2, -1)
    }

    /// Axis `from` moves to place `to`; the others keep their order.
    #[track_caller]
    pub fn movedim(&self, from: isize, to: isize) -> Tensor {
        let x = self.expr();
        if [from, to].iter().all(|axis| scalar_as_vector(&x, *axis as i64).is_some()) {
            return Tensor::from_expr(x.permute(&[]));
        }
        match (resolve_axis(&x, "movedim", from as i64), resolve_axis(&x, "movedim", to as i64)) {
            (Ok(from), Ok(to)) => Tensor::from_expr(x.permute(&moved(x.rank(), from, to))),
            (Err(invalid), _) | (_, Err(invalid)) => Tensor::from_expr(invalid),
        }
    }

    /// Broadcast to a shape.
    #[track_caller]
    pub fn expand(&self, shape: impl Dims) -> Tensor {
        self.expand_to(&shape.dims())
    }

    #[track_caller]
    fn expand_to(&self, shape: &[usize]) -> Tensor {
        let x = self.expr();
        Tensor::from_expr(if x.shape().as_slice() == shape { x.identity() } else { x.expand(shape) })
    }

    /// Another name for [`Tensor::expand`].
    #[track_caller]
    pub fn broadcast_to(&self, shape: impl Dims) -> Tensor {
        self.expand(shape)
    }

    /// Broadcast to another tensor's shape.
    #[track_caller]
    pub fn expand_as(&self, other: &Tensor) -> Tensor {
        let (x, like) = (self.expr(), other.expr());
        let wide = x.expand_like(&like);
        Tensor::from_expr(if wide.same(&x) { x.identity() } else { wide })
    }

    /// Without this axis, which has size 1 (PyTorch leaves an axis of another size as it is). A tensor of rank 0 stays.
    #[track_caller]
    pub fn squeeze(&self, axis: isize) -> Tensor {
        let x = self.expr();
        if scalar_as_vector(&x, axis as i64).is_some() {
            return Tensor::from_expr(x.reshape(&[]));
        }
        let axis = match resolve_axis(&x, "squeeze", axis as i64) {
            Ok(axis) => axis,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        if x.shape()[axis] != 1 {
            let message = format!("axis {axis} of {:?} has not size 1", x.shape());
            return Tensor::fail(ErrorKind::Shape, "squeeze", message, "`select` or `narrow` it first, or see `squeeze_all`", &[self]);
        }
        Tensor::from_expr(x.remove_axes(&[axis]))
    }

    /// Without any axis of size 1.
    #[track_caller]
    pub fn squeeze_all(&self) -> Tensor {
        let x = self.expr();
        let shape: Shape = x.shape().iter().copied().filter(|size| *size != 1).collect();
        Tensor::from_expr(x.reshape(&shape))
    }

    /// With a new axis of size 1 at this place.
    #[track_caller]
    pub fn unsqueeze(&self, axis: isize) -> Tensor {
        let x = self.expr();
        let axis = match resolve_in(&x, "unsqueeze", axis as i64, x.rank() + 1) {
            Ok(axis) => axis,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        Tensor::from_expr(x.insert_axis(axis))
    }

    /// `len` elements of an axis from `start` on. Of an axis with a name ([`crate::Dim`]) this is a part of a fixed length, which has no name; what is
    /// as long as the axis but for some elements is `x.i(1..)`, or `x.i(..-1)`.
    #[track_caller]
    pub fn narrow(&self, axis: isize, start: usize, len: usize) -> Tensor {
        let x = self.expr();
        match resolve_axis(&x, "narrow", axis as i64) {
            Ok(axis) if start.checked_add(len).is_some_and(|end| end <= x.shape()[axis]) => {
                Tensor::from_expr(x.narrow_with(axis, start, len))
            }
            Ok(axis) => {
                let message = format!("elements {start}..{start}+{len} of axis {axis} of {:?}", x.shape());
                Tensor::fail(ErrorKind::Index, "narrow", message, "start and length stay inside of the axis", &[self])
            }
            Err(invalid) => Tensor::from_expr(invalid),
        }
    }

    /// `len` elements of an axis from a position that may change from step to step without a new plan: a number or a rank-0 `I64` tensor.
    #[track_caller]
    pub fn dyn_slice(&self, axis: isize, start: &Tensor, len: usize) -> Tensor {
        let x = self.expr();
        match resolve_axis(&x, "dyn_slice", axis as i64) {
            Ok(axis) => Tensor::from_expr(x.dyn_slice(axis, &start.expr().cast(DType::I64), len)),
            Err(invalid) => Tensor::from_expr(invalid),
        }
    }

    /// With `update` written over it along an axis from a run-time position on (see [`Tensor::dyn_slice`]).
    ///
    /// The update's shape is the tensor's but for that axis, where it may be shorter. A negative position counts from the last one at which the
    /// update fits; one at which it does not fit is an error of the evaluation (an error of the next wait on a GPU), unlike JAX, which moves it.
    ///
    /// Where nothing else can read the tensor again, as in `cache.assign(&cache.dyn_update(..))`, its memory is taken over and only the update's
    /// elements are computed and written; otherwise it is copied first.
    #[track_caller]
    pub fn dyn_update(&self, axis: isize, update: &Tensor, start: &Tensor) -> Tensor {
        let x = self.expr();
        match resolve_axis(&x, "dyn_update", axis as i64) {
            Ok(axis) => Tensor::from_expr(x.dyn_update(axis, &update.expr().cast(x.dtype()), &start.expr().cast(DType::I64))),
            Err(invalid) => Tensor::from_expr(invalid),
        }
    }

    /// The axes in reverse order of elements.
    #[track_caller]
    pub fn flip(&self, axes: impl crate::Axes) -> Tensor {
        let x = self.expr();
        let axes = match resolve_axes(&x, "flip", axes.axes()) {
            Ok(axes) => axes,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let mut spec = whole(&x);
        for axis in axes {
            let len = spec[axis].len;
            if len > 0 {
                spec[axis] = SliceAxis { start: len - 1, step: -1, len };
            }
        }
        Tensor::from_expr(x.slice(&spec))
    }

    /// Elements move along an axis by `shift`; what leaves at one end comes in at the other.
    #[track_caller]
    pub fn roll(&self, shift: i64, axis: isize) -> Tensor {
        let x = self.expr();
        let axis = match resolve_axis(&x, "roll", axis as i64) {
            Ok(axis) => axis,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let size = x.shape()[axis];
        let back = shift < 0;
        let shift = if size == 0 { 0 } else { shift.rem_euclid(size as i64) as usize };
        if shift == 0 {
            return Tensor::from_expr(x.identity());
        }
        // The part that is as short as the caller says has this length whatever the axis's size is.
        let parts = match back {
            true => [x.inner(axis, size - shift, 0, 1), x.narrow(axis, 0, size - shift)],
            false => [x.last(axis, shift), x.inner(axis, 0, shift, 1)],
        };
        Tensor::from_expr(Expr::concat(&parts, axis))
    }

    /// One after another along an axis; dtypes promote.
    #[track_caller]
    pub fn concat(tensors: &[&Tensor], axis: isize) -> Tensor {
        let mut exprs = Inputs::with_capacity(tensors.len());
        tensors.iter().for_each(|tensor| exprs.push(tensor.expr()));
        let Some(first) = exprs.first() else {
            return Tensor::fail(ErrorKind::Argument, "concat", "no tensors given", "give at least one", &[]);
        };
        let axis = match resolve_axis(first, "concat", axis as i64) {
            Ok(axis) => axis,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        if exprs.iter().any(|expr| expr.dtype() != first.dtype()) {
            if let Err(invalid) = refuse_mixed("concat", &exprs.iter().collect::<Vec<_>>()) {
                return Tensor::from_expr(invalid);
            }
            let dtype = exprs.iter().fold(first.dtype(), |dtype, expr| dtype.promote(expr.dtype()));
            for expr in &mut exprs {
                *expr = expr.cast(dtype);
            }
        }
        Tensor::from_expr(Expr::concat_with(exprs, axis))
    }

    /// Along a new axis; shapes are equal, dtypes promote.
    #[track_caller]
    pub fn stack(tensors: &[&Tensor], axis: isize) -> Tensor {
        let mut wider = Vec::with_capacity(tensors.len());
        for tensor in tensors {
            wider.push(tensor.unsqueeze(axis));
        }
        Tensor::concat(&wider.iter().collect::<Vec<_>>(), axis)
    }

    /// Parts of `size` elements along an axis; the last one may be smaller.
    #[track_caller]
    pub fn split(&self, size: usize, axis: isize) -> Vec<Tensor> {
        let total = match self.part_axis("split", axis) {
            Ok(at) => self.shape()[at],
            Err(invalid) => return vec![invalid],
        };
        if size == 0 {
            let message = format!("parts of 0 elements of axis {axis} of {:?}", self.shape());
            return vec![Tensor::fail(ErrorKind::Argument, "split", message, "a part has at least one element", &[self])];
        }
        if let Some(invalid) = self.too_many_parts("split", total.div_ceil(size)) {
            return vec![invalid];
        }
        let mut sizes = vec![size; total / size];
        if !total.is_multiple_of(size) || total == 0 {
            sizes.push(total % size);
        }
        self.split_sizes(&sizes, axis)
    }

    /// Parts of the given sizes, which add up to the axis's.
    #[track_caller]
    pub fn split_sizes(&self, sizes: &[usize], axis: isize) -> Vec<Tensor> {
        let whole = match self.part_axis("split_sizes", axis) {
            Ok(at) => self.shape()[at],
            Err(invalid) => return vec![invalid; sizes.len().max(1)],
        };
        let total = sizes.iter().fold(0_usize, |total, size| total.saturating_add(*size));
        if total != whole {
            let message = format!("parts {sizes:?} have {total} elements, axis {axis} of {:?} has {whole}", self.shape());
            let invalid = Tensor::fail(ErrorKind::Shape, "split_sizes", message, "the parts make up the axis", &[self]);
            return vec![invalid; sizes.len().max(1)];
        }
        let mut parts = Vec::with_capacity(sizes.len());
        let mut start = 0;
        for size in sizes {
            parts.push(self.narrow(axis, start, *size));
            start += size;
        }
        parts
    }

    /// At most `count` parts of equal size along an axis; the last one may be smaller. Of an axis without elements they are `count` empty ones, as in PyTorch.
    #[track_caller]
    pub fn chunk(&self, count: usize, axis: isize) -> Vec<Tensor> {
        if count == 0 {
            let message = format!("0 parts of axis {axis} of {:?}", self.shape());
            return vec![Tensor::fail(ErrorKind::Argument, "chunk", message, "ask for at least one part", &[self])];
        }
        let at = match self.part_axis("chunk", axis) {
            Ok(at) => at,
            Err(invalid) => return vec![invalid],
        };
        match self.shape().get(at) {
            Some(0) => match self.too_many_parts("chunk", count) {
                Some(invalid) => vec![invalid],
                None => self.split_sizes(&vec![0; count], axis),
            },
            size => self.split(size.map_or(1, |size| size.div_ceil(count)), axis),
        }
    }

    /// The axis along which a tensor is taken apart, or the invalid tensor that stands for all parts.
    #[track_caller]
    fn part_axis(&self, op: &str, axis: isize) -> Result<usize, Tensor> {
        match resolve_axis(&self.expr(), op, axis as i64) {
            Ok(at) => Ok(at),
            Err(invalid) => Err(Tensor::from_expr(invalid)),
        }
    }

    /// The error of more parts than a program could hold.
    #[track_caller]
    fn too_many_parts(&self, op: &str, count: usize) -> Option<Tensor> {
        if count <= MAX_PARTS {
            return None;
        }
        let message = format!("{count} parts of {:?}", self.shape());
        Some(Tensor::fail(
            ErrorKind::Argument,
            op,
            message,
            "each is a tensor of its own: take larger parts, or work on the whole",
            &[self],
        ))
    }

    /// The slices along an axis, without it; one invalid tensor if there is no such axis.
    #[track_caller]
    pub fn unbind(&self, axis: isize) -> Vec<Tensor> {
        let count = match self.part_axis("unbind", axis) {
            Ok(at) => self.shape()[at],
            Err(invalid) => return vec![invalid],
        };
        if let Some(invalid) = self.too_many_parts("unbind", count) {
            return vec![invalid];
        }
        let mut parts = Vec::with_capacity(count);
        for i in 0..count {
            parts.push(self.narrow(axis, i, 1).squeeze(axis));
        }
        parts
    }

    /// Slice `i` along an axis (negative: from the end), without the axis.
    #[track_caller]
    pub fn select(&self, axis: isize, i: i64) -> Tensor {
        let x = self.expr();
        let axis = match resolve_axis(&x, "select", axis as i64) {
            Ok(axis) => axis,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let size = x.shape()[axis];
        let at = if i < 0 { i + size as i64 } else { i };
        if !(0..size as i64).contains(&at) {
            let message = format!("element {i} of axis {axis} of {:?}", x.shape());
            return Tensor::fail(ErrorKind::Index, "select", message, "elements count from 0, or from -1 at the end", &[self]);
        }
        let one = match i < 0 && x.is_named_axis(axis) {
            true => element_from_end(&x, axis, i.unsigned_abs() as usize),
            false => x.narrow(axis, at as usize, 1),
        };
        Tensor::from_expr(one.remove_axes(&[axis]))
    }

    /// The whole tensor `times[i]` times along axis `i` (missing leading entries: new axes).
    #[track_caller]
    pub fn tile(&self, times: &[usize]) -> Tensor {
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        let rank = x.rank().max(times.len());
        let sizes: Vec<usize> = (0..rank).map(|i| if i + x.rank() >= rank { x.shape()[i + x.rank() - rank] } else { 1 }).collect();
        let times: Vec<usize> = (0..rank).map(|i| if i + times.len() >= rank { times[i + times.len() - rank] } else { 1 }).collect();
        let apart: Vec<usize> = sizes.iter().flat_map(|size| [1, *size]).collect();
        let spread: Vec<usize> = sizes.iter().zip(&times).flat_map(|(size, times)| [*times, *size]).collect();
        let merged: Vec<usize> = sizes.iter().zip(&times).map(|(size, times)| size.saturating_mul(*times)).collect();
        Tensor::from_expr(x.reshape(&apart).expand(&spread).reshape(&merged))
    }

    /// Another name for [`Tensor::tile`].
    #[track_caller]
    pub fn repeat(&self, times: &[usize]) -> Tensor {
        self.tile(times)
    }

    /// Each element `times` times in a row along an axis.
    #[track_caller]
    pub fn repeat_interleave(&self, times: usize, axis: isize) -> Tensor {
        let x = self.expr();
        let axis = match resolve_axis(&x, "repeat_interleave", axis as i64) {
            Ok(axis) => axis,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let mut apart = x.shape().clone();
        apart.insert(axis + 1, 1);
        let mut spread = apart.clone();
        spread[axis + 1] = times;
        let mut merged = x.shape().clone();
        merged[axis] = merged[axis].saturating_mul(times);
        Tensor::from_expr(x.reshape(&apart).expand(&spread).reshape(&merged))
    }

    /// Zero above diagonal `diagonal` of the last two axes (0: the main one, positive: above it).
    #[track_caller]
    pub fn tril(&self, diagonal: i64) -> Tensor {
        self.triangle("tril", diagonal, true)
    }

    /// Zero below diagonal `diagonal` of the last two axes.
    #[track_caller]
    pub fn triu(&self, diagonal: i64) -> Tensor {
        self.triangle("triu", diagonal, false)
    }

    #[track_caller]
    fn triangle(&self, op: &str, diagonal: i64, lower: bool) -> Tensor {
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        if x.rank() < 2 {
            return Tensor::fail(ErrorKind::Shape, op, format!("wants two axes, got {:?}", x.shape()), "see `unsqueeze`", &[self]);
        }
        let rank = x.rank();
        let row = x.iota_like(rank - 2, DType::I64);
        let column = x.iota_like(rank - 1, DType::I64);
        let last = row.add(&Expr::constant(Literal::int(DType::I64, diagonal), x.shape(), x.device()));
        let keep = if lower { column.le(&last) } else { column.ge(&last) };
        Tensor::from_expr(keep.select(&x, &x.zeros_like()))
    }

    /// The diagonal of two axes, as a new last axis.
    #[track_caller]
    pub fn diagonal(&self, offset: i64, axis1: isize, axis2: isize) -> Tensor {
        let x = self.expr();
        let (a, b) = match (resolve_axis(&x, "diagonal", axis1 as i64), resolve_axis(&x, "diagonal", axis2 as i64)) {
            (Ok(a), Ok(b)) if a != b => (a, b),
            (Err(invalid), _) | (_, Err(invalid)) => return Tensor::from_expr(invalid),
            _ => return Tensor::fail(ErrorKind::Axis, "diagonal", "wants two different axes", "name the axes of the matrix", &[self]),
        };
        let (rows, columns) = (x.shape()[a], x.shape()[b]);
        let (row, column) = (offset.min(0).unsigned_abs() as usize, offset.max(0) as usize);
        let len = rows.saturating_sub(row).min(columns.saturating_sub(column));
        let mut order: Vec<usize> = (0..x.rank()).filter(|axis| *axis != a && *axis != b).collect();
        let lead = Shape::from_iter(order.iter().map(|axis| x.shape()[*axis]));
        order.extend([a, b]);
        let (rank, axis) = (x.rank(), lead.len());
        // No start lies outside, or the empty diagonal would not be a view.
        let (row, column) = (row.min(rows - len), column.min(columns - len));
        // In a square block, diagonal elements are `len + 1` apart in the flattened last two axes.
        let block = x.permute(&order).narrow(rank - 2, row, len).narrow(rank - 1, column, len);
        if block.is_invalid() {
            return Tensor::from_expr(block);
        }
        let mut flat = lead;
        flat.push(len * len);
        let block = block.reshape(&flat);
        if block.is_invalid() {
            return Tensor::from_expr(block);
        }
        let mut spec = whole(&block);
        spec[axis] = SliceAxis { start: 0, step: (len as i64).saturating_add(1), len };
        Tensor::from_expr(block.slice(&spec))
    }

    /// A matrix with the last axis on its diagonal.
    #[track_caller]
    pub fn diag_embed(&self) -> Tensor {
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        if x.rank() == 0 {
            return Tensor::fail(ErrorKind::Shape, "diag_embed", "wants an axis", "see `unsqueeze`", &[self]);
        }
        let mut shape = x.shape().clone();
        let len = shape[x.rank() - 1];
        shape.push(len);
        let rank = shape.len();
        let row = Expr::iota(&shape, rank - 2, DType::I64, x.device());
        let column = Expr::iota(&shape, rank - 1, DType::I64, x.device());
        let mut apart = x.shape().clone();
        apart.push(1);
        let spread = x.reshape(&apart).expand(&shape);
        Tensor::from_expr(row.eq(&column).select(&spread, &spread.zeros_like()))
    }

    /// Sliding windows along an axis: it becomes the number of windows, and a new last axis runs within a window.
    #[track_caller]
    pub fn unfold(&self, axis: isize, size: usize, step: usize) -> Tensor {
        let x = self.expr();
        if let Some(vector) = scalar_as_vector(&x, axis as i64) {
            // One window with one element: PyTorch gives the window alone.
            return Tensor::from_expr(vector.window(0, size, step, 1).reshape(&[size]));
        }
        match resolve_axis(&x, "unfold", axis as i64) {
            Ok(axis) => Tensor::from_expr(x.window(axis, size, step, 1)),
            Err(invalid) => Tensor::from_expr(invalid),
        }
    }

    /// Zeros around: one `(before, after)` pair per axis, for the last axes if there are fewer pairs than axes.
    #[track_caller]
    pub fn pad(&self, pads: &[(usize, usize)]) -> Tensor {
        self.pad_with(pads, PadMode::Constant(0.0))
    }

    /// As [`Tensor::pad`], with what `mode` says.
    #[track_caller]
    pub fn pad_with(&self, pads: &[(usize, usize)], mode: PadMode) -> Tensor {
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        let rank = x.rank();
        if pads.len() > rank {
            let message = format!("{} pairs for {:?}", pads.len(), x.shape());
            return Tensor::fail(ErrorKind::Shape, "pad", message, "give one pair per axis", &[self]);
        }
        let first = rank - pads.len();
        if let PadMode::Constant(value) = mode {
            if let Some(failed) = unheld("pad", Value::Constant(value), x.dtype()) {
                return failed;
            }
            let mut axes = vec![PadAxis::default(); rank];
            for (axis, (lo, hi)) in axes[first..].iter_mut().zip(pads) {
                *axis = PadAxis { lo: *lo, hi: *hi, interior: 0 };
            }
            return Tensor::from_expr(x.pad(&axes, Literal::float(x.dtype(), value)));
        }
        let mut x = x;
        for (i, (lo, hi)) in pads.iter().enumerate() {
            if x.error().is_some() {
                break;
            }
            let (axis, lo, hi) = (first + i, *lo, *hi);
            let size = x.shape()[axis];
            let most = match mode {
                PadMode::Reflect => size.saturating_sub(1),
                PadMode::Circular => size,
                PadMode::Replicate if size == 0 => 0,
                PadMode::Replicate => usize::MAX,
                PadMode::Constant(_) => {
                    let message = "constants beyond one axis";
                    return Tensor::fail(ErrorKind::Internal, "pad", message, "please report it", &[self]);
                }
            };
            if lo > most || hi > most {
                let message = format!("({lo}, {hi}) around axis {axis} of {:?}: at most {most} in this mode", x.shape());
                return Tensor::fail(ErrorKind::Argument, "pad", message, "pad less, or several times", &[self]);
            }
            let part = |x: &Expr, start: usize, len: usize, step: i64| {
                let mut spec = whole(x);
                spec[axis] = SliceAxis { start, step, len };
                x.slice(&spec)
            };
            let mut parts = Vec::with_capacity(3);
            if lo > 0 {
                parts.push(match mode {
                    PadMode::Reflect => part(&x, lo, lo, -1),
                    PadMode::Circular => x.last(axis, lo),
                    PadMode::Constant(_) | PadMode::Replicate => spread(&part(&x, 0, 1, 1), axis, lo),
                });
            }
            parts.push(x.clone());
            if hi > 0 {
                parts.push(match mode {
                    PadMode::Reflect if x.is_named_axis(axis) => part(&x.last(axis, hi + 1), hi - 1, hi, -1),
                    PadMode::Reflect => part(&x, size - 2, hi, -1),
                    PadMode::Circular => part(&x, 0, hi, 1),
                    PadMode::Constant(_) | PadMode::Replicate => spread(&x.last(axis, 1), axis, hi),
                });
            }
            x = Expr::concat(&parts, axis);
        }
        Tensor::from_expr(x)
    }

    /// A grid of coordinates from vectors (or numbers): one tensor per vector, each with an axis per vector (`ij` order).
    #[track_caller]
    pub fn meshgrid(vectors: &[&Tensor]) -> Vec<Tensor> {
        if let Some(wrong) = vectors.iter().find(|vector| vector.is_invalid() || vector.rank() > 1) {
            let message = format!("wants vectors, got {:?}", wrong.shape());
            return vec![Tensor::fail(ErrorKind::Shape, "meshgrid", message, "see `flatten_all`", &[wrong]); vectors.len()];
        }
        let shape: Shape = vectors.iter().map(|vector| vector.numel()).collect();
        let mut grids = Vec::with_capacity(vectors.len());
        for (i, vector) in vectors.iter().enumerate() {
            let mut own: Shape = Shape::from_elem(1, vectors.len());
            own[i] = vector.numel();
            grids.push(vector.reshape_to(&own).expand(&shape));
        }
        grids
    }

    /// The tensor itself: a tensor is its values, and how they lie in memory is the compiler's business. For programs that come from
    /// libraries where it is not.
    #[must_use]
    pub fn contiguous(&self) -> Tensor {
        self.clone()
    }
}

/// A slice of size 1 along an axis, repeated.
#[track_caller]
fn spread(x: &Expr, axis: usize, times: usize) -> Expr {
    if x.is_invalid() {
        return x.clone();
    }
    let mut shape = x.shape().clone();
    shape[axis] = times;
    x.expand(&shape)
}
