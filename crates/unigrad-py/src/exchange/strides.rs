//! Strided memory as a view of a tensor without axes in between.
//!
//! In: sizes and strides, which may be of any order, 0 or negative. Out: the piece of memory that the elements are in; the view of it.
//! Always: the piece begins at the first and ends after the last element that the strides reach: not a byte besides is read.
//! How: with axes in the order of their strides, each is sliding windows of what the inner ones reach.

use unigrad::tensor::Tensor;

/// An array's sizes, and its strides in elements.
pub(super) struct Strided {
    shape: Vec<usize>,
    strides: Vec<i64>,
    /// Of the first element in the piece.
    pub(super) before: usize,
    /// Elements of the piece.
    pub(super) span: usize,
}

impl Strided {
    /// `None` where sizes and strides make no memory. There is an element.
    pub(super) fn new(shape: Vec<usize>, strides: Vec<i64>) -> Option<Strided> {
        let (mut before, mut after) = (0_usize, 0_usize);
        for (size, stride) in shape.iter().zip(&strides) {
            let reach = size.checked_sub(1)?.checked_mul(usize::try_from(stride.unsigned_abs()).ok()?)?;
            let end = if *stride < 0 { &mut before } else { &mut after };
            *end = end.checked_add(reach)?;
        }
        let span = before.checked_add(after)?.checked_add(1)?;
        (shape.len() == strides.len()).then_some(Strided { shape, strides, before, span })
    }

    /// Whether the elements lie in row-major order without gaps.
    pub(super) fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.shape.iter().zip(&self.strides).rev().all(|(size, stride)| {
            let fits = *size == 1 || *stride == expected;
            expected *= *size as i64;
            fits
        })
    }

    /// The view of the piece, a tensor with one axis of `span` elements.
    pub(super) fn view(&self, piece: &Tensor) -> Tensor {
        if self.is_contiguous() {
            return piece.reshape(self.shape.iter().map(|size| *size as i64).collect::<Vec<i64>>());
        }
        // Axes that move, the one with the longest steps first.
        let mut moving: Vec<usize> = (0..self.shape.len()).filter(|axis| self.shape[*axis] > 1 && self.strides[*axis] != 0).collect();
        moving.sort_by_key(|axis| std::cmp::Reverse(self.strides[*axis].unsigned_abs()));
        let step = |axis: usize| self.strides[axis].unsigned_abs() as usize;
        // Axes that go on where the next one ends are one.
        let mut joined: Vec<(usize, usize)> = Vec::new();
        for axis in moving.iter().rev() {
            let (size, step) = (self.shape[*axis], step(*axis));
            match joined.last_mut() {
                Some((inner, inner_step)) if *inner * *inner_step == step => *inner *= size,
                _ => joined.push((size, step)),
            }
        }
        joined.reverse();
        let mut view = piece.clone();
        for at in 0..joined.len() {
            let (_, step) = joined[at];
            let rest: usize = 1 + joined[at + 1..].iter().map(|(size, step)| (size - 1) * step).sum::<usize>();
            if (rest, step) != (1, 1) {
                view = view.unfold(-1, rest, step);
            }
        }
        let sizes: Vec<i64> = moving.iter().map(|axis| self.shape[*axis] as i64).collect();
        view = view.reshape(sizes);
        // Back to the order of the array's axes.
        let mut sorted = moving.clone();
        sorted.sort_unstable();
        let order: Vec<i64> = sorted.iter().filter_map(|axis| moving.iter().position(|other| other == axis)).map(|at| at as i64).collect();
        view = view.permute(order);
        let stays = |axis: usize| self.shape[axis] == 1 || self.strides[axis] == 0;
        view = view.reshape((0..self.shape.len()).map(|axis| if stays(axis) { 1 } else { self.shape[axis] as i64 }).collect::<Vec<i64>>());
        let backward: Vec<i64> = moving.iter().filter(|axis| self.strides[**axis] < 0).map(|axis| *axis as i64).collect();
        if !backward.is_empty() {
            view = view.flip(backward);
        }
        view.expand(self.shape.clone())
    }
}
