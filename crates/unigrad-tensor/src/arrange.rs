//! Tensors put together, cut and turned, with NumPy's and PyTorch's names. Views of one tensor by one axis are in `view`.

use crate::{
    Axes, Ints, PadMode, Tensor,
    axes::{resolve_axes, resolve_axis, resolve_in},
};
use unigrad_graph::{ErrorKind, Expr};

impl Tensor {
    /// Side by side: along axis 1, or axis 0 of vectors and numbers.
    #[track_caller]
    pub fn hstack(tensors: &[&Tensor]) -> Tensor {
        let wide = at_least("hstack", tensors, 1);
        let axis = wide.first().map_or(0, |first| isize::from(first.rank() > 1));
        Tensor::concat(&wide.iter().collect::<Vec<_>>(), axis)
    }

    /// One above the other: along axis 0, with vectors and numbers as rows.
    #[track_caller]
    pub fn vstack(tensors: &[&Tensor]) -> Tensor {
        Tensor::concat(&at_least("vstack", tensors, 2).iter().collect::<Vec<_>>(), 0)
    }

    /// One behind the other: along axis 2, with vectors `[n]` as `[1, n, 1]` and matrices `[m, n]` as `[m, n, 1]`.
    #[track_caller]
    pub fn dstack(tensors: &[&Tensor]) -> Tensor {
        let mut deep = Vec::with_capacity(tensors.len());
        for tensor in at_least("dstack", tensors, 2) {
            deep.push(if tensor.rank() == 2 { tensor.unsqueeze(-1) } else { tensor });
        }
        Tensor::concat(&deep.iter().collect::<Vec<_>>(), 2)
    }

    /// Vectors and numbers as columns, beside matrices: along axis 1.
    #[track_caller]
    pub fn column_stack(tensors: &[&Tensor]) -> Tensor {
        let mut columns = Vec::with_capacity(tensors.len());
        for tensor in tensors {
            columns.push(if tensor.rank() < 2 { tensor.reshape([-1, 1]) } else { (*tensor).clone() });
        }
        Tensor::concat(&columns.iter().collect::<Vec<_>>(), 1)
    }

    /// `count` parts along an axis, of sizes that differ by at most one, the larger ones first.
    #[track_caller]
    pub fn tensor_split(&self, count: usize, axis: isize) -> Vec<Tensor> {
        let e = self.expr();
        let size = match resolve_axis(&e, "tensor_split", axis as i64) {
            Ok(axis) => e.shape()[axis],
            Err(invalid) => return vec![Tensor::from_expr(invalid)],
        };
        if count == 0 || count > MAX_PARTS {
            let message = format!("{count} parts of axis {axis} of {:?}", e.shape());
            return vec![Tensor::fail(
                ErrorKind::Argument,
                "tensor_split",
                message,
                "ask for at least one part, and at most a million",
                &[self],
            )];
        }
        let sizes: Vec<usize> = (0..count).map(|i| size / count + usize::from(i < size % count)).collect();
        self.split_sizes(&sizes, axis)
    }

    /// Parts along an axis that begin at 0 and at each of `places`, which are cut at the end of the axis; negative ones count from there. A place
    /// before the last one gives an empty part.
    #[track_caller]
    pub fn split_at(&self, places: impl Ints, axis: isize) -> Vec<Tensor> {
        let e = self.expr();
        let size = match resolve_axis(&e, "split_at", axis as i64) {
            Ok(axis) => e.shape()[axis],
            Err(invalid) => return vec![Tensor::from_expr(invalid)],
        };
        let bounded = |place: i64| if place < 0 { place.saturating_add(size as i64).max(0) } else { place.min(size as i64) } as usize;
        let mut parts = Vec::new();
        let mut start = 0;
        for end in places.ints().into_iter().map(bounded).chain([size]) {
            parts.push(self.narrow(axis, start.min(size), end.saturating_sub(start)));
            start = end;
        }
        parts
    }

    /// Turned by `times` right angles, from the first of two axes toward the second.
    #[track_caller]
    pub fn rot90(&self, times: i64, axes: [isize; 2]) -> Tensor {
        let e = self.expr();
        let (a, b) = match (resolve_axis(&e, "rot90", axes[0] as i64), resolve_axis(&e, "rot90", axes[1] as i64)) {
            (Ok(a), Ok(b)) if a != b => (a as isize, b as isize),
            (Err(invalid), _) | (_, Err(invalid)) => return Tensor::from_expr(invalid),
            _ => return Tensor::fail(ErrorKind::Axis, "rot90", "the two axes are one", "name two axes", &[self]),
        };
        match times.rem_euclid(4) {
            0 => Tensor::from_expr(e.identity()),
            1 => self.flip([b]).transpose(a, b),
            2 => self.flip([a, b]),
            _ => self.flip([a]).transpose(a, b),
        }
    }

    /// [`Tensor::roll`] along several axes, each by its own shift.
    #[track_caller]
    pub fn roll_axes(&self, shifts: &[i64], axes: impl Ints) -> Tensor {
        let axes = axes.ints();
        if axes.len() != shifts.len() {
            let message = format!("{} shifts for {} axes", shifts.len(), axes.len());
            return Tensor::fail(ErrorKind::Argument, "roll", message, "give one shift for each axis", &[self]);
        }
        let mut x = Tensor::from_expr(self.expr().identity());
        for (shift, axis) in shifts.iter().zip(axes) {
            x = x.roll(*shift, isize::try_from(axis).unwrap_or(isize::MAX));
        }
        x
    }

    /// The axes `sources`, in their order, to the places `targets`; the others keep theirs. A tensor of rank 0 has none, but 0 and -1 may be named.
    #[track_caller]
    pub fn movedims(&self, sources: impl Ints, targets: impl Ints) -> Tensor {
        let e = self.expr();
        let one = |axis| resolve_in(&e, "movedim", axis, e.rank().max(1));
        let listed = |axes: Vec<i64>| axes.into_iter().map(one).collect::<Result<Vec<usize>, Expr>>();
        let (sources, targets) = match (listed(sources.ints().into_vec()), listed(targets.ints().into_vec())) {
            (Ok(sources), Ok(targets)) => (sources, targets),
            (Err(invalid), _) | (_, Err(invalid)) => return Tensor::from_expr(invalid),
        };
        let distinct = |axes: &[usize]| axes.iter().enumerate().all(|(i, axis)| !axes[..i].contains(axis));
        if sources.len() != targets.len() || !distinct(&sources) || !distinct(&targets) {
            let message = format!("axes {sources:?} to {targets:?} of {:?}", e.shape());
            return Tensor::fail(ErrorKind::Axis, "movedim", message, "name as many different axes on both sides", &[self]);
        }
        let mut others = (0..e.rank()).filter(|axis| !sources.contains(axis));
        let mut order = Vec::with_capacity(e.rank());
        for place in 0..e.rank() {
            match targets.iter().position(|target| *target == place) {
                Some(i) => order.push(sources[i]),
                None => order.extend(others.next()),
            }
        }
        Tensor::from_expr(e.permute(&order))
    }

    /// Without those of the named axes that have size 1.
    #[track_caller]
    pub fn squeeze_axes(&self, axes: impl Axes) -> Tensor {
        let e = self.expr();
        match resolve_axes(&e, "squeeze", axes.axes()) {
            Ok(axes) => {
                let kept = e.shape().iter().enumerate().filter(|(axis, size)| **size != 1 || !axes.contains(axis));
                Tensor::from_expr(e.reshape(&kept.map(|(_, size)| *size).collect::<Vec<_>>()))
            }
            Err(invalid) => Tensor::from_expr(invalid),
        }
    }

    /// The last axis as a diagonal, `offset` above the main one, of a matrix whose axes are the result's `axis1` and `axis2`; zeros elsewhere.
    #[track_caller]
    pub fn diag_embed_with(&self, offset: i64, axis1: isize, axis2: isize) -> Tensor {
        let e = self.expr();
        if e.error().is_some() || e.rank() == 0 {
            return self.diag_embed();
        }
        let rank = e.rank() + 1;
        let (a, b) = match (resolve_in(&e, "diag_embed", axis1 as i64, rank), resolve_in(&e, "diag_embed", axis2 as i64, rank)) {
            (Ok(a), Ok(b)) if a != b => (a, b),
            (Err(invalid), _) | (_, Err(invalid)) => return Tensor::from_expr(invalid),
            _ => return Tensor::fail(ErrorKind::Axis, "diag_embed", "the two axes are one", "name two axes", &[self]),
        };
        let aside = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
        let last = e.shape()[e.rank() - 1];
        let Some(size) = last.checked_add(aside).filter(|size| size.checked_mul(*size).is_some_and(|all| all <= isize::MAX as usize))
        else {
            let message = format!("a diagonal {offset} aside of {:?}", e.shape());
            return Tensor::fail(ErrorKind::Argument, "diag_embed", message, "no memory has so many elements", &[self]);
        };
        let (row, column) = (offset.min(0).unsigned_abs() as usize, offset.max(0) as usize);
        let matrix = self.diag_embed().pad(&[(row, size - last - row), (column, size - last - column)]);
        matrix.movedims([-2_i64, -1], [a as i64, b as i64])
    }

    /// A matrix with all elements, in row-major order, on a diagonal, `offset` above the main one.
    #[track_caller]
    pub fn diagflat(&self, offset: i64) -> Tensor {
        self.flatten_all().diag_embed_with(offset, 0, 1)
    }

    /// Matrices along the diagonal of one matrix, zeros elsewhere; vectors are rows, numbers are 1 by 1.
    #[track_caller]
    pub fn block_diag(tensors: &[&Tensor]) -> Tensor {
        let mut blocks = Vec::with_capacity(tensors.len());
        for tensor in at_least("block_diag", tensors, 2) {
            if tensor.is_invalid() {
                return tensor;
            }
            if tensor.rank() > 2 {
                let message = format!("wants matrices, got {:?}", tensor.shape());
                return Tensor::fail(ErrorKind::Shape, "block_diag", message, "give each block at most two axes", &[&tensor]);
            }
            blocks.push(tensor);
        }
        let columns = blocks.iter().fold(0_usize, |sum, block| sum.saturating_add(block.size(1)));
        let mut before = 0;
        let mut rows = Vec::with_capacity(blocks.len());
        for block in &blocks {
            let own = block.size(1);
            rows.push(block.pad(&[(0, 0), (before, columns - before - own)]));
            before += own;
        }
        Tensor::concat(&rows.iter().collect::<Vec<_>>(), 0)
    }

    /// The Kronecker product: every element of `self` times the whole of `other`.
    #[track_caller]
    pub fn kron(&self, other: &Tensor) -> Tensor {
        let (a, b) = (self.expr(), other.expr());
        if a.error().is_some() || b.error().is_some() {
            return self * other;
        }
        let rank = a.rank().max(b.rank());
        let sizes = |e: &Expr| -> Vec<usize> { std::iter::repeat_n(1, rank - e.rank()).chain(e.shape().iter().copied()).collect() };
        let (mine, theirs) = (sizes(&a), sizes(&b));
        let apart =
            |sizes: &[usize], first: bool| sizes.iter().flat_map(|size| if first { [*size, 1] } else { [1, *size] }).collect::<Vec<_>>();
        let product = Tensor::from_expr(a.reshape(&apart(&mine, true))) * Tensor::from_expr(b.reshape(&apart(&theirs, false)));
        let merged: Vec<usize> = mine.iter().zip(&theirs).map(|(a, b)| a.saturating_mul(*b)).collect();
        Tensor::from_expr(product.expr().reshape(&merged))
    }

    /// As [`Tensor::meshgrid`], with the first two axes of each grid exchanged (`xy` order, as in images).
    #[track_caller]
    pub fn meshgrid_xy(vectors: &[&Tensor]) -> Vec<Tensor> {
        if vectors.len() < 2 {
            return Tensor::meshgrid(vectors);
        }
        let mut order = vectors.to_vec();
        order.swap(0, 1);
        let mut grids = Tensor::meshgrid(&order);
        grids.swap(0, 1);
        grids
    }

    /// As [`Tensor::pad_with`]; a negative number cuts as many elements.
    #[track_caller]
    pub fn pad_or_cut(&self, pads: &[(i64, i64)], mode: PadMode) -> Tensor {
        let e = self.expr();
        if e.error().is_some() || pads.len() > e.rank() {
            let none = vec![(0, 0); pads.len()];
            return self.pad_with(&none, mode);
        }
        let grown: Vec<(usize, usize)> = pads.iter().map(|(before, after)| (*before.max(&0) as usize, *after.max(&0) as usize)).collect();
        match mode {
            // What is cut on one side may be seen on the other.
            PadMode::Reflect | PadMode::Replicate => self.pad_with(&grown, mode).cut(pads),
            // What goes round is what is left.
            PadMode::Constant(_) | PadMode::Circular => self.cut(pads).pad_with(&grown, mode),
        }
    }

    /// Without as many elements at the ends of the last axes as negative numbers say.
    #[track_caller]
    fn cut(&self, pads: &[(i64, i64)]) -> Tensor {
        let mut x = self.clone();
        for (i, (before, after)) in pads.iter().enumerate() {
            let e = x.expr();
            if e.error().is_some() {
                return x;
            }
            let axis = e.rank() - pads.len() + i;
            let count = |pad: &i64| pad.min(&0).unsigned_abs() as usize;
            let (size, before, after) = (e.shape()[axis], count(before), count(after));
            let Some(rest) = before.checked_add(after).and_then(|both| size.checked_sub(both)) else {
                let message = format!("{before} and {after} elements cut from axis {axis} of {:?}", e.shape());
                return Tensor::fail(ErrorKind::Argument, "pad", message, "cut no more than there is", &[self]);
            };
            if before + after > 0 {
                x = x.narrow(axis as isize, before, rest);
            }
        }
        x
    }

    /// As [`Tensor::expand`], where -1 keeps the size of an axis that is there.
    #[track_caller]
    pub fn expand_with(&self, shape: impl Ints) -> Tensor {
        let (e, shape) = (self.expr(), shape.ints());
        if e.error().is_some() {
            return self.clone();
        }
        let mut sizes = Vec::with_capacity(shape.len());
        for (axis, size) in shape.iter().enumerate() {
            let kept = || (axis + e.rank()).checked_sub(shape.len()).map(|own| e.shape()[own]);
            match usize::try_from(*size).ok().or_else(|| if *size == -1 { kept() } else { None }) {
                Some(size) => sizes.push(size),
                None => {
                    let message = format!("size {size} at axis {axis} for {:?}", e.shape());
                    return Tensor::fail(ErrorKind::Argument, "expand", message, "-1 keeps the size of an axis that is there", &[self]);
                }
            }
        }
        self.expand(sizes)
    }
}

/// Parts that one call gives, at most.
const MAX_PARTS: usize = 1 << 20;

/// Each with at least so many axes, new ones in front; invalid ones as they are.
#[track_caller]
fn at_least(op: &str, tensors: &[&Tensor], rank: usize) -> Vec<Tensor> {
    if tensors.is_empty() {
        return vec![Tensor::fail(ErrorKind::Argument, op, "no tensors given", "give at least one", &[])];
    }
    let mut wide = Vec::with_capacity(tensors.len());
    for tensor in tensors {
        let mut x = (*tensor).clone();
        while !x.is_invalid() && x.rank() < rank {
            x = x.unsqueeze(0);
        }
        wide.push(x);
    }
    wide
}
